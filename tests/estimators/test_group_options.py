"""Penalties over groups as users ask for them: estimators, paths, the program, model files and reports."""

import json

import numpy as np
import pytest
from sentences import sentences

from sparsecrf import CRF, CRFCV, FeatureGroups, InputError, Model
from sparsecrf.contrib.report.words import facts

TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[1,0]\nU3:%x[0,1]\nU4:%x[-1,1]\nB\n"
X, Y = sentences(120)


def trained(**options):
    return CRF(rho1=0.5, template=TEMPLATE, **options).fit(X, Y)


def with_weight(crf):
    """The attributes that have one."""
    of_labels = crf.model_.explain(top=None).weights
    names = {weight.attribute for weights in of_labels.values() for weight in weights}
    return names | ({"B"} if crf.model_.features.n_bigram else set())


@pytest.mark.slow
def test_attributes_are_kept_or_dropped_as_a_whole():
    plain, groups = trained(), trained(penalty="group:attribute")
    kept, of = groups.feature_groups_["attributes"]
    assert kept == groups.model_.n_attributes < plain.model_.n_attributes < of
    assert plain.feature_groups_ == {}
    assert trained(penalty="group").feature_groups_ == groups.feature_groups_
    assert groups.score(X, Y) > 0.8


def test_lines_are_those_of_the_template():
    strong = trained(penalty="group:line", solver_options={"group_weight": 3.0})
    kept, of = strong.feature_groups_["lines"]
    assert kept == len({name.partition(":")[0] for name in with_weight(strong)}) < of == 6


def test_lines_without_a_template_are_what_stands_before_the_value():
    tokens = [[{"word": word, "tag": tag} for word, tag in sentence] for sentence in X]
    crf = CRF(rho1=1.0, penalty="group:line", solver_options={"group_weight": 0.1}).fit(tokens, Y)
    assert crf.feature_groups_["lines"][1] == 3  # word, tag, and plain transitions


@pytest.mark.slow
def test_groups_of_ones_own():
    asked = []

    def path(attribute, labels):
        asked.append((attribute, labels))
        return [] if attribute == "B" else ["words" if attribute[:2] in ("U0", "U1", "U2") else "tags", attribute]

    crf = trained(penalty=FeatureGroups(path, weights={("tags",): 0.0}, name="words and tags"))
    assert crf.model_.training["penalty"] == "words and tags"
    assert crf.feature_groups_["groups of depth 1"][1] == 2
    assert crf.feature_groups_["groups of depth 2"][0] == crf.model_.n_attributes - 1
    assert ("B", (None, "O")) in asked  # after the start
    assert ("U0:the", ("O",)) in asked
    # Free tags take over from words.
    heavy = trained(penalty=FeatureGroups(path, weights={("tags",): 0.0, ("words",): 1e4}))
    assert not any(name[:2] in ("U0", "U1", "U2") for name in with_weight(heavy))


def test_groups_that_are_none():
    with pytest.raises(InputError, match=r"groups of 'U0:.*': expected a list of groups, largest first, found 'word'"):
        trained(penalty=FeatureGroups(lambda attribute, labels: "word"))
    with pytest.raises(InputError, match="weights: expected finite numbers >= 0, found -1 for"):
        FeatureGroups(lambda attribute, labels: [], weights={("a",): -1})


@pytest.mark.slow
def test_one_label_and_groups_of_one_feature_are_an_elastic_net():
    """A group of one feature adds its weight to rho1."""
    single = FeatureGroups(lambda attribute, labels: [(attribute, labels)])
    how = {"template": TEMPLATE, "tol": 1e-9}
    observed = {"observed_only": True}
    groups = CRF(rho1=0.4, penalty=single, solver_options={"group_weight": 0.5, **observed}, **how).fit(X, Y)
    plain = CRF(rho1=0.6, solver_options=observed, **how).fit(X, Y)
    np.testing.assert_allclose(groups.objective_, plain.objective_, rtol=1e-8)
    assert groups.n_active_ == plain.n_active_


