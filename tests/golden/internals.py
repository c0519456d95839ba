"""All that the golden cases know of the package beyond its public names. When modules move or the core's interface
changes, this file follows, and the digests stay as they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from digest import stable_file
from sparsecrf import LabelParts, Vocabulary, _core

KERNELS = ("sparse", "dense", "log", "auto")


def instruction_sets() -> list[str]:
    """Those of this machine, the slowest first."""
    return _core.instruction_sets()


@contextmanager
def instruction_set(name: str) -> Iterator[None]:
    before = _core.instruction_set()
    _core.set_instruction_set(name)
    try:
        yield
    finally:
        _core.set_instruction_set(before)


def feature_numbers(model: Any) -> list[Any]:
    """The numbers of a model's features, and the label n-grams among them."""
    return [model.features.numbers, *model.features.ngrams]


def word_vectors(file: Any) -> Any:
    """Vectors of words in a file of text."""
    from sparsecrf.encoding.vectors import WordVectors

    return WordVectors.load(file)


def crfsuite_estimator(**options: Any) -> Any:
    """The estimator with the interface of sklearn-crfsuite."""
    from sparsecrf.contrib.compat import CRF

    return CRF(**options)


def encoded_folder(folder: Path) -> dict[str, Any]:
    """What `train --cache` has made: the lists and labels of each shard, and the names of attributes and labels."""
    shards = [_core.Corpus.open(file, copy=True).to_arrays() for file in sorted(folder.glob("shard-*.corpus"))]
    return {"lists": shards, "names": stable_file((folder / "vocabulary").read_bytes())}


class Family:
    """A corpus, a set of features with every feature of one family, and weights for them."""

    def __init__(self, name: str, corpus: Any, features: Any, w: Any) -> None:
        self.name, self.corpus, self.features, self.w = name, corpus, features, w


def families(data: dict[str, Any]) -> list[Family]:
    """`data`: labelled sequences (tiny_data.Data) by what they are made for."""
    plain, parts = data["attributes"], data["ud"]
    found = [
        _family("labels", plain, bigrams="bias"),
        _family("pairs", plain, bigrams="all"),
        _family("values", data["negative"], bigrams="all"),
        _family("missing", data["missing"], bigrams="bias"),
        _family("token weights", plain, bigrams="bias", token_weight=data["weights"]),
        _family("many labels", data["many"], bigrams="bias"),
        _family("parts", parts, rule="ud"),
        _family("class pairs", parts, rule="ud", classes=True),
        _family("class pairs, all", parts, rule="ud", classes=True, bigrams="all"),
        _family("n-grams", plain, bigrams="bias", longest=4),
        _family("n-grams, all", plain, bigrams="all", longest=3),
        _family("parts, n-grams", parts, rule="ud", longest=3),
    ]
    found.append(_with_dense(found[0]))
    rare, rare_parts = data["rare"], data["rare ud"]
    found += [
        _family("rest lists", rare, bigrams="all"),
        _family("rest lists, token weights", rare, bigrams="all", token_weight=data["weights"]),
        _family("rest lists, parts", rare_parts, bigrams="all", rule="ud"),
        _family("rest lists, class pairs", rare_parts, bigrams="all", rule="ud", classes=True),
        _family("rest lists, n-grams", rare, bigrams="all", longest=4),
        _family("values, n-grams", data["values"], bigrams="all", longest=4),
        _family("values, class pairs", data["ud values"], bigrams="all", rule="ud", classes=True),
        _family("260 labels", data["very many"], bigrams="bias"),
    ]
    by_name = {family.name: family for family in found}
    for name in ("labels", "rest lists", "class pairs", "rest lists, class pairs", "n-grams", "rest lists, n-grams"):
        family = by_name[name]
        # Far outside the range of the linear domain: parts are recomputed, or computed in the log domain.
        found.append(Family(f"{name}, large weights", family.corpus, family.features, 500.0 * family.w))
    return found


