"""One sentence per call, as in a server, compared with python-crfsuite's tagger with the same weights:

    PYTHONPATH=. python -m benchmarks.labelling.one_sentence FOLDER [--rounds N]

FOLDER has column files train.txt and test.txt, with the word first and the label last. python-crfsuite trains on 4,000
sentences; sparsecrf uses the same weights, with and without a template that makes the same attributes. Prints
microseconds of processor time per call (the minimum over rounds, tools in turns); all labels are compared.
"""

from __future__ import annotations

import argparse
import pathlib
import tempfile
import time
from collections.abc import Callable
from typing import Any

import pycrfsuite
from benchmarks.serving.features import features
from benchmarks.serving.run import data_of, make_models

from sparsecrf.contrib.convert.foreign import read_crfsuite

LENGTHS = ((3, 5), (6, 10), (20, 30))


def least(call: Callable[[Any], Any], each: list[Any], before: float) -> float:
    began = time.process_time()
    for sentence in each:
        call(sentence)
    return min(before, (time.process_time() - began) / len(each) * 1e6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    train, test = data_of(options.folder)
    tagger = pycrfsuite.Tagger()
    with tempfile.TemporaryDirectory() as folder:
        by_template = make_models(train[:4000], pathlib.Path(folder))
        tagger.open(f"{folder}/model.crfsuite")
        by_attributes = read_crfsuite(pathlib.Path(folder) / "model.crfsuite")
        for low, high in LENGTHS:
            sentences = [words for words, _ in test if low <= len(words) <= high][:300]
            mappings = [features(words) for words in sentences]
            lists = [[[f"{k}:{v}" for k, v in token.items()] for token in sentence] for sentence in mappings]
            rows = [[[word] for word in words] for words in sentences]
            ways: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
                "Tagger.tag, mappings": (tagger.tag, mappings),
                "Model.label, mappings": (by_attributes.label, mappings),
                "Tagger.tag, lists": (tagger.tag, lists),
                "Model.label, lists": (by_attributes.label, lists),
                "Tagger.tag, features in Python": (lambda words: tagger.tag(features(words)), sentences),
                "Model.label, template": (by_template.label, rows),
            }
            expected = [tagger.tag(sentence) for sentence in mappings]
            for name, (call, each) in ways.items():
                assert [call(sentence) for sentence in each] == expected, name
            found = dict.fromkeys(ways, float("inf"))
            for _ in range(options.rounds):
                found = {name: least(*ways[name], before) for name, before in found.items()}
            mean = sum(map(len, sentences)) / len(sentences)
            print(f"{low} to {high} tokens, {mean:.1f} on average: microseconds a call")
            for name, microseconds in found.items():
                print(f"    {name:<32} {microseconds:6.1f}")


if __name__ == "__main__":
    main()
