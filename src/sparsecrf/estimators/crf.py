"""CRF: the scikit-learn estimator. Thin: input to a corpus, `fit`, answers of a `Model`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsecrf._core import InputError
from sparsecrf.defaults import GROUP_WEIGHT, ORDER, ORDER_FACTOR, PENALTY, RHO1, RHO2, SOLVER, TOL
from sparsecrf.encoding.label_parts import AskedParts
from sparsecrf.encoding.resources import Resource
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.vectors import WordVectors
from sparsecrf.encoding.vocabulary import Bigrams
from sparsecrf.estimators.answering import BaseCRF
from sparsecrf.estimators.class_weights import ClassWeight
from sparsecrf.estimators.frames import SentenceColumn
from sparsecrf.estimators.reading import with_dense
from sparsecrf.estimators.scoring import Scoring, falling, score_for
from sparsecrf.model import Model
from sparsecrf.path.both import AskedRho2
from sparsecrf.training import fit, weights_in
from sparsecrf.training.groups import Asked
from sparsecrf.training.solvers.working_set import Callback
from sparsecrf.warn import renamed

if TYPE_CHECKING:
    from sparsecrf.path import Path


class CRF(BaseCRF):
    """Linear-chain CRF with an elastic net.

    Minimises loss + rho1 |w|_1 + rho2/2 |w|^2 over all features that can be formed, where the loss is the sum of
    -log P(labels | tokens) over the sequences.

    X is an iterable of sequences, y of their labels. The tokens of a sequence are mappings (attribute to number, text
    or list of text), lists of attributes, single attributes (text), rows of columns if there is a `template`, or the
    rows of a matrix of numbers (NumPy, SciPy). One matrix for all sequences comes with their `lengths`. Labels are text
    or integers; None: not known. A data frame of all tokens comes with `sentences`, the column that tells them apart.

    Parameters
    ----------
    rho1, rho2 : penalties. The larger rho1, the fewer weights. `rho2="search"` is for `path`, which looks for both.
    solver : auto, sbcd, cd, owlqn, lbfgs, fista, sgd or sgd-l1.
    template : a `Template`, the file of one, or its lines, in the syntax of CRF++ and Wapiti.
    max_iter : iterations at most; None: until the optimum is found (50 epochs for sgd and sgd-l1).
    tol : training stops at most this share of the objective above the optimum: certified where the duality gap can
        tell, estimated where it cannot. `gap=0.01` insists on a certified gap.
    n_jobs : threads, as scikit-learn counts them: None is 1, -1 all. Results do not depend on it.
    random_state : orders the sequences for sgd and sgd-l1; None: always the same order.
    warm_start : start from the weights of the last call of `fit`.
    verbose : 1 shows progress, 2 a line for each iteration.
    features : a ready-made template instead, for sentences that are lists of words: words (entities, chunks), tagging
        (parts of speech), letters (words that are lists of letters), columns (rows of columns, the word first), or
        documents (rows of `with_mentions`, which say where else in its document a word stands).
    resources : lexicons, clusters and word classes (`Resource.lexicon(name, file)`, ...), which `features` use by
        themselves and a template by `%d[row,column,name]`.
    vectors : vectors of words that stand beside the attributes: a file in the text format of word2vec, GloVe or
        fastText, or `WordVectors`. For tokens that are words or rows of columns. The model keeps them.
    standardize : whether dense columns (`vectors`, or `dense=` of `fit`) are brought to mean 0 and deviation 1.
    dense_scale : what they are then multiplied by. Their weights have so penalties of their own, as if rho1 were
        rho1 / dense_scale and rho2 were rho2 / dense_scale^2.
    bigrams : which attributes condition label pairs: "bias" (none: plain transitions), "all", a collection of
        attributes, or a function of one. A template says so itself.
    start : whether the first token has a start label before it.
    observed_only : leave out features that never occur, as CRFsuite does.
    order : features have up to so many labels; None: no limit. Above 2, longer label n-grams, too: of a template's
        lines T..., or else plain ones; without a template, of all attributes that condition label pairs. For auto,
        owlqn, lbfgs, fista and sgd-l1 with rho1 > 0.
    order_factor : rho1 of longer label n-grams is multiplied by this, at least 1, for each label beyond two.
    label_parts : labels such as `NOUN|Case=Nom` or `B-PER` share weights of their parts: a separator ("|"), "ud" (part
        of speech, then feature=value), "bio", a table of labels and their parts, or a function of a label. None: labels
        are whole. Not for sbcd and cd.
    class_pairs : with label_parts, labels with the same first part (for "ud" the part of speech) are a class, and there
        are weights of pairs of classes beside those of label pairs. Not with an order above 2.
    class_weight : how much tokens count by their label, such as {"B-PER": 2.0, "I-PER": 2.0}, 1 for all others; or
        "balanced": as much as their label is rare. None: the same. As weights of tokens (`sample_weight` of `fit`, with
        which they are multiplied), it costs a forward-backward for each distinct weight of a sequence.
    penalty : elastic-net; or one that keeps or drops whole groups of features: group:attribute, group:line (of the
        template, or what names have before `:` or `=`), group:label, tree (pairs under their label), or your own
        `FeatureGroups`. Adds rho1 group_weight sum_G sqrt(n_G) ||w_G||_2, n_G the features of the group that occur. For
        auto and fista.
    group_weight : how much groups count next to single features.
    gap : stop at a duality gap of this times the objective instead of `tol`.
    time_limit : seconds at most.
    patience : stop when the error on `dev` has not improved for so many iterations, and keep the best weights.
    callback : called with a record (dict) at every iteration; returns True to end training.

    Attributes
    ----------
    classes_ : the labels, in the order of marginals.
    model_ : the `Model`.
    objective_, loss_, gap_, kkt_ : where training ended, and how far from the optimum at most.
    n_active_ : weights that are not zero.
    feature_groups_ : with groups, what they are called, and how many have a weight, of how many.
    n_iter_, stopped_by_, history_ : how training went.
    n_features_in_ : columns of a matrix.
    feature_names_in_ : columns of a data frame that tokens are made of, if there were `sentences`.
    """

    def __init__(
        self,
        rho1: float = RHO1,
        rho2: AskedRho2 = RHO2,
        solver: str = SOLVER,
        template: Template | str | os.PathLike[str] | None = None,
        max_iter: int | None = None,
        tol: float = TOL,
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        *,
        features: str | None = None,
        resources: Iterable[Resource] | None = None,
        vectors: WordVectors | str | os.PathLike[str] | None = None,
        standardize: bool = True,
        dense_scale: float = 1.0,
        bigrams: Bigrams = "bias",
        start: bool = True,
        observed_only: bool = False,
        order: int | None = ORDER,
        order_factor: float = ORDER_FACTOR,
        label_parts: AskedParts | None = None,
        class_pairs: bool = False,
        class_weight: ClassWeight = None,
        penalty: Asked = PENALTY,
        group_weight: float = GROUP_WEIGHT,
        gap: float | None = None,
        time_limit: float | None = None,
        patience: int | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.rho1 = rho1
        self.rho2 = rho2
        self.solver = solver
        self.template = template
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.features = features
        self.resources = resources
        self.vectors = vectors
        self.standardize = standardize
        self.dense_scale = dense_scale
        self.bigrams = bigrams
        self.start = start
        self.observed_only = observed_only
        self.order = order
        self.order_factor = order_factor
        self.label_parts = label_parts
        self.class_pairs = class_pairs
        self.class_weight = class_weight
        self.penalty = penalty
        self.group_weight = group_weight
        self.gap = gap
        self.time_limit = time_limit
        self.patience = patience
        self.callback = callback

    @classmethod
    def from_model(cls, model: Model | str | os.PathLike[str], **parameters: Any) -> CRF:
        """A fitted estimator of a model, or of the file of one: it answers for many sequences at once.

        Parameters that are not given are those of the model as far as its file has them: template, start label,
        penalties, order. So `fit` learns anew what the model has learnt from other data. Without a template, `bigrams`
        is not known, and vectors of words are to be given again.
        """
        known = model if isinstance(model, Model) else Model.load(model)
        crf = cls(**{**_parameters_of(known), **parameters})
        if crf.features is not None and crf.template is not None:
            raise InputError(
                f"features: expected none with a model that has a template, found {crf.features!r}; to train with "
                f"other features: CRF(features={crf.features!r}).fit(X, y)"
            )
        crf.model_ = known
        crf.classes_ = np.array(crf.model_.labels)
        crf.n_active_ = crf.model_.n_active
        return crf

    @renamed("groups", "sentences")
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        lengths: Iterable[int] | None = None,
        sentences: SentenceColumn | None = None,
        dev: tuple[Any, Any] | None = None,
        init_model: Model | str | os.PathLike[str] | None = None,
        dense: Any = None,
    ) -> CRF:
        """Train.

        X and y may be generators: the Python objects of a sequence are released before the next. `sample_weight` has a
        number for each sequence, or a list with one for each token. `dev`: other (X, y), whose error is recorded at
        every iteration.
        `sentences` names the column (or a list of columns) of a data frame X that tells sentences apart, of pandas or
        polars, or is that column: a row is a token, the rows of a sentence stand together, the other columns are its
        attributes or, for a template, its columns. `y` has a label for each row, or is the name of a column; so has
        `dev`. A column that is `y` makes no attributes.
        `dense` has a vector for each token, beside its attributes: a matrix for each sequence, or one for all. Instead
        of it, tokens may be pairs (attributes, vector); those of `dev` must be.
        `init_model`: a model, or its file, whose weights to start from, also with `warm_start`. Ctrl-C raises
        KeyboardInterrupt when what there is has been kept: the estimator is fitted, `stopped_by_` is "interrupt".
        """
        data = self._encoded(with_dense(X, dense, lengths, sentences), y, sample_weight, lengths, sentences)
        data = data if dev is None else self._encoded_dev(data, dev, sentences)
        parts = data.label_parts(self.label_parts, self.class_pairs)
        init = init_model
        if init is None and self.warm_start:
            init = getattr(self, "model_", None)
        if isinstance(init, (str, os.PathLike)):
            init = Model.load(init)
        with self._watching() as callback:
            found = fit(
                data.corpus,
                rho1=self.rho1,
                init=None if init is None else weights_in(init, data.vocabulary, parts),
                dev=None if data.dev is None else data.dev.corpus,
                patience=self.patience,
                time_limit=self.time_limit,
                callback=callback,
                **self._space(data),
                **self._penalty(data),
                **self._options(),
            )
        self._keep(data, found)
        return self

    @renamed("groups", "sentences")
    def path(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        lengths: Iterable[int] | None = None,
        sentences: SentenceColumn | None = None,
        dev: tuple[Any, Any] | None = None,
        n_rho: int | None = None,
        rho_min_ratio: float | None = None,
        rho1s: Iterable[float] | None = None,
        scoring: Scoring = "auto",
    ) -> Path:
        """Solutions for falling rho1, each from its neighbour.

        The estimator itself does not change. `dev`, other (X, y), gives every solution a score, by `scoring` as for
        `CRFCV`, and leads a search for the best rho1. `n_rho`, `rho_min_ratio` ask for a grid from where the first
        weight appears, `rho1s` gives the values. With `rho2="search"` (of the estimator) the search is over both
        penalties. `path.model(k)` is the model of the k-th.
        """
        from sparsecrf.path import path

        data = self._encoded(X, y, sample_weight, lengths, sentences)
        data = data if dev is None else self._encoded_dev(data, dev, sentences)
        score = score_for(scoring, data, None if data.dev is None else data.dev.unknown.at)
        with self._watching_path(score.name) as watch:
            return path(
                data.corpus,
                n_rho=n_rho,
                rho_min_ratio=rho_min_ratio,
                rho1=falling(rho1s),
                dev=None if data.dev is None else data.dev.corpus,
                error=score,
                patience=self.patience,
                make_model=data.model,
                time_limit=self.time_limit,
                each=watch.each,
                callback=watch.callback,
                **self._space(data),
                **self._penalty(data),
                **self._options(),
            )


def _parameters_of(model: Model) -> dict[str, Any]:
    """Those that a model was trained with, as far as it tells: not the groups of a penalty, nor parts of labels."""
    found: dict[str, Any] = {"start": model.vocabulary.start}
    if model.template is not None:
        found["template"] = model.template
    record = model.training
    found |= {name: record[name] for name in ("rho1", "rho2") if isinstance(record.get(name), (int, float))}
    return found | {name: record[name] for name in ("order", "order_factor") if name in record}
