"""Public data sets: where they are, how they are verified, and how they become column files."""
