"""CRFsuite's training parameters: their names, their defaults, and their meaning in this package.

CRFsuite minimises  loss + c1 |w|_1 + c2 |w|^2,  and sparsecrf minimises  loss + rho1 |w|_1 + rho2/2 |w|^2.
Therefore, rho1 = c1 and rho2 = 2 c2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.training.penalty import ElasticNet


@dataclass(frozen=True)
class Option:
    """A parameter of an algorithm."""

    name: str
    default: Any
    help: str
    at_least: float | None = None
    choices: tuple[Any, ...] = ()

    def parse(self, value: Any) -> Any:
        """The value converted to the type of the default. Text is parsed as a number, as in CRFsuite."""
        if self.choices:
            known = {str(choice): choice for choice in self.choices}
            if str(value) not in known:
                raise InputError(f"{self.name}: expected one of {', '.join(known)}, found {value!r}")
            return known[str(value)]
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if not isfinite(number) or (self.at_least is not None and number < self.at_least):
            least = "" if self.at_least is None else f" of at least {self.at_least:g}"
            raise InputError(f"{self.name}: expected a number{least}, found {value!r}")
        kind: Callable[[float], Any] = type(self.default)
        return kind(number)


_FEATURES = [
    Option("feature.minfreq", 0.0, "The minimum count (sum of values) of a feature in the training data."),
    Option(
        "feature.possible_states", False, "Use all pairs of attributes and labels, not only those seen in training."
    ),
    Option("feature.possible_transitions", False, "Use all label pairs, not only those seen in training."),
]
_C2 = Option("c2", 1.0, "Coefficient for L2 regularization: c2 |w|^2, rho2 = 2 c2.", at_least=0)
_PERIOD = Option("period", 10, "The number of iterations over which `delta` is tested (0 for never).", at_least=0)
_DELTA = "Training stops when the objective has improved by less than this fraction over `period` iterations."
_EPOCHS = Option("max_iterations", 100, "The maximum number of iterations.", at_least=0)
_MEAN_LOSS = Option("epsilon", 0.0, "Training stops when the mean loss per sequence is below this value.", at_least=0)
_NO_MEANING = "Accepted but ignored: it configures CRFsuite's own solver."
_LINESEARCHES = ("MoreThuente", "Backtracking", "StrongBacktracking")

#: The parameters of each algorithm, in CRFsuite's order.
ALGORITHMS: dict[str, dict[str, Option]] = {
    algorithm: {option.name: option for option in options}
    for algorithm, options in {
        "lbfgs": [
            *_FEATURES,
            Option("c1", 0.0, "Coefficient for L1 regularization: c1 |w|_1, rho1 = c1.", at_least=0),
            _C2,
            Option("max_iterations", 2147483647, "The maximum number of iterations (0 for no maximum).", at_least=0),
            Option("num_memories", 6, "The number of steps that L-BFGS stores if c1 = c2 = 0; ignored otherwise."),
            Option(
                "epsilon",
                1e-5,
                "Training also stops at a relative distance of epsilon/100 from the optimum.",
                at_least=0,
            ),
            _PERIOD,
            Option("delta", 1e-5, _DELTA, at_least=0),
            Option("linesearch", "MoreThuente", _NO_MEANING, choices=_LINESEARCHES),
            Option("max_linesearch", 20, _NO_MEANING),
        ],
        "l2sgd": [
            *_FEATURES,
            _C2,
            Option("max_iterations", 1000, "The maximum number of iterations (0 for no maximum).", at_least=0),
            _PERIOD,
            Option("delta", 1e-6, _DELTA, at_least=0),
            Option("calibration.eta", 0.1, _NO_MEANING),
            Option("calibration.rate", 2.0, _NO_MEANING),
            Option("calibration.samples", 1000.0, _NO_MEANING),
            Option("calibration.candidates", 10, _NO_MEANING),
            Option("calibration.max_trials", 20, _NO_MEANING),
        ],
        "averaged-perceptron": [
            *_FEATURES,
            _EPOCHS,
            Option(
                "epsilon", 0.0, "Training stops when the mean share of wrong labels is below this value.", at_least=0
            ),
        ],
        "passive-aggressive": [
            *_FEATURES,
            Option("type", 1, "The update rule: 0 (without slack), 1 (PA-I) or 2 (PA-II).", choices=(0, 1, 2)),
            Option("c", 1.0, "The aggressiveness; for type 1, the maximum step size.", at_least=0),
            Option("error_sensitive", True, "Use the square root of the number of wrong labels as the margin, not 1."),
            Option("averaging", True, "Average the weights over all steps."),
            _EPOCHS,
            _MEAN_LOSS,
        ],
        "arow": [
            *_FEATURES,
            Option("variance", 1.0, "The initial variance of every weight.", at_least=0),
            Option("gamma", 1.0, "The resistance of the weights to change.", at_least=0),
            _EPOCHS,
            _MEAN_LOSS,
        ],
    }.items()
}
_LEFT = 0.2  # a run stops at this relative distance to the optimum, divided by max_iterations
_ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}


def name_of(algorithm: str) -> str:
    """The full name of an algorithm; case is ignored."""
    name = _ALIASES.get(algorithm.lower(), algorithm.lower())
    if name not in ALGORITHMS:
        known = ", ".join(["lbfgs", "l2sgd", "ap", "pa", "arow"])
        raise InputError(f"algorithm: expected one of {known}, found {algorithm!r}")
    return name


@dataclass(frozen=True)
class Settings:
    """The parameters of `lbfgs` or `l2sgd` in terms of `sparsecrf.fit`."""

    penalty: ElasticNet
    solver: str
    solver_options: Mapping[str, Any]
    #: Fraction of `delta` used, because the steps of `auto` differ from CRFsuite's. With all of `delta`, runs without
    #: an l1 penalty ended up to 5e-5 above CRFsuite's objective; with a quarter of it, none ended above, at the cost of
    #: 10 % more iterations.
    delta_share: float
    max_iter: int | None
    tol: float  #: tolerance of the stopping rule of `fit`
    period: int
    delta: float


def settings(values: Mapping[str, Any]) -> Settings:
    """Translate the parameters of `lbfgs` and `l2sgd`."""
    c1, c2 = values.get("c1", 0.0), values["c2"]
    # Without a penalty, the number of iterations is the regulariser, so CRFsuite's L-BFGS must be reproduced.
    plain = c1 == c2 == 0
    # If no weight is zero, the cost of a step grows with the memory: a memory of 8 takes a third more steps than 50,
    # but half the time.
    auto = {"memory": 50 if c1 > 0 else 8}
    return Settings(
        penalty=ElasticNet(c1, 2 * c2),
        solver="lbfgs" if plain else "auto",
        solver_options={"plain": True, "memory": values.get("num_memories", 6)} if plain else auto,
        delta_share=1.0 if plain else 0.25,
        max_iter=values["max_iterations"] or None,
        # CRFsuite tests |g| / |w| here. A hundredth of the default is rarely reached before `delta`. A limit of N
        # iterations stops CRFsuite some way above the optimum: stopping at an estimated distance of 0.2 / N gave a
        # lower objective on three data sets (benchmarks/NOTES.md), and continuing took longer than CRFsuite itself.
        tol=max(values.get("epsilon", 0.0) / 100, 0.0 if plain else _LEFT / (values["max_iterations"] or inf)),
        period=values["period"],
        delta=values["delta"],
    )
