"""Measures the cost of dense columns: a pass (loss and gradient) with and without them, in turns.

    PYTHONPATH=. python benchmarks/presets/dense.py [--task conll2003] [--columns 50] [--rounds 7]

One thread, ready-made features `words`, with all observed features, and with those that occur more than once. Values
are random: the cost does not depend on them. Processor seconds, the minimum over all rounds.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from benchmarks.tasks import DATA

from sparsecrf import Template, read_columns
from sparsecrf._core import FeatureSet, Oracle
from sparsecrf.encoding.dense import name_of
from sparsecrf.encoding.vocabulary import Vocabulary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="conll2003")
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    sentences = list(read_columns(DATA / options.task / "train.txt"))
    X, y = [[row[0] for row in rows] for rows in sentences], [[row[-1] for row in rows] for rows in sentences]
    vocabulary, d = Vocabulary(Template.conditions_pairs), options.columns
    for j in range(d):
        vocabulary.attributes.intern(name_of(j))
    plain = vocabulary.encode(X, y, grow=True, template=Template.preset("words"))
    values = np.random.default_rng(0).normal(size=(plain.n_tokens, d)).astype(np.float32)
    dense = plain.with_dense(values, np.arange(d, dtype=np.int64))
    for least in (0, 1):
        oracles = [Oracle(corpus, threads=1) for corpus in (plain, dense)]
        sets = [_features(oracle, corpus, least) for oracle, corpus in zip(oracles, (plain, dense), strict=True)]
        times: list[list[float]] = [[], []]
        for _ in range(options.rounds):
            for k, (oracle, features) in enumerate(zip(oracles, sets, strict=True)):
                began = time.process_time()
                oracle.loss_grad(features, np.full(len(features), 0.01))
                times[k].append(time.process_time() - began)
        without, with_them = map(min, times)
        print(
            f"{len(sets[0])} features: {without:.3f} s, with {d} columns {with_them:.3f} s, {with_them / without:.3f}"
        )


def _features(oracle: Oracle, corpus, least: int) -> FeatureSet:
    """The features that occur more than `least` times, and all features of dense columns."""
    observed = FeatureSet.observed(corpus)
    if least == 0:
        return observed
    kept = (np.asarray(oracle.counts(observed)) > least) | (observed.numbers < corpus.n_dense * corpus.n_labels)
    return FeatureSet.from_numbers(corpus.n_labels, corpus.n_attributes, observed.numbers[kept])


if __name__ == "__main__":
    main()
