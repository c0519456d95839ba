"""
Move a program from sklearn-crfsuite
====================================

If you change its import lines, a program written for sklearn-crfsuite runs as before. You can then use what
sparsecrf adds: a certified optimality gap, fewer weights, and spans with probabilities.
"""

from collections import Counter

import sparsecrf.contrib.compat as sklearn_crfsuite  # was: import sklearn_crfsuite
from made_up import features, sentences
from sparsecrf.contrib.compat import metrics  # was: from sklearn_crfsuite import metrics

words, y = sentences(300, seed=1)
X = [features(sentence) for sentence in words]
words_test, y_test = sentences(200, seed=2)
X_test = [features(sentence) for sentence in words_test]

crf = sklearn_crfsuite.CRF(algorithm="lbfgs", c1=0.1, c2=0.05, max_iterations=200, all_possible_transitions=True)
crf.fit(X, y)
labels = [label for label in crf.classes_ if label != "O"]
print(f"F1 {metrics.flat_f1_score(y_test, crf.predict(X_test), average='weighted', labels=labels):.4f}")
for (before, label), weight in Counter(crf.transition_features_).most_common(5):
    print(f"{before:6} -> {label:6} {weight:+.3f}")

# %%
# ``sparsecrf.CRF`` trains the same model: c1 is rho1, c2 is half of rho2, and there is no start label. It also
# certifies how far the training objective is from its optimum.

from sparsecrf import CRF

same = CRF(rho1=0.1, rho2=0.1, start=False, solver_options={"observed_only": True, "gap": 1e-3}).fit(X, y)
print(f"{same.n_active_} weights; objective {same.objective_:.3f}, at most {same.gap_:.3f} above the optimum")
agree = sum(a == b for a, b in zip(crf.predict(X_test), same.predict(X_test), strict=True))
print(f"{agree} of {len(X_test)} sentences have the same labels")

# %%
# With a larger rho1, and with all features instead of only the observed ones, the model has a quarter of the weights:

sparse = CRF(rho1=2.0).fit(X, y)
for name, crf in (("before", same), ("now", sparse)):
    print(f"{name:6}  {crf.n_active_:4} weights, {crf.score(X_test, y_test):.4f} of tokens right")

# %%
# Compare the progress of both runs:

from sparsecrf.contrib.plots import ConvergenceDisplay

runs = {"rho1 = 0.1": same.history_, "rho1 = 2": sparse.history_}
display = ConvergenceDisplay(runs).plot(x="passes", panels=["above_best", "kkt", "active"])
