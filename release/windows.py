"""The Python module for Windows, compiled and linked on Linux: what no test can show without Windows, a linker can.

It is linked against an import library of python3.dll that has the names of the stable ABI and no others, and compiled
with the headers of a Python that is here and a pyconfig.h for Windows.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import abi3info
from pythons import environment
from steps import ROOT, WORK, Report, only, run
from zig import TARGETS, cmake_arguments, zig
from zig import environment as build_environment

# What the headers ask for on 64-bit Windows. A real one has more, for the sources of Python.
PYCONFIG = """
#define MS_WINDOWS
#define MS_WIN32
#define MS_WIN64
#define Py_ENABLE_SHARED 1
#define HAVE_DECLSPEC_DLL
#define PLATFORM "win32"
#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_VOID_P 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_TIME_T 8
#define SIZEOF_WCHAR_T 2
#define SIZEOF_FPOS_T 8
#define SIZEOF_HKEY 8
#define SIZEOF_OFF_T 4
#define SIZEOF_DOUBLE 8
#define HAVE_STDARG_PROTOTYPES 1
#define HAVE_SYS_STAT_H 1
#define HAVE_STDINT_H 1
#define HAVE_STDDEF_H 1
#define HAVE_ERRNO_H 1
#define HAVE_WCHAR_H 1
#define WITH_DOC_STRINGS 1
#define WITH_THREAD
"""
STABLE = (3, 12)  # wheel.py-api of pyproject.toml


def python_for_windows(folder: Path, headers: Path) -> tuple[Path, Path, Path]:
    """The folder of the headers, and the import library, under the name of the stable ABI and of the version."""
    include, stable = folder / "include", folder / "libpython3.a"
    include.mkdir(parents=True, exist_ok=True)
    for file in headers.iterdir():
        link = include / file.name
        if file.name != "pyconfig.h" and not link.is_symlink():
            link.symlink_to(file)
    (include / "pyconfig.h").write_text(PYCONFIG)
    lines = ["LIBRARY python3.dll", "EXPORTS"]
    for names, ending in ((abi3info.FUNCTIONS, ""), (abi3info.DATAS, " DATA")):
        for symbol, entry in names.items():
            if (entry.added.major, entry.added.minor) <= STABLE:
                lines.append(f"{symbol.name}{ending}")
    (folder / "python3.def").write_text("\n".join(lines) + "\n")
    run(zig(), "dlltool", "-m", "i386:x86-64", "-d", folder / "python3.def", "-l", stable)
    # CMake reads the version in the name, and wants such a library even if it links the other one.
    versioned = folder / f"libpython{STABLE[0]}{STABLE[1]}.a"
    shutil.copyfile(stable, versioned)
    # And adds the libraries that the Python here, of Linux, needs: -ldl. An empty one will do.
    run(zig(), "ar", "rcs", folder / "libdl.a")
    return include, stable, versioned


def module_for_windows(report: Report, python: Path, source: Path) -> None:
    """_core.pyd. `python` is one of the versions that have the stable ABI."""
    target, folder = TARGETS["windows"], WORK / "windows-python"
    tools = environment(python, WORK / "build-windows", "--group", f"{ROOT}/pyproject.toml:build")
    headers = Path(run(tools, "-c", "import sysconfig; print(sysconfig.get_path('include'))").strip())
    include, stable, versioned = python_for_windows(folder, headers)
    arguments = [
        f"-DPython_EXECUTABLE={tools}",
        f"-DPython_INCLUDE_DIR={include}",
        f"-DPython_LIBRARY={versioned}",
        f"-DPython_SABI_LIBRARY={stable}",
        f"-DCMAKE_MODULE_LINKER_FLAGS=-L{folder}",
        f"-Dnanobind_DIR={run(tools, '-m', 'nanobind', '--cmake_dir').strip()}",
        # As scikit-build-core says it for Windows.
        "-DSKBUILD_SABI_COMPONENT=Development.SABIModule",
        f"-DSKBUILD_SABI_VERSION={STABLE[0]}.{STABLE[1]}",
        "-DSKBUILD_SOABI=",
        "-DSKBUILD_SOSABI=",
    ]
    build, env = WORK / "windows-module", build_environment(target, WORK)
    with report.step("Python module for Windows: compiled and linked") as results:
        tool = cmake_arguments(target, WORK / "zig" / "windows")
        run("cmake", "-S", source, "-B", build, "-G", "Ninja", *tool, *arguments, env=env, log="windows-configure")
        run("cmake", "--build", build, "--target", "_core", env=env, log="windows-build")
        module = only([*build.glob("_core*.pyd")], "module for Windows")
        results.append(f"{module.name}, {module.stat().st_size / 1e6:.2f} MB, needs nothing beyond the stable ABI")
