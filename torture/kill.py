"""kill -9 at random moments of training with checkpoints, of saving a model and of encoding data for `--cache`.

At any moment, the checkpoint, the model file and the folder must be complete, and a resumed run must reach the same
model.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from torture.common import Outcome, environment
from torture.made_up import TEMPLATE, columns

KILLS = 200
_OPTIONS = ["--tol", "0", "--max-iter", "40", "--rho1", "0.3", "--threads", "1", "--quiet", "--checkpoint-every", "0"]


def run(minutes: float, out: Path) -> Outcome:
    """Do a third of the kills each in training, saving and encoding, however long they take."""
    with tempfile.TemporaryDirectory() as directory:
        parts = {f.__name__: f(Path(directory, f.__name__), KILLS // 3) for f in (training, saving, encoding)}
    findings = [finding for part in parts.values() for finding in part.findings]
    detail = {name: part.detail for name, part in parts.items()}
    return Outcome(sum(part.executions for part in parts.values()), findings, detail=detail)


def training(directory: Path, kills: int, seed: int = 0, sentences: int = 150) -> Outcome:
    """Kill and resume runs until they finish, and start new runs until there were `kills` kills."""
    from sparsecrf import InputError, Model
    from sparsecrf.files.container import unpack
    from sparsecrf.training.checkpoint import FORMAT, VERSION

    directory.mkdir(parents=True)
    data, template = directory / "train.txt", directory / "template.txt"
    data.write_text(columns(sentences), encoding="utf-8")
    template.write_text(TEMPLATE, encoding="utf-8")

    def command(folder: Path) -> list[str]:
        files = ["-m", str(folder / "model"), "--checkpoint", str(folder / "run"), "--resume"]
        return ["train", str(data), "-t", str(template), *files, *_OPTIONS]

    whole = directory / "whole"
    whole.mkdir()
    length = _run_and_kill(command(whole), None)
    expected = (whole / "model").read_bytes()
    rng, done, findings = random.Random(seed), 0, []
    runs = resumed = 0
    while done < kills and not findings:
        folder = directory / f"run{runs}"
        folder.mkdir()
        runs += 1
        finished = False
        while not finished:
            finished = done >= kills or rng.random() < 0.1  # some runs are finally left to finish
            took = _run_and_kill(command(folder), None if finished else rng.uniform(0.0, 1.2 * length))
            done += took is None
            finished = took is not None
            checkpoint = folder / "run"
            try:
                if checkpoint.exists():
                    unpack(checkpoint.read_bytes(), "checkpoint", FORMAT, VERSION)
                    resumed += not finished
                if (folder / "model").exists():
                    Model.load(folder / "model")
            except InputError as error:
                findings.append(f"after {done} kills in training: {error}")
                break
        if (folder / "model").exists() and (folder / "model").read_bytes() != expected:
            findings.append(f"after {done} kills in training: the run reached another model")
    return Outcome(done, findings, detail={"kills": done, "runs": runs, "killed with a checkpoint": resumed})


def saving(directory: Path, kills: int, seed: int = 0, attributes: int = 20_000) -> Outcome:
    """Kill processes that save two models in turn."""
    from sparsecrf import Model

    directory.mkdir(parents=True)
    sources = []
    for name, sign in (("a", 1.0), ("b", -1.0)):
        weights = {(f"attribute {k}", "X"): sign * (k + 1) for k in range(attributes)}
        Model.from_weights(["X", "Y"], weights).save(directory / name)
        sources.append(directory / name)
    whole = {path.read_bytes() for path in sources}
    target = directory / "model"
    target.write_bytes(sources[0].read_bytes())
    rng, done, findings, seen = random.Random(seed), 0, [], set()
    while done < kills and not findings:
        if not _kill_while_saving(["save", *map(str, sources), str(target)], rng):
            findings.append("the process that saves ended by itself")
            break
        done += 1
        found = target.read_bytes()
        seen.add(found)
        if found not in whole:
            findings.append(f"after {done} kills in saving: a file of {len(found)} bytes that is neither model")
    leftovers = len(list(directory.glob(".model.*.tmp")))
    return Outcome(
        done, findings, detail={"kills": done, "different models": len(seen), "killed in writing": leftovers}
    )


def encoding(directory: Path, kills: int, seed: int = 0, sentences: int = 2000) -> Outcome:
    """Kill processes that rebuild a folder, from different data each time. Afterwards it must be the old folder, the
    new one or none at all, and the next run must complete it."""
    from sparsecrf import InputError
    from sparsecrf.shards.folder import CorpusFolder, read_manifest

    directory.mkdir(parents=True)
    template, folder = directory / "template.txt", directory / "cache"
    template.write_text(TEMPLATE, encoding="utf-8")
    data = [directory / name for name in ("a.txt", "b.txt")]
    for path, n in zip(data, (sentences, sentences - 7), strict=True):
        path.write_text(columns(n), encoding="utf-8")

    def command(k: int) -> list[str]:
        cache = ["--cache", str(folder), "--shard-tokens", "200"]
        return ["train", str(data[k % 2]), "-t", str(template), "-m", str(directory / "model"), *cache, *_OPTIONS[4:8]]

    counts = {"sentences of the old or the new data": 0, "no folder": 0, "left half made": 0}
    length = min(_run_and_kill([*command(k), "--quiet", "--max-iter", "1"], None) or 0.0 for k in (0, 1))
    rng, done, findings = random.Random(seed), 0, []
    while done < kills and not findings:
        done += _run_and_kill([*command(done), "--quiet", "--max-iter", "1"], rng.uniform(0.0, length)) is None
        counts["left half made"] += (directory / ".cache.new").exists()
        try:
            if read_manifest(folder) is None:
                counts["no folder"] += 1
                continue
            found = CorpusFolder.load(folder)
            for k in range(len(found.shards)):
                found.open(k)
        except InputError as error:
            findings.append(f"after {done} kills in encoding: {error}")
            break
        counts["sentences of the old or the new data"] += 1
        if found.n_sequences not in (sentences, sentences - 7):
            findings.append(f"after {done} kills in encoding: {found.n_sequences} sequences")
    if not findings:
        _run_and_kill([*command(0), "--quiet", "--max-iter", "1"], None)
        if CorpusFolder.load(folder).n_sequences != sentences or (directory / ".cache.new").exists():
            findings.append("the run after all kills did not make the folder, or left something behind")
    return Outcome(done, findings, detail={"kills": done, **counts})


def _run_and_kill(arguments: Sequence[str], after: float | None) -> float | None:
    """Run `child`. None if it was killed this many seconds after it began its work; its seconds if it finished
    before."""
    with _started(arguments) as process:
        began = time.perf_counter()
        try:
            status = process.wait(after)
        except subprocess.TimeoutExpired:
            process.kill()
            return None
    if status != 0:
        raise RuntimeError(f"{' '.join(arguments)}: exit status {status}")
    return time.perf_counter() - began


def _kill_while_saving(arguments: Sequence[str], rng: random.Random) -> bool:
    """Kill `child` at some moment of its second, third or fourth save, whatever the machine's speed. Returns False if
    it ended by itself."""
    with _started(arguments) as process:
        assert process.stdout is not None
        began = time.perf_counter()
        for _ in range(rng.randint(1, 3)):
            began, before = time.perf_counter(), began
            if not process.stdout.readline():
                return False
        time.sleep(rng.uniform(0.0, 1.0) * (time.perf_counter() - before) / 2)
        process.kill()
    return True


@contextmanager
def _started(arguments: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A `child` that has reported that its work began. It is killed at the end."""
    command = [sys.executable, "-m", "torture.kill", *arguments]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield process
        finally:
            process.kill()


def child(arguments: list[str]) -> None:
    """Report when everything is imported and work begins, then work."""
    import sparsecrf.cli
    import sparsecrf.progress
    import sparsecrf.training
    from sparsecrf import Model

    if arguments[0] == "save":
        models = [Model.load(path) for path in arguments[1:3]]
        print("go", flush=True)
        while True:
            for model in models:
                model.save(arguments[3])
                print("saved", flush=True)
    sys.argv = ["sparsecrf", *arguments]
    print("go", flush=True)
    sparsecrf.cli.main()


if __name__ == "__main__":
    child(sys.argv[1:])
