"""`solver_options` of the estimators: rarely needed training options, by their names in `fit`.

Some used to be parameters of the estimators. These still work, with a `DeprecationWarning` that says what to write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec

from sklearn.base import BaseEstimator

from sparsecrf.compatibility import Named, OptionError
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.options import FitOptions
from sparsecrf.training import SOLVERS
from sparsecrf.warn import warn_caller

P = ParamSpec("P")

#: Options of `fit` that are parameters of the estimators, or follow from them.
_PARAMETERS = {"solver", "rho1", "rho2", "penalty", "max_iter", "tol", "threads", "seed", "order", "label_parts"}
#: What `solver_options` may contain besides the options of a solver itself, with defaults.
FURTHER: dict[str, Any] = {
    **{field.name: field.default for field in fields(FitOptions) if field.name not in _PARAMETERS},
    "callback": None,
    "prior": None,
}
#: Also accepted as a parameter.
_SHORT = ("prior",)
#: Former parameters: now in `solver_options`, or a setting of a `Recipe`.
_MOVED = ("gap", "time_limit", "patience", "callback", "observed_only", "order_factor", "class_pairs", "group_weight")
_OF_RECIPE = {"standardize": "standardize", "dense_scale": "vectors_scale"}


def keeps_parameters(init: Callable[P, None]) -> Callable[P, None]:
    """An `__init__` that sets an attribute for each of its parameters, as scikit-learn expects, and also accepts
    old names; the signature shows only the new ones."""
    parameters = signature(init)

    @wraps(init)
    def call(*arguments: P.args, **given: P.kwargs) -> None:
        old = {name: given.pop(name) for name in (*_MOVED, *_OF_RECIPE) if name in given}
        short = {name: given.pop(name) for name in _SHORT if name in given}
        init(*arguments, **given)  # raises for what is not in the signature
        estimator: Any = arguments[0]
        bound = parameters.bind(*arguments, **given)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(estimator, name, value)
        estimator._take_old(old)
        estimator._take_short(short)

    return call


class HasSolverOptions(BaseEstimator):  # type: ignore[misc]
    """An estimator with the parameters `solver_options` and `template`."""

    solver: str
    template: Any
    solver_options: Mapping[str, Any] | None = None

    def _option(self, name: str) -> Any:
        """One of FURTHER."""
        return (self.solver_options or {}).get(name, FURTHER[name])

    def _further_options(self, *left_out: str) -> dict[str, Any]:
        """The options for `fit` from `solver_options`: its own, and the solver's."""
        given = dict(self.solver_options or {})
        known = [*FURTHER, *SOLVERS[self.solver].options]
        for name in given:
            if name not in known or name in _PARAMETERS:
                raise OptionError(Named("solver_options"), f": expected {', '.join(known)}, found {name!r}")
        own = {name: value for name, value in given.items() if name in FURTHER and name not in left_out}
        of_solver = {name: value for name, value in given.items() if name not in FURTHER}
        return {**own, "solver_options": of_solver} if of_solver else own

    def _check_one_fit(self) -> None:
        """Raise for options of a single fit: many fits would share one file, or one prior."""
        for name in ("checkpoint", "resume", "prior"):
            if self._option(name) not in (None, False):
                raise OptionError(Named("solver_options"), f": {name!r} is not supported by many fits; use CRF.fit")

    def _take_old(self, given: dict[str, Any]) -> None:
        """Parameters by their old names."""
        for name, value in given.items():
            if name in _OF_RECIPE:
                setting = _OF_RECIPE[name]
                _warn(name, f"template=Recipe({setting}=...)")
                recipe = self.template if isinstance(self.template, Recipe) else Recipe(template=self.template)
                self.template = replace(recipe, **{setting: value})
            else:
                _warn(name, f'solver_options={{"{name}": ...}}')
                self.solver_options = {**(self.solver_options or {}), name: value}

    def _take_short(self, given: dict[str, Any]) -> None:
        """Further options that were given as parameters."""
        if given:
            self.solver_options = {**(self.solver_options or {}), **given}

    def set_params(self, **params: Any) -> Any:
        """Set parameters, as for every estimator of scikit-learn."""
        old = {name: params.pop(name) for name in (*_MOVED, *_OF_RECIPE) if name in params}
        short = {name: params.pop(name) for name in _SHORT if name in params}
        super().set_params(**params)
        self._take_old(old)
        self._take_short(short)
        return self

    def __getattr__(self, name: str) -> Any:
        if name in _MOVED:
            _warn(name, "solver_options")
            return self._option(name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A pickle of an earlier version has the former parameters as attributes."""
        old = {name: state[name] for name in _MOVED if name in state and state[name] != FURTHER[name]}
        super().__setstate__({name: value for name, value in state.items() if name not in _MOVED})
        if old:
            self.solver_options = {**(self.solver_options or {}), **old}
        settings = {new: self.__dict__.pop(name) for name, new in _OF_RECIPE.items() if name in self.__dict__}
        if any(value != getattr(Recipe(), name) for name, value in settings.items()):
            recipe = self.template if isinstance(self.template, Recipe) else Recipe(template=self.template)
            self.template = replace(recipe, **settings)


def _warn(name: str, instead: str) -> None:
    warn_caller(f"{name} is deprecated: write {instead}", DeprecationWarning)
