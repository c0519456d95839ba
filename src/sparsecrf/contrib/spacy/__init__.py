"""A component for spaCy: `nlp.add_pipe("sparsecrf")`. Needs spaCy: `pip install "sparsecrf[spacy]"`."""

try:
    import spacy  # noqa: F401
except ImportError as error:
    raise ImportError(f'sparsecrf.contrib.spacy needs spaCy: pip install "sparsecrf[spacy]" ({error})') from error

from sparsecrf.contrib.spacy.component import SparseCRF, make_component

__all__ = ["SparseCRF", "make_component"]