def _family(
    name: str,
    data: Any,
    *,
    bigrams: str = "bias",
    rule: str | None = None,
    classes: bool = False,
    longest: int = 2,
    **weights: Any,
) -> Family:
    vocabulary = Vocabulary(bigrams=bigrams)
    corpus = vocabulary.encode(data.X, data.y, grow=True, sort_labels=True, **weights)
    names = [vocabulary.labels[k] for k in range(corpus.n_labels)]
    parts = None if rule is None else LabelParts.of(names, rule, classes=classes).core
    features = _core.FeatureSet.all_virtual(corpus, parts)
    if longest > 2:
        table = _ngrams(corpus, longest)
        first = _first_ngram(features)
        numbers = np.concatenate([features.numbers, first + np.arange(len(table))])
        features = _core.FeatureSet.from_numbers(corpus.n_labels, corpus.n_attributes, numbers, table, parts)
    return Family(name, corpus, features, _weights(len(features)))


def _first_ngram(features: Any) -> int:
    from sparsecrf.encoding.numbering import Numbering

    return Numbering.of(features).first_ngram


def _ngrams(corpus: Any, longest: int) -> Any:
    """A table of the label n-grams of the first sequences, with the first and the last attribute of their position."""
    seen: dict[tuple[int, tuple[int, ...]], None] = {}
    arrays, offsets = corpus.to_arrays(), corpus.offsets.tolist()
    ids, ptr = arrays["bigram_id"].tolist(), arrays["bigram_ptr"].tolist()
    for begin, end in list(pairwise(offsets))[:6]:
        path = [corpus.n_labels, *corpus.labels[begin:end].tolist()]  # after the start
        for n in range(3, longest + 1):
            for t in range(n, len(path) + 1):
                here = ids[ptr[begin + t - 2] : ptr[begin + t - 1]]
                for x in {here[0], here[-1]}:
                    seen[x, tuple(path[t - n : t])] = None
    cells = sorted(seen)
    table = _core.NgramTable(corpus.n_labels)
    columns = ([x for x, _ in cells], [len(string) for _, string in cells], [y for _, string in cells for y in string])
    table.add(*(np.array(column, dtype=np.int32) for column in columns))
    return table


def _with_dense(family: Family) -> Family:
    """Dense columns beside the attributes, each an attribute of its own."""
    corpus = family.corpus
    arrays = {**corpus.to_arrays(), "n_attributes": corpus.n_attributes + 3}
    wider = _core.Corpus.from_arrays(**arrays)
    cells = np.arange(3 * corpus.n_tokens, dtype=np.int64) * 2654435761 % 4096
    values = (cells.astype(np.float32) / np.float32(1024) - np.float32(2)).reshape(-1, 3)
    corpus = wider.with_dense(values, corpus.n_attributes + np.arange(3, dtype=np.int64))
    features = _core.FeatureSet.all_virtual(corpus)
    return Family("dense", corpus, features, _weights(len(features)))


def _weights(n: int) -> Any:
    """Every third is zero, the others are within +-1."""
    cells = (np.arange(n, dtype=np.int64) * 2654435761 + 12345) % 65536
    w = cells.astype(np.float64) / 32768.0 - 1.0
    w[::3] = 0.0
    return w


def _labels_missing(corpus: Any) -> bool:
    return bool((corpus.labels < 0).any())


def sums(family: Family, kernel: str, threads: int) -> dict[str, Any]:
    """Loss, derivatives, screening and dual quantities of a corpus."""
    corpus, features, w = family.corpus, family.features, family.w
    oracle = _core.Oracle(corpus, threads, kernel)
    counts = oracle.counts(features)
    loss, gradient, curvature = oracle.loss_grad_curvature(features, w)
    listed = np.flatnonzero(np.maximum(np.abs(gradient), np.abs(counts)) > 0.5)[:60]
    options = {"rho1": 0.5, "rho2": 0.1, "sweeps": 3, "max_entries": 10**6}
    found = {
        "counts": counts,
        "loss": [loss, oracle.loss(features, w), oracle.loss_grad(features, w, counts)[0]],
        "gradient": [gradient, oracle.loss_grad(features, w)[1]],
        "curvature": curvature,
        "block curvature": oracle.block_curvature(features, w, listed, 1),
        "masses": [*oracle.masses(), *oracle.masses(True)],
        "candidates": [oracle.candidates(features, w, bound) for bound in (0.05, 0.5)],
    }
    if oracle.signs_agree:
        found["sequence factors"] = oracle.sequence_factors(features, w, listed, gradient[listed], **options)
    if features.n_ngram:
        pairs = np.arange(features.n_unigram, features.n_unigram + features.n_bigram)
        places = [k for k in pairs.tolist() if features.bigram_previous[k - features.n_unigram] < corpus.n_labels]
        found["ngram bounds"] = oracle.ngram_bounds(features, w, np.array(places[:20], dtype=np.int64))
    else:
        whole = oracle.masses(True)
        found["shard sums"] = oracle.shard_sums(features, w, 0.5, *whole, 0.1)
    return found


