"""libsparsecrf for tests: built in seconds from the core that the Python module was built of, if that lies there."""

import contextlib
import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEADER = ROOT / "cpp" / "c" / "sparsecrf.h"
EXAMPLES = ROOT / "examples" / "c"
PACKAGE = ROOT / "build" / "npm"  # of `make wasm`
MAC = sys.platform == "darwin"
NAME = "libsparsecrf.dylib" if MAC else "libsparsecrf.so"
NAME_WITH_ABI = "libsparsecrf.1.dylib" if MAC else "libsparsecrf.so.1"


def tool(name: str) -> str | None:
    """A program beside this Python, or on the path."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name)


@functools.cache
def cmake() -> str | None:
    """CMake, if it is here and as new as CMakeLists.txt wants it."""
    if (found := tool("cmake")) is None:
        return None
    printed = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    asked = (ROOT / "CMakeLists.txt").read_text()
    here, needed = (
        tuple(map(int, re.search(rf"{before} (\d+)\.(\d+)", text).groups()))
        for before, text in (("version", printed), ("VERSION", asked))
    )
    return found if here >= needed else None


@contextlib.contextmanager
def one_at_a_time(lock: Path) -> Iterator[None]:
    """Tests run in several processes; two builds in one folder would disturb each other."""
    with lock.open("w") as file:
        with contextlib.suppress(ImportError):  # not on Windows, where the library is not built
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@functools.cache
def library() -> Path:
    """$SPARSECRF_LIBRARY, or what `cmake --build build/venv --target sparsecrf` makes. Skips the test if neither is
    possible: an installed package has no sources."""
    if given := os.environ.get("SPARSECRF_LIBRARY"):
        return Path(given)
    build = ROOT / "build" / "venv"
    if cmake() is None or not (build / "build.ninja").exists():
        pytest.skip("expected cmake and build/venv, in which the module was built, found neither or one")
    with one_at_a_time(build / "library.lock"):
        subprocess.run([cmake(), "--build", build, "--target", "sparsecrf"], check=True, capture_output=True)
    return build / "cpp" / "c" / NAME


def compiled(source: Path, folder: Path, *flags: str) -> Path:
    """A C program that uses the library."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("expected a C compiler, found none")
    made, lies_in = folder / source.stem, library().parent
    command = [
        compiler,
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-O1",
        "-pthread",
        *flags,
        str(source),
    ]
    command += [f"-I{HEADER.parent}", f"-L{lies_in}", "-lsparsecrf", f"-Wl,-rpath,{lies_in}", "-o", str(made)]
    subprocess.run(command, check=True)
    return made
