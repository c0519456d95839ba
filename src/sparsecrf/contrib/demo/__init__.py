"""What `sparsecrf demo` shows: letters to sounds on CMUdict, or the paper's simulated task."""
