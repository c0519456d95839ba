"""Training on one and on two threads, in turns, and a prediction for more threads by Amdahl's law.

    PYTHONPATH=. python benchmarks/process/training.py FOLDER NAME:RHO1:RHO2 ... [--rounds 3]

FOLDER/NAME has train.txt and template.txt (CRF++), as `benchmarks/training/run.py` prepares them. Seconds of `fit` to
the default tolerance, in turns; with T1 and T2 the smallest, the share s of a run that is on one thread, from
T2 = T1 (s + (1 - s) / 2), and 1 / (s + (1 - s) / n) for n = 4, 8 and 16. The weights must be bit-identical. Nothing
else may run on the machine.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time

import numpy as np

from sparsecrf import Template, Vocabulary, fit
from sparsecrf.shards.dataset import encode_columns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("tasks", nargs="+", metavar="NAME:RHO1:RHO2")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for task in options.tasks:
        name, rho1, rho2 = task.split(":")
        vocabulary = Vocabulary(bigrams=Template.conditions_pairs, start=False)
        template = Template.load(options.folder / name / "template.txt", "crf++")
        corpus = encode_columns([options.folder / name / "train.txt"], vocabulary, template, grow=True).corpus
        seconds: dict[int, list[float]] = {1: [], 2: []}
        weights = []
        for _ in range(options.rounds):
            for threads, times in seconds.items():
                began = time.perf_counter()
                weights.append(fit(corpus, rho1=float(rho1), rho2=float(rho2), threads=threads).w)
                times.append(time.perf_counter() - began)
        assert all(np.array_equal(w, weights[0]) for w in weights), "expected the same bits for any number of threads"
        one, two = min(seconds[1]), min(seconds[2])
        serial = 2.0 * two / one - 1.0
        more = {str(n): round(1.0 / (serial + (1.0 - serial) / n), 2) for n in (4, 8, 16)}
        times_s = {str(n): [round(s, 2) for s in times] for n, times in seconds.items()}
        found = {"task": name, "seconds": times_s, "serial": round(serial, 3), "2": round(one / two, 2)} | more
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
