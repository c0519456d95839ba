"""`sparsecrf demo --data simulated`: runs all steps on the paper's simulated task, in seconds."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

from numpy import array
from numpy.random import default_rng
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sparsecrf import Model, Vocabulary
from sparsecrf.contrib.demo.screen import path_progress, path_table, table, what_next, write_files
from sparsecrf.contrib.simulate import paper_hmm
from sparsecrf.path import path

TRAINING_SEQUENCES = 500
N_RHO = 12

NEXT = {
    "the task as column files": "sparsecrf data simulate -o sim",
    "a model of your own": "sparsecrf train sim/train.txt --dev sim/dev.txt -m model.safetensors",
    "its errors": "sparsecrf eval sim/test.txt -m model.safetensors",
}


def run(sequences: int, seed: int, folder: Path) -> None:
    """Simulate a hidden Markov model, train on some of its output, label the rest, and compare with the Bayes error."""
    console = Console(highlight=False)
    hmm, rng = paper_hmm(), default_rng(seed)
    X, y = hmm.sample(sequences, rng)
    vocabulary = Vocabulary(bigrams="all")
    corpus = vocabulary.encode(*hmm.sample(TRAINING_SEQUENCES, rng), grow=True)
    dev = hmm.sample(TRAINING_SEQUENCES, rng)
    console.print(
        f"{len(X):,} sequences of {hmm.length} symbols ({' '.join(hmm.symbols)}), each with a hidden label\n"
        f"({' '.join(hmm.labels)}). E and F both mostly emit e; only a preceding A tells them apart."
    )
    with path_progress(N_RHO) as callback:
        found = path(corpus, n_rho=N_RHO, rho_min_ratio=1e-3, rho2=0.01, gap=1e-3, threads=1, callback=callback)
    if found[-1].stopped_by == "interrupt":
        raise KeyboardInterrupt
    models = [fit.model(vocabulary) for fit in found]
    errors = [_error(model, *dev) for model in models]
    best = errors.index(min(errors))
    console.print(path_table(found, errors, best, console))
    compared = {"trained, best of the path": models[best], "the task's own model": hmm.as_model()}
    numbers = ("weights", "error")
    made = table("Token error of posterior decoding", "model", *numbers, numbers=numbers)
    for name, model in compared.items():
        made.add_row(name, str(model.n_active), f"{_error(model, X, y):.2f} %")
    made.add_row("the best possible, exactly", "", f"[bold green]{100 * hmm.bayes_error():.2f} %")
    console.print(made, _examples(X, y, models[best]), what_next(NEXT))
    test = (([[symbol] for symbol in x], labels) for x, labels in zip(X, y, strict=True))
    console.print(write_files(folder, models[best], replace(found, errors=array(errors)), test))


def _error(model: Model, X: list[list[str]], y: list[list[str]]) -> float:
    """The token error in percent."""
    corpus = model.encode(X, y)
    return 100 * float((model.chain.posterior(corpus) != corpus.labels).mean())


def _examples(X: list[list[str]], y: list[list[str]], model: Model) -> Table:
    """A few sequences, with confidences and the next best answers."""
    made = table("Some answers", "symbols", "true", "labelled", "confidence in %", "3 best (probability)")
    for x, truth in islice(zip(X, y, strict=True), 3):
        labels, marginals = model.label(x), model.marginals(x)
        style = ["green" if label == right else "bold red" for label, right in zip(labels, truth, strict=True)]
        made.add_row(
            " ".join(x),
            " ".join(truth),
            Text(" ").join(map(Text, labels, style)),
            " ".join(f"{100 * marginals[t, model.labels.index(label)]:3.0f}" for t, label in enumerate(labels)),
            "\n".join(f"{' '.join(path)}  {100 * p:5.2f} %" for path, p in model.nbest(x, 3)),
            end_section=True,
        )
    return made
