"""Measures default penalties on folders of column files (train.txt, dev.txt, test.txt; the word first, the label last).

    PYTHONPATH=. python benchmarks/defaults/measure.py FOLDER ... -o results.jsonl [--parts default spacy ...]
    python benchmarks/defaults/table.py results.jsonl --chosen NAME ...

Each fit adds a line of JSON: scores on dev and test data in percent (chunk F1 if labels encode chunks, else token
accuracy), processor seconds on one thread including reading, nonzero weights, the size of the model file and the
certified gap. Parts:

- default: the default penalties;
- grid: the other pairs of GRID, from zero weights;
- small: `rho1="small"`, which is (1, 0.01);
- auto: `rho1="auto"`, which sees the training data only;
- dev: the search of `path` over both penalties, which sees the dev data;
- crfsuite: the features and settings (c1 = c2 = 0.1, 100 iterations) of python-crfsuite's tutorial, without its tags;
- spacy: spaCy's entity recogniser or tagger from scratch, --steps steps, keeping the best model on dev data
(`with_spacy.py`).
"""

from __future__ import annotations

import argparse
import json
import pathlib
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sparsecrf import CRF, Model, read_columns
from sparsecrf.chunks import are_chunk_labels
from sparsecrf.path import PathWarning
from sparsecrf.scorers import chunk_f1_score, token_accuracy_score

#: Pairs around the default: the former default (0.1, 0.1) first.
GRID = (
    *((0.1, 0.1), (0.07, 0.1), (0.03, 0.1), (0.05, 0.05)),
    *((0.1, 0.03), (0.3, 0.1), (0.1, 0.3), (0.03, 0.03)),
)

Row = dict[str, Any]
Labels = list[list[str]]
Predict = Callable[[list[list[str]]], Labels]


class Part(NamedTuple):
    """Sentences and their labels."""

    words: list[list[str]]
    labels: Labels


class Task(NamedTuple):
    """The content of a folder."""

    name: str
    train: Part
    dev: Part
    test: Part
    chunks: bool  #: whether labels encode chunks

    @property
    def size(self) -> dict[str, int]:
        labels = [label for sentence in self.train.labels for label in sentence]
        return {"tokens": len(labels), "labels": len(set(labels))}

    def score(self, labels: Labels, found: Labels) -> float:
        """The score in percent."""
        return 100 * float((chunk_f1_score if self.chunks else token_accuracy_score)(labels, found))

    def dev_score(self, predict: Predict) -> float:
        return self.score(self.dev.labels, predict(self.dev.words))

    def scores(self, predict: Predict) -> Row:
        """Scores on dev and test data, and on both halves of the test data (every other sentence, and the rest)."""
        labels, found = self.test.labels, predict(self.test.words)
        halves = [self.score(labels[k::2], found[k::2]) for k in (0, 1)]
        return {"dev": self.dev_score(predict), "test": self.score(labels, found), "halves": halves}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("defaults.jsonl"))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=[name for name in PARTS if name != "spacy"])
    parser.add_argument("--features", default="words", help="a preset")
    parser.add_argument("--steps", type=int, default=1000, help="of spaCy at most")
    given = parser.parse_args()
    for folder in given.folders:
        task = load(folder)
        for part in given.parts:
            for row in PARTS[part](task, given):
                line = {"set": task.name, **task.size, "part": part, **row}
                with given.output.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
                print(json.dumps(line), flush=True)


def load(folder: pathlib.Path) -> Task:
    def read(name: str) -> Part:
        rows = list(read_columns(folder / f"{name}.txt"))
        return Part([[row[0] for row in s] for s in rows], [[row[-1] for row in s] for s in rows])

    train = read("train")
    labels = sorted({label for s in train.labels for label in s})
    return Task(folder.name, train, read("dev"), read("test"), are_chunk_labels(labels, ()))


def default(task: Task, given: argparse.Namespace) -> Iterator[Row]:
    yield fitted(task, CRF(features=given.features))


