"""Where the manual first named `Span`; it lives in `sparsecrf.estimators`."""

from sparsecrf.estimators.base import Span

__all__ = ["Span"]
