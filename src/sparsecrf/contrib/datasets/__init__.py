"""Downloads public data sets, verifies them, and converts them to column files."""
