"""The core on other systems: its test programs (cpp/tests), built by zig and run under an emulator if there is one."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from steps import ROOT, WORK, Report, run
from zig import TARGETS, cmake_arguments, environment

PROGRAMS = {"kernels": [], "transition": [], "threads": ["3", "20"]}  # with their arguments

# How programs of a target are run here; what Debian's packages are called that bring it.
EMULATORS = {
    "x86_64": ([], ""),
    "musl": ([], ""),
    "aarch64": (["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"], "qemu-user-static libc6-arm64-cross"),
    "windows": (["wine64"], "wine64"),
}


def _emulator(name: str) -> list[str] | None:
    words, _ = EMULATORS[name]
    if not words:
        return words
    program = shutil.which(words[0], path=f"{os.environ['PATH']}:/usr/lib/wine")
    return [program, *words[1:]] if program else None


def build_programs(name: str, source: Path) -> Path:
    """Builds the programs for a target; returns their folder."""
    folder, env = WORK / f"core-{name}", environment(TARGETS[name], WORK)
    arguments = cmake_arguments(TARGETS[name], WORK / "zig" / name)
    if name == "musl":
        arguments.append("-DCMAKE_EXE_LINKER_FLAGS=-static")
    arguments.append("-DSPARSECRF_PROGRAMS=ON")
    run("cmake", "-S", source, "-B", folder, "-G", "Ninja", *arguments, env=env, log=f"core-{name}-configure")
    run("cmake", "--build", folder, "--target", *PROGRAMS, env=env, log=f"core-{name}-build")
    return folder


def check_system(name: str, report: Report, source: Path = ROOT) -> None:
    """Builds the programs for a target and runs them: they find no fault, and the kernels give the bits of x86-64."""
    with report.step(f"core for {TARGETS[name].zig}: compiled") as results:
        folder = build_programs(name, source)
        results.append("no warnings")
    emulator = _emulator(name)
    if emulator is None:
        report.leave_out(f"core for {TARGETS[name].zig}: run", f"expected {EMULATORS[name][1]}, found none")
        return
    # Wine's folder has a link to the whole machine: below ROOT, whoever makes the next sdist would follow it.
    with TemporaryDirectory() as prefix, report.step(f"core for {TARGETS[name].zig}: run") as results:
        env = {**os.environ, "WINEDEBUG": "-all", "WINEPREFIX": prefix}
        for program, arguments in PROGRAMS.items():
            file = folder / (f"{program}.exe" if TARGETS[name].system == "Windows" else program)
            printed = run(*emulator, file, *arguments, env=env, log=f"core-{name}-{program}")
            results.append(printed.strip().splitlines()[-1])
    compare_digests()


def compare_digests() -> None:
    """The bits of the kernels are the same on all systems that were tried."""
    digests = {}
    for log in sorted((WORK / "logs").glob("core-*-kernels")):
        found = re.search(r"digest ([0-9a-f]{16})", log.read_text())
        digests[log.name] = found.group(1) if found else "none"
    if len(set(digests.values())) > 1:
        raise SystemExit(f"expected one digest of all kernels, found {digests}")
