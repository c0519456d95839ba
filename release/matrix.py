"""`make test-matrix`: the tests on every Python that is here, with the oldest and the newest dependencies allowed.

    python release/matrix.py [VERSION ...] [--only oldest|newest] [--tests ARGUMENTS]

Oldest: the lowest version of NumPy, SciPy, scikit-learn and the others that pyproject.toml allows and that has a wheel
for this Python. The package is the wheel of `make wheels` (its steps sdist and wheels).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
from functools import partial
from pathlib import Path

import tomllib
from debian import python_of_debian
from pythons import VERSIONS, find_python
from steps import ROOT, WORK, Report, run, side_by_side
from wheels import run_tests, wheel_for

SHOWN = ("numpy", "scipy", "scikit-learn", "threadpoolctl", "safetensors", "typer", "rich")


def python_for(version: str) -> Path | None:
    """A Python of this machine, or else one of Debian where its packages can be unpacked."""
    found = find_python(version)
    if found or not shutil.which("dpkg-deb"):
        return found
    try:
        return python_of_debian(version)
    except (SystemExit, OSError) as error:
        print(error)
        return None


def dependencies() -> list[str]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]


def prepare(version: str, which: str, python: Path, wheel: Path) -> tuple[Path, str]:
    """An environment with the oldest or newest dependencies: its Python, and the versions in it."""
    folder = WORK / f"matrix-{version}-{which}"
    shutil.rmtree(folder, ignore_errors=True)
    run("uv", "venv", "--quiet", "--python", python, folder)
    inside = folder / "bin" / "python"
    resolution = "lowest-direct" if which == "oldest" else "highest"
    binary = [word for line in dependencies() for word in ("--only-binary", re.split(r"[<>=]", line)[0])]
    call = ["uv", "pip", "install", "--quiet", "--python", inside, "--resolution", resolution, *binary]
    run(
        *call, *dependencies(), f"sparsecrf[test,plot,demo] @ {wheel.as_uri()}", log=f"matrix-{version}-{which}-install"
    )
    found = dict(line.split("==") for line in run("uv", "pip", "freeze", "--python", inside).split() if "==" in line)
    return inside, ", ".join(f"{name} {found[name]}" for name in SHOWN)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", default=VERSIONS, metavar="VERSION", help="such as 3.12")
    parser.add_argument("--only", choices=["oldest", "newest"])
    parser.add_argument("--tests", default="", help="arguments of pytest, for example 'tests/model/test_model.py'")
    arguments = parser.parse_args()
    report, env, cells = Report(), {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, []
    for version in arguments.versions:
        python, wheel = python_for(version), wheel_for(version)
        if python is None or wheel is None:
            report.leave_out(f"matrix: Python {version}", f"no {'Python' if python is None else 'wheel'} of it is here")
            continue
        for which in [arguments.only] if arguments.only else ["oldest", "newest"]:
            inside, versions = prepare(version, which, python, wheel)
            name = f"matrix: Python {version}, {which}"
            cells.append(partial(run_tests, report, name, inside, arguments.tests, env, [versions]))
    side_by_side(cells, os.cpu_count() or 1)
    report.finish()


if __name__ == "__main__":
    main()
