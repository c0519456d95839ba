"""CRFsuite's own model file, written here: python-crfsuite opens it; of its own models it is the same to the bit."""

import numpy as np
import pycrfsuite
import pytest

from sparsecrf import InputError, Model
from sparsecrf.contrib.compat import Tagger, Trainer
from sparsecrf.contrib.convert.crfsuite import from_binary
from sparsecrf.contrib.convert.crfsuite_write import to_binary

LABELS = ["DET", "NOUN", "VERB", "名詞"]


def sequences(n, seed=0):
    """Made-up sequences; names of 1 to 60 bytes, so that every length of a last block of the hash occurs."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        y = rng.integers(0, 4, rng.integers(1, 8))
        x = [
            {f"w={k}": 1.0, "é" * int(rng.integers(1, 20)): float(rng.normal()), "x" * int(rng.integers(1, 61)): -0.5}
            for k in y + rng.integers(0, 2, len(y))
        ]
        yield x, [LABELS[k] for k in y]


def trained(trainer, path, **options):
    for x, y in sequences(80):
        trainer.append(x, y)
    trainer.train(str(path), **options)
    return path


@pytest.mark.parametrize("c1", [0.0, 0.3])
def test_their_models_to_the_bit(tmp_path, c1):
    theirs = pycrfsuite.Trainer(params={"c1": c1, "c2": 0.01, "max_iterations": 30}, verbose=False)
    content = trained(theirs, tmp_path / "theirs").read_bytes()
    assert to_binary(from_binary(content, "theirs")) == content


def test_trained_here_opened_there(tmp_path):
    path = trained(Trainer(params={"c1": 0.1, "c2": 0.01}, verbose=False), tmp_path / "m.crfsuite", format="crfsuite")
    ours, theirs = Tagger(), pycrfsuite.Tagger()
    ours.open(path)
    theirs.open(str(path))
    assert theirs.labels() == ours.labels()
    assert set(theirs.info().state_features) == set(ours.info().state_features)
    for x, _ in sequences(60, seed=1):
        assert theirs.tag(x) == ours.tag(x)
        ours.set(x)
        for y in LABELS:
            assert ours.marginal(y, 0) == pytest.approx(theirs.marginal(y, 0), abs=1e-9)


def test_format_for_all_calls(tmp_path, monkeypatch):
    """Programs that leave the call of `train` to others."""
    assert trained(Trainer(verbose=False), tmp_path / "a").read_bytes()[:4] != b"lCRF"
    monkeypatch.setattr(Trainer, "model_format", "crfsuite")
    assert trained(Trainer(verbose=False), tmp_path / "b").read_bytes()[:4] == b"lCRF"
    with pytest.raises(InputError, match="format: expected one of sparsecrf, crfsuite, found 'wapiti'"):
        Trainer(verbose=False).train("", format="wapiti")


def test_convert(tmp_path, program):
    path = trained(Trainer(verbose=False), tmp_path / "model.safetensors")
    target = tmp_path / "model.crfsuite"
    done = program("convert", str(path), str(target), "--from", "sparsecrf", "--to", "crfsuite-binary")
    assert done.status == 0, done.err
    opened = [Tagger(), Tagger()]
    for tagger, name in zip(opened, (path, target), strict=True):
        tagger.open(name)
    ours, written = (tagger.info() for tagger in opened)
    assert ours.state_features == written.state_features
    assert ours.transitions == written.transitions


def test_what_it_cannot_have(tmp_path):
    with pytest.raises(InputError, match="cannot contain NUL, found NUL in b'a"):
        to_binary(Model.from_weights(["N"], {("a\0b", "N"): 1.0}))
    with pytest.raises(InputError, match="found transition weights for attribute 'w'"):
        to_binary(Model.from_weights(["N", "V"], {}, {("w", "N", "V"): 1.0}))


def test_without_attributes():
    """Weights that are all zero: labels, and nothing else."""
    content = to_binary(Model.from_weights(["N", "V"], {}))
    assert from_binary(content, "empty").labels == ["N", "V"]
    tagger = pycrfsuite.Tagger()
    with tagger.open_inmemory(content):
        assert tagger.labels() == ["N", "V"]
