"""Running the cases, and comparing their digests with the recorded ones.

digests.json has for each case the digest of each component: one for all instruction sets, or one for each where the
cost model may choose other kernels. `arithmetic` is a digest of what NumPy and the C library's mathematics give here:
the core's own kernels give the same bits on every machine (docs/internals/determinism.md), but solvers also use NumPy's
sums and products, which round differently on other systems and with other versions; `__main__` chooses kernels that all
x86-64 processors with AVX2 have. Where it differs, digests cannot be compared.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import c_answers
import internals
from case import Case, Setting
from cases import all_cases
from digest import digest

FILE = Path(__file__).with_name("digests.json")
THREADS = (1, 2, 3)
C_LIBRARY = "C library"

#: Digests of the components of a case.
Digests = dict[str, str]


class Report(NamedTuple):
    lines: list[str]
    summary: str
    status: int  #: of the process: 0 if all is well, 1 if something differs, 3 if nothing can be compared


def arithmetic() -> str:
    """What NumPy and the C library round to on this machine."""
    x = np.arange(1, 1001) / 7.0
    matrix = np.outer(x[:60], x[-60:])
    return digest(
        [
            *(x.sum(), x @ x[::-1], matrix @ matrix, np.linalg.norm(x), np.linalg.solve(matrix + np.eye(60), x[:60])),
            *(np.exp(-x), np.log(x), np.sqrt(x), np.log1p(x), x**1.7),
            *([math.exp(-v), math.log(v), math.log1p(v), math.pow(v, 1.7)] for v in x[:200].tolist()),
        ]
    )


def _chosen(names: Sequence[str]) -> list[Case]:
    chosen = [case for case in all_cases() if not names or any(name in case.name for name in names)]
    if not chosen:
        raise SystemExit(f"golden: expected part of the name of a case, found {' '.join(names)}")
    return chosen


def _settings(case: Case, number: int = 0, every: bool = True) -> Iterator[Setting]:
    """All of them; or each instruction set with another number of threads; or one of these, if that is enough."""
    sets = internals.instruction_sets()
    for k, name in enumerate(sets):
        if every or not case.once or k == number % len(sets):
            for threads in THREADS if every else [THREADS[(number // len(sets) + k) % len(THREADS)]]:
                yield Setting(threads, name)


def _run(case: Case, setting: Setting) -> Digests:
    with internals.instruction_set(setting.instruction_set):
        return {component: digest(value) for component, value in case.run(setting).items()}


# ---- Checking.
def check(names: Sequence[str] = (), *, every_setting: bool = False) -> Report:
    recorded = json.loads(FILE.read_text())
    if recorded["arithmetic"] != arithmetic():
        said = (
            "NumPy or the C library's mathematics rounds differently here than where digests.json was recorded. To "
            "compare two commits on this machine: `make golden-record` at the first, `make golden` at the second."
        )
        return Report([said], "nothing compared", 3)
    lines: list[str] = []
    compared = missing_c = 0
    chosen = _chosen(names)
    for number, case in enumerate(chosen):
        expected = recorded["cases"].get(case.name)
        if expected is None:
            lines.append(f"{case.name}: not recorded")
            continue
        for setting in _settings(case, number, every_setting):
            n, changed = _compared(case, setting, expected)
            compared += n
            lines += changed
        missing_c += C_LIBRARY in expected and c_answers.library() is None
    if not names:
        gone = sorted(set(recorded["cases"]) - {case.name for case in chosen})
        lines += [f"{name}: recorded, but there is no such case" for name in gone]
    summary = f"{len(chosen)} cases, {compared} digests compared, {len(lines)} differences"
    if missing_c:
        summary += f"; the C library is not built: {missing_c} answers of it not compared"
    return Report(lines, summary, int(bool(lines)))


def _compared(case: Case, setting: Setting, expected: dict[str, Any]) -> tuple[int, list[str]]:
    where = f"{case.name} ({setting.threads} threads, {setting.instruction_set})"
    try:
        found = _run(case, setting)
    except Exception as error:
        return 0, [f"{where}: {type(error).__name__}: {error}"]
    n, lines = 0, [f"{where}: {component} is new" for component in found if component not in expected]
    for component, digests in expected.items():
        if isinstance(digests, dict) and setting.instruction_set not in digests:
            continue  # recorded on a machine that does not have it
        if component not in found and component == C_LIBRARY:
            continue
        n += 1
        wanted = digests[setting.instruction_set] if isinstance(digests, dict) else digests
        if found.get(component) != wanted:
            lines.append(f"{where}: {component} changed, expected {wanted}, found {found.get(component)}")
    return n, lines


# ---- Recording.
def record(names: Sequence[str] = ()) -> Report:
    """Writes the digests of these cases (all by default); those of the others stay."""
    if c_answers.library() is None:
        said = "record: expected the C library, found none: cmake --build build/venv --target sparsecrf"
        return Report([said], "nothing recorded", 1)
    old = json.loads(FILE.read_text())["cases"] if FILE.exists() else {}
    new: dict[str, Any] = {}
    lines: list[str] = []
    chosen = {case.name: case for case in _chosen(names)}
    for case in all_cases():
        if case.name in chosen:
            try:
                new[case.name], wrong = recorded(case)
            except Exception as error:
                new[case.name], wrong = {}, [f"{case.name}: {type(error).__name__}: {error}"]
            lines += wrong
        elif case.name in old:
            new[case.name] = old[case.name]
    changed = [f"{name}: recorded anew" for name in chosen if name in old and old[name] != new[name]]
    if not lines:
        FILE.write_text(_laid_out({"arithmetic": arithmetic(), "cases": new}))
    n = sum(len(digests) if isinstance(digests, dict) else 1 for case in new.values() for digests in case.values())
    return Report(changed + lines, f"{len(new)} cases, {n} digests, {len(lines)} differences", int(bool(lines)))


def recorded(case: Case) -> tuple[dict[str, Any], list[str]]:
    """The digests of a case by component, and what is wrong with them."""
    by_set: dict[str, dict[str, str]] = {}  # by component and instruction set
    lines = []
    for setting in _settings(case):
        for component, found in _run(case, setting).items():
            first = by_set.setdefault(component, {}).setdefault(setting.instruction_set, found)
            if found != first:
                lines.append(f"{case.name}: {component} depends on the number of threads ({setting})")
    digests: dict[str, Any] = {}
    for component, found_by_set in by_set.items():
        same = len(set(found_by_set.values())) == 1 and component != C_LIBRARY
        digests[component] = next(iter(found_by_set.values())) if same else found_by_set
        if not same and case.forced_kernel:
            lines.append(f"{case.name}: {component} depends on the instruction set: {found_by_set}")
    return digests, lines


def _laid_out(content: dict[str, Any]) -> str:
    """JSON with a case a line, so that a difference between two versions can be read."""
    cases = [f"{json.dumps(name)}: {json.dumps(digests)}" for name, digests in content["cases"].items()]
    head = {name: value for name, value in content.items() if name != "cases"}
    return json.dumps(head)[:-1] + ', "cases": {\n' + ",\n".join(cases) + "\n}}\n"


def show(names: Sequence[str]) -> Report:
    """The digests of these cases, component by component and setting by setting."""
    lines = []
    for case in _chosen(names):
        for setting in _settings(case):
            lines += [f"{case.name} {tuple(setting)} {name} {found}" for name, found in _run(case, setting).items()]
    return Report(lines, f"{len(lines)} digests", 0)
