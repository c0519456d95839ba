"""Other tools on the same objective, where they are installed: `wapiti` on PATH, the module `pycrfsuite`.

Each returns its history [[seconds, objective], ...], seconds without reading, and peak memory; or None if it is absent.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

from benchmarks.training.sets import DATA, TASKS

from sparsecrf import Template, read_columns

Result = dict[str, Any]


def wapiti(name: str, iterations: int, algorithm: str = "l-bfgs", *, test_error: bool = False) -> Result | None:
    """OWL-QN or sgd-l1 on one thread. Its time counts the decoding of a dev file: a small one, unless errors count."""
    program, task = shutil.which("wapiti"), TASKS[name]
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        pattern, dev = pathlib.Path(folder, "pattern"), pathlib.Path(folder, "dev")
        pattern.write_text(task.template)
        whole = (DATA / task.folder / "test.txt").read_text(encoding="utf-8")
        dev.write_text(whole if test_error else whole.split("\n\n")[0] + "\n\n")
        command = [program, "train", "-a", algorithm, "-1", str(task.rho1), "-2", str(task.rho2), "-e", "0", "-t", "1"]
        command += [
            "-i",
            str(iterations),
            "-d",
            dev,
            "-p",
            pattern,
            DATA / task.folder / "train.txt",
            f"{folder}/model",
        ]
        text, peak_mb = _run([str(part) for part in command])
    rows = re.findall(r"obj=(\S+)\s+act=(\d+)\s+err=\s*([\d.]+)%/\s*[\d.]+% time=[\d.]+s/([\d.]+)s", text)
    return {
        # Its stochastic solver knows no objective: NA.
        "history": [[float(t), float(value.replace("NA", "nan")), float(error)] for value, _, error, t in rows],
        "active": int(rows[-1][1]),
        "peak_mb": peak_mb,
    }


def crfsuite(name: str, iterations: int) -> Result | None:
    """CRFsuite's OWL-QN on observed features."""
    try:
        import pycrfsuite  # noqa: F401
    except ImportError:
        return None
    text, peak_mb = _run([sys.executable, "-m", "benchmarks.training.peers", name, str(iterations)])
    return {"history": json.loads(text.strip().splitlines()[-1]), "peak_mb": peak_mb}


def _run(command: list[str]) -> tuple[str, float]:
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=os.environ)
        _, status, usage = os.wait4(child.pid, 0)
        out.seek(0)
        text = out.read()
    if status != 0:
        raise RuntimeError(f"{command[0]}: expected exit status 0, found {status}: {text[-2000:]}")
    return text, usage.ru_maxrss / 1024


def _crfsuite_alone(name: str, iterations: int) -> None:
    import pycrfsuite

    task, history = TASKS[name], []

    class Trainer(pycrfsuite.Trainer):  # type: ignore[misc]
        began = 0.0

        def message(self, message: str) -> None:
            if found := re.search(r"^Loss: ([\d.]+)", message, re.M):
                history.append([time.perf_counter() - self.began, float(found.group(1))])

    trainer = Trainer(verbose=True)
    template = Template(task.template)
    for rows in read_columns(DATA / task.folder / "train.txt"):
        made = template.attributes([row[:-1] for row in rows])
        trainer.append([[name for name in names if name != "B"] for names in made], [row[-1] for row in rows])
    trainer.select("lbfgs")
    trainer.set_params({"c1": task.rho1, "c2": task.rho2 / 2, "max_iterations": iterations, "epsilon": 0, "delta": 0})
    Trainer.began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(f"{folder}/model")
    print(json.dumps(history))


if __name__ == "__main__":
    _crfsuite_alone(sys.argv[1], int(sys.argv[2]))
