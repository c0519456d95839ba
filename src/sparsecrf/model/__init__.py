"""Models: their methods, their file format, and the files of other tools."""

from sparsecrf.model.limits import Pair
from sparsecrf.model.model import Model

__all__ = ["Model", "Pair"]
