"""`solver_options` of the estimators: rarely needed training options, by their names in `fit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec

from sklearn.base import BaseEstimator

from sparsecrf.compatibility import Named, OptionError
from sparsecrf.options import FitOptions
from sparsecrf.training import SOLVERS

P = ParamSpec("P")

#: Options of `fit` that are parameters of the estimators, or are derived from parameters.
_PARAMETERS = {"solver", "rho1", "rho2", "penalty", "max_iter", "tol", "threads", "seed", "order", "label_parts"}
#: Entries of `solver_options` in addition to the solver's own options, with their defaults.
FURTHER: dict[str, Any] = {
    **{field.name: field.default for field in fields(FitOptions) if field.name not in _PARAMETERS},
    "callback": None,
    "prior": None,
}
#: Options that are also accepted as parameters of an estimator.
_SHORT = ("prior",)


def keeps_parameters(init: Callable[P, None]) -> Callable[P, None]:
    """Wrap an `__init__`: it sets an attribute for each of its parameters, as scikit-learn expects, and also accepts
    the parameters in _SHORT."""
    parameters = signature(init)

    @wraps(init)
    def call(*arguments: P.args, **given: P.kwargs) -> None:
        short = {name: given.pop(name) for name in _SHORT if name in given}
        init(*arguments, **given)  # rejects anything that is not in the signature
        estimator: Any = arguments[0]
        bound = parameters.bind(*arguments, **given)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(estimator, name, value)
        estimator._take_short(short)

    return call


class HasSolverOptions(BaseEstimator):  # type: ignore[misc]
    """An estimator with the parameter `solver_options`."""

    solver: str
    solver_options: Mapping[str, Any] | None = None

    def _option(self, name: str) -> Any:
        """One of the options in FURTHER."""
        return (self.solver_options or {}).get(name, FURTHER[name])

    def _further_options(self, *left_out: str) -> dict[str, Any]:
        """The entries of `solver_options` for `fit` and for the solver."""
        given = dict(self.solver_options or {})
        known = [*FURTHER, *SOLVERS[self.solver].options]
        for name in given:
            if name not in known or name in _PARAMETERS:
                raise OptionError(Named("solver_options"), f": expected one of {', '.join(known)}, found {name!r}")
        own = {name: value for name, value in given.items() if name in FURTHER and name not in left_out}
        of_solver = {name: value for name, value in given.items() if name not in FURTHER}
        return {**own, "solver_options": of_solver} if of_solver else own

    def _check_one_fit(self) -> None:
        """Reject options that make sense only for a single fit: many fits would share one file, or one prior."""
        for name in ("checkpoint", "resume", "prior"):
            if self._option(name) not in (None, False):
                raise OptionError(
                    Named("solver_options"), f": {name!r} is not supported for multiple fits; use CRF.fit"
                )

    def _take_short(self, given: dict[str, Any]) -> None:
        """Move options of `fit` that were given as parameters to `solver_options`."""
        if given:
            self.solver_options = {**(self.solver_options or {}), **given}

    def set_params(self, **params: Any) -> Any:
        """Set parameters, as in every scikit-learn estimator."""
        short = {name: params.pop(name) for name in _SHORT if name in params}
        super().set_params(**params)
        self._take_short(short)
        return self
