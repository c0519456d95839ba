"""Compares loss and gradient of NETtalk's letter model with dense weights with the machine's dense limit.

The only attribute of a position is its letter, both unigram and bigram; all label pairs are features with random
weights. The limit is the time that dense_limit.cpp takes for the same 3 (P - N) Y^2 multiply-adds, in turns with the
passes.
"""

from __future__ import annotations

import pathlib
import subprocess
import tempfile

import numpy as np
from benchmarks.micro.density import take_turns

from sparsecrf import _core

HERE = pathlib.Path(__file__).parent


def read_letters(path: pathlib.Path) -> _core.Corpus:
    """Lines 'letter phoneme', with an empty line between words."""
    letters: dict[str, int] = {}
    phonemes: dict[str, int] = {}
    attribute, label, lengths = [], [], [0]
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            columns = line.split()
            attribute.append(letters.setdefault(columns[0], len(letters)))
            label.append(phonemes.setdefault(columns[-1], len(phonemes)))
            lengths[-1] += 1
        elif lengths[-1]:
            lengths.append(0)
    return letter_corpus(len(phonemes), len(letters), [n for n in lengths if n], attribute, label)


def simulated_letters() -> _core.Corpus:
    """Random data with as many words, letters and phonemes as the training part of NETtalk."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(3, 12, size=18_000)
    tokens = int(lengths.sum())
    return letter_corpus(51, 26, lengths, rng.integers(26, size=tokens), rng.integers(51, size=tokens))


def letter_corpus(n_labels: int, n_letters: int, lengths, attribute, label) -> _core.Corpus:
    ptr = np.arange(len(attribute) + 1, dtype=np.int64)
    ids = np.asarray(attribute, dtype=np.int32)
    return _core.Corpus.from_arrays(
        n_labels=n_labels,
        n_attributes=n_letters,
        lengths=np.asarray(lengths, dtype=np.int64),
        unigram_ptr=ptr,
        unigram_id=ids,
        bigram_ptr=ptr,
        bigram_id=ids,
        labels=np.asarray(label, dtype=np.int32),
    )


def compile_limit(folder: str, compiler: str, contract: str) -> pathlib.Path:
    program = pathlib.Path(folder) / f"dense_limit_{contract}"
    flags = ["-std=c++20", "-O3", "-march=native", f"-ffp-contract={contract}"]
    subprocess.run([compiler, *flags, str(HERE / "dense_limit.cpp"), "-o", str(program)], check=True)
    return program


def measure(data: pathlib.Path | None, compiler: str, rounds: int) -> dict:
    path = data / "nettalk" / "train.txt" if data else None
    real = path is not None and path.exists()
    corpus = read_letters(path) if real and path else simulated_letters()
    features = _core.FeatureSet.all_virtual(corpus)
    w = np.random.default_rng(0).normal(scale=0.5, size=features.size)
    products = corpus.n_tokens - corpus.n_sequences
    limits: dict[str, list[float]] = {"fused": [], "separate": []}

    def run_set(name: str):
        oracle = _core.Oracle(corpus, threads=1)
        oracle.counts(features)

        def run() -> None:
            _core.set_instruction_set(name)
            oracle.loss_grad(features, w)

        return run

    best = _core.instruction_set()
    with tempfile.TemporaryDirectory() as folder:

        def run_limit(name: str, program: pathlib.Path):
            command = [str(program), str(corpus.n_labels), str(products), "1"]
            return lambda: limits[name].append(float(subprocess.check_output(command)))

        calls = {name: run_set(name) for name in _core.instruction_sets()}
        for name, contract in (("fused", "fast"), ("separate", "off")):
            calls[f"limit, {name}"] = run_limit(name, compile_limit(folder, compiler, contract))
        times = take_turns(calls, rounds, 0.0)
    _core.set_instruction_set(best)
    limit = min(min(t) for t in limits.values())
    return {
        "corpus": "NETtalk, training part" if real else "simulated, of NETtalk's size",
        "tokens": corpus.n_tokens,
        "sequences": corpus.n_sequences,
        "labels": corpus.n_labels,
        "features": features.size,
        "multiply_adds": 3 * products * corpus.n_labels**2,
        "limit_ms": {name: 1e3 * min(t) for name, t in limits.items()},
        "pass_ms": {name: 1e3 * float(times[name].min()) for name in _core.instruction_sets()},
        "share_of_limit": {name: limit / float(times[name].min()) for name in _core.instruction_sets()},
    }
