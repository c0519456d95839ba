"""Models of other tools (CRFsuite, Wapiti, CRF++), read and written; `attach_template`."""

from sparsecrf.contrib.convert.attach import attach_template

__all__ = ["attach_template"]
