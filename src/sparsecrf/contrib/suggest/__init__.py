"""Chooses sentences from a pool to annotate next: sentences that the model is least certain about and that differ from
each other.

`uncertainty.py` defines the measures, `interface.py` implements the greedy choice, and `pool.py` reads files and keeps
their text.
"""

from sparsecrf.contrib.suggest.interface import DIVERSITY, MEASURE, Suggestion, suggest
from sparsecrf.contrib.suggest.pool import Pooled, read_pool
from sparsecrf.contrib.suggest.uncertainty import MEASURES

__all__ = ["DIVERSITY", "MEASURE", "MEASURES", "Pooled", "Suggestion", "read_pool", "suggest"]
