"""Measures how good a model with ready-made features is, on dev data or on test data.

    PYTHONPATH=. python benchmarks/presets/quality.py conll2003 words [--rho1 0.3] [--rho2 0.3] [--test] [--data FOLDER]
        [--lexicon NAME=FILE] [--clusters NAME=FILE] [--classes NAME=FILE] [--vectors FILE] [--window N]
        [--chunks iobes]

Features and penalties are chosen on dev data; --test is for the final score. If there is no dev file, every tenth
training sentence is held out, except with --test. `TASK recorded` uses the recorded feature sets of tasks.py.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time

from benchmarks.tasks import DATA, TASKS

from sparsecrf import CRF, Template, read_columns, read_documents
from sparsecrf.chunks import recode
from sparsecrf.encoding.resources import named
from sparsecrf.encoding.vectors import WordVectors
from sparsecrf.scorers import chunk_f1_score, token_accuracy_score

Sentences = list[tuple[list[list[str]], list[str]]]

#: Columns that are used, the word first; all other columns of a file are left out.
COLUMNS = {"conll2000": 2}
RECORDED = {"conll2003": "conll2003-rich", "conll2000": "conll2000", "ewt": "ewt"}
TIME_LIMIT = 240.0
KINDS = ("lexicon", "clusters", "classes")  #: kinds of resources
DOCUMENTS = -1  #: in place of a number of columns


def read(path: pathlib.Path, n_columns: int, more: object = None) -> Sentences:
    """Rows of the first columns with the label, which is the last one; or words in documents."""
    if n_columns == DOCUMENTS:
        return [([row[:8] for row in rows], list(map(str, labels))) for rows, labels in read_documents(path)]
    made = []
    for rows in read_columns(path):
        cells = [[*row[: n_columns or -1], *(more(row[0]) if callable(more) else [])] for row in rows]
        made.append((cells, [row[-1] for row in rows]))
    return made


def parts(folder: pathlib.Path, n_columns: int, more: object, test: bool) -> tuple[Sentences, Sentences]:
    """The sentences to train on, and the sentences to score."""
    train = read(folder / "train.txt", n_columns, more)
    if test:
        return train, read(folder / "test.txt", n_columns, more)
    if (folder / "dev.txt").exists():
        return train, read(folder / "dev.txt", n_columns, more)
    return [s for k, s in enumerate(train) if k % 10], train[::10]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", help="a folder of the data")
    parser.add_argument("features", help="the name of a preset, the file of a template, or `recorded`")
    parser.add_argument("--data", type=pathlib.Path, default=DATA)
    parser.add_argument("--time-limit", type=float, default=TIME_LIMIT, help="seconds of training")
    parser.add_argument("--rho1", type=float, default=1.0)
    parser.add_argument("--rho2", type=float, default=0.01)
    for kind in KINDS:
        parser.add_argument(f"--{kind}", metavar="NAME=FILE", action="append", default=[])
    parser.add_argument("--vectors", metavar="FILE", help="of words, in the text format of word2vec")
    parser.add_argument("--window", type=int, default=0, help="of vectors")
    parser.add_argument("--chunks", help="train on chunk labels of this scheme; scores are of the labels of the data")
    parser.add_argument("--test", action="store_true")
    options = parser.parse_args()

    recorded = TASKS[RECORDED[options.task]] if options.features == "recorded" else None
    more = None if recorded is None else recorded.more
    n_columns = COLUMNS.get(options.task, 1) if recorded is None else 0
    if options.features == "documents":
        n_columns = DOCUMENTS
    train, other = parts(options.data / options.task, n_columns, more, options.test)
    if recorded is not None:
        how = {"template": Template(recorded.template)}
    else:
        is_file = pathlib.Path(options.features).is_file()
        how = {"template": options.features} if is_file else {"features": options.features}

    resources = [made for kind in KINDS for made in named(getattr(options, kind), kind)]
    if options.vectors:
        how["vectors"] = WordVectors.load(options.vectors, window=options.window)
    began = time.perf_counter()
    crf = CRF(
        options.rho1,
        options.rho2,
        n_jobs=1,
        resources=resources,
        solver_options={"time_limit": options.time_limit},
        **how,
    )
    X, y = zip(*train, strict=True)
    crf.fit(X, [recode(labels, options.chunks) for labels in y] if options.chunks else y)
    took = time.perf_counter() - began
    X, y = zip(*other, strict=True)
    labels = crf.predict(X)
    if options.chunks:  # IOB2 on both sides: token accuracies use the same scheme
        labels, y = ([recode(one, "iob2") for one in side] for side in (labels, y))
    found = {
        "task": options.task,
        "features": options.features,
        "resources": [resource.name for resource in resources],
        "vectors": options.vectors,
        "window": options.window,
        "chunks": options.chunks,
        "rho1": options.rho1,
        "rho2": options.rho2,
        "part": "test" if options.test else "dev",
        "accuracy": round(100 * token_accuracy_score(y, labels), 2),
        "weights": crf.n_active_,
        "fit_s": round(took, 1),
        "stopped_by": crf.stopped_by_,
    }
    if "O" in crf.classes_:
        found["f1"] = round(100 * chunk_f1_score(y, labels), 2)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
