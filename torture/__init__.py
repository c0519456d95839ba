"""Torture tests, one per file: faults and attacks. `run.py` runs them."""
