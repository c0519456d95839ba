"""Python threads that share a model: sentences per second with 1, 2 and 8 threads. Every answer is compared with the
answer of one thread.

    PYTHONPATH=. python benchmarks/estimator/threads.py MODEL SECONDS

The model labels the test sentences of `one.py`. Prints JSON.
"""

from __future__ import annotations

import json
import sys
import threading
import time

from benchmarks.estimator.one import sentences

from sparsecrf import CRF

SIZES = 1, 50  # sentences per call


def throughput(crf: CRF, X: list, expected: list, n_threads: int, size: int, seconds: float) -> dict[str, float]:
    done, wrong = [0] * n_threads, [0] * n_threads
    end = time.perf_counter() + seconds

    def work(k: int) -> None:
        i = k * len(X) // n_threads
        while time.perf_counter() < end:
            part = slice(i, i + size)
            found = [crf.model_.label(X[i])] if size == 1 else crf.predict(X[part]).tolist()
            wrong[k] += sum(a != b for a, b in zip(found, expected[part], strict=True))
            done[k] += len(found)
            i = (i + size) % (len(X) - size)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(n_threads)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"sentences": sum(done), "wrong": sum(wrong), "per_s": sum(done) / (time.perf_counter() - began)}


def main() -> None:
    crf, seconds = CRF.from_model(sys.argv[1]), float(sys.argv[2])
    X = [tokens for tokens, _ in sentences("test.txt")]
    expected = [crf.model_.label(tokens) for tokens in X]
    found = {
        size: {n: throughput(crf, X, expected, n, size, seconds if n == 8 else seconds / 4) for n in (1, 2, 8)}
        for size in SIZES
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
