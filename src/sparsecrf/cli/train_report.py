"""The report of `sparsecrf train` about a run: messages, and the result as JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from sparsecrf.cli.remarks import has_documents, headers
from sparsecrf.defaults import PENALTY, RHO1, RHO2, SMALL
from sparsecrf.encoding.label_parts import LabelParts
from sparsecrf.model import Model
from sparsecrf.options import FitOptions
from sparsecrf.path.scores import CHUNKS, evaluate_chunks, score_of
from sparsecrf.shards.dataset import Dataset
from sparsecrf.tables import counted
from sparsecrf.training import Fit, Weights
from sparsecrf.training.data import TrainingData
from sparsecrf.training.heldout import WrongTokens, wrong_tokens
from sparsecrf.training.history import REASONS, distance_in_words
from sparsecrf.training.value_sizes import remark_on_sizes


def as_json(record: dict[str, Any]) -> str:
    """One line of JSON, with null for values that are not finite, since JSON cannot express them."""
    return json.dumps({k: None if isinstance(v, float) and not isfinite(v) else v for k, v in record.items()})


def size(data: Dataset, virtual: int) -> str:
    """The size of the training data, and the number of features that can be formed."""
    shards, known = data.shards, data.vocabulary
    sizes = {"sequence": shards.n_sequences, "token": shards.n_tokens}
    sizes |= {"label": len(known.labels), "attribute": len(known.attributes)}
    return f"{', '.join(counted(n, noun) for noun, n in sizes.items())}: {counted(virtual, 'feature')}"


def unshared(fitting: FitOptions, parts: LabelParts | None) -> str | None:
    """A message if --label-parts or --class-pairs has no effect on these labels, else None."""
    if fitting.label_parts is not None and parts is None:
        return f"--label-parts {fitting.label_parts} has no effect: no part is shared by some but not all labels"
    if fitting.class_pairs and parts is not None and not parts.classes:
        return "--class-pairs has no effect: no first part is shared by some but not all labels"
    return None


def taken(name: str, model: Model, data: Dataset, weights: Weights) -> str:
    """A message that lists what training takes from the --init or --prior model `name`."""
    new = len(data.vocabulary.labels) - len(model.labels)
    parts = [f"{len(model.labels)} labels ({new} more in the data)" if new else f"{len(model.labels)} labels"]
    if model.template is not None and data.recipe.template is None and data.recipe.features is None:
        parts.insert(0, "the template")
    if data.vocabulary.start == model.vocabulary.start:
        parts.append("the start label" if model.vocabulary.start else "no start label")
    known = f"{len(weights.numbers):,} of {model.n_active:,} weights"
    advice = ""
    if len(weights.numbers) == 0:
        advice = ": its attributes do not occur in the data, so training starts from zero"
    return f"from {name}: {', '.join(parts)}, {known}{advice}"


def summary(
    found: Fit, data: Dataset, prepared: TrainingData, read_s: float, dev: DevScores | None, asked: float | str
) -> dict[str, Any]:
    """The record that `--json` prints; `asked` is the requested rho1."""
    last = found.history[-1] if found.history else None
    Y, X = len(data.vocabulary.labels), len(data.vocabulary.attributes)
    return {
        "objective": found.objective,
        "loss": found.loss,
        "gap": found.gap,
        "remaining": found.remaining,
        "kkt": found.kkt,
        "active_unigram": found.n_unigram,
        "active_bigram": len(found.w) - found.n_unigram - found.n_ngram,
        **({} if found.parts is None else {"parts": len(found.parts.names), "active_part": found.n_part}),
        **({"active_class_pair": found.n_class_pair} if found.parts is not None and found.parts.classes else {}),
        **({} if found.order == 2 else {"active_ngram": found.n_ngram}),
        **({"rho1": found.rho1, "rho2": found.rho2} if isinstance(asked, str) else {}),
        **({} if found.n_changed is None else {"changed": found.n_changed}),
        **({"penalty": found.penalty, "groups": found.groups} if found.groups else {}),
        "virtual_features": prepared.n_virtual(),
        "observed_features": len(prepared.observed),
        "labels": Y,
        "attributes": X,
        "sequences": data.shards.n_sequences,
        "tokens": data.shards.n_tokens,
        "iterations": last.iter if last else 0,
        "passes": last.passes if last else 0.0,
        "time_read_s": read_s,
        "time_train_s": last.time_s if last else 0.0,
        "peak_rss_mb": peak_rss_mb(),
        "stopped_by": found.stopped_by,
        "solver": found.solver,
        "dev_error": None if dev is None else dev.tokens.percent,
        **{f"dev_{name}": getattr(dev, name, None) for name in ("f1", "precision", "recall")},
    }


def peak_rss_mb() -> float | None:
    """Peak memory of the process so far; None if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


@dataclass(frozen=True)
class DevScores:
    """Scores of a model on the dev data, in percent. Precision, recall and F1 are for chunks, and None if labels do
    not encode chunks. With chunks, the token error is of little use, since most tokens are outside all chunks."""

    tokens: WrongTokens
    precision: float | None
    recall: float | None
    f1: float | None

    def __str__(self) -> str:
        if self.f1 is None:
            wrong, n = self.tokens
            return f"dev data: {self.tokens.percent:.2f} % of the labels are wrong ({wrong:,} of {n:,})"
        return f"dev data: chunk F1 {self.f1:.2f} % (precision {self.precision:.2f}, recall {self.recall:.2f})"


