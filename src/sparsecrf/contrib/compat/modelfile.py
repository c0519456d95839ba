"""The model file of an estimator, as in sklearn-crfsuite."""

from __future__ import annotations

import contextlib
import os
import tempfile
import weakref
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.contrib.convert.crfsuite_write import to_binary
from sparsecrf.model import Model

_DATA = "__FILE_RESOURCE_DATA__"  # the content of the file in pickles of sklearn-crfsuite


class FileResource:
    """A named file, or a temporary one that is created when its `name` is first read.

    The temporary file is in a temporary folder and in CRFsuite's format, so that other programs can open it. It is
    removed by `cleanup` or when this object is deleted, unless `keep_tempfiles` is set. Pickles of sklearn-crfsuite's
    class with the same name can be opened as this class (`sparsecrf.contrib.compat.install`).
    """

    def __init__(
        self,
        filename: str | os.PathLike[str] | None = None,
        keep_tempfiles: bool = False,
        suffix: str = ".crfsuite",
        prefix: str = "model",
    ) -> None:
        self.auto = filename is None
        self.keep_tempfiles, self.suffix, self.prefix = keep_tempfiles, suffix, prefix
        self._name = filename
        self._content: bytes | None = None  # content of a file that is yet to be created
        self._model: Model | None = None  # the model for this file, not yet serialized
        self._remove: weakref.finalize[..., FileResource] | None = None
        self._descriptors: list[int] = []

    def use(self, model: Model | None) -> None:
        """Use this model's content for the file from now on. None means no file."""
        self.cleanup()
        if self.auto:
            self._name, self._model, self._content = None, model, None

    @property
    def name(self) -> str | os.PathLike[str] | None:
        """The name of the file; None if there is no model."""
        if self._name is None and self.content() is not None:
            self.ensure_name()
        return self._name

    @property
    def fd(self) -> int:
        """A descriptor of the temporary file, open until the file is removed."""
        if not self.auto or (name := self.name) is None:
            raise AttributeError("fd: expected a temporary file, found none")
        if not self._descriptors:
            self._descriptors.append(os.open(name, os.O_RDWR))
        return self._descriptors[0]

    def content(self) -> bytes | None:
        """The content of the temporary file; None for a named file."""
        if self._content is None and self._model is not None:
            self._content = to_binary(self._model)
        return self._content

    def ensure_name(self) -> None:
        """Create the file."""
        if self._name is not None:
            return
        if not self.auto:
            raise InputError("model file: expected a name, found None")
        handle, path = tempfile.mkstemp(self.suffix, self.prefix)
        with os.fdopen(handle, "wb") as file:
            file.write(self.content() or b"")
        self._name = path
        if not self.keep_tempfiles:
            self._remove = weakref.finalize(self, _remove, path, self._descriptors)

    def cleanup(self) -> None:
        """Remove the file if it was created here and need not be kept."""
        if self.keep_tempfiles or not self.auto:
            return
        if self._remove is not None:
            self._remove()
        self._name = self._content = self._model = self._remove = None
        self._descriptors = []

    def refresh(self) -> None:
        """Begin a new file."""
        self.cleanup()
        self.ensure_name()

    def __getstate__(self) -> dict[str, Any]:
        """The same state as in sklearn-crfsuite: options, name, and the content of a temporary file."""
        state = {name: getattr(self, name) for name in ("auto", "keep_tempfiles", "suffix", "prefix")}
        return {**state, "name": None if self.auto else self._name, **({_DATA: self.content()} if self.auto else {})}

    def __setstate__(self, state: dict[str, Any]) -> None:
        name = None if state["auto"] else state["name"]
        self.__init__(name, state["keep_tempfiles"], state["suffix"], state["prefix"])  # type: ignore[misc]
        self._content = state.get(_DATA)


def _remove(path: str, descriptors: list[int]) -> None:
    for descriptor in descriptors:
        with contextlib.suppress(OSError):  # the program may have closed it
            os.close(descriptor)
    with contextlib.suppress(OSError):
        os.unlink(path)
