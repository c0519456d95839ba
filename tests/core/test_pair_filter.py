"""Attributes of a model that condition label pairs by its template, but have no weight of a pair, are left out of the
lists of pairs: labels and probabilities are those of all attributes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sentences import sentences

from sparsecrf import CRF
from sparsecrf._core import Chain
from sparsecrf.shards.dataset import encode_columns

pytestmark = pytest.mark.slow

LINES = {
    "pairs": ("*0:%x[0,0]\n*1:%x[0,1]\n*2:%x[-1,0]\n", {}),
    "n-grams": ("*0:%x[0,0]\nT1:%x[0,1]\nU2:%x[-1,0]\n", {"order": 3}),
    "classes": ("*0:%x[0,0]\n*1:%x[0,1]\n", {"label_parts": "-", "solver_options": {"class_pairs": True}, "rho1": 3.0}),
    "pairs alone": ("U0:%x[0,0]\nB1:%x[0,1]\nB2:%x[0,0]\nB\n", {}),
}


@pytest.mark.parametrize("name", LINES)
def test_labels_and_probabilities(name, tmp_path, program):
    template, options = LINES[name]
    (tmp_path / "template").write_text(template)
    X, y = sentences(300, seed=3)
    model = CRF(template=str(tmp_path / "template"), n_jobs=1, **{"rho1": 0.5, **options}).fit(X, y).model_
    n_conditioning = len(np.unique(model.features.bigram_attribute))
    assert 0 < n_conditioning < len(model.vocabulary.attributes)  # there is something to leave out
    rows = ["".join(f"{a} {b}\n" for a, b in tokens) for tokens in X]
    labelled = "\n".join(text.replace("\n", " O\n") for text in rows)
    (tmp_path / "data").write_text(labelled)
    corpus = encode_columns([str(tmp_path / "data")], model.vocabulary, model.template).corpus  # nothing is left out
    assert corpus.n_tokens > 1000  # several batches
    chain = Chain(model.features, model.w, threads=1)
    best = [model.vocabulary.labels[k] for k in chain.viterbi(corpus)[0]]
    assert best == [label for tokens in X for label in model.label(tokens)]
    assert_allclose(np.concatenate([model.marginals(tokens) for tokens in X]), chain.marginals(corpus), atol=1e-12)
    (tmp_path / "plain").write_text("\n".join(rows))
    model.save(tmp_path / "model")
    done = program("label", "-m", str(tmp_path / "model"), str(tmp_path / "plain"))
    assert done.status == 0
    assert [line.split()[-1] for line in done.out.splitlines() if line] == best
