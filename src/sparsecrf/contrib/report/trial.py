"""Puts a model and its labeller into the page, so that readers can try the model (`sparsecrf report --try`)."""

from __future__ import annotations

import base64
import gzip
import os
from importlib.resources import files
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.encoding.token_survey import tokenizer_of
from sparsecrf.model import Model

RUNTIME = "sparsecrf.wasm"
VARIABLE = "SPARSECRF_WASM"


def runtime(model: str = "MODEL") -> bytes:
    """The C library as WebAssembly. It is not part of the sources: `make wasm` builds it into the package. `model`: the
    model file to name in the advice if the library is missing."""
    if named := os.environ.get(VARIABLE):
        where, remedy = named, f"${VARIABLE} names this file"
    else:
        where = str(files("sparsecrf.contrib.report") / "page" / RUNTIME)
        remedy = (
            "this installation does not include the WebAssembly build. To try the model in a browser anyway, run\n"
            '    pip install "sparsecrf[serve]"\n'
            f"    sparsecrf serve {model}\n"
            "and open http://127.0.0.1:8000/. For a page that needs no server, install a released wheel, run `make "
            f"wasm` (with Emscripten) in a copy of the repository, or set ${VARIABLE} to the path of sparsecrf.wasm"
        )
    try:
        with open(where, "rb") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"--try: expected {where}, found none ({error.strerror}): {remedy}") from None


def trial_data(model: Model, example: str) -> dict[str, Any]:
    """The input of page/inside.js. `example` is labelled first."""
    if model.needs_vectors:
        raise InputError(
            "--try: expected a model that contains word vectors, found a model whose tokens come with vectors"
        )
    if model.vectors is not None and model.vectors.origin is not None:
        raise InputError("--try: expected a model that contains word vectors, found a model that refers to files")
    if model.template is not None and any(getattr(one, "path", None) is not None for one in model.template.resources):
        raise InputError("--try: expected a model that contains its resources, found a model that refers to files")
    return {
        "wasm": _packed(runtime()),
        "model": _packed(model.to_bytes()),
        "example": example,
        "tokenizer": tokenizer_of(model.training),
        "reasons": model.features.n_ngram == 0,
    }


def _packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode("ascii")
