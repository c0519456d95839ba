"""A model as one HTML page that needs nothing else: weights, training, transitions, sentences.

`of_model.py` and `of_sentences.py` make the data, `words.py` explains them, `page.py` puts them into the page together
with the text, style and scripts of the folder `page`.
"""

from sparsecrf.contrib.report.page import make_report

__all__ = ["make_report"]
