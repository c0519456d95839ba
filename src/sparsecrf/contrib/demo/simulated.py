"""`sparsecrf demo --data simulated`: all steps on the paper's simulated task, in seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy import array
from numpy.random import default_rng
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from sparsecrf import Fit, Model, Vocabulary
from sparsecrf._core import Chain, FeatureSet
from sparsecrf.contrib.demo.files import write_files
from sparsecrf.contrib.demo.progress import path_progress
from sparsecrf.contrib.demo.screen import what_next
from sparsecrf.contrib.simulate import HMM, paper_hmm
from sparsecrf.path import path

TRAINING_SEQUENCES = 500
N_RHO = 12
MEASURED_S = 0.2  # how long each speed is measured

NEXT = {
    "the task as column files": "sparsecrf data simulate -o sim",
    "a model of your own": "sparsecrf train sim/train.txt --dev sim/dev.txt -m model.safetensors",
    "its errors": "sparsecrf eval sim/test.txt -m model.safetensors",
}


def run(sequences: int, seed: int, folder: Path) -> None:
    """Simulate a hidden Markov model, train on some of its output, label the rest, compare with the Bayes error."""
    console = Console(highlight=False)
    hmm, rng = paper_hmm(), default_rng(seed)
    task = Task(hmm, *hmm.sample(sequences, rng))
    vocabulary = Vocabulary(bigrams="all")
    corpus = vocabulary.encode(*hmm.sample(TRAINING_SEQUENCES, rng), grow=True)
    dev = Task(hmm, *hmm.sample(TRAINING_SEQUENCES, rng))
    console.print(Rule("sparsecrf demo: a simulated task", style="dim"))
    console.print(_task_text(task))
    with path_progress(N_RHO) as callback:
        found = path(corpus, n_rho=N_RHO, rho_min_ratio=1e-3, rho2=0.01, gap=1e-3, threads=1, callback=callback)
    fits = found.fits
    if fits[-1].stopped_by == "interrupt":
        raise KeyboardInterrupt
    models = [fit.model(vocabulary) for fit in fits]
    errors = [dev.error(model) for model in models]
    best = errors.index(min(errors))
    console.print(_path(fits, errors))
    trained = models[best]
    console.print(_errors(task, {"trained, best of the path": trained, "the task's own model": hmm.as_model()}))
    console.print(_sparsity(task, trained))
    console.print(_examples(task, trained))
    console.print(_speeds(task, trained))
    console.print(what_next(NEXT))
    test = (([[symbol] for symbol in x], y) for x, y in zip(task.X, task.y, strict=True))
    console.print(write_files(folder, trained, replace(found, errors=100 * array(errors)), test))


@dataclass(frozen=True)
class Task:
    """Simulated test sequences and where they come from."""

    hmm: HMM
    X: list[list[str]]
    y: list[list[str]]

    def error(self, model: Model) -> float:
        """Token error of posterior decoding."""
        corpus = model.encode(self.X, self.y)
        return float((model.chain.posterior(corpus) != corpus.labels).mean())

    @property
    def n_tokens(self) -> int:
        return sum(map(len, self.y))


def _task_text(task: Task) -> Text:
    hmm = task.hmm
    return Text.assemble(
        "\n",
        f"{len(task.X):,} sequences of {hmm.length} symbols ({' '.join(hmm.symbols)}), ",
        f"each with a hidden label\n({' '.join(hmm.labels)}). ",
        "E and F both mostly emit e: only an A before tells them apart.\n",
    )


def _table(title: str, *columns: str) -> Table:
    """A table whose first column is text and whose others are numbers."""
    table = Table(title=title, title_justify="left", title_style="bold", header_style="dim")
    for k, name in enumerate(columns):
        table.add_column(name, justify="left" if k == 0 else "right")
    return table


def _path(fits: list[Fit], errors: list[float]) -> Table:
    """The regularisation path: less penalty, more weights; the error falls and rises again."""
    columns = ("rho1", "active weights", "objective", "gap", "dev error", "")
    table = _table("Regularisation path, each fit starting from the last", *columns)
    for fit, error in zip(fits, errors, strict=True):
        bar = Text("\u2588" * round(60 * error), "bold green" if error == min(errors) else "blue")
        row = (f"{fit.rho1:.3g}", str(len(fit.w)), f"{fit.objective:.2f}", f"{fit.gap:.1g}", f"{100 * error:.2f} %")
        table.add_row(*row, bar)
    table.columns[-1].justify = "left"
    table.caption = "gap: upper bound on the distance to the optimum"
    return table


def _errors(task: Task, models: dict[str, Model]) -> Table:
    """Token errors of both decodings; a trained model is one more entry of `models`."""
    table = _table("Token error", "model", "active weights", "Viterbi", "posterior")
    for name, model in models.items():
        corpus = model.encode(task.X, task.y)
        viterbi, _ = model.chain.viterbi(corpus)
        errors = [(labels != corpus.labels).mean() for labels in (viterbi, model.chain.posterior(corpus))]
        table.add_row(name, str(model.n_active), *(f"{100 * error:.2f} %" for error in errors))
    bayes = task.hmm.bayes_error()
    table.add_section()
    table.add_row("the best possible, exactly", "", "", f"[bold green]{100 * bayes:.2f} %")
    chance = 100 * (bayes * (1 - bayes) / task.n_tokens) ** 0.5
    table.caption = f"{task.n_tokens:,} tokens: chance moves an error by about {chance:.1f} %"
    return table


def _sparsity(task: Task, model: Model) -> Table:
    """The possible features and the nonzero weights."""
    possible = FeatureSet.all_virtual(model.encode(task.X))
    features = model.features
    table = _table("Features", "kind", "possible", "active")
    table.add_row("symbol, label", str(possible.n_unigram), str(features.n_unigram))
    table.add_row("label, label", str(possible.n_bigram), str(features.n_bigram))
    return table


def _examples(task: Task, model: Model) -> Table:
    """A few sequences of different kinds, with confidences and the next best answers."""
    table = _table("Some answers", "symbols", "true", "labelled", "confidence in %", "3 best (probability)")
    kinds: list[Callable[[str], bool]] = [
        lambda x: x.count("e") == 1 and "ae" in x,  # the previous label distinguishes E from F
        lambda x: x.count("e") == 1 and "ae" not in x and x[0] != "e",  # nothing does
        lambda x: "e" not in x,  # nothing needs to
    ]
    for kind in kinds:
        found = next(((x, y) for x, y in zip(task.X, task.y, strict=True) if kind("".join(x))), None)
        if found is None:
            continue
        x, truth = found
        labels, marginals = model.label(x), model.marginals(x)
        confidence = [marginals[t, model.labels.index(y)] for t, y in enumerate(labels)]
        style = ["green" if y == right else "bold red" for y, right in zip(labels, truth, strict=True)]
        best = (f"{' '.join(path)}  {100 * p:5.2f} %" for path, p in model.nbest(x, 3))
        table.add_row(
            " ".join(x),
            " ".join(truth),
            Text(" ").join(map(Text, labels, style)),
            " ".join(f"{100 * p:3.0f}" for p in confidence),
            "\n".join(best),
            end_section=True,
        )
    table.caption = "green: right; red: wrong"
    return table


def _speeds(task: Task, model: Model) -> Table:
    """Tokens per second of each step on this machine; the fastest run counts, since others were disturbed."""
    corpus = model.encode(task.X)
    chain = Chain(model.features, model.w, threads=1)
    steps: dict[str, Callable[[], Any]] = {
        "encode Python strings": lambda: model.encode(task.X),
        "label (Viterbi)": lambda: chain.viterbi(corpus),
        "marginals": lambda: chain.marginals(corpus),
    }
    table = _table("Speed", "step", "tokens per second")
    for name, step in steps.items():
        best, end = float("inf"), time.perf_counter() + MEASURED_S
        while (start := time.perf_counter()) < end:
            step()
            best = min(best, time.perf_counter() - start)
        table.add_row(name, f"{task.n_tokens / best:,.0f}")
    table.caption = "best of many runs, one core"
    return table
