"""Sparse linear-chain conditional random fields: exact, certified, fast."""

from importlib.metadata import version as _version

from sparsecrf._core import Corpus, InputError, UnsatisfiableError
from sparsecrf.model import Model
from sparsecrf.training import Fit, fit
from sparsecrf.vocabulary import BIAS, Vocabulary

__version__ = _version("sparsecrf")
__all__ = ["BIAS", "Corpus", "Fit", "InputError", "Model", "UnsatisfiableError", "Vocabulary", "__version__", "fit"]
