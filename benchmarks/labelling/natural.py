"""One pass over text whose lines recur as in newspapers, unlike the repeated files of run.py:

    PYTHONPATH=. python -m benchmarks.labelling.natural [TASK ...] --models FOLDER [--rounds N]

Labels the training files of the tasks of data.py, each time with a new model object. Prints nanoseconds of processor
time per token (minimum and median over the rounds) and how many sentences were labelled again from a corpus, because
merged sums could not prove their labels. Missing models are trained and kept in the folder, as in run.py.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import time

from benchmarks.labelling.data import LABELLED
from benchmarks.labelling.run import tools_for, train
from benchmarks.tasks import Task

from sparsecrf import Model


def measure(task: Task, folder: pathlib.Path, rounds: int) -> str:
    files = task.prepare(folder)
    tool, budget = tools_for(task)["sparsecrf"]
    train(tool, budget, task, files)
    text = files.train.read_bytes()
    lines = text.splitlines()
    n_tokens = sum(map(bool, lines))
    seconds = []
    for _ in range(rounds):
        model = Model.load(files.model(tool.name, tool.space))
        began = time.process_time()
        if task.name == "documents":
            assert model.label_records(text, "documents", "", 1) is not None
        else:
            model.label_text(text, str(files.train))
        seconds.append(time.process_time() - began)
    least, median = (1e9 * each / n_tokens for each in (min(seconds), statistics.median(seconds)))
    n_sentences = len(lines) - n_tokens
    repeated = model._core.n_repeated
    return f"{task.name:<14} {n_tokens:>8,} {least:>8.0f} {median:>8.0f} {repeated:>8,} of {n_sentences:,}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"some of {', '.join(LABELLED)} (default all)")
    parser.add_argument("--models", type=pathlib.Path, required=True, help="folder of prepared data and models")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{'task':<14} {'tokens':>8} {'least ns':>8} {'median':>8} {'again':>8}")
    for name in options.tasks or LABELLED:
        if LABELLED[name][0].available():
            print(measure(LABELLED[name][0], options.models, options.rounds), flush=True)


if __name__ == "__main__":
    main()