def takes_steps(family: Family) -> bool:
    """Whether solvers that look at single sequences can train it quickly: not with dense columns, weights so large that
    steps overflow, or hundreds of labels."""
    return family.corpus.n_dense == 0 and not family.name.endswith("large weights") and family.corpus.n_labels < 100


def kernels(family: Family) -> tuple[str, ...]:
    """With hundreds of labels, the forced ones take seconds."""
    return KERNELS if family.corpus.n_labels < 100 else ("auto",)


def steps(family: Family, kernel: str, threads: int) -> dict[str, Any]:
    """Steps of the stochastic and the blockwise solvers on the first sequences, as far as they know the family."""
    corpus = family.corpus.subset(np.arange(5, dtype=np.int64))
    features, zero = family.features, np.zeros(len(family.w))
    sgd = _core.Sgd(corpus, kernel, threads)
    order = sgd.order(7, 0)
    options = {"rho2": 0.01, "eta0": 0.1, "decay": 0.05, "done": 2.0}
    found = {
        name: [
            order,
            *sgd.run(
                *(features, 0.1 * family.w, zero, 0.0, order),
                **{**options, "rho1": rho1, "at_once": at_once, "order_factor": 1.5},
            ),
            sgd.loss(features, family.w, order[:5]),
        ]
        for name, rho1, at_once in (("sgd", 0.0, 1), ("sgd, 1 at once", 0.02, 1), ("sgd, 4 at once", 0.02, 4))
    }
    if not features.n_ngram and not features.n_parts and len(features) < 2500:  # with more, cd takes seconds
        counts = _core.Oracle(corpus, threads, kernel).counts(features)
        for name, coordinatewise, as_printed in (("sbcd", False, 0.0), ("cd", True, 0.0), ("cd as printed", True, 2.0)):
            sweeper = _core.Sbcd(corpus, threads, kernel)
            forms = {"as_printed": as_printed, "coordinatewise": coordinatewise}
            found[name] = sweeper.sweep(features, 0.1 * family.w, counts, rho1=0.3, rho2=0.1, **forms)
    return found


def inference(family: Family, kernel: str, threads: int) -> dict[str, Any]:
    """What a chain with fixed weights answers, with and without constraints."""
    corpus = family.corpus
    chain = _core.Chain(family.features, family.w, kernel=kernel, threads=threads)
    n, P = corpus.n_labels, corpus.n_tokens
    fixed = np.full(P, -1, dtype=np.int32)
    fixed[::7] = np.arange(len(fixed[::7])) % n
    allowed = np.ones((P, n), dtype=bool)
    allowed[3::5, 0] = fixed[3::5] == 0
    forbidden = np.zeros((n + 1, n), dtype=bool)
    forbidden[0, n - 1] = True
    limits = _core.Constraints(n, allowed=allowed, forbidden=forbidden, fixed=fixed)
    found: dict[str, Any] = {"log prob": chain.log_prob(corpus)}
    if not _labels_missing(corpus):
        found["score"] = chain.score(corpus)
    for name, constraints in (("free", None), ("constrained", limits)):
        found[f"log Z, {name}"] = chain.log_partition(corpus, constraints)
        found[f"marginals, {name}"] = [
            chain.marginals(corpus, constraints),
            chain.edge_marginals(corpus, 1, constraints),
            chain.posterior(corpus, constraints),
        ]
        span = np.zeros(2, dtype=np.int32)
        found[f"span, {name}"] = chain.span_log_prob(corpus, 0, 1, span, constraints)
        found[f"labels, {name}"] = [*chain.viterbi(corpus, constraints), *chain.nbest(corpus, 2, 4, constraints)]
    return found
