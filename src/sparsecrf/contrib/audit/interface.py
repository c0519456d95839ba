"""`sparsecrf.audit`: finds suspicious labels in Python sequences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sparsecrf.contrib.audit.out_of_fold import FOLDS, audit_of, judged_folds
from sparsecrf.contrib.audit.result import Audit
from sparsecrf.estimators.crf import CRF
from sparsecrf.estimators.frames import SentenceColumn
from sparsecrf.progress import progress
from sparsecrf.training.choices import penalties_of


def audit(
    X: Any,
    y: Any,
    *,
    folds: int = FOLDS,
    groups: Iterable[Any] | None = None,
    scheme: str = "auto",
    lengths: Iterable[int] | None = None,
    sentences: SentenceColumn | None = None,
    **parameters: Any,
) -> Audit:
    """Find labels that are probably wrong.

    Sequences are assigned to `folds`; each fold is judged by a model that was trained on the others, so that no model
    has learnt the label that it judges. The result ranks all tokens and all spans, the most suspicious first, each with
    the label that the model would assign.

    X, y, `lengths` and `sentences` are as for `CRF.fit`, `parameters` those of `CRF`: features, template, rho1, ...;
    with `verbose=1` progress is shown. `groups` has a value for each sequence, such as its document (`path.documents`):
    sequences with the same value are held out together. `scheme` says how labels encode spans, as for `sparsecrf eval`.
    """
    crf = CRF(**parameters)
    crf._check_one_fit()
    penalties_of(crf.rho1, crf.rho2)  # raises for penalties that need a search
    data = crf._encoded(X, y, None, lengths, sentences)
    options = {**crf._space(data), **crf._penalty(data), **crf._options(), "rho1": crf.rho1}
    seed = options.pop("seed")
    with progress("audit", folds, quiet=not crf.verbose) as advance:
        judged = []
        for fold in judged_folds(data, folds=folds, groups=groups, seed=seed, scheme=scheme, **options):
            judged.append(fold)
            advance(1, f"fold {fold.number + 1} of {folds}")
    return audit_of(data, judged)
