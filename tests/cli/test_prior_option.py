"""`sparsecrf train --prior`."""

import json

import pytest
from reader_files import TEMPLATE, _columns
from sentences import sentences

from sparsecrf import Model


@pytest.fixture
def adapted(program):
    """A program in a directory with an old model and new data that have a label more."""
    X, y = sentences(40, 1)
    y = [
        ["B-NEW" if word == "hello" else label for (word, _), label in zip(*pair, strict=True)]
        for pair in zip(X, y, strict=True)
    ]
    program.write(old_txt=_columns(*sentences(100)), new_txt=_columns(X, y), t_txt=TEMPLATE)
    assert program("train", "old.txt", "-t", "t.txt", "-m", "old", "--rho1", "0.3", "-q").status == 0
    return program


def weights(model):
    return {(w.attribute, w.previous, w.label): w.weight for w in model.explain(top=None).largest(None)}


def test_train(adapted):
    done = adapted("train", "new.txt", "--prior", "old", "-m", "new", "--rho1", "0.3", "--json")
    assert done.status == 0, done.err
    old, new = Model.load("old"), Model.load("new")
    before, after = weights(old), weights(new)
    changed = sum(before.get(key, 0.0) != after.get(key, 0.0) for key in {**before, **after})
    assert f"{changed} weights differ from the prior" in done.err
    assert "from old: the template, 4 labels (1 more in the data)" in done.err
    assert json.loads(done.out.splitlines()[-1])["changed"] == new.training["changed"] == changed
    assert set(new.labels) == {*old.labels, "B-NEW"}
    assert new.template.text == old.template.text
    assert adapted("label", "-m", "new", "old.txt").status == 0


def test_the_same_in_memory_and_in_a_folder(adapted):
    options = ["new.txt", "--prior", "old", "--rho1", "0.3", "-q"]
    adapted("train", *options, "-m", "a")
    done = adapted("train", *options, "-m", "b", "--cache", "folder")
    assert done.status == 0, done.err
    a, b = (weights(Model.load(name)) for name in "ab")
    assert a.keys() == b.keys()
    assert max(abs(a[key] - b[key]) for key in a) < 1e-9


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        ("--prior nosuch", 1, "nosuch: No such file"),
        ("--prior new.txt", 1, "new.txt: expected a sparsecrf model"),
        (
            "--prior old --solver sbcd",
            2,
            "--prior old is not supported by --solver sbcd; use auto, owlqn, lbfgs or fista",
        ),
        ("--prior old --order 3", 2, "--prior old cannot be combined with --order 3"),
        ("--prior old --label-parts bio", 2, "--prior old cannot be combined with --label-parts"),
        (
            "--prior old --rho1 auto",
            2,
            "--rho1 auto cannot be combined with --prior old: the search does not support a prior",
        ),
        ("--prior old --dask local:1", 2, "--prior old cannot be combined with --dask"),
    ],
)
def test_wrong_usage(adapted, options, status, message):
    before = adapted.files()
    done = adapted("train", "new.txt", "-m", "new", *options.split())
    assert done.status == status, done.err
    assert message in " ".join(done.err.split())
    assert adapted.files() == before


def test_the_prior_is_not_overwritten(adapted):
    assert adapted("train", "new.txt", "--prior", "old", "-m", "old").status == 1
