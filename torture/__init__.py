"""Faults and attacks, one torture a file; `run.py` is the way in."""
