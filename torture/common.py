"""Shared code of the torture tests: their outcome, programs of the core, and starting and watching processes."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Outcome:
    """What a torture test did, and its findings: everything that must not happen."""

    executions: int
    findings: list[str]
    notes: list[str] = field(default_factory=list)
    detail: dict[str, Any] = field(default_factory=dict)


def built(name: str, *, sanitize: str = "", coverage: bool = False) -> Path | None:
    """A program of cpp/tests, without Python, which is compiled if necessary; None if there is no compiler."""
    tools = [Path(sysconfig.get_path("scripts")), *map(Path, os.get_exec_path())]
    cmake, ninja = (which(tool, path=os.pathsep.join(map(str, tools))) for tool in ("cmake", "ninja"))
    if cmake is None or ninja is None or not (os.environ.get("CXX") or which("c++")):
        return None
    folder = ROOT / "build" / "-".join(["core", *sanitize.split(",")]).rstrip("-")
    configure = [cmake, "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"]
    configure += ["-DSPARSECRF_PROGRAMS=ON", f"-DSPARSECRF_SANITIZE={sanitize}"]
    configure += [f"-DSPARSECRF_COVERAGE={'ON' if coverage else 'OFF'}", "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
    for command in (configure, [cmake, "--build", str(folder), "--target", name]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return folder / name


def environment(**changes: str) -> dict[str, str]:
    """The environment of our processes: they can import this package and this folder, and use one thread."""
    paths = [str(ROOT), *filter(None, sys.path)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1", **changes}


def program(*arguments: str) -> list[str]:
    """The command line of the program."""
    return [sys.executable, "-m", "sparsecrf", *arguments]
