"""The paper's experiments, one file each; `run.py` is the way in."""
