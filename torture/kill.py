"""kill -9 at random moments of training with checkpoints and of saving a model.

Whatever the moment, the checkpoint and the model file are whole, and the run that goes on reaches the same model.
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
    """Half of the kills in training, half in saving, however long they take."""
    with tempfile.TemporaryDirectory() as directory:
        trained = training(Path(directory, "train"), KILLS // 2)
        saved = saving(Path(directory, "save"), KILLS // 2)
    detail = {"training": trained.detail, "saving": saved.detail}
    return Outcome(trained.executions + saved.executions, trained.findings + saved.findings, detail=detail)


def training(directory: Path, kills: int, seed: int = 0, sentences: int = 150) -> Outcome:
    """Runs that are killed and gone on with until they are done, again and again, until there were `kills`."""
    from sparsecrf import InputError, Model
    from sparsecrf.files.container import unpack

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
            finished = done >= kills or rng.random() < 0.1  # some runs are left alone in the end
            took = _run_and_kill(command(folder), None if finished else rng.uniform(0.0, 1.2 * length))
            done += took is None
            finished = took is not None
            checkpoint = folder / "run"
            try:
                if checkpoint.exists():
                    unpack(memoryview(checkpoint.read_bytes()), "checkpoint", "sparsecrf checkpoint", 2)
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
    """Processes that save two models in turn, killed in between."""
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


def _run_and_kill(arguments: Sequence[str], after: float | None) -> float | None:
    """Run `child`. Killed so many seconds after it had begun its work: None. Done before that: its seconds."""
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
    """Kill `child` at some moment of its second, third or fourth save, whatever the machine's speed. False: it ended
    by itself."""
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
    """`child` at work: it has said so. It is ended in the end."""
    command = [sys.executable, "-m", "torture.kill", *arguments]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield process
        finally:
            process.kill()


def child(arguments: list[str]) -> None:
    """Says when all is imported and work begins, then works."""
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
