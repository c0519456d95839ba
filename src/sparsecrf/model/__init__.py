"""Models: what can be asked of one, its file, and the files of other tools."""

from sparsecrf.model.model import Model, Pair

__all__ = ["Model", "Pair"]
