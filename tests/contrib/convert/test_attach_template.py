"""A template in place of the Python function that a model of CRFsuite has its attributes from: the same answers."""

import random

import pycrfsuite
import pytest

from sparsecrf import CRF, InputError, Model, Template
from sparsecrf.contrib.compat import CRF as CompatCRF
from sparsecrf.contrib.compat import ItemSequence
from sparsecrf.contrib.convert import attach_template
from sparsecrf.contrib.convert.foreign import read_crfsuite

WORDS = ["a", "Bo", "the", "THE", "USA", "Oslo", "sleeps", "Dog", "dogs", "12", "7", "walking", "Élan", "IBM", "of"]
TEMPLATE = r"""Ubias
Uword.lower():%l[0,0]
Uword[-3:]:%s[0,0,3]
Uword.isupper():%t[0,0,"^\u\u*$"]
U-1:word.lower():%l[-1,0]
U+1:word.lower():%l[1,0]
B
"""
RENAME = {
    "word.isupper()": "word.isupper():true",
    "BOS": "-1:word.lower():_B-1",
    "EOS": "+1:word.lower():_B+1",
}


def features(words):
    """As in the tutorials of python-crfsuite and sklearn-crfsuite."""
    made = []
    for t, word in enumerate(words):
        item = {"bias": 1.0, "word.lower()": word.lower(), "word[-3:]": word[-3:], "word.isupper()": word.isupper()}
        item |= {"-1:word.lower()": words[t - 1].lower()} if t else {"BOS": True}
        item |= {"+1:word.lower()": words[t + 1].lower()} if t + 1 < len(words) else {"EOS": True}
        made.append(item)
    return made


def sentences(n, seed):
    rng = random.Random(seed)
    for _ in range(n):
        words = rng.choices(WORDS, k=rng.randint(1, 9))
        yield words, [rng.choice("XY") if rng.random() < 0.2 else "N" if w[0].isupper() else "O" for w in words]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    trainer = pycrfsuite.Trainer(params={"c1": 0.05, "c2": 0.05}, verbose=False)
    for words, labels in sentences(150, seed=0):
        trainer.append(features(words), labels)
    path = tmp_path_factory.mktemp("attach") / "model"
    trainer.train(str(path))
    return path


def test_the_same_answers(path, tmp_path):
    plain, theirs = read_crfsuite(path), pycrfsuite.Tagger()
    attach_template(plain, TEMPLATE, rename=RENAME).save(tmp_path / "model")
    model = Model.load(tmp_path / "model")
    with theirs.open(str(path)):
        for words, _ in sentences(200, seed=1):
            rows, labels = [[word] for word in words], theirs.tag(features(words))
            assert model.label(rows) == labels
            assert model.log_prob(rows, labels) == pytest.approx(plain.log_prob(features(words), labels), abs=1e-12)
    assert model.training["imported_from"] == "crfsuite"
    assert model.n_active == plain.n_active


def test_the_attributes_are_those_of_the_function():
    """What the template makes besides has no weight: the function never makes it."""
    for words, _ in sentences(50, seed=2):
        by_template = Template(TEMPLATE).attributes([[word] for word in words])
        for item, names in zip(ItemSequence(features(words)).items(), by_template, strict=True):
            named = {f"U{RENAME.get(name, name)}" for name, value in item.items() if value}
            assert named == {name for name in names if name != "B" and not name.endswith(":false")}


def test_models_of_compat():
    data = list(sentences(80, seed=3))
    X, Y = [features(words) for words, _ in data], [labels for _, labels in data]
    crf = CompatCRF(c1=0.05, c2=0.05).fit(X, Y)
    model = attach_template(crf.model_, Template(TEMPLATE), rename=RENAME)
    assert [model.label([[word] for word in x]) for x, _ in data] == crf.predict(
        [features(x) for x, _ in data]
    ).tolist()
    assert model.training["rho1"] == 0.05


def test_what_does_not_fit(path):
    model = read_crfsuite(path)
    with pytest.raises(InputError, match=r"attribute of the model; no line generates 1 of them, such as 'bias': add"):
        attach_template(model, TEMPLATE.replace("Ubias\n", ""), rename=RENAME)
    with pytest.raises(InputError, match=r"no line generates 3 of them, such as .*'BOS'.*rename="):
        attach_template(model, TEMPLATE)
    with pytest.raises(InputError, match="expected a B line, because"):
        attach_template(model, TEMPLATE.replace("\nB\n", "\n"), rename=RENAME)
    with pytest.raises(InputError, match="expected distinct attributes, found 'Ubias' twice"):
        attach_template(model, TEMPLATE, rename={**RENAME, "EOS": "bias"})
    with pytest.raises(InputError, match="this model already has a template"):
        attach_template(attach_template(model, TEMPLATE, rename=RENAME), TEMPLATE)
    with_start = CRF(rho1=0.01, rho2=0.01).fit([[{"bias": 1.0}] * 2], [["X", "Y"]]).model_
    with pytest.raises(InputError, match="no start label"):
        attach_template(with_start, "Ubias\nB")
