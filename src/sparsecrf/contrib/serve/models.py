"""The models that are served, by name. A file that changes is reloaded while the old model keeps answering."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.compatibility import OptionError
from sparsecrf.contrib.serve.answer import inputs_of, n_columns
from sparsecrf.contrib.serve.errors import RequestError, wrong
from sparsecrf.encoding.token_survey import tokenizer_of
from sparsecrf.model import Model
from sparsecrf.model.file import IN_MEMORY

_Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class Loaded:
    """A loaded model, and its entry in /models. A request uses the same loaded model from beginning to end."""

    model: Model
    about: dict[str, Any]
    stamp: _Stamp  #: state of the file when it was read; a different state means that the file has changed
    time: float = field(default_factory=time.time)


@dataclass
class Served:
    """A model by its name."""

    name: str
    path: str
    loaded: Loaded  #: replaced as a whole, which is atomic
    tried: _Stamp  #: state of the file read last, whether or not it could be used
    error: str | None = None  #: the reason why that file could not be used, or None
    reloads: int = 0
    failures: int = 0


class ServedModels:
    """Models by name."""

    def __init__(self, files: Mapping[str, str | os.PathLike[str]]) -> None:
        """`files`: the file of each model by its name. It is an error if one of them cannot be served."""
        self._by_name: dict[str, Served] = {}
        for name, path in files.items():
            loaded = _load(name, os.fspath(path))
            self._by_name[name] = Served(name, os.fspath(path), loaded, loaded.stamp)

    def __iter__(self) -> Any:
        return iter(self._by_name.values())

    def find(self, name: str | None) -> Served:
        """The model with that name; None means the only model."""
        if name is None and len(self._by_name) == 1:
            return next(iter(self._by_name.values()))
        known = ", ".join(self._by_name)
        if name is None:
            example = f'"model": "{next(iter(self._by_name))}"'
            raise wrong(f"the name of a model ({known})", "none", "model", example)
        if name not in self._by_name:
            raise RequestError(HTTPStatus.NOT_FOUND, f"one of the models ({known})", f"{name[:80]!r}", where="model")
        return self._by_name[name]

    def tokenizer(self, name: str | None) -> str:
        """The name of the tokenizer for that model."""
        return str(self.find(name).loaded.about["tokenizer"])

    def reload_changed(self) -> list[str]:
        """Reload changed files and report the result. If a new file cannot be read, the old model stays."""
        said = []
        for served in self._by_name.values():
            try:
                stamp = _stamp(served.path)
                if stamp == served.tried:
                    continue
                served.tried = stamp
                served.loaded = _load(served.name, served.path)
                served.tried, served.error = served.loaded.stamp, None
                served.reloads += 1
                said.append(f"{served.name}: reloaded from {served.path}")
            except (InputError, OSError, MemoryError) as error:
                text = f"{type(error).__name__}: {error}" if not isinstance(error, InputError) else str(error)
                if text != served.error:
                    served.error = text
                    served.failures += 1
                    said.append(f"{served.name}: still using the previous model; {text}")
        return said


def named_files(given: list[str]) -> dict[str, str]:
    """Files by the names of their models. An argument is NAME=FILE, or FILE, which is named after the file without its
    ending."""
    files: dict[str, str] = {}
    for one in given:
        name, mark, path = one.partition("=")
        if not mark or os.path.exists(one):
            name, path = Path(one).stem, one
        if not name:
            raise OptionError(f"MODEL: expected NAME=FILE or FILE, found {one!r}")
        if name in files:
            raise OptionError(f"MODEL: expected different names, found {name!r} twice; give one of them as NAME=FILE")
        files[name] = path
    return files


def _load(name: str, path: str) -> Loaded:
    stamp = _stamp(path)  # the state is taken before the file is read, so that a change in between is noticed
    # Do not use Model.load, which maps the file: truncating the file in place would crash the process.
    try:
        model = Model.from_bytes(Path(path).read_bytes())
    except InputError as error:
        raise InputError(str(error).replace(IN_MEMORY, path)) from None
    if model.needs_vectors:
        raise InputError(
            f"{path}: expected a model that labels text, found a model whose tokens must come with vectors"
        )
    about = {
        "name": name,
        "labels": model.labels,
        "attributes": model.n_attributes,
        "weights": model.n_active,
        "inputs": inputs_of(model),
        "columns": n_columns(model),
        "tokenizer": tokenizer_of(model.training),
        "explains": model.features.n_ngram == 0,
    }
    return Loaded(model, about, stamp)


def _stamp(path: str) -> _Stamp:
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size, found.st_ino
