"""Label n-grams as users ask for them beside `fit`: chosen rho1, paths, the program, model files and reports."""

import json

import numpy as np
import pytest
from ngram_sentences import sentences
from numpy.testing import assert_array_equal

from sparsecrf import CRF, CRFCV, Model
from sparsecrf.contrib.report.words import facts

pytestmark = pytest.mark.slow

TEMPLATE = "U:%x[0,0]\nB\n"
X, Y = sentences()


def as_columns(X, y):
    sequences = zip(X, y, strict=True)
    return "\n".join("".join(f"{t[0]} {label}\n" for t, label in zip(*both, strict=True)) for both in sequences)


@pytest.mark.filterwarnings("ignore::sparsecrf.path.PathWarning")
def test_crfcv_chooses_rho1_with_label_ngrams():
    """The same model as a fit at the chosen rho1, and a better score than pairs have."""
    options = {"template": TEMPLATE, "order": 3, "tol": 1e-5}
    crf = CRFCV([3.0, 0.5], cv=2, **options).fit(X, Y)
    alone = CRF(rho1=crf.rho1_, **options).fit(X, Y)
    assert crf.model_.features.n_ngram == alone.model_.features.n_ngram > 0
    assert_array_equal(np.concatenate(crf.predict(X)), np.concatenate(alone.predict(X)))
    pairs = CRFCV([3.0, 0.5], cv=2, template=TEMPLATE).fit(X, Y)
    assert crf.scores_.max() > pairs.scores_.max()
    assert pairs.model_.features.n_ngram == 0


def test_order_factor_is_kept_with_the_model(tmp_path):
    dear = CRF(rho1=0.5, template=TEMPLATE, order=None, solver_options={"order_factor": 1.5}).fit(X, Y)
    cheap = CRF(rho1=0.5, template=TEMPLATE, order=None).fit(X, Y)
    assert 0 < dear.model_.features.n_ngram < cheap.model_.features.n_ngram
    dear.model_.save(tmp_path / "m.safetensors")
    training = Model.load(tmp_path / "m.safetensors").training
    assert (training["order"], training["order_factor"]) == (None, 1.5)
    assert dict(facts(training))["Longest label n-gram"] == "any number"
    assert dict(facts(training))["rho1 factor per label beyond two"] == "1.5"
    assert "order_factor" not in cheap.model_.training
    assert "Longest label n-gram" not in dict(facts(CRF(template=TEMPLATE).fit(X, Y).model_.training))


def test_path_of_an_estimator_starts_each_fit_from_its_neighbour():
    found = CRF(template=TEMPLATE, order=3, solver_options={"order_factor": 1.2}).path(
        X, Y, dev=(X, Y), rho1s=[4.0, 2.0, 1.0, 0.5]
    )
    assert [fit.order for fit in found] == [3] * 4
    assert found[-1].n_ngram > 0
    alone = CRF(rho1=0.5, template=TEMPLATE, order=3, solver_options={"order_factor": 1.2}).fit(X, Y)
    assert found[-1].objective == pytest.approx(alone.objective_, rel=1e-2)
    # A run that starts from a fit with n-grams has them from its first record on.
    assert found[-1].history[0].active_ngram == found[-2].n_ngram > 0


def test_command_path(program):
    """Rows count n-grams; the score of the table is that of the model in the file, n-grams included."""
    template = "*:%x[0,0]\nB\n"  # words condition pairs, the plain line n-grams
    program.write(data_txt=as_columns(X, Y), dev_txt=as_columns(*sentences(seed=9)), t_txt=template)
    common = ["path", "data.txt", "-t", "t.txt", "--dev", "dev.txt", "-o", "p", "--n-rho", "3", "--json", "-q"]
    found = program(*common, "--order", "3", "--order-factor", "1.1", "--rho-min-ratio", "0.005")
    assert found.status == 0, found.err
    rows = json.loads(found.out)["path"]
    assert rows[-1]["active_ngram"] > 0
    lines = (program.directory / "p" / "path.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[0].split("\t") == list(rows[0])
    for row in rows:
        model = Model.load(program.directory / "p" / row["model"])
        assert (model.training["order"], model.training["order_factor"]) == (3, 1.1)
        assert {model.vocabulary.attributes[x] for x in model.features.ngrams[0].tolist()} <= {"B"}
        counts = model.explain().summary
        found_active = [row["active_unigram"], row["active_bigram"], row["active_ngram"]]
        assert found_active == [counts.get(f"active_{kind}", 0) for kind in ("unigram", "bigram", "ngram")]
        told = json.loads(program("eval", "dev.txt", "-m", f"p/{row['model']}", "--json").out)
        assert told["token_error"] == pytest.approx(row["dev_error"])
    assert "active_ngram" not in json.loads(program(*common).out)["path"][0]


def test_command_path_by_f1(program):
    """The token error beside F1 is that of the model with its n-grams."""
    as_chunks = {"P": "B-X", "Q": "I-X", "R": "O"}
    train, dev = ((x, [[as_chunks[label] for label in of] for of in y]) for x, y in (sentences(), sentences(seed=9)))
    program.write(data_txt=as_columns(*train), dev_txt=as_columns(*dev), t_txt=TEMPLATE)
    common = ["path", "data.txt", "-t", "t.txt", "--dev", "dev.txt", "-o", "p", "--n-rho", "3", "--json", "-q"]
    found = program(*common, "--order", "3", "--rho-min-ratio", "0.005", "--score", "f1")
    assert found.status == 0, found.err
    for row in json.loads(found.out)["path"]:
        told = json.loads(program("eval", "dev.txt", "-m", f"p/{row['model']}", "--json").out)
        assert (told["token_error"], told["f1"]) == (pytest.approx(row["dev_error"]), pytest.approx(row["dev_f1"]))


def test_command_line_refuses(program):
    program.write(data_txt=as_columns(X, Y), t_txt=TEMPLATE)
    for command in (["train", "-m", "m"], ["path", "-o", "p"]):
        common = [command[0], "data.txt", *command[1:], "-t", "t.txt", "--order", "3"]
        assert program(*common, "--order-factor", "0.5").status == 2
        wrong = program(*common, "--order-factor", "2", "--penalty", "tree")
        assert wrong.status == 2
        assert "--penalty tree cannot be combined with --order-factor 2; use --order-factor 1" in wrong.err
        wrong = program(*common, "--solver", "sbcd")
        assert wrong.status == 2
        assert "--order 3 is not supported by --solver sbcd; use auto, owlqn" in wrong.err
