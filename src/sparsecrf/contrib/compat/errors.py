"""Names of python-crfsuite that programs import or catch."""

from __future__ import annotations

#: The CRFsuite whose model files, features and log these are.
CRFSUITE_VERSION = "0.12.2"


class CRFSuiteError(Exception):
    """An error of CRFsuite by its code, for programs that catch it. Nothing here raises it: wrong input is an
    `InputError`, which is a `ValueError`, and trouble with files an `OSError`.
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"CRFsuite's error {code}")
        self.code = code
