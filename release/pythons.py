"""The Pythons of this machine, by version: on the path, of pyenv, of uv; and environments made with them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from steps import WORK, run

VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")


def _works(python: Path, version: str) -> bool:
    code = "import sys, ssl, venv, ctypes; print('%d.%d' % sys.version_info[:2])"  # without ssl there is no pip
    done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return done.stdout.strip() == version


def find_python(version: str) -> Path | None:
    """A Python of this version that can make environments, if there is one."""
    found = shutil.which(f"python{version}")
    home = Path.home()
    folders = [
        *(WORK / "pythons").glob("*/usr"),
        *home.glob(".pyenv/versions/*"),
        *home.glob(".local/share/uv/python/*"),
    ]
    candidates = ([Path(found)] if found else []) + [folder / "bin" / f"python{version}" for folder in folders]
    return next((python for python in candidates if python.exists() and _works(python, version)), None)


def environment(python: Path, folder: Path, *requirements: object) -> Path:
    """The Python of a new virtual environment that has the requirements."""
    shutil.rmtree(folder, ignore_errors=True)
    run("uv", "venv", "--quiet", "--seed", "--python", python, folder)
    inside = folder / "bin" / "python"
    if requirements:
        run("uv", "pip", "install", "--quiet", "--python", inside, *requirements)
    return inside


def path_without_compilers(folder: Path) -> str:
    """A folder for $PATH with everything of this machine but compilers and build tools."""
    compilers = (
        "cc",
        "c++",
        "gcc",
        "g++",
        "clang",
        "cmake",
        "ninja",
        "make",
        "ld",
        "zig",
        "c89",
        "c99",
        "x86_64-linux-gnu-",
    )
    folder.mkdir(parents=True, exist_ok=True)
    for bin_folder in ("/usr/local/bin", "/usr/bin", "/bin"):
        for program in Path(bin_folder).iterdir():
            link = folder / program.name
            if not program.name.startswith(compilers) and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)
