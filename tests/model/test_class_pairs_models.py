"""Pairs of classes of labels: what users see of them, in models, files, explanations, paths and the program."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sparsecrf import CRF, CRFCV, InputError, Model
from sparsecrf.contrib.plots.path import _feature_name
from sparsecrf.encoding.label_parts import LabelParts
from sparsecrf.files.container import pack, unpack
from sparsecrf.model.file import FORMAT, VERSION

pytestmark = pytest.mark.slow

LABELS = ["N|s", "N|p", "V|s", "V|p", "A"]


def data():
    """Sentences in which N and V alternate, and words say whether it is s or p."""
    rng = np.random.default_rng(7)
    X, y = [], []
    for _ in range(40):
        first = int(rng.integers(2))
        numbers = rng.integers(2, size=5)
        X.append([[f"w{k}", "x"] for k in numbers])
        y.append([("NV"[(first + t) % 2] + "|" + "sp"[k]) if t < 4 else "A" for t, k in enumerate(numbers)])
    return X, y


def trained(**options):
    X, y = data()
    return CRF(rho1=0.2, label_parts="|", tol=1e-6, solver_options={"class_pairs": True}, **options).fit(X, y), X, y


@pytest.mark.parametrize("bigrams", ["bias", "all"])
def test_a_model_keeps_its_classes(bigrams):
    crf, X, _ = trained(bigrams=bigrams)
    model = crf.model_
    assert model.features.n_class > 0
    assert model.label_parts.classes == (0, 5, 5, 8, 8)  # A is a class of its own
    for again in (
        Model.from_bytes(model.to_bytes()),
        model.compacted(),
        Model.from_bytes(model.to_bytes(compact=True)),
    ):
        assert again.label_parts == model.label_parts
        assert again.features.n_class == np.count_nonzero(model.w[len(model.w) - model.features.n_class :])
        assert [again.label(s) for s in X] == [model.label(s) for s in X]


@pytest.mark.parametrize("bigrams", ["bias", "all"])
def test_without_parts_everything_is_the_same(bigrams):
    crf, X, y = trained(bigrams=bigrams)
    model = crf.model_
    flat = model.without_parts()
    assert flat.label_parts is None
    assert flat.features.n_class == flat.features.n_parts == 0
    for sentence, labels in zip(X[:10], y[:10], strict=True):
        assert_allclose(flat.marginals(sentence), model.marginals(sentence), atol=1e-12)
        assert_allclose(flat.log_prob(sentence, labels), model.log_prob(sentence, labels), atol=1e-10)
        assert flat.label(sentence) == model.label(sentence)
        assert flat.label(sentence) == list(crf.predict([sentence])[0])
    assert_allclose(flat.transitions(), model.transitions())


def test_weights_have_the_names_of_classes():
    crf, _, _ = trained()
    explained = crf.model_.explain(top=None)
    pairs = {(w.previous, w.label): w.weight for w in explained.plain_transitions()}
    assert pairs["N", "V"] > 0
    assert pairs["V", "N"] > 0
    assert len(pairs) == explained.summary["active_bigram"]
    found = explained.summary["active_class_pair"]
    assert found == crf.model_.explain(top=None).summary["active_bigram"] - sum(
        previous in (*LABELS, "[start]") and label in LABELS for previous, label in pairs
    )
    assert "for class pairs" in str(explained)
    # Labels N|s and V|p have the weight of their classes.
    transitions = crf.model_.transitions()
    y = crf.model_.labels.index
    own = pairs.get(("N|s", "V|p"), 0.0)
    assert_allclose(transitions[y("N|s"), y("V|p")], pairs["N", "V"] + own)


@pytest.mark.parametrize("bigrams", ["bias", "all"])
def test_contributions_of_a_sequence_are_its_score(bigrams):
    crf, X, _ = trained(bigrams=bigrams)
    for sentence in X[:5]:
        story = crf.model_.explain(sentence)
        amounts = sum(term.amount for token in story.tokens for term in token.contributions())
        corpus = crf.model_.encode([sentence])
        assert_allclose(amounts, crf.model_.chain.viterbi(corpus)[1][0], atol=1e-9)
        flat = crf.model_.without_parts().explain(sentence)
        for token, other in zip(story.tokens, flat.tokens, strict=True):
            assert_allclose(token.path_margin, other.path_margin, atol=1e-9)


def test_warm_start_path_and_cross_validation():
    crf, X, y = trained()
    how = {"label_parts": "|", "solver_options": {"class_pairs": True}}
    again = CRF(rho1=0.2, max_iter=1, tol=1e-6, **how).fit(X, y, init_model=crf.model_)
    assert_allclose(again.objective_, crf.objective_, rtol=1e-5)
    plain = CRF(rho1=0.2, max_iter=0, tol=1e-6).fit(X, y, init_model=crf.model_)
    assert_allclose(plain.loss_, -sum(map(crf.model_.log_prob, X, y)), rtol=1e-6)
    found = CRF(**how).path(X[:30], y[:30], dev=(X[30:], y[30:]), rho1s=[3.0, 0.3])
    assert found.model(1).label_parts == crf.model_.label_parts
    assert found[1].n_class_pair > 0
    vocabulary = found.model(1).vocabulary
    names = {_feature_name(int(k), crf.model_.vocabulary, found[1].parts) for k in found[1].numbers}
    assert any(name.endswith(", N > V") for name in names)
    assert vocabulary.labels[0] == "A"
    chosen = CRFCV(rho1s=[1.0, 0.2], cv=2, **how).fit(X, y)
    assert chosen.model_.features.n_class > 0


def test_what_does_not_go_together():
    X, y = data()
    with pytest.raises(InputError, match="class_pairs=True needs label_parts"):
        CRF(solver_options={"class_pairs": True}).fit(X, y)
    with pytest.raises(InputError, match="class_pairs=True cannot be combined with order=3; use order=2"):
        CRF(label_parts="|", order=3, solver_options={"class_pairs": True}).fit(X, y)
    crf, _, _ = trained()
    model = crf.model_
    with pytest.raises(InputError, match="label_parts: expected the classes of the features, found different classes"):
        Model(model.vocabulary, model.features, model.w, label_parts=LabelParts(*model.label_parts[:2]))


def test_a_file_with_other_classes_is_refused():
    crf, _, _ = trained()
    metadata, arrays = unpack(crf.model_.to_bytes(), "good", FORMAT, VERSION)
    good = {name: np.array(array.data) for name, array in arrays.items()}
    kept = {name: text for name, text in metadata.items() if name not in ("format", "version")}
    for classes in ([0, 5, 5, 8], [0, 8, 5, 8, 8], [0, 5, 5, 8, "8"], "x"):
        record = {**json.loads(kept["parts"]), "classes": classes}
        with pytest.raises(InputError, match=r"classes of labels: expected|as parts, found"):
            Model.from_bytes(pack(FORMAT, VERSION, {**kept, "parts": json.dumps(record)}, good))
    # Without the classes, the numbers of their pairs mean nothing, as in versions that do not support classes.
    record = {name: value for name, value in json.loads(kept["parts"]).items() if name != "classes"}
    with pytest.raises(InputError, match="expected ascending feature numbers below"):
        Model.from_bytes(pack(FORMAT, VERSION, {**kept, "parts": json.dumps(record)}, good))


def test_the_program(program, tmp_path):
    X, y = data()
    lines = [
        [f"{' '.join(token)} {label}\n" for token, label in zip(*one, strict=True)] for one in zip(X, y, strict=True)
    ]
    (tmp_path / "train.txt").write_text("\n".join("".join(sentence) for sentence in lines))
    (tmp_path / "template").write_text("U:%x[0,0]\nU1:%x[0,1]\nB\n")
    files = ["-t", "template", "train.txt"]
    how = ["--label-parts", "|", "--class-pairs"]
    done = program("train", "-m", "m.safetensors", "--json", *how, *files)
    assert json.loads(done.out.splitlines()[-1])["active_class_pair"] > 0
    assert "of them for class pairs" in done.err
    program("path", "-o", "path", "--n-rho", "2", *how, *files)
    assert Model.load(tmp_path / "path" / "model-01.safetensors").label_parts.classes
    assert "for class pairs" in program("show", "m.safetensors").out
    assert program("report", "m.safetensors", "-o", "report.html").status == 0
    for wrong, message in (
        (["--class-pairs"], "--class-pairs needs --label-parts"),
        ([*how, "--order", "3"], "--class-pairs cannot be combined with --order 3; use --order 2"),
        (
            [*how, "--cache", "c", "--shard-tokens", "50"],
            "--class-pairs cannot be combined with --shard-tokens 50",
        ),
    ):
        failed = program("train", "-m", "n.safetensors", *wrong, *files)
        assert failed.status == 2
        assert message in " ".join(failed.err.replace("│", " ").split())


def test_classes_that_are_none_are_told(program, tmp_path):
    (tmp_path / "d.txt").write_text("a A|x\nb B|x\nc C\n\n")
    (tmp_path / "template").write_text("U:%x[0,0]\n")
    how = ["--label-parts", "|", "--class-pairs"]
    done = program("train", "-m", "m.safetensors", "-t", "template", *how, "d.txt")
    assert "--class-pairs has no effect: no first part is shared by some but not all labels" in done.err
