"""Compares `sparsecrf serve` with a FastAPI endpoint around sklearn-crfsuite, with the same model, on the loopback
interface.

    PYTHONPATH=. python benchmarks/serving/run.py [--data FOLDER] [--seconds 6] [--repeats 3] [-o FOLDER]

FOLDER has column files train.txt and test.txt, with the word first and the label last; without it, simulated sentences
are used. sklearn-crfsuite trains a model; sparsecrf uses the same weights, with a template that makes the same
attributes. All answers are compared with `Model.label`. Then wrk sends 1 and 100 sentences per request over 1, 8 and 64
connections, to both servers in turns. With the default options this takes five minutes and writes serving.json and
serving.md.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.common import RECORD, machine
from benchmarks.serving.features import TEMPLATE, features

HERE = Path(__file__).resolve().parent
SIZES, CONNECTIONS = (1, 100), (1, 8, 64)
N_BODIES = {1: 200, 100: 20}
SERVERS = ("sparsecrf serve", "FastAPI, sklearn-crfsuite")
Sentences = list[tuple[list[str], list[str]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seconds", type=float, default=6.0, help="of each measurement (default: 6)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-o", "--out", type=Path, default=RECORD)
    asked = parser.parse_args()
    if shutil.which("wrk") is None:
        parser.error("expected wrk on the path, found none: apt-get install wrk")
    train, test = data_of(asked.data)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = make_models(train, folder)
        bodies = {n: make_bodies(test, n, folder) for n in SIZES}
        with sparsecrf_server(folder) as ours, endpoint(folder) as theirs:
            ports = dict(zip(SERVERS, (ours, theirs), strict=True))
            compared = {server: compare(port, model, bodies) for server, (port, _) in ports.items()}
            runs = measure(ports, folder, asked.seconds, asked.repeats)
            memory = {server: round(resident_mb(pid)) for server, (_, pid) in ports.items()}
    about = machine()
    about["data"] = "made up" if asked.data is None else asked.data.name
    about["sentences"] = f"{len(train)} to train, {len(test)} to label, {mean_length(test):.1f} tokens each"
    about["measured"] = f"{time.strftime('%Y-%m-%d')}, {asked.repeats} times {asked.seconds:g} s each, medians"
    record = {"machine": about, "wrong answers": compared, "resident MB": memory, "runs": runs}
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "serving.json").write_text(json.dumps(record, indent=1) + "\n")
    (asked.out / "serving.md").write_text(page(record))
    print(page(record))
    sys.exit(1 if any(wrong for wrong, _ in compared.values()) or any(run["errors"] for run in runs) else 0)


# ---- Data and models.
def data_of(folder: Path | None) -> tuple[Sentences, Sentences]:
    """Words and labels for training, and words to label."""
    if folder is None:
        from torture.made_up import columns

        texts = columns(2000), columns(500, seed=1)
    else:
        texts = tuple((folder / f"{name}.txt").read_text(encoding="utf-8") for name in ("train", "test"))
    each = ([block.splitlines() for block in re.split(r"\n[ \t]*\n", text) if block.strip()] for text in texts)
    return tuple([_words_and_labels(lines) for lines in one] for one in each)  # type: ignore[return-value]


def _words_and_labels(lines: list[str]) -> tuple[list[str], list[str]]:
    rows = [line.split() for line in lines if line.strip()]
    return [row[0] for row in rows], [row[-1] for row in rows]


def mean_length(sentences: Sentences) -> float:
    return sum(len(words) for words, _ in sentences) / len(sentences)


def make_models(train: Sentences, folder: Path) -> Any:
    """Trains with sklearn-crfsuite; the model of sparsecrf has the same weights."""
    import joblib
    from sklearn_crfsuite import CRF

    from sparsecrf.contrib.convert import attach_template
    from sparsecrf.contrib.convert.foreign import read_crfsuite

    crf = CRF(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=50, model_filename=str(folder / "model.crfsuite"))
    crf.fit([features(words) for words, _ in train], [labels for _, labels in train])
    joblib.dump(crf, folder / "crf.joblib")
    (folder / "template").write_text(TEMPLATE)
    model = attach_template(read_crfsuite(folder / "model.crfsuite"), folder / "template")
    model.save(folder / "model.safetensors")
    return model


def make_bodies(test: Sentences, n: int, folder: Path) -> list[list[list[str]]]:
    """The sentences of the requests, which are also written to a file for wrk."""
    rng = random.Random(n)
    made = [[words for words, _ in rng.choices(test, k=n)] for _ in range(N_BODIES[n])]
    (folder / f"bodies-{n}").write_text("".join(json.dumps({"tokens": one}) + "\n" for one in made))
    return made


# ---- Servers: port and process.
@contextmanager
def sparsecrf_server(folder: Path) -> Iterator[tuple[int, int]]:
    command = [sys.executable, "-m", "sparsecrf", "serve", str(folder / "model.safetensors"), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        found = re.search(r":(\d+)/", process.stderr.readline())
        assert found is not None
        try:
            yield int(found[1]), process.pid
        finally:
            process.terminate()


@contextmanager
def endpoint(folder: Path, port: int = 8791) -> Iterator[tuple[int, int]]:
    command = [sys.executable, "-m", "uvicorn", "benchmarks.serving.endpoint:app", "--port", str(port)]
    command += ["--no-access-log", "--log-level", "warning"]
    with subprocess.Popen(command, env={**os.environ, "ENDPOINT_MODEL": str(folder / "crf.joblib")}) as process:
        try:
            until = time.monotonic() + 60
            while not answers(port):
                if process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError("endpoint: expected it to start")
                time.sleep(0.2)
            yield port, process.pid
        finally:
            process.terminate()


def answers(port: int) -> bool:
    try:
        return label(port, [["x"]]) is not None
    except OSError:
        return False


def label(port: int, sentences: list[list[str]]) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/label", json.dumps({"tokens": sentences}), {"Content-Type": "application/json"})
    return json.loads(connection.getresponse().read())["labels"]


def resident_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


# ---- Measurements.
def compare(port: int, model: Any, bodies: dict[int, list[list[list[str]]]]) -> tuple[int, int]:
    """The number of answers that differ from those of `Model.label`, and the number of all answers."""
    wrong = total = 0
    for each in bodies.values():
        for sentences in each:
            for found, words in zip(label(port, sentences), sentences, strict=True):
                wrong += found != model.label([[word] for word in words])
                total += 1
    return wrong, total


def measure(ports: dict[str, tuple[int, int]], folder: Path, seconds: float, repeats: int) -> list[dict[str, Any]]:
    found: dict[tuple[str, int, int], list[dict[str, float]]] = {}
    for _ in range(repeats):
        for n in SIZES:
            for connections in CONNECTIONS:
                for server, (port, _) in ports.items():
                    one = wrk(port, folder / f"bodies-{n}", connections, seconds)
                    found.setdefault((server, n, connections), []).append(one)
                    print(server, n, connections, one, file=sys.stderr, flush=True)
    runs = []
    for (server, n, connections), each in found.items():
        rates = [one["requests"] / one["seconds"] for one in each]
        run: dict[str, Any] = {"server": server, "sentences": n, "connections": connections}
        run |= {"requests_s": round(statistics.median(rates), 1), "all_requests_s": [round(rate, 1) for rate in rates]}
        run |= {key: round(statistics.median(one[key] for one in each), 2) for key in ("p50_ms", "p99_ms")}
        runs.append({**run, "errors": int(sum(one["errors"] for one in each))})
    return runs


def wrk(port: int, bodies: Path, connections: int, seconds: float) -> dict[str, float]:
    command = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout", "20s"]
    command += ["-s", str(HERE / "post.lua"), f"http://127.0.0.1:{port}"]
    done = subprocess.run(
        command, env={**os.environ, "BODIES": str(bodies)}, capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


_TITLE = """# A model over HTTP

