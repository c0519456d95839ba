"""scikit-learn's estimators, and what they are given: sequences, labels, weights."""

from sparsecrf.estimators.base import Span
from sparsecrf.estimators.crf import CRF
from sparsecrf.estimators.cv import CRFCV

__all__ = ["CRF", "CRFCV", "Span"]
