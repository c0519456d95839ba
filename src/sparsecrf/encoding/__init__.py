"""Turns tokens and text into a corpus: templates, matrices, the vocabulary, and the numbering of features."""
