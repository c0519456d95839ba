"""A full disk while something is saved: the message must name the file, the exit status must be 1, and the old file
must be unchanged.

Runs on a small tmpfs if it can be mounted (Linux, root), and on all systems with a limit on the size of files.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from torture.common import Outcome, environment, program
from torture.made_up import TEMPLATE, columns

_ROOM = 4096  # bytes that can be written; every file of the cases is larger
_OLD = b"what was there before\n"


def run(minutes: float, out: Path) -> Outcome:
    """Run all cases in both ways."""
    with tempfile.TemporaryDirectory() as directory:
        limited = with_a_limit(Path(directory))
    with small_disk() as disk:
        if disk is None:
            limited.notes.append("no tmpfs could be mounted: by a limit on the size of files only")
            return limited
        full = on_a_small_disk(disk)
    notes, detail = limited.notes + full.notes, {"by limit": limited.executions, "on a tmpfs": full.executions}
    return Outcome(limited.executions + full.executions, limited.findings + full.findings, notes, detail)


def with_a_limit(directory: Path) -> Outcome:
    """No file may grow beyond _ROOM."""
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (_ROOM, _ROOM))

    _prepare(directory)
    return _try_all(directory, directory, limit)


def on_a_small_disk(disk: Path) -> Outcome:
    """The disk is full except for _ROOM bytes."""
    with tempfile.TemporaryDirectory() as elsewhere:
        inputs = Path(elsewhere)
        _prepare(inputs)
        for _, _, target in _cases(inputs, disk):
            target.write_bytes(_OLD)
        (disk / "filler").write_bytes(b"")
        with open(disk / "filler", "ab", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                file.truncate(max(0, file.tell() // 4096 * 4096 - _ROOM))
        return _try_all(inputs, disk, None)


def _prepare(inputs: Path) -> None:
    """Write data, a template and a model."""
    (inputs / "data.txt").write_text(columns(200), encoding="utf-8")
    (inputs / "template.txt").write_text(TEMPLATE, encoding="utf-8")
    train = program("train", "data.txt", "-t", "template.txt", "-m", "model", "--max-iter", "3", "--quiet")
    subprocess.run(train, cwd=inputs, env=environment(), check=True)


def _cases(inputs: Path, disk: Path) -> list[tuple[str, list[str], Path]]:
    """For each case: what it does, the arguments, and the file that cannot be written."""
    data, template, model = (str(inputs / name) for name in ("data.txt", "template.txt", "model"))
    train = ["train", data, "-t", template, "--max-iter", "3", "--quiet"]
    return [
        ("a model", [*train, "-m", str(disk / "new_model")], disk / "new_model"),
        ("a checkpoint", [*train, "-m", os.devnull, "--checkpoint", str(disk / "run")], disk / "run"),
        ("labels", ["label", "-m", model, data, "-o", str(disk / "labels")], disk / "labels"),
        ("a report", ["report", model, "-o", str(disk / "report.html")], disk / "report.html"),
        (
            "a data file",
            ["convert", data, str(disk / "data.crfsuite"), "--from", "columns", "--to", "crfsuite"],
            disk / "data.crfsuite",
        ),
    ]


def _try_all(inputs: Path, disk: Path, limit: object) -> Outcome:
    findings, cases = [], _cases(inputs, disk)
    for what, arguments, target in cases:
        if limit is not None:
            target.write_bytes(_OLD)
        before = sorted(os.listdir(disk))
        done = subprocess.run(
            program(*arguments),
            env=environment(),
            capture_output=True,
            text=True,
            preexec_fn=limit,  # type: ignore[arg-type]
            check=False,
        )
        message = done.stderr.strip().splitlines()[-1:] or [""]
        status = 0 if what == "a checkpoint" else 1  # training continues without a checkpoint
        if done.returncode != status or not message[0].startswith("sparsecrf: ") or target.name not in message[0]:
            findings.append(f"{what}: exit status {done.returncode}, {done.stderr[-400:]!r}")
        if target.read_bytes() != _OLD:
            findings.append(f"{what}: the old file is lost")
        if sorted(os.listdir(disk)) != before:
            findings.append(f"{what}: files were left behind: {sorted(set(os.listdir(disk)) - set(before))}")
    return Outcome(len(cases), findings)


@contextmanager
def small_disk(kilobytes: int = 256) -> Iterator[Path | None]:
    """A file system of that size; None if it cannot be mounted."""
    with tempfile.TemporaryDirectory() as directory:
        options = ["-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", directory]
        try:
            mounted = subprocess.run(["mount", *options], capture_output=True, check=False).returncode == 0
        except FileNotFoundError:
            mounted = False
        try:
            yield Path(directory) if mounted else None
        finally:
            if mounted:
                subprocess.run(["umount", directory], check=True)
