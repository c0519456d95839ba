"""Recipes: how text becomes attributes, kept in small files; the program and Python read them alike."""

import json
import re
import sys

import pytest

from sparsecrf import CRF, InputError, Model, Recipe, Resource, Template
from sparsecrf.cli.reading import recipe_of
from sparsecrf.encoding.recipe_file import SETTINGS

TRAIN = "the DET\ndog NOUN\nbarks VERB\n\na DET\ncat NOUN\nsleeps VERB\n\n"
EVERYTHING = Recipe(
    format="columns",
    features="words",
    lexicon={"towns": "towns.txt", "my pets": "pets.txt"},
    clusters={"brown": "paths.txt"},
    vectors="glove.txt",
    vectors_column=1,
    vectors_window=2,
    vectors_scale=0.5,
    standardize=False,
    refer=True,
    bigrams=["a=1", "b"],
    start=False,
    boundary="wapiti",
    bytes=True,
    missing='?"\\\x7f',
    ragged=True,
    encoding="latin-1",
    min_count=3,
)
KINDS = [
    "toml" if sys.version_info >= (3, 11) else pytest.param("toml", marks=pytest.mark.skip(reason="no tomllib")),
    "json",
]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("recipe", [Recipe(), Recipe(features="tagging"), EVERYTHING], ids=["none", "one", "all"])
def test_a_file_keeps_all_settings(kind, recipe):
    recipe.save(f"recipe.{kind}")
    assert Recipe.load(f"recipe.{kind}") == recipe


@pytest.mark.parametrize("kind", KINDS)
def test_paths_are_relative_to_the_file(tmp_path, kind):
    (tmp_path / "sub").mkdir()
    recipe = Recipe(lexicon={"towns": "towns.txt"}, template="template.txt")
    recipe.save(f"sub/recipe.{kind}")
    assert "../towns.txt" in (tmp_path / "sub" / f"recipe.{kind}").read_text()
    found = Recipe.load(tmp_path / "sub" / f"recipe.{kind}")
    (tmp_path / "template.txt").write_text("U:%d[0,0,towns]\n")
    (tmp_path / "towns.txt").write_text("Oslo\n")
    made = found.made(lambda: 1)
    assert (made.text, [resource.name for resource in made.resources]) == ("U:%d[0,0,towns]\n", ["towns"])


@pytest.mark.parametrize("kind", KINDS)
def test_lines_of_a_template_are_kept_as_such(kind):
    Recipe(template=Template("U:%x[0,0]\nB\n", "wapiti", bytes=True)).save(f"recipe.{kind}")
    made = Recipe.load(f"recipe.{kind}").made(lambda: 1)
    assert (made.text, made.boundary, made.bytes) == ("U:%x[0,0]\nB\n", "wapiti", True)


def test_boundary_and_bytes_of_a_recipe_are_those_of_a_ready_template():
    ready = Template("U:%x[-1,0]\n")
    made = Recipe(template=ready, boundary="wapiti").made(lambda: 1)
    assert (made.attributes([["a"]]), ready.attributes([["a"]])) == ([["u:_x-1"]], [["U:_B-1"]])
    assert Recipe(template=made, bytes=True).made(lambda: 1).boundary == "wapiti"
    assert Recipe(template=made).made(lambda: 1) is made


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (Recipe(bigrams=str.isupper), "r.json, bigrams: expected bias, all or a list of attributes, found <method"),
        (
            Recipe(resources=(Resource.lexicon("x", ["Oslo"]),)),
            "r.json, resources: recipe files need resources that were read from files",
        ),
        (
            Recipe(template=Template("U:%d[0,0,x]", resources=[Resource.lexicon("x", ["Oslo"])])),
            "r.json, template: expected the name of a file, found ",
        ),
    ],
)
def test_what_only_python_knows_is_not_saved(recipe, message):
    with pytest.raises(InputError, match=re.escape(message)):
        recipe.save("r.json")


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"fetures": "words"}, "r.json, fetures: unknown setting; expected one of format, "),
        ({"ragged": "yes"}, "r.json, ragged: expected true or false, found 'yes'"),
        ({"features": 3}, "r.json, features: expected text, found 3"),
        ({"vectors_window": -1}, "r.json, vectors_window: expected an integer from 0 to 10, found -1"),
        ({"min_count": True}, "r.json, min_count: expected an integer >= 0, found True"),
        ({"vectors_scale": 0}, "r.json, vectors_scale: expected a number above 0, found 0"),
        ({"lexicon": ["towns.txt"]}, "r.json, lexicon: expected a table of names and files, found ['towns.txt']"),
        ({"bigrams": [1]}, "r.json, bigrams: expected bias, all or a list of attributes, found [1]"),
        (["features"], "r.json: expected settings by name, found list"),
    ],
)
def test_mistakes_in_a_file_are_named(tmp_path, entries, message):
    (tmp_path / "r.json").write_text(json.dumps(entries))
    with pytest.raises(InputError, match=re.escape(message)):
        Recipe.load("r.json")


@pytest.mark.parametrize(("name", "kind"), [("r.json", "JSON"), ("r.toml", "TOML")])
def test_no_recipe_at_all(tmp_path, name, kind):
    (tmp_path / name).write_text("= 3")
    with pytest.raises(InputError, match=rf"{name}: expected {kind}"):
        Recipe.load(name)


