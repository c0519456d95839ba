"""Options that users of Wapiti and CRF++ know: cut-off by count, cost factor, scores of tokens."""

import json

import numpy as np
import pytest
from model_content import attribute_names

from sparsecrf import InputError, Model, Vocabulary
from sparsecrf.shards.dataset import without_rare

DATA = "the DET\ncat NOUN\nruns VERB\n\nthe DET\ndog NOUN\nruns VERB\n\na DET\ncat NOUN\n\n"
TEMPLATE = "U:%x[0,0]\n*1:%x[-1,0]\nB\n"


@pytest.fixture
def files(program):
    program.write(t_txt=TEMPLATE, a_txt=DATA)
    return program


@pytest.mark.slow
def test_min_count_leaves_rare_attributes_out(files):
    """As if the training data had never had them; a dev file is read by what is left."""
    common = ["train", "a.txt", "-t", "t.txt", "--rho1", "0.01", "--json"]
    everything = json.loads(files(*common, "-m", "all").out)
    found = json.loads(files(*common, "-m", "m", "--min-count", "2", "--dev", "a.txt").out)
    # Once only: U:dog U:a, *1:cat *1:dog *1:a
    assert (everything["attributes"], found["attributes"]) == (11, 6)
    assert attribute_names(Model.load("m")) <= {"U:the", "U:cat", "U:runs", "*1:_B-1", "*1:the", "B"}
    program = files("train", "a.txt", "-t", "t.txt", "-m", "m", "--min-count", "2", "--cache", "c")
    assert (program.status, "--min-count 2 cannot be combined with --cache" in program.err) == (2, True)
    assert files("train", "a.txt", "-t", "t.txt", "-m", "m", "--min-count", "1", "--cache", "c").status == 0


def test_the_corpus_without_rare_attributes_is_that_of_the_others():
    X = [[["a", ("b", 0.5)], ["a"], ["c", "b"]], [["a", "d"]]]
    y = [["N", "V", "N"], ["V"]]
    vocabulary = Vocabulary(bigrams={"a", "c"})
    corpus, small = without_rare(vocabulary.encode(X, y, grow=True), vocabulary, 2)
    kept = {"a", "b", "BIAS"}
    other = Vocabulary(bigrams={"a", "c"})
    for name in (small.attributes[k] for k in range(len(small.attributes))):
        other.attributes.intern(name)
    for k in range(len(small.labels)):
        other.labels.intern(small.labels[k])
    assert {small.attributes[k] for k in range(len(small.attributes))} & {"a", "b", "c", "d"} == kept & {"a", "b"}
    assert corpus.fingerprint == other.encode(X, y).fingerprint
    with pytest.raises(InputError, match="at_least: expected at least 1"):
        without_rare(corpus, small, 0)


@pytest.fixture
def trained(files):
    assert files("train", "a.txt", "-t", "t.txt", "-m", "m", "--rho1", "0.1").status == 0
    return files


def test_token_scores_add_up_to_the_score(trained):
    for options in ([], ["--nbest", "3"], ["--force"]):
        done = trained("label", "-m", "m", "a.txt", "--score", "--token-scores", *options)
        blocks = done.out.rstrip("\n").split("\n\n")
        assert len(blocks) == (9 if "--nbest" in options else 3)
        for block in blocks:
            header, *lines = block.split("\n")
            assert sum(float(line.split()[-1]) for line in lines) == pytest.approx(float(header.split()[-1]), abs=1e-5)
            assert all(len(line.split()) == 4 for line in lines)
    # The first token of `the cat`: its own weights and those after the start.
    model = Model.load("m")
    parts = model.explain([["the"]]).tokens[0]
    first = trained("label", "-m", "m", "-", "--token-scores", stdin=b"the\n").out.split()
    assert float(first[-1]) == pytest.approx(parts.score, abs=1e-5)


def test_cost_factor(trained):
    """Scores are multiplied; the labels stay."""
    one, two = (trained("label", "-m", "m", "a.txt", "--score", "--cost-factor", c).out.split("\n") for c in ("1", "2"))
    assert [line.split()[-1] for line in one if line and line[0] != "#"] == [
        line.split()[-1] for line in two if line and line[0] != "#"
    ]
    scores = [[float(line.split()[-1]) for line in lines if line.startswith("#")] for lines in (one, two)]
    np.testing.assert_allclose(2 * np.array(scores[0]), scores[1], atol=1e-5)
    model = Model.load("m")
    rows = [["the"], ["cat"]]
    log_odds = [m.log_prob(rows, ["DET", "NOUN"]) - m.log_prob(rows, ["NOUN", "DET"]) for m in (model, model.scaled(3))]
    assert log_odds[1] == pytest.approx(3 * log_odds[0])
    assert trained("label", "-m", "m", "a.txt", "--cost-factor", "0").status == 2
