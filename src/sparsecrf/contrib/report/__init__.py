"""Shows a model on one self-contained HTML page, with its weights, training, transitions and sentences.

`of_model.py` and `of_sentences.py` make the data, `words.py` explains the training record, and `page.py` puts the data
into the page, together with the text, style and scripts of the folder `page`.
"""

from sparsecrf.contrib.report.page import make_report

__all__ = ["make_report"]
