"""Feature selection without an l1 penalty, for comparison (the paper, section 6.3).

`frequency_cutoff` and `mutual_information` select before training; pass the result to `fit(numbers=...)`. `threshold`
drops the small weights of a trained model.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import Corpus, FeatureSet, InputError, Oracle
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.training import Fit, fit
from sparsecrf.training.feature_sets import Floats, Numbers


def frequency_cutoff(corpus: Corpus, at_least: float) -> Numbers:
    """Numbers of the features with an empirical count C >= at_least; C sums values times sequence weights."""
    if not at_least > 0:
        raise InputError(f"at_least: expected a number above 0, found {at_least}")
    observed = FeatureSet.observed(corpus)
    return observed.numbers[Oracle(corpus, 0, "auto").counts(observed) >= at_least]


def mutual_information(corpus: Corpus, top_n: int) -> Numbers:
    """Numbers of the observed features of the `top_n` blocks with the most information about the label.

    A block is one attribute with all labels, or one attribute with all label pairs. Blocks are ranked by the mutual
    information between the presence of the attribute and the label (`information`). An attribute that always occurs
    carries no information, although its weights describe the label frequencies or the plain transitions, so its block
    is kept in addition to the `top_n`.
    """
    if top_n < 0:
        raise InputError(f"top_n: expected at least 0, found {top_n}")
    scores = np.concatenate(information(corpus))  # by block: unigram attributes, then bigram attributes
    kept = np.isinf(scores)
    ranked = np.argsort(-scores, kind="stable")
    kept[ranked[kept.sum() :][:top_n]] = True
    numbers: Numbers = FeatureSet.observed(corpus).numbers
    chosen: Numbers = numbers[kept[Numbering.of(corpus).block(numbers)]]
    return chosen


def information(corpus: Corpus) -> tuple[Floats, Floats]:
    """Mutual information of the label with each attribute of unigram and of bigram lists, in nats; [X] each.

        I(x; y) = sum_y { n(x,y)/N log [n(x,y) N / (n(x) n(y))] + n(-x,y)/N log [n(-x,y) N / (n(-x) n(y))] }

    N is the number of tokens with a known label and a nonempty list; n(x,y) of them have attribute x and label y, and
    n(-x,y) = n(y) - n(x,y) have y without x (the information gain of Yang & Pedersen 1997). For an attribute that
    occurs at all of these tokens, the result is infinite. Sequence weights are ignored, and so are the values of
    attributes, except whether they are 0.
    """
    arrays = corpus.to_arrays()
    unigram, bigram = (
        _information(corpus, *(arrays[f"{kind}_{part}"] for part in ("ptr", "id", "value")))
        for kind in ("unigram", "bigram")
    )
    return unigram, bigram


def _information(corpus: Corpus, ptr: Numbers, attribute: NDArray[np.int32], value: Floats) -> Floats:
    """Mutual information for unigram lists or for bigram lists. With f(n) = n log n,

    N I(x; y) = f(N) - f(n(x)) - f(n(-x)) + sum_y { f(n(x,y)) + f(n(-x,y)) - f(n(y)) }

    where the last term is 0 if n(x,y) is.
    """
    n_labels, n_attributes = corpus.n_labels, corpus.n_attributes
    size = np.diff(ptr)
    counted = (corpus.labels >= 0) & (size > 0)
    n_tokens = int(counted.sum())
    if n_tokens == 0:
        return np.zeros(n_attributes)
    n_y = np.bincount(corpus.labels[counted], minlength=n_labels)
    label = np.repeat(corpus.labels, size)
    present = (label >= 0) & (value != 0)
    cells, n_xy = np.unique(attribute[present] * np.int64(n_labels) + label[present], return_counts=True)
    x, y = cells // n_labels, cells % n_labels
    n_x = np.bincount(x, weights=n_xy, minlength=n_attributes)
    by_cell = _n_log_n(n_xy) + _n_log_n(n_y[y] - n_xy) - _n_log_n(n_y[y])
    total = np.bincount(x, weights=by_cell, minlength=n_attributes)
    total = total - _n_log_n(n_x) - _n_log_n(n_tokens - n_x) + n_tokens * np.log(n_tokens)
    return np.where(n_x == n_tokens, np.inf, np.maximum(total / n_tokens, 0.0))


def _n_log_n(n: NDArray[Any]) -> Floats:
    product: Floats = n * np.log(np.maximum(n, 1))
    return product


def threshold(
    found: Fit, *, cut: float | None = None, keep: int | None = None, refit: bool = False, **options: Any
) -> Fit:
    """`found` without its weights |w| < cut, or with only its `keep` largest weights.

    The objective and the certificate refer to the smaller model. With `refit`, training continues from there; `options`
    are those of `fit`.
    """
    if (cut is None) == (keep is None):
        raise InputError(f"threshold: expected either cut or keep, found cut={cut} and keep={keep}")
    if keep is not None and keep < 0:
        raise InputError(f"keep: expected at least 0, found {keep}")
    size = np.abs(found.w)
    kept = np.sort(np.argsort(-size, kind="stable")[:keep]) if cut is None else np.flatnonzero(size >= cut)
    start = replace(found, numbers=found.numbers[kept], w=found.w[kept])
    options = {"rho1": found.rho1, "rho2": found.rho2, **options}
    if not refit:
        options["max_iter"] = 0
    return fit(found.corpus, numbers=start.numbers, init=start, **options)