@pytest.mark.slow
def test_a_path_begins_where_the_first_group_appears():
    crf = CRF(template=TEMPLATE, penalty="group:attribute", solver_options={"group_weight": 2.0})
    path = crf.path(X, Y, n_rho=4, rho_min_ratio=0.1)
    assert len(path[0].w) == 0
    assert [fit.groups["attributes"][0] for fit in path] == sorted(fit.groups["attributes"][0] for fit in path)
    assert path[3].groups["attributes"][0] > 0
    chosen = CRFCV(template=TEMPLATE, penalty="tree", n_rho=3, cv=2).fit(X, Y)
    assert "labels of an attribute" in chosen.feature_groups_


def test_a_model_file_says_what_the_penalty_was():
    groups = trained(penalty="tree")
    again = Model.from_bytes(groups.model_.to_bytes())
    lines = dict(facts(again.training))
    assert lines["Penalty"] == "tree"
    kept, of = again.training["groups"]["pairs of a label"]
    assert lines["Kept: pairs of a label"] == f"{kept} of {of}, {of - kept} dropped"
    assert "Penalty" not in dict(facts(trained().model_.training))


@pytest.mark.parametrize("wrong", ["", [], {"a": 1}, {"a": [1]}, {"a": [1, "2"]}, {"a": [True, 2]}, {"a": [-1, 2**70]}])
def test_a_record_may_be_anything(wrong):
    assert not any(name.startswith("Kept") for name, _ in facts({"groups": wrong}))


@pytest.fixture
def program(program):
    rows = (zip(tokens, labels, strict=True) for tokens, labels in zip(X, Y, strict=True))
    text = "\n".join("".join(f"{word} {tag} {label}\n" for (word, tag), label in row) for row in rows)
    program.write(train_txt=text, template_txt=TEMPLATE)
    return program


@pytest.mark.slow
def test_the_program_takes_a_penalty(program):
    data = ("train.txt", "-t", "template.txt")
    done = program("train", *data, "-m", "m", "--penalty", "group:line", "--group-weight", "3", "--json")
    assert done.status == 0
    result = json.loads(done.out)
    kept, of = result["groups"]["lines"]
    assert result["penalty"] == "group:line"
    assert f"{kept} of {of} lines kept (group:line)" in done.err
    done = program("path", *data, "-o", "out", "--penalty", "group:attribute", "--n-rho", "3", "--json")
    assert done.status == 0
    assert json.loads(done.out)["path"][0]["active_unigram"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--penalty", "lasso"), "expected one of elastic-net, group:attribute"),
        (
            ("--penalty", "tree", "--solver", "sbcd"),
            "tree is not supported by --solver sbcd; use auto or fista",
        ),
        (("--penalty", "tree", "--rho1", "0"), "--penalty tree cannot be combined with --rho1 0"),
    ],
)
def test_wrong_use(program, options, message):
    done = program("train", "train.txt", "-t", "template.txt", "-m", "m", *options)
    assert done.status == 2
    assert message in " ".join(done.err.replace("│", " ").split())


@pytest.mark.parametrize("class_pairs", [False, True])
def test_groups_of_ones_own_where_labels_have_parts(class_pairs):
    """Parts are identified by their names, at the end and before."""
    X = [[{"word": c} for c in word] for word in ("abca", "bcab", "cabb")]
    y = [["N|S", "N|P", "V|S", "V|P"], ["N|P", "V|S", "V|P", "N|S"], ["V|S", "V|P", "N|S", "N|P"]]
    seen = set()

    def path(attribute, labels):
        seen.add(labels)
        return [attribute]

    CRF(rho1=0.1, label_parts="|", penalty=FeatureGroups(path), solver_options={"class_pairs": class_pairs}).fit(X, y)
    assert {("N",), ("S",), ("N|S",), (None, "V|S")} <= seen
    assert {("N", "V"), (None, "V")} <= seen or not class_pairs
    labels = {label for row in y for label in row}
    assert {name for string in seen for name in string} == labels | {"N", "V", "S", "P", None}