def small(task: Task, given: argparse.Namespace) -> Iterator[Row]:
    yield fitted(task, CRF(rho1="small", features=given.features))


def auto(task: Task, given: argparse.Namespace) -> Iterator[Row]:
    yield fitted(task, CRF(rho1="auto", features=given.features))


def fitted(task: Task, crf: CRF) -> Row:
    """Train and score."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)
        crf.fit(*task.train)
    seconds = time.process_time() - began
    return {**of_model(crf.model_), "gap": crf.gap_ / crf.objective_, "seconds": seconds, **task.scores(crf.predict)}


def of_model(model: Model) -> Row:
    """The penalties, the number of weights and the size in bytes of a model."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "model.safetensors"
        model.save(file)
        size = file.stat().st_size
    return {"rho1": model.training["rho1"], "rho2": model.training["rho2"], "weights": model.n_active, "bytes": size}


def grid(task: Task, given: argparse.Namespace) -> Iterator[Row]:
    for rho1, rho2 in GRID:
        yield fitted(task, CRF(rho1=rho1, rho2=rho2, features=given.features))


def dev(task: Task, given: argparse.Namespace) -> Iterator[Row]:
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)
        found = CRF(rho2="search", features=given.features).path(*task.train, dev=tuple(task.dev))
    seconds = time.process_time() - began
    model = found.model(found.best or 0)
    yield {**of_model(model), "fits": len(found), "seconds": seconds, **task.scores(answers(model))}


def answers(model: Model) -> Predict:
    """The function with which a model labels sentences."""
    return CRF.from_model(model).predict


def crfsuite(task: Task, given: argparse.Namespace) -> Iterator[Row]:
    import pycrfsuite

    began = time.process_time()
    trainer = pycrfsuite.Trainer(verbose=False)
    for words, labels in zip(*task.train, strict=True):
        trainer.append([tutorial_features(words, t) for t in range(len(words))], labels)
    trainer.set_params({"c1": 0.1, "c2": 0.1, "max_iterations": 100, "feature.possible_transitions": True})
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "model"
        trainer.train(str(file))
        seconds, size = time.process_time() - began, file.stat().st_size
        tagger = pycrfsuite.Tagger()
        tagger.open(str(file))
        info = tagger.info()

        def predict(sentences: list[list[str]]) -> Labels:
            return [tagger.tag([tutorial_features(words, t) for t in range(len(words))]) for words in sentences]

        weights = len(info.state_features) + len(info.transitions)
        yield {"weights": weights, "bytes": size, "seconds": seconds, **task.scores(predict)}


def tutorial_features(words: list[str], t: int) -> list[str]:
    """The features of python-crfsuite's CoNLL-2002 tutorial, except those that need parts of speech."""
    word = words[t]
    found = ["bias", f"word.lower={word.lower()}", f"word[-3:]={word[-3:]}", f"word[-2:]={word[-2:]}"]
    found += [f"word.isupper={word.isupper()}", f"word.istitle={word.istitle()}", f"word.isdigit={word.isdigit()}"]
    for step, edge in ((-1, "BOS"), (1, "EOS")):
        if not 0 <= t + step < len(words):
            found.append(edge)
            continue
        other = words[t + step]
        found += [f"{step}:word.lower={other.lower()}", f"{step}:word.istitle={other.istitle()}"]
        found.append(f"{step}:word.isupper={other.isupper()}")
    return found


def spacy(task: Task, given: argparse.Namespace) -> Iterator[Row]:
    from benchmarks.defaults.with_spacy import train

    began = time.process_time()
    how = {"chunks": task.chunks, "steps": given.steps, "dev_score": task.dev_score}
    predict, size = train(*task.train, **how)
    yield {"bytes": size, "steps": given.steps, "seconds": time.process_time() - began, **task.scores(predict)}


PARTS = {
    **{"default": default, "grid": grid, "small": small, "auto": auto},
    **{"dev": dev, "crfsuite": crfsuite, "spacy": spacy},
}

if __name__ == "__main__":
    main()
