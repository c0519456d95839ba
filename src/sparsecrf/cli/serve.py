"""`sparsecrf serve`: serves models over HTTP."""

from __future__ import annotations

import os

from sparsecrf._core import InputError
from sparsecrf.cli.options import for_typer
from sparsecrf.declared import QUIET, parameter

TOKEN_VARIABLE = "SPARSECRF_TOKEN"


@for_typer
def serve(
    models: list[str] = parameter(
        ...,
        "Model files. Requests name a model by its file name without the suffix, or by NAME for NAME=FILE.",
        metavar="MODEL",
    ),
    host: str = parameter("127.0.0.1", "Address to listen on (0.0.0.0 for all addresses of the machine)."),
    port: int = parameter(8000, "Port to listen on (0 for any free port).", min=0, max=65535),
    threads: int = parameter(
        0, "Number of requests labelled at the same time (0 for one per core).", min=0, metavar="N"
    ),
    max_body: float = parameter(4.0, "Size limit of a request.", min=0.001, max=1024, metavar="MB"),
    max_tokens: int = parameter(100_000, "Token limit of a request.", min=1, metavar="N"),
    time_limit: float = parameter(
        30.0, "Time limit in seconds for receiving a request, and again for answering it.", min=0.1, metavar="S"
    ),
    token_file: str | None = parameter(
        None,
        f"Answer only requests that send the token in this file (or in ${TOKEN_VARIABLE}) in the header Authorization: "
        "Bearer TOKEN.",
        metavar="FILE",
    ),
    quiet: bool = parameter(False, QUIET),
) -> None:
    """Label sentences over HTTP: POST /label takes JSON, and GET / returns a page for typing sentences.

    Also serves /models, /health, /metrics (for Prometheus) and /openapi.json. A model file that changes is reloaded;
    the old model answers until the new one is ready. On SIGTERM, the server answers pending requests and exits.
    """
    try:
        from sparsecrf.contrib.serve import Limits, ServedModels
        from sparsecrf.contrib.serve import serve as run
        from sparsecrf.contrib.serve.models import named_files
    except ImportError as error:
        raise InputError(str(error)) from None
    token = _token(token_file)
    files = named_files(models)
    run(
        ServedModels(files),
        host=host,
        port=port,
        limits=Limits(int(max_body * 2**20), max_tokens, time_limit),
        token=token,
        threads=threads,
        quiet=quiet,
    )


def _token(file: str | None) -> str | None:
    """Read the token from a file or the environment, because everyone on the machine can see the command line."""
    source = f"${TOKEN_VARIABLE}" if file is None else file
    if file is None:
        token = os.environ.get(TOKEN_VARIABLE)
    else:
        with open(file, encoding="utf-8") as opened:
            token = opened.read()
    if token is None:
        return None
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(f"{source}: expected a token that consists of ASCII letters, digits and punctuation")
    return token
