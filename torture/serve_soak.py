"""`sparsecrf serve` for a long time: models are replaced, and clients leave, stall, send too much or send nonsense.

    PYTHONPATH=. python -m torture.serve_soak [--minutes 30] [--rate 20]

Two models take turns. Every answer must be the complete answer of one of them; every refusal must have the right
status; no request may remain unanswered while models are replaced or the server ends; memory must not grow. Clients
sleep most of the time: `--rate` is in requests per second, all on the loopback interface.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from torture.common import Outcome, environment, program
from torture.made_up import columns
from torture.soak import growth_of

LIMIT_S = 10.0  # for the server: at low priority on a busy machine, it may get no processor time for seconds
BODY_MB = 0.25
ENDS = 20  # how often the server is stopped under load, after the soak
WORDS = [*(line.split()[0] for line in columns(15).splitlines() if line), ",", ".", "1843", "東", "京"]


def run(minutes: float, out: Path, rate: float = 20.0) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        return Soak(Path(folder), rate).run(60 * minutes)


class Server:
    """A process of `sparsecrf serve`."""

    def __init__(self, file: Path) -> None:
        command = program("serve", str(file), "--port", "0", "--time-limit", str(LIMIT_S), "--max-body", str(BODY_MB))
        self.process = subprocess.Popen(
            command, env=environment(), stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace"
        )
        assert self.process.stderr is not None
        first = self.process.stderr.readline()
        found = re.match(r"serving at http://127\.0\.0\.1:(\d+)/", first)
        if found is None:
            raise RuntimeError(first + self.process.stderr.read())
        self.port = int(found[1])
        self.lines: list[str] = []  # lines of its log
        Thread(target=lambda: self.lines.extend(self.process.stderr or ()), daemon=True).start()

    def resident_mb(self) -> float:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


class Soak:
    def __init__(self, folder: Path, rate: float) -> None:
        from sparsecrf import CRF

        self.rate, self.file = rate, folder / "model.safetensors"
        rng = random.Random(1)
        X = [rng.choices(WORDS, k=rng.randint(1, 12)) for _ in range(60)]
        y = [["N" if word[0].isupper() else "O" for word in sentence] for sentence in X]
        self.models = [CRF(features="words", rho1=rho1, tol=0.5).fit(X, y).model_ for rho1 in (0.05, 0.4)]
        for k, model in enumerate(self.models):  # make sure that the two never give the same answers
            self.models[k] = model.scaled(1.0 + k)
        self.questions = [self._question(rng) for _ in range(60)]
        self.files = [model.to_bytes() for model in self.models]
        self.file.write_bytes(self.files[0])
        self.stop, self.lock = Event(), Lock()
        self.counts: Counter[str] = Counter()
        self.findings: list[str] = []

    def _question(self, rng: random.Random) -> tuple[bytes, list[dict[str, Any]]]:
        """A body, and each model's answer to it."""
        sentences = [rng.choices(WORDS, k=rng.randint(0, 20)) for _ in range(rng.choice([1, 1, 3, 40]))]
        asked: dict[str, Any] = {"tokens": sentences, "scores": True}
        if rng.random() < 0.3:
            asked |= {"marginals": True, "nbest": 3}
        return json.dumps(asked).encode(), [_expected(model, asked) for model in self.models]

    # ---- One soak.
    def run(self, seconds: float) -> Outcome:
        server = Server(self.file)
        team = self._start(server.port)
        began, samples = time.monotonic(), list[tuple[float, float]]()
        while (elapsed := time.monotonic() - began) < seconds and server.process.poll() is None:
            samples.append((elapsed, server.resident_mb()))
            time.sleep(min(2.0, seconds / 40))
        if server.process.poll() is not None:
            self.findings.append(f"server: expected it at work, found its end ({server.process.returncode})")
        self._finish(team)
        at_rest = server.resident_mb() if server.process.poll() is None else 0.0
        if server.process.poll() is None and (status := server.end()) != 0:
            self.findings.append(f"SIGTERM: expected status 0, found {status}")
        if self.counts["busy"] > 0.001 * self.counts["answered"]:
            self.findings.append(f"busy: expected next to no refusals at this rate, found {self.counts['busy']}")
        growth, level = growth_of(samples)
        if seconds >= 60 and growth > max(5.0, 0.05 * level):  # the first seconds are for warming up
            self.findings.append(f"memory: expected it flat, found {growth:.1f} MB more at the end, of {level:.1f}")
        if any("Traceback" in line for line in server.lines):
            self.findings.append("log: " + "".join(server.lines)[-500:])
        for _ in range(ENDS if seconds >= 60 else 3):
            self._end_under_load()
        memory = {"first": samples[0][1], "third": samples[len(samples) // 3][1], "last": samples[-1][1]}
        detail = {key: self.counts[key] for key in sorted(self.counts)}
        detail |= {f"resident_mb_{key}": round(value, 1) for key, value in memory.items()}
        detail |= {"resident_mb_at_rest": round(at_rest, 1), "growth_mb": round(growth, 2), "seconds": round(seconds)}
        return Outcome(sum(self.counts.values()), self.findings, detail=detail)

    def _start(self, port: int, clients: int = 4) -> list[Thread]:
        self.stop.clear()
        acts: list[tuple[Callable[[int, random.Random], None], float]] = [(self.ask, self.rate / clients)] * clients
        acts += [(self.leave, 2.0), (self.stall, 0.5), (self.send_too_much, 0.5), (self.send_nonsense, 2.0)]
        acts += [(self.not_read, 0.2), (self.replace, 0.3)]
        team = [Thread(target=self._again, args=(act, port, rate, k)) for k, (act, rate) in enumerate(acts)]
        for one in team:
            one.start()
        return team

    def _finish(self, team: list[Thread]) -> None:
        self.stop.set()
        for one in team:
            one.join()

    def _again(self, act: Callable[[int, random.Random], None], port: int, rate: float, seed: int) -> None:
        rng = random.Random(seed)
        while not self.stop.wait(rng.expovariate(rate)):
            try:
                act(port, rng)
            except OSError as error:
                self._find(f"{act.__name__}: {type(error).__name__}: {error}")

    def _find(self, text: str) -> None:
        with self.lock:
            if len(self.findings) < 20:
                self.findings.append(text)

    def _count(self, what: str) -> None:
        with self.lock:
            self.counts[what] += 1

    # ---- What clients do.
    def ask(self, port: int, rng: random.Random) -> None:
        """Send some requests over one connection and compare the answers."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        for _ in range(rng.randint(1, 5)):
            body, expected = rng.choice(self.questions)
            connection.request("POST", "/label", body)
            answer = connection.getresponse()
            content = answer.read()
            if answer.status == 503:  # it says when to try again
                self._count("busy")
                time.sleep(int(answer.headers["Retry-After"]))
                continue
            if answer.status != 200 or json.loads(content) not in expected:
                self._find(f"ask: expected the answer of a model, found {answer.status} {content[:200]!r}")
            self._count("answered")
            time.sleep(1.0 / self.rate)
        connection.close()

    def leave(self, port: int, rng: random.Random) -> None:
        """Send a part of a request, or all of it, and do not wait for the answer."""
        body = rng.choice(self.questions)[0]
        text = b"POST /label HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        with socket.create_connection(("127.0.0.1", port), timeout=30) as made:
            made.sendall(text[: rng.choice([0, 10, 60, len(text) - 1, len(text)])])
            if rng.random() < 0.5:  # immediately, discarding unread data
                made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self._count("left")

    def stall(self, port: int, rng: random.Random) -> None:
        """Send a body in small parts, which is answered; a part of a body, which gets status 408; or a part of a head,
        which gets no answer."""
        body, expected = rng.choice(self.questions[:10])
        head = b"POST /label HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
        kind = rng.choice(["slow", "body", "head"])
        with socket.create_connection(("127.0.0.1", port), timeout=30) as made:
            made.sendall(head if kind != "head" else head[:20])
            if kind == "body":
                made.sendall(body[:3])
            elif kind == "slow":
                step = max(1, len(body) // 8)
                for at in range(0, len(body), step):
                    made.sendall(body[at : at + step])
                    time.sleep(0.1)
            found = _all_of(made)
        right = {"body": found.startswith(b"HTTP/1.1 408 "), "head": found == b""}.get(kind, True)
        if kind == "slow":
            right = json.loads(found.partition(b"\r\n\r\n")[2] or b"0") in expected
        if not right:
            self._find(f"stall: {kind}: found {found[:200]!r}")
        self._count(f"stalled, {kind}")

    def send_too_much(self, port: int, rng: random.Random) -> None:
        """Send more bytes than allowed, announced or not; the server reads them or closes the connection."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        part, is_announced = b'["' + b"x" * 65_536 + b'"],', rng.random() < 0.5
        body: Any = part * 6 if is_announced else (part for _ in range(6))
        connection.request("POST", "/label", body, encode_chunked=not is_announced,
                           headers={} if is_announced else {"Transfer-Encoding": "chunked"})  # fmt: skip
        self._check_refused(connection, 413)
        self._count("too much")

    def send_nonsense(self, port: int, rng: random.Random) -> None:
        status, body = rng.choice(_NONSENSE)
        if status == 0:  # not even HTTP
            with socket.create_connection(("127.0.0.1", port), timeout=30) as made:
                made.sendall(bytes(rng.randrange(128, 256) for _ in range(50)) + b"\r\n\r\n")
                found = _all_of(made)
            if not found.startswith(b"HTTP/1.1 400 "):
                self._find(f"no HTTP: found {found[:100]!r}")
        else:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("POST", "/label", body)
            self._check_refused(connection, status)
        self._count("nonsense")

    def _check_refused(self, connection: http.client.HTTPConnection, status: int) -> None:
        answer = connection.getresponse()
        error = json.loads(answer.read())["error"]
        if answer.status != status or not error["expected"]:
            self._find(f"expected status {status}, found {answer.status}: {error}")
        connection.close()

    def not_read(self, port: int, rng: random.Random) -> None:
        """Request a large answer and do not read it."""
        body = json.dumps({"tokens": [["x"] * 100] * 60, "marginals": True, "nbest": 50}).encode()
        with socket.create_connection(("127.0.0.1", port), timeout=30) as made:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            made.sendall(b"POST /label HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            self.stop.wait(rng.choice([0.5, 3 * LIMIT_S]))
        self._count("not read")

    def replace(self, port: int, rng: random.Random) -> None:
        """Replace the model by the other one, sometimes after a file that is not a model."""
        if rng.random() < 0.3:
            self.file.write_bytes(self.files[0][: rng.randrange(len(self.files[0]))])
            self._count("broken files")
            self.stop.wait(1.5)
        new = self.file.with_suffix(".new")
        new.write_bytes(rng.choice(self.files))
        os.replace(new, self.file)
        self._count("replaced files")

    # ---- The end.
    def _end_under_load(self) -> None:
        """SIGTERM while clients keep asking. A request that was sent must be answered; later ones are refused."""
        self.file.write_bytes(self.files[0])
        server, done = Server(self.file), Event()

        def keep_asking(seed: int) -> None:
            rng, connection = random.Random(seed), http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
            while not done.is_set():
                body, expected = rng.choice(self.questions)
                try:
                    connection.connect() if connection.sock is None else None
                except OSError:
                    return  # the server has ended
                try:
                    connection.request("POST", "/label", body)
                    found = json.loads(connection.getresponse().read())
                except (OSError, http.client.HTTPException) as error:
                    self._find(f"SIGTERM: request without an answer: {type(error).__name__}: {error}")
                    self._count("lost at the end")
                    return
                if found not in expected:
                    self._find(f"SIGTERM: wrong answer {str(found)[:200]}")
                self._count("answered around SIGTERM")
                time.sleep(rng.random() * 0.05)

        team = [Thread(target=keep_asking, args=(seed,)) for seed in range(6)]
        for one in team:
            one.start()
        time.sleep(0.5)
        if (status := server.end()) != 0:
            self.findings.append(f"SIGTERM under load: expected status 0, found {status}")
        done.set()
        for one in team:
            one.join()
        self._count("ends under load")


_NONSENSE: list[tuple[int, bytes]] = [
    (0, b""),
    (400, b""),
    (400, b"\xff\xfe\0"),
    (400, b"[" * 10_000),
    (400, b'{"tokens": [["a"]'),
    (422, b'{"tokens": [["a", 1]]}'),
    (422, b'{"tokens": ["\\ud800"]}'),
    (422, b'{"tokens": ["a"], "fixed": ["nowhere"]}'),
    (422, b'{"tokens": ["a"], "nbest": 1' + b"0" * 3000 + b"}"),
    (422, b'{"file": "/etc/passwd"}'),
    (404, b'{"tokens": ["a"], "model": "../../etc/passwd"}'),
]


def _expected(model: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """The expected answer, computed with the model's own functions."""
    found: dict[str, Any] = {"model": "model", "labels": [], "scores": [], "probabilities": []}
    if "nbest" in asked:
        found |= {"nbest": [], "marginals": [], "classes": model.labels}
    for sentence in asked["tokens"]:
        found["labels"].append(model.label(sentence) if sentence else [])
        corpus = model.encode([sentence]) if sentence else None
        _, scores = ([], [0.0]) if corpus is None else model.chain_with(1).nbest(corpus, 0, 3)
        best = [([], 1.0)] if corpus is None else model.nbest(sentence, 3)
        found["scores"].append(float(scores[0]))
        found["probabilities"].append(best[0][1])
        if "nbest" in asked:
            found["nbest"].append(
                [{"labels": y, "probability": p, "score": float(s)} for (y, p), s in zip(best, scores, strict=True)]
            )
            found["marginals"].append(model.marginals(sentence).tolist() if sentence else [])
    return found


def _all_of(made: socket.socket) -> bytes:
    """Everything received until the other side closes the connection."""
    found = b""
    try:
        while part := made.recv(65_536):
            found += part
    except ConnectionResetError:
        pass
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--rate", type=float, default=20.0, help="requests a second (default: 20)")
    given = parser.parse_args()
    outcome = run(given.minutes, Path(), given.rate)
    print(json.dumps({"findings": outcome.findings, **outcome.detail}, indent=1))
    sys.exit(1 if outcome.findings else 0)
