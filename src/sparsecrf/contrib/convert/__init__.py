"""Reads and writes models of other tools (CRFsuite, Wapiti, CRF++), and attaches templates to models."""

from sparsecrf.contrib.convert.attach import attach_template

__all__ = ["attach_template"]
