"""Converts tokens and text to a corpus: templates, matrices, the vocabulary, and the numbering of features."""