`sparsecrf serve` beside a minimal FastAPI endpoint with sklearn-crfsuite: the same weights and features, made by a
template in the one and in Python in the other. wrk and the servers share the cores.

    PYTHONPATH=. python benchmarks/serving/run.py
"""
_COLUMNS = ("server", "sentences a request", "connections", "requests/s", "sentences/s", "p50, ms", "p99, ms", "errors")


def page(record: dict[str, Any]) -> str:
    lines = [_TITLE]
    lines += [f"- {key}: {value}" for key, value in record["machine"].items()]
    for server in SERVERS:
        wrong, total = record["wrong answers"][server]
        lines.append(
            f"- {server}: {wrong} of {total} answers differ from `Model.label`; {record['resident MB'][server]} MB"
        )
    lines += [
        "",
        "| server | sentences a request | connections | requests/s | sentences/s | p50, ms | p99, ms | errors |",
    ]
    lines.append("|---|---|---|---|---|---|---|---|")
    for run in sorted(record["runs"], key=lambda run: (run["sentences"], run["connections"])):
        rate, n = run["requests_s"], run["sentences"]
        cells = [run["server"], n, run["connections"], f"{rate:,.0f}", f"{rate * n:,.0f}"]
        cells += [f"{run['p50_ms']:.2f}", f"{run['p99_ms']:.2f}", run["errors"]]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
