"""Zig as a C++ compiler for other systems: it carries the headers and start-up code of each, so nothing else is needed.

`zig c++ -target x86_64-linux-gnu.2.28` builds for every Linux with glibc 2.28 or later, whatever this machine has, and
links its own C++ library statically.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import ziglang

GLIBC = "2.28"  # of 2018: RHEL 8, Debian 10, Ubuntu 18.10


@dataclass(frozen=True)
class Target:
    """What is built for."""

    zig: str  # its name for zig
    system: str  # CMAKE_SYSTEM_NAME
    processor: str  # CMAKE_SYSTEM_PROCESSOR
    platform: str  # as of sysconfig.get_platform() there
    cross: bool = True  # whether the Python that runs here cannot load it


TARGETS = {
    "x86_64": Target(f"x86_64-linux-gnu.{GLIBC}", "Linux", "x86_64", "linux-x86_64", cross=False),
    "aarch64": Target(f"aarch64-linux-gnu.{GLIBC}", "Linux", "aarch64", "linux-aarch64"),
    "musl": Target("x86_64-linux-musl", "Linux", "x86_64", "linux-x86_64"),
    "windows": Target("x86_64-windows-gnu", "Windows", "AMD64", "win-amd64"),
}


def zig() -> Path:
    return Path(ziglang.__file__).parent / "zig"


def scripts(target: Target, folder: Path) -> dict[str, Path]:
    """Scripts that call zig for the target: CMake wants one program for each tool.

    -O2 and -s (no symbols) are those of the module, and here for CMake's own small programs: otherwise zig would build
    its C++ library anew for them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    calls = {"c++": f"c++ -target {target.zig} -O2 -s", "ar": "ar", "ranlib": "ranlib"}
    for name, call in calls.items():
        (folder / name).write_text(f'#!/bin/sh\nexec "{zig()}" {call} "$@"\n')
        (folder / name).chmod(0o755)
    return {name: folder / name for name in calls}


def cmake_arguments(target: Target, folder: Path) -> list[str]:
    """Arguments with which CMake builds for the target. `folder` keeps the scripts and must stay where it is."""
    tool = scripts(target, folder)
    arguments = [
        f"-DCMAKE_CXX_COMPILER={tool['c++']}",
        f"-DCMAKE_AR={tool['ar']}",
        f"-DCMAKE_RANLIB={tool['ranlib']}",
        "-DCMAKE_BUILD_TYPE=Release",
        "-DSPARSECRF_WERROR=ON",
    ]
    if target.cross:
        arguments += [f"-DCMAKE_SYSTEM_NAME={target.system}", f"-DCMAKE_SYSTEM_PROCESSOR={target.processor}"]
    return arguments


def environment(target: Target, root: Path) -> dict[str, str]:
    """The environment of builds for the target below `root`. With ccache, the core is compiled once for all Pythons."""
    ccache = {
        "CMAKE_CXX_COMPILER_LAUNCHER": "ccache",
        "CCACHE_COMPILERTYPE": "clang",
        "CCACHE_COMPILERCHECK": f"string:zig {metadata.version('ziglang')} {target.zig}",
        "CCACHE_NOHASHDIR": "1",
        "CCACHE_DEPEND": "1",  # no preprocessor before the compiler
        "CCACHE_BASEDIR": str(root),
    }
    return {**(ccache if shutil.which("ccache") else {}), **os.environ}
