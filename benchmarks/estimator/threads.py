"""Python threads that share a model: sentences a second by 1, 2 and 8 of them, every answer compared with that of one.

    PYTHONPATH=. python benchmarks/estimator/threads.py MODEL SECONDS

The model labels the test sentences of `one.py`. As JSON.
"""

from __future__ import annotations

import json
import sys
import threading
import time

from benchmarks.estimator.one import sentences

from sparsecrf import Model


def throughput(model: Model, X: list, expected: list, n_threads: int, seconds: float) -> dict[str, float]:
    done, wrong = [0] * n_threads, [0] * n_threads
    end = time.perf_counter() + seconds

    def work(k: int) -> None:
        i = k * len(X) // n_threads
        while time.perf_counter() < end:
            wrong[k] += model.label(X[i]) != expected[i]
            done[k] += 1
            i = (i + 1) % len(X)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(n_threads)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"sentences": sum(done), "wrong": sum(wrong), "per_s": sum(done) / (time.perf_counter() - began)}


def main() -> None:
    model, seconds = Model.load(sys.argv[1]), float(sys.argv[2])
    X = [tokens for tokens, _ in sentences("test.txt")]
    expected = [model.label(tokens) for tokens in X]
    found = {n: throughput(model, X, expected, n, seconds if n == 8 else seconds / 4) for n in (1, 2, 8)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
