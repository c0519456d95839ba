"""Ready-made templates: from words to labels without a template, by the estimators and the program."""

import pickle
from itertools import chain

import pytest
from sklearn.base import clone

from sparsecrf import CRF, CRFCV, InputError, Model, Template, with_mentions
from sparsecrf.encoding.presets import PRESETS

X = [["Ann", "lives", "in", "Oslo"], ["Bob", "likes", "Rome"], ["in", "Paris", "Eve", "sings"], ["Tom", "saw", "Kyiv"]]
Y = [["B-PER", "O", "O", "B-LOC"], ["B-PER", "O", "B-LOC"], ["O", "B-LOC", "B-PER", "O"], ["B-PER", "O", "B-LOC"]]
COLUMNS = "\n".join(
    "".join(f"{w} {len(w)} {y}\n" for w, y in zip(*pair, strict=True)) for pair in zip(X, Y, strict=True)
)
WORDS = "\n".join("".join(f"{w} {y}\n" for w, y in zip(*pair, strict=True)) for pair in zip(X, Y, strict=True))


def taken_by(name):
    """The sentences as the preset takes them."""
    return with_mentions(X) if name == "documents" else X


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_template(name):
    template = Template.preset(name)
    assert (template.n_columns, template.text[:1]) == (8 if name == "documents" else 1, "#")
    made = template.attributes(taken_by(name)[0])[0]
    assert len(set(made)) == len(made) == len(template), "two lines make the same attribute"
    assert Template.preset(name, 3).n_columns == {"columns": 3, "documents": 8}.get(name, 1)


@pytest.mark.parametrize("name", PRESETS)
def test_estimator(name):
    sentences = taken_by(name)
    crf = CRF(rho1=0.01, features=name).fit(sentences, Y)
    assert crf.predict(sentences).tolist() == Y
    assert crf.model_.template.text == Template.preset(name).text
    again = Model.from_bytes(crf.model_.to_bytes())
    assert again.label(sentences[0]) == Y[0]
    assert pickle.loads(pickle.dumps(crf)).predict(sentences[:1]).tolist() == Y[:1]


def test_columns_are_counted():
    rows = [[(word, "cap" if word[0].isupper() else "low", "x") for word in sentence] for sentence in X]
    crf = CRF(rho1=0.01, features="columns").fit(iter([[], *rows]), [[], *Y])
    assert crf.model_.template.text == Template.preset("columns", 3).text
    assert crf.predict(rows).tolist() == Y
    flat = CRF(rho1=0.01, features="columns").fit(list(chain(*rows)), list(chain(*Y)), lengths=[len(y) for y in Y])
    assert flat.model_.template.n_columns == 3


def test_words_of_wider_rows():
    """`words` needs the first column only: a model of rows takes words alone, too."""
    crf = CRF(rho1=0.01, features="words").fit([[(word, "x") for word in sentence] for sentence in X], Y)
    assert crf.model_.label(X[1]) == Y[1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the best rho1")
def test_cross_validation_and_clone():
    crf = clone(CRFCV(rho1s=[2.0, 0.5, 0.02], features="words", cv=2)).fit(X, Y)
    assert crf.features == "words"
    assert crf.predict(X[:1]).tolist() == Y[:1]


@pytest.mark.parametrize("estimator", [CRF, CRFCV])
def test_mistakes(estimator):
    with pytest.raises(
        InputError, match="features: expected one of words, tagging, letters, columns, documents, found 'wrods'"
    ):
        estimator(features="wrods").fit(X, Y)
    with pytest.raises(InputError, match="features and template: give only one of them"):
        estimator(features="words", template="U:%x[0,0]").fit(X, Y)
    with pytest.raises(
        InputError, match="preset: expected one of words, tagging, letters, columns, documents, found None"
    ):
        Template.preset(None)
    with pytest.raises(InputError, match="preset: expected at least one column, found 0"):
        Template.preset("columns", 0)


def test_program(program):
    program.write(a_txt=WORDS, b_txt="Ann\nlives\nin\nOslo\n")
    assert program("train", "a.txt", "--features", "words", "-m", "m", "--rho1", "0.01").status == 0
    done = program("label", "-m", "m", "b.txt")
    assert done.out.split() == ["Ann", "B-PER", "lives", "O", "in", "O", "Oslo", "B-LOC"]
    assert Model.load("m").label(X[0]) == Y[0]
    printed = program("data", "template", "words").out
    assert printed == Template.preset("words").text
    program.write(t_txt=printed)
    assert program("train", "a.txt", "-t", "t.txt", "-m", "m2", "--rho1", "0.01").status == 0
    assert Model.load("m2").template.text == printed


def test_program_counts_columns(program):
    program.write(a_txt="\n\n" + COLUMNS)
    assert program("train", "a.txt", "--features", "columns", "-m", "m", "--rho1", "0.01").status == 0
    assert Model.load("m").template.text == program("data", "template", "columns", "--columns", "2").out
    found = program("train", "-", "--features", "columns", "-m", "m", stdin=COLUMNS.encode())
    assert (
        "--features columns: expected a file whose lines all have the same number of columns, found standard input"
        in found.err
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--features", "wrods"],
            "--features: expected one of words, tagging, letters, columns, documents, found 'wrods'",
        ),
        (["--features", "words", "-t", "t.txt"], "--features and --template: give only one of them"),
        (["--features", "words", "--format", "crfsuite"], "--features: not supported for CRFsuite files"),
    ],
)
def test_mistakes_of_the_program(program, arguments, message):
    program.write(a_txt=WORDS, t_txt="U:%x[0,0]\n")
    done = program("train", "a.txt", "-m", "m", *arguments)
    assert (done.status != 0, message in done.err) == (True, True)
    assert "m" not in program.files()
    assert "NAME: expected one of" in program("data", "template", "wrods").err
