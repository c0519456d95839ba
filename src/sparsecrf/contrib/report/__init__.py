"""A model as one HTML page that needs nothing else: weights, training, transitions, sentences.

`of_model.py` and `of_sentences.py` make the data, `words.py` says what they mean, `page.py` puts them into the page
together with what is in the folder `page`: its text, style and scripts.
"""

from sparsecrf.contrib.report.page import make_report

__all__ = ["make_report"]
