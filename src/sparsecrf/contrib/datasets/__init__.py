"""Public data sets: their addresses, their verification, and their conversion to column files."""
