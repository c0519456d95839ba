"""Models: what can be asked of one, its file, and the files of other tools."""

from sparsecrf.model.limits import Pair
from sparsecrf.model.model import Model

__all__ = ["Model", "Pair"]
