"""The paper's experiments, one file each; `run.py` runs them."""
