"""Options are declared once: signatures follow."""

import re
from dataclasses import fields
from inspect import getdoc, signature

import pytest

from sparsecrf import CRF, CRFCV, InputError, Recipe, fit
from sparsecrf.estimators.solver_options import _PARAMETERS, FURTHER
from sparsecrf.options import FitOptions

X, Y = [["a", "b"], ["b", "c"], ["a"]] * 5, [["A", "B"], ["B", "A"], ["A"]] * 5


def parameters(estimator):
    found = signature(estimator).parameters.values()
    return {p.name: p.default for p in found if p.kind is not p.VAR_KEYWORD}


def test_an_estimator_has_at_most_20_parameters():
    assert len(parameters(CRF)) <= 20


@pytest.mark.parametrize("estimator", [CRF, CRFCV])
def test_defaults_of_parameters_are_those_declared(estimator):
    declared = {field.name: field.default for field in fields(FitOptions)}
    shared = {name: default for name, default in parameters(estimator).items() if name in declared}
    assert shared == {name: declared[name] for name in shared}
    assert len(shared) >= 6


def test_every_declared_option_is_a_parameter_or_a_further_option():
    declared = {field.name for field in fields(FitOptions)}
    assert declared == (_PARAMETERS | set(FURTHER)) - {"callback", "prior"}
    renamed = {"threads": "n_jobs", "seed": "random_state"}
    assert {renamed.get(name, name) for name in _PARAMETERS} <= set(parameters(CRF))
    of_fit = {"label_parts": "parts", "class_pairs": "parts"}
    assert {of_fit.get(name, name) for name in declared} <= set(signature(fit).parameters)


@pytest.mark.parametrize("estimator", [CRF, CRFCV])
def test_every_parameter_is_documented(estimator):
    documented = (getdoc(CRF) or "") + (getdoc(estimator) or "")
    for name in parameters(estimator):
        assert re.search(rf"^(\w+, )*{name}(, \w+)* :", documented, re.MULTILINE), name
    assert all(name in documented for name in FURTHER if name != "checkpoint_every")


def test_options_of_fit_and_of_the_solver(tmp_path):
    """Those that no parameter had before, too."""
    seen = []
    options = {"checkpoint": tmp_path / "run", "memory": 5, "callback": lambda record: seen.append(record["iter"])}
    with pytest.warns(UserWarning, match="training stopped after 3 iterations"):
        CRF(rho1=0.1, tol=1e-8, max_iter=3, solver_options=options).fit(X, Y)
    assert seen == [0, 1, 2, 3]
    assert (tmp_path / "run").exists()
    resumed = CRF(rho1=0.1, tol=1e-8, solver_options={**options, "resume": True}).fit(X, Y)
    assert resumed.objective_ == CRF(rho1=0.1, tol=1e-8, solver_options={"memory": 5}).fit(X, Y).objective_


def test_a_recipe_and_parameters_beside_it():
    by_recipe = CRF(rho1=0.1, template=Recipe(features="words", start=False)).fit(X, Y)
    by_parameters = CRF(rho1=0.1, features="words", start=False).fit(X, Y)
    assert by_recipe.model_.w.tolist() == by_parameters.model_.w.tolist()
    assert by_recipe.model_.template.text == by_parameters.model_.template.text
    assert not by_recipe.model_.vocabulary.start
    together = CRF(rho1=0.1, features="words", template=Recipe(start=False)).fit(X, Y)
    assert together.model_.w.tolist() == by_parameters.model_.w.tolist()


def test_many_fits_do_not_share_a_checkpoint(tmp_path):
    X, y = [["a", "b"]] * 6, [["A", "B"]] * 6
    further = {"checkpoint": str(tmp_path / "run")}
    with pytest.raises(InputError, match="'checkpoint' is not supported for multiple fits"):
        CRF(solver_options=further).path(X, y)
    with pytest.raises(InputError, match="'checkpoint' is not supported for multiple fits"):
        CRFCV(cv=2, solver_options=further).fit(X, y)


def test_unknown_solver_options_are_found_before_data_are_read():
    def unread():
        raise AssertionError("data were read")
        yield

    with pytest.raises(InputError, match="found 'no_such'"):
        CRF(solver_options={"no_such": 1}).fit(unread(), unread())


def test_a_model_keeps_its_order_factor_beside_other_options():
    crf = CRF(order=3, solver_options={"order_factor": 2.0}).fit([["a", "b", "a"]] * 6, [["A", "B", "A"]] * 6)
    again = CRF.from_model(crf.model_, solver_options={"gap": 1e-4})
    assert again.solver_options == {"order_factor": 2.0, "gap": 1e-4}


def test_unknown_parameters_are_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'nosuch'"):
        CRF(nosuch=1)
    with pytest.raises(AttributeError, match="nosuch"):
        _ = CRF().nosuch
