"""The steps of `sparsecrf train`, one by one, and options in groups."""

import json
import re
from dataclasses import asdict, dataclass, fields
from inspect import signature
from types import SimpleNamespace

import pytest
import typer
from typer.testing import CliRunner

import sparsecrf.path
from sparsecrf import Model, fit
from sparsecrf.cli.options import Inputs, for_typer
from sparsecrf.cli.path import PathOptions
from sparsecrf.cli.reading import read
from sparsecrf.cli.train import FitOptions, RunOptions, check_together
from sparsecrf.cli.train_report import saved_by_small
from sparsecrf.compatibility import OptionError
from sparsecrf.declared import parameter
from sparsecrf.estimators.solver_options import FURTHER
from sparsecrf.options import option
from sparsecrf.shards import shards, shards_of

COLUMNS = "a A\nb B\n\nb B\na A\na A\n\n"


@pytest.fixture
def files(program):
    program.write(d_txt=COLUMNS)
    return program


def defaults(parameters):
    """By name; what makes the parts of labels, and their classes, has names of its own."""
    found = {name: parameter.default for name, parameter in parameters.items()}
    return {**found, "label_parts": found["parts"], "class_pairs": FURTHER["class_pairs"]}


def test_options_of_fit_are_those_of_the_library():
    known = defaults(signature(fit).parameters)
    assert asdict(FitOptions()) == {field.name: known[field.name] for field in fields(FitOptions)}


def test_options_of_a_path_are_those_of_the_library():
    known = defaults({**signature(fit).parameters, **signature(sparsecrf.path.path).parameters})
    assert asdict(PathOptions()) == {field.name: known[field.name] for field in fields(PathOptions)}


@pytest.mark.parametrize(
    ("fitting", "run", "message"),
    [
        ({"patience": 3}, {}, "--patience 3 needs --dev"),
        ({"resume": True}, {}, "--resume needs --checkpoint"),
        ({"solver": "nosuch"}, {}, "--solver: expected one of auto, proximal, dual, sbcd"),
        ({"solver": "sgd"}, {}, "--rho1 0.05 is not supported by --solver sgd"),
        (
            {"rho1": "auto"},
            {"cache": "a"},
            "--rho1 auto cannot be combined with --cache a: the search needs data in memory",
        ),
        ({}, {"shard_tokens": 5}, "--shard-tokens 5 needs --cache"),
        ({}, {"cache": "a", "dask": "local:1"}, "--cache a cannot be combined with --dask local:1"),
        ({"solver": "sbcd"}, {"cache": "a"}, "--cache a is not supported by --solver sbcd; use auto, owlqn"),
        ({"solver": "cd"}, {"dask": "local:1"}, "--dask local:1 is not supported by --solver cd"),
    ],
)
def test_options_that_do_not_go_together(fitting, run, message):
    check_together(Inputs(["d.txt"]), FitOptions(), RunOptions())
    with pytest.raises(OptionError) as error:
        check_together(Inputs(["d.txt"]), FitOptions(**fitting), RunOptions(**run))
    assert message in error.value.as_typed()


def test_data_are_the_same_wherever_they_are_kept(files):
    found = []
    for run in (RunOptions(), RunOptions(cache="folder")):
        with read(Inputs(["d.txt"], dev="d.txt"), run, threads=1, quiet=True) as labelled:
            data = shards_of(labelled.shards, 1)
            fitted = fit(data, dev=labelled.dev)
            found.append((labelled.n_columns, labelled.template.text, labelled.dev.corpus.n_tokens, fitted.w.tolist()))
    assert found[0] == found[1]
    assert found[0][:3] == (1, "*0:%x[0,0]\n*\n", 5)


def test_the_data_are_prepared_once(files, monkeypatch):
    """Counting features and training ask the same oracle."""
    made, real = [], shards.CompiledOracle

    def counting(*arguments):
        made.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(shards, "CompiledOracle", counting)
    assert files("train", "d.txt", "-m", "m").status == 0
    assert len(made) == 1


@dataclass(frozen=True)
class Group:
    needed: str = option(..., "An argument.")
    size: int = option(3, "An option.", "--size", "-s", min=1)


def test_fields_of_a_group_are_options():
    seen = []

    @for_typer
    def command(group: Group, flag: bool = parameter(False, "A flag.", "--flag")) -> None:
        """What it does."""
        seen.append((group, flag))

    app = typer.Typer()
    app.command()(command)
    assert CliRunner().invoke(app, ["x"]).exit_code == 0
    assert CliRunner().invoke(app, ["y", "-s", "5", "--flag"]).exit_code == 0
    assert seen == [(Group("x", 3), False), (Group("y", 5), True)]
    assert CliRunner().invoke(app, ["x", "--size", "0"]).exit_code == 2
    assert CliRunner().invoke(app, []).exit_code == 2
    assert command.__doc__ == "What it does."


def test_train_warns_of_dev_data_that_it_trains_on_and_of_missing_documents(files):
    files.write(train_txt=COLUMNS * 6, dev_txt=COLUMNS)
    same = files("train", "train.txt", "-m", "m", "--dev", "./train.txt", "--features", "documents").err
    assert "warning: --dev ./train.txt is also training data" in same
    assert "warning: --features documents: no line of train.txt begins a document (-DOCSTART-)" in same
    files.write(train_txt=f"-DOCSTART- O\n\n{COLUMNS}" * 6)
    fine = files("train", "train.txt", "-m", "m", "--dev", "dev.txt", "--features", "documents").err
    assert "--dev" not in fine
    assert "warning: --features" not in fine


def test_train_chooses_penalties(files):
    files.write(train_txt=COLUMNS * 6, dev_txt=COLUMNS)
    for more, on in (([], "by two-fold cross-validation"), (["--dev", "dev.txt"], "on the dev data")):
        done = files("train", "train.txt", "-m", "m", "--rho1", "auto", "--json", *more)
        assert re.search(rf"rho1 0.05 chosen at rho2 0.1, by quick fits {on}: .*100.00 % with 0.05", done.err)
        assert json.loads(done.out)["rho1"] == Model.load("m").training["rho1"] > 0
    files("train", "train.txt", "-m", "m", "--rho1", "small")
    record = Model.load("m").training
    assert (record["rho1"], record["rho2"]) == (1.0, 0.01)


def test_train_says_what_a_small_model_saves():
    found = SimpleNamespace(w=range(18_000), rho2=0.1, penalty="elastic-net", n_changed=None)
    assert "--rho1 small would keep about 2,000 of these 18,000 weights" in saved_by_small(found, 0.05)
    others = [{"rho2": 0.5}, {"penalty": "tree"}, {"w": range(100)}, {"n_changed": 7}]
    for asked, other in [*((0.05, other) for other in others), (0.1, {}), ("auto", {})]:
        assert saved_by_small(SimpleNamespace(**{**vars(found), **other}), asked) is None
