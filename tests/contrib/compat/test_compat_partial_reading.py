"""Models of CRFsuite that answer from a part of the file: the same answers as from all of it."""

import random
import sys
from pathlib import Path

import numpy as np
import pytest

from sparsecrf import BIAS, InputError, Model
from sparsecrf._core import CrfsuiteModel, StringTable
from sparsecrf.contrib.compat import Tagger
from sparsecrf.contrib.compat.tagger import CrfsuiteFile
from sparsecrf.contrib.convert.crfsuite import from_binary
from sparsecrf.contrib.convert.crfsuite_write import to_binary

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # torture is not part of the package

from torture.seeds import _crfsuite_binary

LABELS = ["A", "B", "é", "D"]
NAMES = [f"w{k}" for k in range(2000)] + ["日本", "a:b", "x" * 11, "x" * 12, "x" * 13, ""]


def content(seed, n_names=2006, more=()):
    """A model file as CRFsuite would write it."""
    rng = random.Random(seed)
    names = [*rng.sample(NAMES, n_names), *more]
    unigram = {(x, y): rng.gauss(0, 1) for x in names for y in rng.sample(LABELS, 2)}
    bigram = {(BIAS, a, b): rng.gauss(0, 1) for a in LABELS for b in LABELS if rng.random() < 0.6}
    return to_binary(Model.from_weights(LABELS, unigram, bigram, start=False))


def sequence(rng):
    def item():
        names = rng.sample(NAMES, rng.randrange(4)) + rng.choice([[], ["unknown"], [BIAS], ["w1", "w1"]])
        return rng.choice([names, {name: rng.choice([1.0, -0.5, True]) for name in names}])

    return [item() for _ in range(rng.randrange(1, 9))]


@pytest.mark.parametrize("more", [(), (BIAS,)])
def test_part_and_whole_agree_to_the_bit(more):
    """BIAS may be a name in the file, too: then its place among the attributes is that of the file."""
    data, rng = content(1, more=more), random.Random(2)
    whole, parts = Tagger(), Tagger()
    whole.use(from_binary(data, "whole"))
    for _ in range(100):
        x = sequence(rng)
        parts.open_inmemory(data)
        assert parts.tag(x) == whole.tag(x)
        assert parts._model is None, "the whole file was read"
        labels = parts.tag()
        assert parts.probability(labels) == whole.probability(labels)
        marginals = [[tagger.marginal(y, t) for y in LABELS for t in range(len(x))] for tagger in (parts, whole)]
        np.testing.assert_array_equal(*marginals)
    assert parts.labels() == whole.labels() == LABELS


def test_many_questions_read_the_whole():
    """To look up names again and again would take longer in the end."""
    tagger, rng = Tagger(), random.Random(3)
    tagger.open_inmemory(content(1))
    for _ in range(200):
        tagger.tag(sequence(rng))
    assert tagger._model is not None


def test_what_is_set_stays_set():
    """Also when another question needs the whole model."""
    tagger = Tagger()
    tagger.open_inmemory(content(1))
    tagger.set([["w1"], ["w2"]])
    before = tagger.marginal("A", 1)
    assert tagger._model is None
    assert tagger.info().labels == {name: str(k) for k, name in enumerate(LABELS)}
    assert tagger._model is not None
    tagger._marginals = None
    assert tagger.marginal("A", 1) == before
    assert len(tagger.tag()) == 2


def test_a_file_without_tables_is_read_whole():
    data = _crfsuite_binary(["X", "Y"], ["w=a", "é"], [(0, 0, 1, 3.0), (0, 1, 0, 2.0), (1, 0, 1, -0.5)])
    assert not CrfsuiteModel(data, "model").has_tables
    assert CrfsuiteFile(data, "model").part_for([["w=a"]]) is None
    tagger = Tagger()
    tagger.open_inmemory(data)
    assert tagger.tag([["w=a"], ["é"]]) == ["Y", "X"]
    with pytest.raises(RuntimeError, match="expected a label of the model"):
        tagger.marginal("Z", 0)


def test_damage_is_an_error():
    """Whatever byte is changed: an answer or an InputError, and for the places that are read some of the latter."""
    data, names = content(4, 40), StringTable()
    for name in NAMES:
        names.intern(name)
    rng, refused = random.Random(5), 0
    for _ in range(2000):
        at = rng.randrange(len(data))
        changed = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        try:
            file = CrfsuiteModel(changed, "model")
            if file.has_tables:
                file.part(names, BIAS)
        except InputError:
            refused += 1
    assert refused > 50


def test_a_file_that_is_cut_is_refused():
    with pytest.raises(InputError, match=r"the model in memory: expected a CRFsuite model .* of \d+ bytes, found"):
        Tagger().open_inmemory(content(4, 40)[:-1])
    with pytest.raises(InputError, match="expected a CRFsuite model"):
        Tagger().open_inmemory(b"lCRF")
