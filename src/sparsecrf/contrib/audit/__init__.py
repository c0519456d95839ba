"""Finds labels that are probably wrong, using exact probabilities from models that have not seen the sentence.

`probabilities.py` implements the formulas, `out_of_fold.py` trains and judges fold by fold, `result.py` ranks the
suspects, and `output.py` and `page.py` show them in their sentences.
"""

from sparsecrf.contrib.audit.out_of_fold import Judged, audit, judged_folds
from sparsecrf.contrib.audit.page import audit_page
from sparsecrf.contrib.audit.result import Audit, Suspect

__all__ = ["Audit", "Judged", "Suspect", "audit", "audit_page", "judged_folds"]
