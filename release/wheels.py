"""`make wheels`: what a release consists of, built and checked as far as one Linux machine can.

    python release/wheels.py [STEP ...] [--tests ARGUMENTS]

sdist     built, unpacked; everything else is built from it, as users would
wasm      the labeller for `sparsecrf report --try`, which goes into every wheel (Emscripten)
wheels    for manylinux x86-64: one for each Python before 3.12 that is here, one for all later ones (stable ABI)
core      the core's test programs for the same target
install   each into fresh environments without compilers, timed; the tests of the sdist run there, once for each wheel
aarch64   a wheel for 64-bit ARM; the core's test programs run under emulation
windows   the core compiled for Windows, run under Wine; the Python module compiled and linked
musl      the core compiled for musl (Alpine), run

Without names, all of them in this order; after tests that fail, too, with status 1 at the end. Results, logs and caches
stay in build/release.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import shlex
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from pythons import VERSIONS, environment, find_python, path_without_compilers
from steps import ROOT, WORK, Report, only, run, side_by_side
from systems import check_system
from windows import module_for_windows
from zig import GLIBC, TARGETS, cmake_arguments
from zig import environment as build_environment

DIST = WORK / "dist"  # what a release uploads
LABELLER = "sparsecrf.wasm"


def source() -> Path:
    """The sdist, unpacked."""
    return only([*(WORK / "source").glob("sparsecrf-*")], "unpacked sdist; make it with the step `sdist`")


def wasm() -> Path:
    return source() / "build" / "npm" / LABELLER


def make_sdist(report: Report) -> None:
    for folder in (DIST, WORK / "source"):
        shutil.rmtree(folder, ignore_errors=True)
    with report.step("sdist") as results:
        run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "-o", DIST, ROOT, log="sdist")
        file = only([*DIST.glob("*.tar.gz")], "sdist")
        run(sys.executable, "-m", "twine", "check", "--strict", file)
        with tarfile.open(file) as archive:
            archive.extractall(WORK / "source", filter="data")
        for path in (WORK / "source").rglob("*"):
            path.touch()  # all have the date of the commit: what an earlier run compiled would seem to be newer
        results.append(f"{file.name}, {file.stat().st_size / 1e6:.2f} MB")


def build_wasm(report: Report) -> None:
    """sparsecrf.wasm and its npm package, among the sources: where the tests look for them."""
    if not shutil.which("emcmake"):
        raise SystemExit("expected Emscripten (emcmake) on the path, found none. Debian: apt-get install emscripten")
    with report.step("wasm") as results:
        build = WORK / "wasm"
        configure = ["cmake", "-S", source(), "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
        run("emcmake", *configure, log="wasm-configure")
        run("cmake", "--build", build, log="wasm-build")
        run(sys.executable, source() / "cpp" / "wasm" / "assemble.py", build / "cpp" / "wasm" / LABELLER, wasm().parent)
        size = len(gzip.compress(wasm().read_bytes(), 9))
        results.append(f"{wasm().stat().st_size / 1e3:.0f} kB, {size / 1e3:.0f} kB compressed")


def build_wheel(python: Path, version: str, name: str) -> Path:
    """A wheel for a target, as the compiler leaves it."""
    tools = environment(python, WORK / f"build-{version}", "--group", f"{ROOT}/pyproject.toml:build")
    env = build_environment(TARGETS[name], WORK)
    arguments = cmake_arguments(TARGETS[name], WORK / "zig" / name)
    if TARGETS[name].cross:
        env["_PYTHON_HOST_PLATFORM"] = TARGETS[name].platform
        arguments.append(
            f"-DSPARSECRF_STUB={only([*WORK.glob('x86_64-*/_core.pyi')][:1], 'stub of a wheel for x86-64')}"
        )
    env["CMAKE_ARGS"] = shlex.join([*arguments, f"-DSPARSECRF_WASM={wasm()}"])
    raw = WORK / f"raw-{name}-{version}"
    shutil.rmtree(raw, ignore_errors=True)
    call = [tools, "-m", "pip", "wheel", "-v", "--no-deps", "--no-build-isolation", "-w", raw]
    run(*call, "-C", f"build-dir={WORK / f'{name}-{version}'}", source(), env=env, log=f"wheel-{name}-{version}")
    return only([*raw.glob("*.whl")], "wheel")


def audit(raw: Path) -> Path:
    """The wheel with its final name. It must need nothing that manylinux does not promise, nor leave the stable ABI."""
    kind, processor = raw.stem.split("-linux_")
    for old in DIST.glob(f"{kind}-*_{processor}.whl"):
        old.unlink()
    # `auto`: policies of other processors than this machine's cannot be named.
    run(sys.executable, "-m", "auditwheel", "repair", "--plat", "auto", "-w", DIST, raw)
    wheel = only([*DIST.glob(f"{kind}-*_{processor}.whl")], "repaired wheel")
    needed = [int(minor) for minor in re.findall(r"manylinux_2_(\d+)_", wheel.name)]
    if not needed or min(needed) > int(GLIBC.split(".")[1]):
        raise SystemExit(f"expected a wheel for glibc {GLIBC} or older, found {wheel.name}")
    shown = run(sys.executable, "-m", "auditwheel", "show", wheel, log=f"auditwheel-{wheel.stem}")
    if "abi3" in wheel.name:
        run(sys.executable, "-m", "abi3audit", "--strict", "--verbose", wheel, log=f"abi3audit-{wheel.stem}")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel)
    if ".libs/" in shown:
        raise SystemExit(f"expected a wheel without bundled libraries, found\n{shown}")
    with zipfile.ZipFile(wheel) as archive:
        if archive.read(f"sparsecrf/contrib/report/page/{LABELLER}") != wasm().read_bytes():
            raise SystemExit(f"{wheel.name}: expected the labeller of the step `wasm`, found another")
    return wheel


def wheels_here(report: Report) -> None:
    """One for all Pythons since 3.12, one for each before."""
    built = set()
    for version in (*VERSIONS[2:], *VERSIONS[:2]):
        python, kind = find_python(version), version if version in ("3.10", "3.11") else "3.12 and later"
        if python is None or kind in built:
            continue
        built.add(kind)
        with report.step(f"wheel for x86-64, Python {kind}") as results:
            wheel = audit(build_wheel(python, version, "x86_64"))
            results.append(f"{wheel.name}, {wheel.stat().st_size / 1e6:.2f} MB")
    if "3.12 and later" not in built:
        raise SystemExit("expected a Python 3.12 or later, which builds the wheel with the stable ABI, found none")


def wheel_for(version: str) -> Path | None:
    tag = f"cp{version.replace('.', '')}"
    return next(iter([*DIST.glob(f"*-{tag}-{tag}-*x86_64.whl")] or [*DIST.glob("*abi3*x86_64.whl")]), None)


def install(report: Report, tests: str) -> None:
    """Every wheel as users install it, on each Python: without a compiler, timed. Then the tests, once for each wheel.

    (`make test-matrix` runs them on every Python.)
    """
    bare = {**os.environ, "PATH": path_without_compilers(WORK / "bin"), "CXX": "false", "CC": "false"}
    tested: dict[Path, Callable[[], None]] = {}
    for version in VERSIONS:
        python, wheel = find_python(version), wheel_for(version)
        if python is None or wheel is None:
            report.leave_out(
                f"Python {version}: installed", f"no {'Python' if python is None else 'wheel'} of it is here"
            )
            continue
        alone = environment(python, WORK / f"alone-{version}")
        with report.step(f"Python {version}: the wheel alone installed"):
            run(alone, "-m", "pip", "install", "--quiet", "--no-deps", wheel, env=bare)
        run(alone, "-m", "pip", "install", "--quiet", wheel, env=bare)  # fills pip's cache
        inside = environment(python, WORK / f"installed-{version}")
        with report.step(f"Python {version}: installed with its dependencies by pip, which has them in its cache"):
            run(inside, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", wheel, env=bare)
        by_uv = ["uv", "pip", "install", "--quiet", "--only-binary", ":all:", wheel, "--python"]
        run(*by_uv, environment(python, WORK / f"alone-{version}"))  # fills uv's cache
        again = environment(python, WORK / f"alone-{version}")
        with report.step(f"Python {version}: the same by uv"):
            run(*by_uv, again)
        if wheel not in tested:
            run(inside, "-m", "pip", "install", "--quiet", f"{wheel}[test,plot,demo]", env=bare)
            tested[wheel] = partial(run_tests, report, f"Python {version}: tests", inside, tests, bare)
    side_by_side(tested.values(), len(tested))  # a suite keeps one core busy, and often waits


def run_tests(
    report: Report, name: str, python: Path, tests: str, env: Mapping[str, str], found: Sequence[str] = ()
) -> None:
    """The tests of the sdist with the package that `python` has; what is `found` there stands before the result."""
    with report.step(f"{name} {tests}".strip(), go_on=True) as results:
        results += found
        call = [python, "-m", "pytest", "-p", "no:cacheprovider", *shlex.split(tests)]
        log = re.sub(r"\W+", "-", name)
        results.append(run(*call, env=env, cwd=source(), log=log).strip().splitlines()[-1])


def stable_version() -> str:
    """The oldest Python here that has the stable ABI."""
    return next(version for version in VERSIONS[2:] if find_python(version))


def wheel_for_arm(report: Report) -> None:
    version = stable_version()
    with report.step("wheel for aarch64, Python 3.12 and later") as results:
        wheel = audit(build_wheel(find_python(version), version, "aarch64"))
        results.append(f"{wheel.name}, {wheel.stat().st_size / 1e6:.2f} MB")


def main() -> None:
    report = Report()
    steps = {
        "sdist": lambda: make_sdist(report),
        "wasm": lambda: build_wasm(report),
        "wheels": lambda: wheels_here(report),
        "core": lambda: check_system("x86_64", report, source()),
        "install": lambda: install(report, arguments.tests),
        "aarch64": lambda: (check_system("aarch64", report, source()), wheel_for_arm(report)),
        "windows": lambda: (
            check_system("windows", report, source()),
            module_for_windows(report, find_python(stable_version()), source()),
        ),
        "musl": lambda: check_system("musl", report, source()),
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", metavar="STEP", help=", ".join(steps))
    parser.add_argument("--tests", default="", help="arguments of pytest, for example 'tests/model/test_model.py'")
    arguments = parser.parse_args()
    if unknown := set(arguments.steps) - set(steps):
        parser.error(f"expected steps of {', '.join(steps)}, found {', '.join(sorted(unknown))}")
    for name, step in steps.items():
        if not arguments.steps or name in arguments.steps:
            step()
    print(f"\nIn {DIST.relative_to(ROOT)}: {', '.join(sorted(file.name for file in DIST.iterdir()))}")
    report.finish()


if __name__ == "__main__":
    main()
