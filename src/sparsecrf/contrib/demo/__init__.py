"""The tasks of `sparsecrf demo`: letters to sounds on CMUdict, or the paper's simulated task."""
