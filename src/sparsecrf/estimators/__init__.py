"""scikit-learn estimators, and their input of sequences, labels and weights."""

from sparsecrf.estimators.crf import CRF
from sparsecrf.estimators.cv import CRFCV
from sparsecrf.model.spans import Span

__all__ = ["CRF", "CRFCV", "Span"]