def test_every_setting_can_be_kept():
    own = {"resources", "labels", "lines", "called"}
    assert set(SETTINGS) == set(Recipe.__dataclass_fields__) - own


# ---- The program


def trained(program, *options):
    done = program("train", "train.txt", "-m", "m", "--rho1", "0.1", *options)
    assert done.status == 0, done.err
    return (program.directory / "m").read_bytes()


@pytest.fixture
def files(program):
    program.write(train_txt=TRAIN, towns_txt="cat\n", template_txt="U:%x[0,0]\nB\n")
    return program


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_recipe_stands_for_its_options(files, kind):
    options = ["--features", "words", "--lexicon", "towns=towns.txt", "--no-start", "--min-count", "2"]
    expected = trained(files, *options, "--save-recipe", f"r.{kind}")
    assert trained(files, "--recipe", f"r.{kind}") == expected
    assert trained(files, "--features", "words") != expected
    found = recipe_of(Model.load(files.directory / "m"))
    assert (found.start, found.labels) == (True, ("DET", "NOUN", "VERB"))


@pytest.mark.slow
def test_options_count_instead_of_a_recipe(files):
    (files.directory / "r.json").write_text('{"features": "words", "start": false, "boundary": "wapiti"}')
    expected = trained(files, "--template", "template.txt", "--no-start")
    assert trained(files, "--recipe", "r.json", "--template", "template.txt", "--recipe", "boundary=crf++") == expected
    assert trained(files, "--recipe", "r.json", "--start") == trained(
        files, "--features", "words", "--recipe", "boundary=wapiti"
    )


def test_the_last_recipe_counts(files):
    (files.directory / "r.json").write_text('{"boundary": "wapiti", "template": "template.txt"}')
    files.write(template_txt="U:%x[-1,0]\nB\n")
    for recipes, boundary in ((["r.json", "boundary=crf++"], "crf++"), (["boundary=crf++", "r.json"], "wapiti")):
        trained(files, *(option for text in recipes for option in ("--recipe", text)))
        assert Model.load(files.directory / "m").template.boundary == boundary


@pytest.mark.parametrize(
    ("entries", "options", "status", "message"),
    [
        ({"features": "wrds"}, (), 2, "r.json, features: expected one of words, "),
        (
            {"features": "words", "template": "template.txt"},
            (),
            2,
            "r.json, features and r.json, template: give only one",
        ),
        ({"ragged": True}, (), 2, "r.json, ragged needs --template"),
        ({"min_count": 2}, ("--cache", "c"), 2, "--min-count 2 cannot be combined with --cache c"),
        ({"format": "crfsuite"}, ("--features", "words"), 2, "--features: not supported for CRFsuite files"),
        ({"encoding": "klingon"}, (), 2, "r.json, encoding: expected utf-8, latin-1"),
        ({"vectors_window": 2}, (), 2, "r.json, vectors_window needs --vectors"),
    ],
)
def test_errors_name_file_and_key(files, entries, options, status, message):
    (files.directory / "r.json").write_text(json.dumps(entries))
    done = files("train", "train.txt", "-m", "m", "--recipe", "r.json", *options)
    assert (done.status, message in " ".join(done.err.split())) == (status, True), done.err


def test_a_recipe_that_is_not_there(files):
    done = files("train", "train.txt", "-m", "m", "--recipe", "no.toml")
    assert (done.status, "no.toml: No such file" in done.err) == (1, True)


def test_a_path_takes_a_recipe(files):
    (files.directory / "r.json").write_text('{"features": "words", "min_count": 2}')
    done = files("path", "train.txt", "-o", "with", "--n-rho", "1", "--recipe", "r.json")
    assert done.status == 0, done.err
    assert files("path", "train.txt", "-o", "by", "--n-rho", "1", "--features", "words", "--min-count", "2").status == 0
    models = [(files.directory / name / "model-00.safetensors").read_bytes() for name in ("with", "by")]
    assert models[0] == models[1]


# ---- Python


def test_the_recipe_of_a_model():
    crf = CRF(rho1=0.01, features="words", start=False).fit([["a", "dog"]], [["D", "N"]])
    found = recipe_of(crf.model_)
    assert (found.lines.text, found.start, found.labels) == (crf.model_.template.text, False, ("D", "N"))


@pytest.mark.parametrize("template", ["U:%x[0,0]\nB\n", "U:%x[0,0]"])
@pytest.mark.parametrize("as_object", [True, False])
def test_a_saved_template_is_not_taken_for_a_file(program, tmp_path, template, as_object):
    Recipe(template=Template(template) if as_object else template).save(tmp_path / "recipe.json")
    program.write(t="a A\nb B\n\n")
    done = program("train", "t", "--recipe", "recipe.json", "-m", "m", "-q")
    assert done.status == 0, done.err
    assert Model.load(tmp_path / "m").template.text.strip() == template.strip()


def test_estimators_check_a_recipe_before_they_read_data():
    def unread():
        raise AssertionError("data were read")
        yield

    for wrong in ({"format": "colums"}, {"encoding": "bogus"}, {"min_count": 5}, {"ragged": True}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            CRF(template=Recipe(template="U:%x[0,0]", **wrong)).fit(unread(), unread())


def test_parameters_of_an_estimator_take_precedence_over_its_recipe():
    crf = CRF(template=Recipe(start=True), start=False).fit([["a", "b"]], [["A", "B"]])
    assert not crf.model_.vocabulary.start
