"""Names of python-crfsuite that programs import or catch."""

from __future__ import annotations

from sparsecrf._core import InputError

#: The version of CRFsuite whose model files, features and log are reproduced.
CRFSUITE_VERSION = "0.12.2"


class CRFSuiteError(Exception):
    """An error of CRFsuite, identified by its code, for programs that catch it. This package never raises it: invalid
    input raises an `InputError`, which is a `ValueError`, and a failure to read or write files an `OSError`.
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"CRFsuite's error {code}")
        self.code = code


class WrongType(InputError, TypeError):
    """Raised for labels or attributes that are not text, and values that are not numbers; python-crfsuite raises a
    TypeError."""
