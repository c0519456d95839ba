"""Too little memory, and files that request too much.

A program that runs out of memory must say so and exit with status 1. A small file that announces huge content must be
rejected before anything huge is allocated.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sparsecrf.training.checkpoint import VERSION
from torture.common import Outcome, environment
from torture.inputs import inputs
from torture.made_up import TEMPLATE, columns

ROOMS_MB = (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256)
_MOST_MB = 256  # memory that rejecting a file of a few kilobytes may take


def run(minutes: float, out: Path) -> Outcome:
    """Try all absurd files, and every command with every amount of memory."""
    absurd = headers()
    with tempfile.TemporaryDirectory() as directory:
        starving = starved(Path(directory), ROOMS_MB)
    detail = {"absurd files": absurd.executions, "starved": starving.detail}
    return Outcome(absurd.executions + starving.executions, absurd.findings + starving.findings, detail=detail)


def absurd_files() -> Iterator[tuple[str, str, bytes]]:
    """For each file: the target, what is absurd about it, and its content."""

    def container(header: object, data: bytes = b"") -> bytes:
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        return len(text).to_bytes(8, "little") + text + data

    described = {"format": "sparsecrf model", "version": "1", "digest": ""}
    for size in (2**31, 2**40, 2**62, 2**63 - 1):
        yield "model", f"a header of {size}", size.to_bytes(8, "little") + b"{}"
        for shape in ([size], [size, 0], [size, size]):
            array = {"dtype": "F64", "shape": shape, "data_offsets": [0, min(8 * size, 2**63 - 1)]}
            yield "model_content", f"a shape {shape}", container({"__metadata__": described, "weights": array})
            array = {**array, "data_offsets": [0, 0]}
            kind = {**described, "format": "sparsecrf checkpoint", "version": str(VERSION)}
            yield "checkpoint", f"a shape {shape}", container({"__metadata__": kind, "numbers": array})
    yield "model", "a deep header", container(b'{"a":' + b"[" * 500_000 + b"]" * 500_000 + b"}")
    yield "model", "a number of 100,000 digits", container(b'{"a":' + b"9" * 100_000 + b"}")

    crfsuite = inputs("crfsuite_model")["binary"]
    for at in range(4, 48, 4):
        for value in (2**31, 2**32 - 1):
            spoiled = crfsuite[:at] + struct.pack("<I", value) + crfsuite[at + 4 :]
            yield "crfsuite_model", f"{value} at byte {at}", spoiled
    yield "crfsuite_model", "strings that overlap", overlapping_strings(100, 0x407F40)
    arrows = " --> ".join(["x"] * 100_000)
    sections = "FILEHEADER = {\n}\nLABELS = {\n  0: X\n}\nATTRIBUTES = {\n  0: w\n}\nTRANSITIONS = {\n}\n"
    dump = f"{sections}STATE_FEATURES = {{\n  (0) {arrows}: 1\n}}\n"
    yield "crfsuite_model", "many arrows", dump.encode()

    yield "wapiti_model", "10^18 weights", b"#mdl#2#999999999999999999\n#rdr#0/0/0\n#qrk#0\n#qrk#0\n"
    yield "wapiti_model", "10^9 lines", b"#mdl#2#0\n#rdr#999999999/0/0\n"
    yield "wapiti_model", "a name of 10^10 bytes", b"#mdl#2#0\n#rdr#1/0/0\n9999999999:u,\n"
    weights, names = "1\n" * 10_000, "".join(f"0 B{k}\n" for k in range(20_000))
    labels = "".join(f"L{k}\n" for k in range(100))
    head = f"version: 100\ncost-factor: 1\nmaxid: 10000\nxsize: 1\n\n{labels}\nB\n\n"
    yield "crfpp_model", "weights that are shared", f"{head}{names}\n{weights}".encode()
    yield "crfpp_model", "10^18 weights", b"version: 100\nmaxid: 999999999999999999\nxsize: 1\n\nX\n\nU\n\n0 U\n\n1\n"
    yield "template", "a column of 10^9", b"U:%x[0,999999999]\n"
    yield "regex", "a long expression", b"a" * 1_000_000 + b"\n" + b"a" * 1_000_000


def overlapping_strings(n: int, length: int) -> bytes:
    """A CRFsuite model whose attributes begin one after the other and all end at the end of the file: n times its size.

    Strings are UTF-8 only if no byte of the numbers inside them is 0x80 or more: n <= 0x7f, and a length like 0x407f40.
    """
    begin, first, apart = 48 + 12 + 24, 24 + 4 * n, 256
    size = begin + first + 8 + length
    links = struct.pack(f"<{n}I", *(first + apart * k for k in range(n)))
    records = b"".join(struct.pack("<II", k, length - apart * k) + b"a" * (apart - 8) for k in range(n))
    chunk = b"CQDB" + struct.pack("<5I", 0, 0, 0x62445371, n, 24) + links + records
    header = struct.pack("<4sI4s9I", b"lCRF", size, b"FOMC", 100, 0, 0, n, 48, 60, begin, 0, 0)
    labels = b"CQDB" + struct.pack("<5I", 24, 0, 0x62445371, 0, 24)
    whole = header + b"FEAT" + struct.pack("<II", 12, 0) + labels + chunk
    return whole.ljust(size - 1, b"a") + b"\0"


def headers() -> Outcome:
    """Read all absurd files in a process with little memory: each of them must be rejected."""
    command = [sys.executable, "-m", "torture.memory", "headers"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=600, check=False)
    n = len(list(absurd_files()))
    if done.returncode != 0:
        return Outcome(n, [f"absurd files: exit status {done.returncode}: {done.stderr[-1000:]}"])
    return Outcome(n, done.stdout.splitlines())


def starved(directory: Path, rooms_mb: tuple[int, ...]) -> Outcome:
    """Run each command with these numbers of MB more than the interpreter and the package take."""
    (directory / "data.txt").write_text(columns(3000), encoding="utf-8")
    (directory / "template.txt").write_text(TEMPLATE, encoding="utf-8")
    train = ["train", "data.txt", "-t", "template.txt", "-m", "new", "--max-iter", "3", "--threads", "1", "--quiet"]
    label = ["label", "-m", "model", "data.txt", "-o", "labels", "--threads", "1", "--quiet"]
    _child(directory, 4096, [*train[:5], "model", *train[6:]])
    findings, refused = [], {}
    for name, arguments in (("train", train), ("label", label), ("label, 2 threads", [*label[:-2], "2", "--quiet"])):
        for room in rooms_mb:
            done = _child(directory, room, arguments)
            refused[name] = refused.get(name, 0) + (done.returncode == 1)
            said = done.stderr.strip().splitlines()[-1:] or [""]
            clear = done.returncode == 1 and said[0].startswith("sparsecrf: ") and "emory" in said[0]
            if done.returncode != 0 and not clear:
                findings.append(f"{name} with {room} MB: exit status {done.returncode}: {done.stderr[-300:]!r}")
            left = [path for path in os.listdir(directory) if path.endswith(".tmp")]
            if left:
                findings.append(f"{name} with {room} MB: left behind {left}")
    return Outcome(3 * len(rooms_mb), findings, detail={"out of memory": refused})


def _child(directory: Path, room_mb: int, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torture.memory", "program", str(room_mb), *arguments]
    return subprocess.run(command, cwd=directory, env=environment(), capture_output=True, text=True, check=False)


def _limit(room_mb: int) -> None:
    """Limit memory to this much more than is in use now."""
    import resource

    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = taken + room_mb * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def child_of_headers() -> None:
    """Prints a line for each finding."""
    from torture.targets import attempt

    files = list(absurd_files())
    attempt("model", b"")  # so that everything is imported
    _limit(_MOST_MB)
    for target, what, data in files:
        try:
            if attempt(target, data) and target not in ("crfsuite_model", "template"):  # these may be valid
                print(f"{target}, {what}: taken")
        except Exception as error:
            print(f"{target}, {what}: {type(error).__name__}: {str(error)[:200]}")


def child_of_program(room_mb: int, arguments: list[str]) -> None:
    """Run the program with this much memory after everything is imported."""
    import numpy as np
    import rich.progress  # noqa: F401

    import sparsecrf.cli
    import sparsecrf.cli.reading
    import sparsecrf.cli.train_report
    import sparsecrf.contrib.plots
    import sparsecrf.model.file
    import sparsecrf.training

    np.ones((99, 99)) @ np.ones((99, 99))  # make OpenBLAS allocate now: a later failure would end the process
    _limit(room_mb)
    sys.argv = ["sparsecrf", *arguments]
    sparsecrf.cli.main()


if __name__ == "__main__":
    if sys.argv[1] == "headers":
        child_of_headers()
    else:
        child_of_program(int(sys.argv[2]), sys.argv[3:])
