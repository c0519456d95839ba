"""sklearn-crfsuite's scorers, for `scoring=` in scikit-learn."""

from __future__ import annotations

from sklearn.metrics import make_scorer

from sparsecrf.contrib.compat import metrics

flat_accuracy = make_scorer(metrics.flat_accuracy_score)
sequence_accuracy = make_scorer(metrics.sequence_accuracy_score)
