"""
How large a penalty
===================

The penalty rho1 determines how many weights a model has. This example fits models for decreasing rho1, plots their
errors on held-out sentences, and chooses rho1 by cross-validation.
"""

# %%
# The data are made-up sentences with entities. The attributes of a word are the word itself, its neighbours and its
# shape.

from made_up import features, sentences
from sparsecrf import CRF, CRFCV

words, y = sentences(120, seed=1)
X = [features(sentence) for sentence in words]
words_dev, y_dev = sentences(200, seed=2)
X_dev = [features(sentence) for sentence in words_dev]

# %%
# The path begins where the first weight becomes nonzero, and every fit starts from the previous solution.

from sparsecrf.contrib.plots import plot_path

path = CRF(rho2=0.01).path(X, y, dev=(X_dev, y_dev), n_rho=14, rho_min_ratio=3e-4, scoring="token_accuracy")
display = plot_path(path)
for found, error in zip(path, path.errors, strict=True):
    print(f"rho1 {found.rho1:8.3f}  {len(found.w):4} weights  {error:6.2f} % of the held-out tokens wrong")

# %%
# Without held-out data, use cross-validation. `one_se` chooses the largest penalty whose score is within one standard
# error of the best. On a small task like this one, both rules may choose the same model.

best = CRFCV(cv=4, scoring="chunk_f1").fit(X, y)
small = CRFCV(cv=4, scoring="chunk_f1", selection="one_se").fit(X, y)
for name, crf in (("best", best), ("one_se", small)):
    print(f"{name:6}  rho1 {crf.rho1_:.3f}  {crf.n_active_} weights  {crf.score(X_dev, y_dev):.4f} of tokens right")

# %%
# This plot shows the error against the number of weights:

from sparsecrf.contrib.plots import plot_tradeoff

display = plot_tradeoff(path)
