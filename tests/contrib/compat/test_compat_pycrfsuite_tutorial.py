"""python-crfsuite's tutorial (named entities in CoNLL-2002) with its package and with ours: another import line."""

from collections import Counter
from itertools import chain
from types import SimpleNamespace

import pycrfsuite as real
import pytest
from crfsuite_objective import crfsuite_objective
from newswire import print_transitions, sent2labels, sentences
from sklearn.metrics import classification_report, f1_score
from sklearn.preprocessing import LabelBinarizer

import sparsecrf.contrib.compat as ours
from sparsecrf import Model
from sparsecrf.contrib.convert.foreign import read_crfsuite

pytestmark = pytest.mark.slow

SENTENCES = sentences(480)
TRAIN, TEST = SENTENCES[:280], SENTENCES[280:]


def word2features(sent, i):
    word, postag, _ = sent[i]
    features = [
        "bias",
        "word.lower=" + word.lower(),
        "word[-3:]=" + word[-3:],
        "word[-2:]=" + word[-2:],
        f"word.isupper={word.isupper()}",
        f"word.istitle={word.istitle()}",
        f"word.isdigit={word.isdigit()}",
        "postag=" + postag,
        "postag[:2]=" + postag[:2],
    ]
    for name, j, edge in (("-1", i - 1, "BOS"), ("+1", i + 1, "EOS")):
        if 0 <= j < len(sent):
            word1, postag1, _ = sent[j]
            features += [
                f"{name}:word.lower={word1.lower()}",
                f"{name}:word.istitle={word1.istitle()}",
                f"{name}:word.isupper={word1.isupper()}",
                f"{name}:postag={postag1}",
                f"{name}:postag[:2]={postag1[:2]}",
            ]
        else:
            features.append(edge)
    return features


def sent2features(sent):
    return [word2features(sent, i) for i in range(len(sent))]


def bio_classification_report(y_true, y_pred):
    lb = LabelBinarizer()
    y_true_combined = lb.fit_transform(list(chain.from_iterable(y_true)))
    y_pred_combined = lb.transform(list(chain.from_iterable(y_pred)))
    tagset = sorted(set(lb.classes_) - {"O"}, key=lambda tag: tag.split("-", 1)[::-1])
    class_indices = {cls: idx for idx, cls in enumerate(lb.classes_)}
    labels = [class_indices[cls] for cls in tagset]
    return classification_report(y_true_combined, y_pred_combined, labels=labels, target_names=tagset, zero_division=0)


def print_state_features(state_features):
    for (attr, label), weight in state_features:
        print(f"{weight:0.6f} {label:<6} {attr}")


def tutorial(pycrfsuite, filename, params):
    """Everything the notebook does, in its order."""
    X_train, y_train = [sent2features(s) for s in TRAIN], [sent2labels(s) for s in TRAIN]
    X_test, y_test = [sent2features(s) for s in TEST], [sent2labels(s) for s in TEST]

    trainer = pycrfsuite.Trainer(verbose=False)
    for xseq, yseq in zip(X_train, y_train, strict=True):
        trainer.append(xseq, yseq)
    trainer.set_params(params)
    names = trainer.params()
    trainer.train(filename)
    assert trainer.logparser.last_iteration == trainer.logparser.iterations[-1]
    assert len(trainer.logparser.iterations) == trainer.logparser.last_iteration["num"]

    tagger = pycrfsuite.Tagger()
    tagger.open(filename)
    predicted = " ".join(tagger.tag(sent2features(TEST[0])))
    y_pred = [tagger.tag(xseq) for xseq in X_test]
    print(bio_classification_report(y_test, y_pred))
    info = tagger.info()
    print_transitions(Counter(info.transitions).most_common(15))
    print_transitions(Counter(info.transitions).most_common()[-15:])
    print_state_features(Counter(info.state_features).most_common(20))
    print_state_features(Counter(info.state_features).most_common()[-20:])

    assert predicted.split() == y_pred[0]
    entities = sorted(set(chain.from_iterable(y_test)) - {"O"})
    flat = [list(chain.from_iterable(y)) for y in (y_test, y_pred)]
    return SimpleNamespace(
        names=names,
        info=info,
        labels=tagger.labels(),
        n_features=trainer.logparser.featgen_num_features,
        last_loss=trainer.logparser.last_iteration["loss"],
        f1=100 * f1_score(*flat, labels=entities, average="weighted"),
        y_pred=y_pred,
        model=read_crfsuite(filename) if pycrfsuite is real else Model.load(filename),
        data=(X_train, y_train),
    )


AS_IN_NOTEBOOK = {"c1": 1.0, "c2": 1e-3, "max_iterations": 50, "feature.possible_transitions": True}


@pytest.mark.parametrize("pycrfsuite", [real, ours], ids=["python-crfsuite", "sparsecrf"])
def test_the_tutorial_runs(pycrfsuite, tmp_path, capsys):
    done = tutorial(pycrfsuite, str(tmp_path / "conll2002-esp.crfsuite"), AS_IN_NOTEBOOK)
    out = capsys.readouterr().out
    assert out.count(" -> ") == 30
    assert "B-LOC  -> I-LOC" in out
    assert "weighted avg" in out
    assert done.info.header["num_labels"] == "9"
    assert done.f1 > 75
    objective = crfsuite_objective(done.model, *done.data, 1.0, 1e-3)
    assert objective == pytest.approx(done.last_loss, rel=1e-5)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"c1": 1.0, "c2": 1e-3, "feature.possible_transitions": True},
        {"c1": 0.1, "c2": 0.05, "feature.possible_states": True},
        {"c1": 0.2, "c2": 0.1, "feature.possible_states": True, "feature.possible_transitions": True},
        {"c2": 0.1, "feature.minfreq": 3},
    ],
    ids=["default", "transitions", "states", "all", "minfreq"],
)
def test_both_packages_agree(params, tmp_path, capsys):
    theirs, mine = (tutorial(package, str(tmp_path / "model"), params) for package in (real, ours))
    assert mine.names == theirs.names
    assert mine.labels == theirs.labels
    assert mine.n_features == theirs.n_features
    penalties = params.get("c1", 0.0), params.get("c2", 1.0)
    found, expected = (crfsuite_objective(done.model, *done.data, *penalties) for done in (mine, theirs))
    assert found == pytest.approx(expected, rel=1e-3)
    assert found <= expected * (1 + 1e-5)  # at least as close to the optimum
    assert mine.f1 == pytest.approx(theirs.f1, abs=0.3)
    # The weights are compared, too, if the optimum is unique.
    for (key, weight), _ in zip(Counter(theirs.info.transitions).most_common(), range(8), strict=False):
        assert mine.info.transitions[key] == pytest.approx(weight, abs=0.05)


def test_stops_no_later_than_asked(tmp_path, capsys):
    """50 iterations are too few for either; ours get further."""
    theirs, mine = (tutorial(package, str(tmp_path / "model"), AS_IN_NOTEBOOK) for package in (real, ours))
    found, expected = (crfsuite_objective(done.model, *done.data, 1.0, 1e-3) for done in (mine, theirs))
    assert found < expected
