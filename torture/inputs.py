"""The inputs that the tests try again: the seeds of fuzzing (seeds.py) and the inputs that it has found.

tests/fuzz/NAME.txt has the inputs of a target, one per line: a name, a space, the bytes in base64. To keep findings:

    python -m torture.inputs NAME FILE ...
"""

from __future__ import annotations

import base64
import hashlib
import sys
from pathlib import Path

CORPUS = Path(__file__).resolve().parent.parent / "tests" / "fuzz"


def inputs(target: str) -> dict[str, bytes]:
    """The inputs of a target by name."""
    lines = (line.split() for line in (CORPUS / f"{target}.txt").read_text(encoding="ascii").splitlines())
    return {name: base64.b64decode(text[0]) if text else b"" for name, *text in lines}


def keep(target: str, more: dict[str, bytes]) -> None:
    """Add inputs to a target, replacing inputs with the same name."""
    path = CORPUS / f"{target}.txt"
    known = {**(inputs(target) if path.exists() else {}), **more}
    lines = (f"{name} {base64.b64encode(data).decode()}".rstrip() + "\n" for name, data in sorted(known.items()))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines), encoding="ascii")


def write(target: str, folder: Path) -> Path:
    """Write the inputs as files, as fuzzers need them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in inputs(target).items():
        (folder / name).write_bytes(data)
    return folder


if __name__ == "__main__":
    found = [Path(name).read_bytes() for name in sys.argv[2:]]
    keep(sys.argv[1], {f"found_{hashlib.sha256(data).hexdigest()[:10]}": data for data in found})
