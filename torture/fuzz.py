"""Fuzzing: the targets of targets.py under atheris, and those of cpp/tests/fuzz.cpp under AddressSanitizer and UBSan.

Atheris sees which lines of Python an input reaches. For the core's own parsers, the C++ program, which is compiled with
coverage, does the same. Each target runs in its own process, so that a crash is a finding and does not end the run.
Findings are written to OUT/findings: fix each one, and keep its input (inputs.py), so that the tests try it from then
on.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import zlib
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sparsecrf import InputError
from torture import inputs
from torture.common import ROOT, Outcome, built

CPP_TARGETS = (
    "columns",
    "column_options",
    "crfsuite",
    "template",
    "regex",
    "label",
    "crfsuite_model",
    "model",
    "json",
    "inflate",
)
_SLOWEST_S, _MOST_MB, _LONGEST = 20, 2048, 8192


def run(minutes: float, out: Path, chosen: Collection[str] = ()) -> Outcome:
    """Fuzz all or the chosen targets, each for an equal share of the minutes, using half of the cores at a time."""
    from torture.targets import TARGETS

    jobs = [*(("python", name) for name in TARGETS), *(("c++", name) for name in CPP_TARGETS)]
    if unknown := set(chosen) - {" ".join(job) for job in jobs}:
        raise InputError(f"expected targets such as 'python model' and 'c++ model', found {sorted(unknown)}")
    program = built("fuzz", sanitize="address,undefined", coverage=True)
    jobs = [job for job in jobs if (not chosen or " ".join(job) in chosen) and (job[0] == "python" or program)]
    seconds = max(1, round(60 * minutes / len(jobs)))
    (out / "findings").mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2)) as pool:
        found = list(pool.map(lambda job: _fuzzed(*job, seconds, program, out), jobs))
    executions = {f"{language} {name}": count for (language, name), (count, _) in zip(jobs, found, strict=True)}
    notes = [] if program is not None else ["no C++ compiler: the core was fuzzed through Python only"]
    findings = [finding for _, finding in found if finding]
    return Outcome(executions=sum(executions.values()), findings=findings, notes=notes, detail=executions)


def _fuzzed(language: str, name: str, seconds: int, program: Path | None, out: Path) -> tuple[int, str]:
    """Fuzz one target in its own process. Returns how many inputs were tried, and what went wrong, if anything."""
    if language == "python":
        command = [sys.executable, "-m", "torture.fuzz", name, str(seconds), str(out)]
    else:
        seeds = _cpp_seeds(name, out / "seeds" / f"cpp-{name}")
        command = [str(program), name, str(seconds), str(seeds), str(out / "findings" / f"cpp-{name}-")]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, errors="replace", timeout=3 * seconds + 600, check=False
    )
    text = done.stdout + done.stderr
    (out / f"fuzz-{language}-{name}.log").write_text(text)
    count = re.search(r"number_of_executed_units:\s*(\d+)", text)
    if done.returncode == 0 and count is not None:
        return int(count[1]), ""
    return int(count[1]) if count else 0, f"{language} {name}: exit status {done.returncode}: {_last_words(text)}"


def _cpp_seeds(name: str, folder: Path) -> Path:
    """A folder with inputs for a target of the C++ program: the inputs of the Python target, if there is one."""
    if name != "inflate":
        return inputs.write("manifest" if name == "json" else name, folder)
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(f"word{k % 97} class{k % 7}\n" for k in range(400)).encode()
    for level in (0, 1, 9):  # stored, fixed or dynamic codes
        (folder / f"level{level}").write_bytes(zlib.compress(text[: 400 if level == 1 else None], level))
    return folder


def _last_words(text: str) -> str:
    """The line that says what happened."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"Error|ERROR|error:|Exception|timeout|out-of-memory", line)]
    return (telling or lines or ["nothing was said"])[0][:200]


def one(name: str, seconds: int, out: Path) -> None:
    """Fuzz one target in this process, which ends with it."""
    import atheris

    with atheris.instrument_imports(include=["sparsecrf"]):
        from torture import targets

    found = out / "corpus" / name
    found.mkdir(parents=True, exist_ok=True)
    options = {
        "max_total_time": seconds,
        "timeout": _SLOWEST_S,
        "rss_limit_mb": _MOST_MB,
        "max_len": _LONGEST,
        "print_final_stats": 1,
        "verbosity": 0,
        "artifact_prefix": out / "findings" / f"{name}-",
    }
    seeds = inputs.write(name, out / "seeds" / name)
    arguments = ["fuzz", *(f"-{key}={value}" for key, value in options.items()), str(found), str(seeds)]
    mutator = {"custom_mutator": _mutate_content} if name in ("model_content", "checkpoint") else {}
    atheris.Setup(arguments, lambda data: targets.attempt(name, data), **mutator)
    atheris.Fuzz()


def _mutate_content(data: bytes, longest: int, seed: int) -> bytes:
    """Mutate a file with a digest: one text or one array inside it, or its bytes like any other input."""
    import atheris

    from sparsecrf import InputError
    from sparsecrf.files.container import pack, unpack
    from sparsecrf.training.checkpoint import VERSION

    rng = random.Random(seed)
    kind = "sparsecrf checkpoint" if b"sparsecrf checkpoint" in data else "sparsecrf model"
    versions = (VERSION,) if kind.endswith("checkpoint") else (1, 2, 3)
    try:
        metadata, arrays = unpack(bytes(data), "input", kind, *versions)
    except InputError:
        return bytes(atheris.Mutate(data, longest))
    described = {name: text for name, text in metadata.items() if name not in ("format", "version")}
    content: dict[str, Any] = {name: array.data for name, array in arrays.items()}
    if rng.random() < 0.1 or not (described or content):
        return bytes(atheris.Mutate(data, longest))
    name = rng.choice([*described, *content])
    if rng.random() < 0.05:
        described.pop(name, None)
        content.pop(name, None)
    elif name in described:
        text = described[name].encode()
        described[name] = atheris.Mutate(text, len(text) + 64).decode("utf-8", "replace")
    else:
        raw = bytes(content[name])
        changed = bytes(atheris.Mutate(raw, len(raw) + 64)) if raw else rng.randbytes(8)
        format_ = rng.choice("dqfiIhHB?") if rng.random() < 0.05 else content[name].format
        size = memoryview(bytes(8)).cast(format_).itemsize
        content[name] = memoryview(changed[: len(changed) // size * size]).cast(format_)
    return pack(kind, int(metadata["version"]), described, content)[:longest]


if __name__ == "__main__":
    one(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
