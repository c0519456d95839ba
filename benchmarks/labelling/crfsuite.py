"""CRFsuite through python-crfsuite, on ready-made attributes: train a model, or label a file and say how long it took.

    python -m benchmarks.labelling.crfsuite train TEMPLATE MODEL FILE
    python -m benchmarks.labelling.crfsuite label TEMPLATE MODEL FILE COPIES

Labelling prints a JSON object: tokens and seconds, those of making the attributes and of reading left out.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator

import pycrfsuite

from sparsecrf import Template, read_columns


def sequences(template: str, file: str) -> Iterator[tuple[pycrfsuite.ItemSequence, list[str]]]:
    """Attributes and labels. The bare B has no attribute here: CRFsuite always has plain transitions."""
    lines = Template.load(template)
    for rows in read_columns(file):
        made = lines.attributes([row[:-1] for row in rows])
        kept = [[name for name in names if name != "B"] for names in made]
        yield pycrfsuite.ItemSequence(kept), [row[-1] for row in rows]


def train(template: str, model: str, file: str) -> None:
    trainer = pycrfsuite.Trainer(verbose=False)
    for items, labels in sequences(template, file):
        trainer.append(items, labels)
    trainer.select("lbfgs")
    trainer.set_params({"c1": 1.0, "c2": 0.5, "max_iterations": 100})
    trainer.train(model)


def label(template: str, model: str, file: str, copies: str) -> None:
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    data = [items for items, _ in sequences(template, file)]
    began = time.perf_counter()
    tokens = sum(len(tagger.tag(items)) for _ in range(int(copies)) for items in data)
    print(json.dumps({"tokens": tokens, "seconds": time.perf_counter() - began}))


if __name__ == "__main__":
    {"train": train, "label": label}[sys.argv[1]](*sys.argv[2:])
