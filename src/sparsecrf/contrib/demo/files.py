"""The files that the demo writes: the model, its test data, pictures and the report."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path as FilePath

from rich.markup import escape

from sparsecrf.contrib.plots import plot_path, plot_weights
from sparsecrf.contrib.report import make_report
from sparsecrf.files.atomic import write_atomically
from sparsecrf.files.crfsuite import crfsuite_lines
from sparsecrf.model import Model
from sparsecrf.path import Path

#: Tokens by their attributes, and their labels.
Sequence = tuple[Iterable[list[str]], list[str]]


def write_files(folder: FilePath, model: Model, path: Path, test: Iterable[Sequence]) -> str:
    """Write the files and list them, one per line. Pictures need matplotlib."""
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "test.crfsuite"
    lines = (line for tokens, labels in test for line in crfsuite_lines(tokens, labels))
    write_atomically(data, "".join(lines).encode())
    model.save(folder / "model.safetensors")
    with warnings.catch_warnings():  # about labels that occur only in the test data of a small sample
        warnings.simplefilter("ignore", UserWarning)
        page = make_report(model, name="the demo's model", data=data)
    write_atomically(folder / "report.html", page.encode())
    named = {
        "report.html": "the model and its errors, for a browser",
        "model.safetensors": "the model",
        "test.crfsuite": "what it was tested on",
    }
    if find_spec("matplotlib") is not None:
        plot_path(path, file=folder / "path.svg")
        plot_weights(model, file=folder / "weights.svg")
        named["path.svg"] = "the regularisation path"
        named["weights.svg"] = "the largest weights by attribute and label"
    width = max(len(str(folder / name)) for name in named)
    text = "".join(f"\n  [bold]{escape(str(folder / name)):<{width}}[/bold]  {what}" for name, what in named.items())
    missing = "" if "path.svg" in named else "\n  [dim]pictures: pip install 'sparsecrf\\[plot]'[/dim]"
    return f"\nWritten:{text}{missing}"
