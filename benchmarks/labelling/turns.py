"""Tools that label files with the models from training, in turns; the labels are discarded.

CRFsuite's program reads ready-made attributes: a file in its own format is made beside each column file.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys

from benchmarks.common import Finished, run
from benchmarks.tasks import Files
from benchmarks.tools import Tool

NOWHERE = ["sh", "-c", 'exec "$0" "$@" > /dev/null']


def in_turns(
    tools: dict[str, Tool], files: Files, inputs: dict[str, pathlib.Path], rounds: int
) -> dict[str, dict[str, list[Finished]]]:
    """Times of each tool on each input, one run per round."""
    if any(tool.form == "crfsuite" for tool in tools.values()):
        for path in inputs.values():
            _make_attributes(files, path)
    found: dict[str, dict[str, list[Finished]]] = {name: {which: [] for which in inputs} for name in tools}
    for _ in range(rounds):
        for name, tool in tools.items():
            assert tool.label is not None
            for which, path in inputs.items():
                command = tool.label(files.model(tool.name, tool.space), path)
                found[name][which].append(run([*NOWHERE, *command]))
    return found


def _make_attributes(files: Files, path: pathlib.Path) -> None:
    command = [sys.executable, "-m", "sparsecrf", "convert", path, path.with_suffix(".crfsuite")]
    subprocess.run([*command, "--from", "columns", "--to", "crfsuite", "-t", files.template], check=True)
