"""What a position says: attributes made from columns."""
