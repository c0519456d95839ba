"""
How sure is it
==============

This example computes probabilities of labels, label sequences and entities, and checks whether they are right. The task
is the paper's simulation: two of its six labels look alike, and the best possible error, 15.4 %, is known.
"""

import numpy as np

from sparsecrf import CRF
from sparsecrf.contrib.simulate import paper_hmm

hmm = paper_hmm()
rng = np.random.default_rng(0)
X, y = hmm.sample(1000, rng)
X_test, y_test = hmm.sample(2000, rng)

crf = CRF(rho1=1.0).fit(X, y)
print(f"error {100 * (1 - crf.score(X_test, y_test)):.2f} %, best possible {100 * hmm.bayes_error():.2f} %")

# %%
# Plot accuracy against confidence on unseen data. On the diagonal, a share p of the tokens with probability p is right.

from sparsecrf.contrib.plots import CalibrationDisplay, plot_confusion

display = CalibrationDisplay.from_estimator(crf, X_test, y_test, strategy="quantile").plot()
print(f"expected calibration error {display.ece:.3f}")

# %%
# Most errors confuse E and F, which look alike:

display = plot_confusion(y_test, crf.predict(X_test))

# %%
# Print the three best label sequences. Two of them differ in one label that the data cannot determine.

for labels, probability in crf.predict_nbest(X_test[:1], 3)[0]:
    print(f"{probability:.3f}  {' '.join(labels)}")

# %%
# Each entity has a probability. Accept entities above a threshold, and check those below it by hand.

from made_up import features, sentences

words, tags = sentences(300, seed=1)
words_test, tags_test = sentences(400, seed=2)
named = CRF(rho1=0.5).fit([features(sentence) for sentence in words], tags)
found = named.predict_spans([features(sentence) for sentence in words_test])
checked = []
for spans, gold in zip(found, tags_test, strict=True):
    for span in spans:
        expected = [f"B-{span.type}"] + [f"I-{span.type}"] * (span.end - span.start - 1)
        checked.append((span.probability, gold[span.start : span.end] == expected))
for threshold in (0.0, 0.6, 0.8, 0.95):
    kept = [right for probability, right in checked if probability >= threshold]
    share, right = len(kept) / len(checked), np.mean(kept)
    print(f"probability at least {threshold:4}: {share:6.1%} of the entities, {right:.1%} of them right")