def on_dev_data(found: Fit, data: Dataset, threads: int) -> DevScores | None:
    """The scores of the model on the dev data; None without dev data."""
    if data.dev is None:
        return None
    dev = data.dev.corpus
    predicted = found.chain(threads).viterbi(dev)[0]
    tokens = wrong_tokens(dev, predicted, len(data.dev.unknown.at))
    if score_of("auto", data.label_names).name != CHUNKS:
        return DevScores(tokens, None, None, None)
    scored = evaluate_chunks(dev, predicted, data.label_names, data.dev.unknown.at)
    return DevScores(tokens, *(value or 0.0 for value in (scored.precision, scored.recall, scored.f1)))


_WORTH_SHRINKING = 1000  # minimum number of weights
_SMALL_SHARE = 9  # a small model keeps 1/9 of the weights: the median in benchmarks/record/penalties.md
# More tokens in one sequence, or more labels per token, are usually due to a mistake in the file.
_LONG, _MANY = 500, 20


def remarks(data: Dataset, files: Sequence[str], dev: str | None) -> list[str]:
    """Warnings about data that probably contain a mistake. `files` are the files that the data were read from."""
    n_sequences, n_tokens, n_labels = data.shards.n_sequences, data.shards.n_tokens, len(data.vocabulary.labels)
    found = headers(data, files)
    if n_labels == 1:
        found.append(f"all labels are {data.vocabulary.labels[0]!r}, so there is nothing to learn")
    elif n_labels > _MANY and 4 * n_labels > n_tokens:
        found.append(f"{n_labels:,} labels for {n_tokens:,} tokens: is the last column the label?")
    if n_sequences == 1 and n_tokens > _LONG:
        found.append(f"the data are one sequence of {n_tokens:,} tokens; separate sequences with blank lines")
    elif n_sequences == n_tokens > _MANY:
        found.append("every sequence has one token; are there too many blank lines? A blank line ends a sequence")
    if data.recipe.features == "documents" and all(map(os.path.isfile, files)) and not any(map(has_documents, files)):
        found.append(
            f"--features documents: no line of {files[0]} begins a document (-DOCSTART-); use --features words"
        )
    if dev is not None and os.path.realpath(dev) in map(os.path.realpath, files):
        found.append(f"--dev {dev} is also training data, so its score says nothing about new data")
    if (sizes := remark_on_sizes(data)) is not None:
        found.append(sizes)
    return [f"sparsecrf: warning: {text}" for text in found]


def empty_model(found: Fit, data: Dataset) -> str | None:
    """A warning if all weights are zero, else None."""
    if len(found.w) or len(data.vocabulary.labels) == 1:
        return None
    return f"sparsecrf: warning: the model has no nonzero weights: --rho1 {found.rho1:g} is too large for these data"


def saved_by_small(found: Fit, asked: float | str) -> str | None:
    """A message about the size of a small model, if the run used the default penalties. None if it used other
    penalties, if the saving is small, or if the penalties applied to differences from a prior. `asked` is the requested
    rho1."""
    n = len(found.w)
    defaults = RHO1, RHO2, PENALTY, None
    if (asked, found.rho2, found.penalty, found.n_changed) != defaults or n < _WORTH_SHRINKING:
        return None
    return f"--rho1 {SMALL} would keep about {n // _SMALL_SHARE:,} of these {n:,} weights, usually with a lower score"


def closing(found: Fit, result: dict[str, Any], model: str, n_all: int) -> str:
    """The closing message: the name and size of the model, the iterations, and the distance to the optimum. `n_all` is
    its number of weights, including weights of a prior for attributes that do not occur in the data."""
    active = len(found.w)
    of_parts = "" if found.parts is None else f", {found.n_part:,} of them for label parts"
    of_classes = f", {found.n_class_pair:,} of them for class pairs" if "active_class_pair" in result else ""
    longer = "" if found.order == 2 else f", {found.n_ngram:,} longer"
    iterations = counted(result["iterations"], "iteration")
    distance = distance_in_words(found.objective, found.gap, found.remaining)
    groups = "".join(f"{n:,} of {of:,} {name} kept ({found.penalty})\n" for name, (n, of) in found.groups.items())
    changed = ""
    if found.n_changed is not None:
        unseen = f"; {n_all - active:,} more are for attributes that do not occur in the data" if n_all > active else ""
        changed = f"{found.n_changed:,} weights differ from the prior{unseen}\n"
    memory = "" if result["peak_rss_mb"] is None else f", {result['peak_rss_mb']:.0f} MB"
    return (
        f"{model}: {active:,} nonzero weights ({result['active_unigram']:,} unigram{of_parts}"
        f", {result['active_bigram']:,} bigram{of_classes}{longer})\n"
        f"{groups}{changed}"
        f"{iterations} of {found.solver} in {result['time_train_s']:.1f} s"
        f" after {result['time_read_s']:.1f} s of reading{memory}\n"
        f"training objective {found.objective:,.3f}, {distance}; stopped: {REASONS[found.stopped_by]}"
    )
