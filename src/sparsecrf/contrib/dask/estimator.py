"""DaskCRF, the estimator for partitions on a cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

from distributed import Client, get_client
from sklearn.utils.validation import check_is_fitted

from sparsecrf._core import InputError
from sparsecrf.compatibility import Choice, Trait, has
from sparsecrf.contrib.dask.cluster import TIMEOUT, Cluster, release
from sparsecrf.contrib.dask.labelling import over_partitions
from sparsecrf.contrib.dask.partitions import in_step, partitions_of
from sparsecrf.contrib.dask.training import train
from sparsecrf.defaults import ORDER, RHO1, RHO2, SOLVER, TOL
from sparsecrf.encoding.label_parts import LabelPartsChoice
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.vocabulary import Bigrams
from sparsecrf.estimators.base import TrainingCRF
from sparsecrf.estimators.crf import CRF
from sparsecrf.estimators.solver_options import keeps_parameters
from sparsecrf.model import Model
from sparsecrf.shards import add
from sparsecrf.training.choices import check_options


class DaskCRF(TrainingCRF):
    """Linear-chain CRF with an elastic net, trained and used on a Dask cluster.

    X and y are Dask bags, or lists of partitions (lists, delayed objects or futures). They contain the same kinds of
    sequences as for `CRF`. The parameters in the signature, and the attributes, are those of `CRF`, with these
    differences.

    Parameters
    ----------
    solver : auto, owlqn, lbfgs or fista.
    n_jobs : number of threads that work on one shard. Each worker processes one shard per thread at a time.
    timeout : seconds without any answer before giving up on the cluster.

    Attributes
    ----------
    client : the Dask client to use, if it is not the current one. Set it after construction: a client cannot be cloned.
    """

    client: Client | None = None
    random_state = None  # no solver for shards is stochastic
    features = None  # `template=Template.preset(...)` replaces this parameter
    resources = None  # a template has its own names
    vectors = None  # shards on workers have no dense columns

    @keeps_parameters
    def __init__(
        self,
        rho1: float | Literal["small"] = RHO1,
        rho2: float = RHO2,
        solver: str = SOLVER,
        template: Template | str | os.PathLike[str] | None = None,
        max_iter: int | None = None,
        tol: float = TOL,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        *,
        bigrams: Bigrams = "bias",
        start: bool = True,
        order: int | None = ORDER,
        label_parts: LabelPartsChoice | None = None,
        solver_options: Mapping[str, Any] | None = None,
        timeout: float = TIMEOUT,
    ) -> None: ...

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        dev: tuple[Any, Any] | None = None,
        init_model: Model | None = None,
    ) -> DaskCRF:
        """Train, as `CRF.fit` does. `dev` is held-out data (X, y) in memory, which are labelled at every iteration."""
        if y is None:
            raise InputError("y: expected the labels of X, found None")
        init = init_model
        if init is None and self.warm_start:
            init = getattr(self, "model_", None)
        classes = {"label_parts": self.label_parts, "class_pairs": self._option("class_pairs")}
        check_options(classes, [Choice("", "data on a cluster", has(Trait.SEVERAL_SHARDS))])
        template: Any = self.template
        options = self._options()
        del options["seed"]
        with self._watching() as callback:
            found = train(
                self._client(),
                X,
                y,
                sample_weight,
                template=None if template is None else Template.of(template),
                bigrams=self.bigrams,
                start=self.start,
                dev=dev,
                init_model=init,
                timeout=self.timeout,
                rho1=self.rho1,
                order=self.order,
                label_parts=self.label_parts,
                callback=callback,
                **options,
            )
        self._keep(found.data, found.fit)
        return self

    def predict(self, X: Any) -> Any:
        """The best labels of each sequence, computed lazily: a bag for a bag, a list of delayed objects for a list of
        partitions."""
        return over_partitions(self._client(), self._local(), X, CRF.predict)

    def predict_marginals(self, X: Any) -> Any:
        """P(y_t = y) of each sequence, with columns in the order of `classes_`; lazy, like `predict`."""
        return over_partitions(self._client(), self._local(), X, CRF.predict_marginals)

    def score(self, X: Any, y: Any) -> float:
        """The share of tokens whose best label is right."""
        cluster, local = Cluster(self._client(), self.timeout), self._local()
        parts = {"X": partitions_of(cluster, X, "X"), "y": partitions_of(cluster, y, "y")}
        n = in_step(parts)
        tasks = cluster.map(_right, [cluster.share(local)] * n, *parts.values(), name="score")
        last = cluster.merged(add, tasks)
        try:
            right, total = cluster.result(last, tasks)
        finally:
            release([last, *tasks])
        if total == 0:
            raise InputError("X: expected tokens to score, found none")
        return float(right / total)

    def _client(self) -> Client:
        return get_client() if self.client is None else self.client

    def _local(self) -> CRF:
        """A fitted estimator for one partition."""
        check_is_fitted(self)
        local = CRF()
        for name in ("model_", "classes_", "n_features_in_"):
            if hasattr(self, name):
                setattr(local, name, getattr(self, name))
        return local


def _right(crf: CRF, X: Any, y: Any) -> tuple[int, int]:
    """The number of correctly labelled tokens, and the number of all tokens."""
    X, y = list(X), [list(labels) for labels in y]
    predicted = crf.predict(X)
    if [len(labels) for labels in y] != [len(labels) for labels in predicted]:
        raise InputError("y: expected a label for each token of X, found sequences of different lengths")
    pairs = [pair for labels, best in zip(y, predicted, strict=True) for pair in zip(labels, best, strict=True)]
    return sum(label == best for label, best in pairs), len(pairs)
