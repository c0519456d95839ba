"""The scikit-learn estimator CRF: a thin layer that encodes its input as a corpus, calls `fit` and queries a
`Model`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.defaults import AUTO, ORDER, PENALTY, RHO1, RHO2, SOLVER, TOL
from sparsecrf.encoding.label_parts import LabelPartsChoice
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.encoding.resources import Resource
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.vectors import WordVectors
from sparsecrf.encoding.vocabulary import Bigrams
from sparsecrf.estimators.answering import BaseCRF
from sparsecrf.estimators.class_weights import ClassWeight
from sparsecrf.estimators.frames import SentenceColumn
from sparsecrf.estimators.reading import with_dense
from sparsecrf.estimators.record import fitted_attributes
from sparsecrf.estimators.scoring import Scoring, falling, score_for
from sparsecrf.estimators.solver_options import keeps_parameters
from sparsecrf.model import Model
from sparsecrf.options import Rho1Choice
from sparsecrf.path import Path
from sparsecrf.path.auto import Chosen, choose_for, score_on_dev
from sparsecrf.path.both import AskedRho2
from sparsecrf.path.result import PathWarning
from sparsecrf.shards.dataset import Dataset
from sparsecrf.training import fit, weights_in
from sparsecrf.training.choices import penalties_of
from sparsecrf.training.penalties import PenaltyChoice
from sparsecrf.training.value_sizes import warn_of_sizes
from sparsecrf.warn import warn_caller


class CRF(BaseCRF):
    """Linear-chain CRF with an elastic net.

    Minimises loss + rho1 |w|_1 + rho2/2 |w|^2 over all features that can be formed, where the loss is the sum of
    -log P(labels | tokens) over the sequences.

    X is an iterable of sequences, and y an iterable of their labels. The tokens of a sequence are mappings (attribute
    to number, text or list of text), lists of attributes, single attributes (text), rows of columns if there is a
    `template`, or the rows of a matrix of numbers (NumPy, SciPy). If X is one matrix for all sequences, also give their
    `lengths`; if it is a data frame of all tokens, give `sentences`, the column that identifies the sentences. Labels
    are text or integers, or None if unknown.

    Parameters
    ----------
    rho1, rho2 : penalties. The larger rho1, the fewer nonzero weights. `rho1="small"` gives a small model: rho1 is 1
        and, if rho2 has its default value, rho2 is 0.01. With `rho1="auto"`, `fit` chooses rho1 by the score on `dev`
        or, without `dev`, on held-out parts of the data, which takes two to three times as long as one fit.
        `rho2="search"` is for `path` only, which then searches for both penalties.
    solver : auto, proximal, dual, sbcd, cd, owlqn, lbfgs, fista, sgd or sgd-l1.
    template : a `Template`, its file or its lines, in the syntax of CRF++ and Wapiti; or a `Recipe`, which also
        contains settings for dense columns (`Recipe(standardize=False)`, `Recipe(vectors_scale=0.5)`). Other parameters
        take precedence over a recipe.
    max_iter : maximum number of iterations; None means no limit (50 epochs for sgd and sgd-l1).
    tol : training stops when the objective is within this fraction of its optimum. This is certified if the duality gap
        is tight enough, otherwise estimated.
    n_jobs : number of threads, as in scikit-learn: None means 1, -1 means all cores. Results do not depend on it.
    random_state : seed for the order of the sequences (dual, sgd and sgd-l1); None means always the same order.
    warm_start : start from the weights of the last call of `fit`.
    verbose : 1 shows progress, 2 a line for each iteration.
    features : a ready-made template, instead of `template`. For sentences that are lists of words: words (entities,
        chunks) or tagging (parts of speech). For words that are lists of letters: letters. For rows of columns, the
        word first: columns. For rows of `with_mentions`, which describe the other mentions of a word in its document:
        documents.
    resources : lexicons, clusters and word classes (`Resource.lexicon(name, file)`, ...). The templates of `features`
        use them automatically; other templates use them through `%d[row,column,name]`.
    vectors : word vectors, used in addition to the attributes: a file in the text format of word2vec, GloVe or
        fastText, or `WordVectors`. Tokens must be words or rows of columns. The model contains the vectors.
    bigrams : the attributes that condition label pairs: "bias" (none: plain transitions), "all", a collection of
        attributes, or a predicate. Ignored if there is a template, which determines them itself.
    start : whether a start label precedes the first token.
    order : the largest number of labels in a feature; None means no limit. Above 2, longer label n-grams come from the
        lines T... of the template, or are plain without T... lines; without a template, all attributes that
        condition label pairs also condition n-grams. An order above 2 requires rho1 > 0 and the solver auto, owlqn,
        lbfgs, fista or sgd-l1.
    label_parts : labels such as `NOUN|Case=Nom` or `B-PER` share weights of their parts: a separator ("|"), "ud" (part
        of speech, then feature=value), "bio", a mapping of labels to their parts, or a function of a label. None means
        that labels have no parts. Not supported by dual, sbcd and cd.
    class_weight : weights of tokens by their label, such as {"B-PER": 2.0, "I-PER": 2.0}, where all other labels have
        weight 1; or "balanced": inversely proportional to the frequency of the label. None means weight 1 for all
        labels. These weights are multiplied by the weights of tokens (`sample_weight` of `fit`); each distinct weight
        in a sequence costs one forward-backward run.
    penalty : elastic-net, or a penalty that keeps or drops whole groups of features: group:attribute, group:line (of
        the template, or the prefix before `:` or `=`), group:label, tree (pairs under their label), or your own
        `FeatureGroups`. It adds rho1 group_weight sum_G sqrt(n_G) ||w_G||_2, where n_G is the number of features of
        group G that occur. Groups require the solver auto or fista.
    solver_options : rarely needed options, by name, such as `{"gap": 1e-4}`; see `sparsecrf.fit`:
        gap (stop at this relative duality gap instead of `tol`), time_limit (in seconds),
        patience (stop when the error on `dev` has not improved for that many iterations, and keep the best weights),
        callback (called with a record, a dict, at every iteration; returns True to end training),
        checkpoint, resume (save the state of the run to a file; continue from it),
        observed_only (leave out features that never occur, as CRFsuite does),
        order_factor (multiply rho1 of a label n-gram by this, at least 1, for each label beyond two),
        group_weight (the weight of groups relative to single features),
        class_pairs (with label_parts: labels with the same first part, for "ud" the part of speech, form a class, and
        pairs of classes get weights in addition to label pairs; not with an order above 2),
        prior (a `Model` or its file: penalise differences from its weights, so that training learns only what differs;
        weights of attributes that do not occur in the data stay unchanged; you may also write `CRF(prior=model)`),
        and the options of the solver itself, such as memory.

    Attributes
    ----------
    classes_ : the labels, in the order of the columns of marginals.
    model_ : the `Model`.
    rho1_, rho2_ : the penalties that the model was trained with.
    objective_, loss_, gap_, kkt_ : values at the end of training: the objective and the loss, the objective minus its
        best lower bound, and the relative KKT residual.
    n_active_ : number of nonzero weights.
    feature_groups_ : for each kind of group, the number of groups with a nonzero weight, and the number of all groups.
    n_iter_, stopped_by_, history_ : the number of iterations, the reason for stopping, and a record of each iteration.
    n_features_in_ : number of columns, if X was a matrix.
    feature_names_in_ : the data frame columns from which tokens are made, if `sentences` was given.
    """

    @keeps_parameters
    def __init__(
        self,
        rho1: Rho1Choice = RHO1,
        rho2: AskedRho2 = RHO2,
        solver: str = SOLVER,
        template: Recipe | Template | str | os.PathLike[str] | None = None,
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
        bigrams: Bigrams = "bias",
        start: bool = True,
        order: int | None = ORDER,
        label_parts: LabelPartsChoice | None = None,
        class_weight: ClassWeight = None,
        penalty: PenaltyChoice = PENALTY,
        solver_options: Mapping[str, Any] | None = None,
    ) -> None: ...

    @classmethod
    def from_model(cls, model: Model | str | os.PathLike[str], **parameters: Any) -> CRF:
        """A fitted estimator for a model or a model file, to label many sequences at once.

        Parameters that you do not give are taken from the model if its file contains them (template, start label,
        penalties, order), so that `fit` trains the same kind of model on other data. The file does not record
        `bigrams`. If the model contains word vectors, you must give them again.
        """
        known = _opened(model)
        found = _parameters_of(known)
        further = {**found.pop("solver_options", {}), **(parameters.pop("solver_options", None) or {})}
        crf = cls(**{**found, **parameters}, solver_options=further or None)
        if crf.features is not None and crf.template is not None:
            raise InputError(
                f"features: cannot be changed, because the model has its own template; found {crf.features!r}; to "
                f"train with other features, use CRF(features={crf.features!r}).fit(X, y)"
            )
        crf.model_ = known
        crf.__dict__.update(fitted_attributes(known.labels, known.training))
        crf.n_active_ = crf.model_.n_active
        return crf

    @classmethod
    def load(cls, path: str | os.PathLike[str], **parameters: Any) -> CRF:
        """Restore the estimator whose `save` wrote the file. For the parameters, see `from_model`."""
        return cls.from_model(path, **parameters)

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

        X and y may be generators: the Python objects of a sequence are released before the next is read.
        `sample_weight` contains a number for each sequence, or a list with a number for each token. `dev` is held-out
        data (X, y), whose error is recorded at every iteration. `init_model` is a model, or its file, to start from; it
        overrides `warm_start`.

        If X is a pandas or polars data frame with a row for each token, `sentences` is the column that identifies the
        sentences, or its name, or a list of names. The rows of a sentence must be adjacent. The other columns are the
        attributes of a token or, for a template, its columns, except for a column that is used as `y`. `y` contains a
        label for each row, or is the name of a column; the same holds for `dev`.

        `dense` contains a vector for each token, in addition to its attributes: a matrix for each sequence, or one for
        all. Alternatively, tokens are pairs (attributes, vector); the tokens of `dev` must be such pairs in either
        case.

        Ctrl-C raises KeyboardInterrupt after storing the result so far: the estimator is then fitted, and `stopped_by_`
        is "interrupt".
        """
        penalties_of(RHO1 if self.rho1 == AUTO else self.rho1, self.rho2)  # rejects values that only `path` supports
        data = self._encoded(with_dense(X, dense, lengths, sentences), y, sample_weight, lengths, sentences, dev)
        options = {**self._options_for(data), "rho1": self.rho1}
        init = None if init_model is None else _opened(init_model)
        if init is None and self.warm_start:
            init = getattr(self, "model_", None)
        warn_of_sizes(data)
        start = None if init is None else weights_in(init, data.vocabulary, options["parts"])
        if self.rho1 == AUTO:
            chosen = self._chosen(data, options)
            options |= chosen.penalties._asdict()
            start = chosen.start if start is None else start
        with self._watching() as callback:
            old = None if data.prior is None else weights_in(data.prior, data.vocabulary)
            found = fit(data.corpus, init=start, prior=old, dev=data.dev, callback=callback, **options)
        self._keep(data, found)
        return self

    def _chosen(self, data: Dataset, options: dict[str, Any]) -> Chosen:
        """Choose penalties by the score on dev data, or on parts of the data."""
        with self._watching_path(score_on_dev(data).name) as watch:
            chosen = choose_for(data, options, watch.each)
        if chosen.advice is not None:
            warn_caller(f"rho1='auto': {chosen}", PathWarning)
        return chosen

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
        """Models for decreasing rho1, each starting from the previous one.

        The estimator itself does not change. With held-out data `dev` (X, y), every model gets a score (for `scoring`,
        see `CRFCV`), which guides a search for the best rho1. `n_rho` and `rho_min_ratio` select a grid that starts
        where the first weight becomes nonzero; `rho1s` gives the values directly. With `CRF(rho2="search")`, the search
        is over both penalties. `path.model(k)` returns the k-th model.
        """
        from sparsecrf.path import path

        self._check_one_fit()
        data = self._encoded(X, y, sample_weight, lengths, sentences, dev)
        score = score_for(scoring, data, None if data.dev is None else data.dev.unknown.at)
        with self._watching_path(score.name) as watch:
            return path(
                data.corpus,
                n_rho=n_rho,
                rho_min_ratio=rho_min_ratio,
                rho1=falling(rho1s),
                dev=data.dev,
                error=score,
                make_model=partial(data.model, compacted=False),  # this model keeps all attributes of the fits
                each=watch.each,
                callback=watch.callback,
                **self._options_for(data),
            )


def _opened(model: Model | str | os.PathLike[str]) -> Model:
    return model if isinstance(model, Model) else Model.load(model)


def _parameters_of(model: Model) -> dict[str, Any]:
    """The training parameters that a model records; penalty groups and label parts are not recorded."""
    found: dict[str, Any] = {"start": model.vocabulary.start}
    if model.template is not None:
        found["template"] = model.template
    record = model.training
    found |= {name: record[name] for name in ("rho1", "rho2") if isinstance(record.get(name), (int, float))}
    if "order_factor" in record:
        found["solver_options"] = {"order_factor": record["order_factor"]}
    return found | ({"order": record["order"]} if "order" in record else {})
