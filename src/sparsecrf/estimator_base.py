"""Where the manual first named `Span`; it lives in `sparsecrf.estimators`."""

from sparsecrf.model.spans import Span

__all__ = ["Span"]
