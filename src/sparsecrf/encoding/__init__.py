"""From tokens and text to a corpus: templates, matrices, the vocabulary, and how features are numbered."""
