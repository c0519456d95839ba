"""
Named entities, end to end
==========================

This example goes from labelled sentences to a model file that finds names: train, choose the penalty on held-out data,
score once on test data, label, and keep the spans with a high probability.
"""

from made_up import sentences
from sparsecrf import CRF, Model
from sparsecrf.metrics import evaluate

X, y = sentences(300, seed=1)
X_dev, y_dev = sentences(150, seed=2)
X_test, y_test = sentences(150, seed=3)
print(*zip(X[0], y[0], strict=True))

# %%
# ``features="words"`` computes the usual features of words: the word, its neighbours, affixes and shape. The penalty is
# chosen by chunk F1 on held-out data.

path = CRF(features="words").path(X, y, dev=(X_dev, y_dev))
best = path.model(path.best)
print(f"{len(path)} penalties tried; best: rho1 = {path.rho1[path.best]:.3g}, dev F1 {path.scores[path.best]:.1f} %")

from sparsecrf.contrib.plots import plot_path

display = plot_path(path)

# %%
# Score once on the test data:

found = evaluate(y_test, CRF.from_model(best).predict(X_test).tolist())
print(f"test F1 {found.f1:.1f} %, precision {found.precision:.1f} %, recall {found.recall:.1f} %")
for kind, score in found.types.items():
    print(f"{kind}: F1 {score.f1:.1f} %, {score.gold} in the test data")

# %%
# Save the model to one file and load it again. It labels sentences one by one, as spans with probabilities:

import os
import tempfile

with tempfile.TemporaryDirectory() as folder:
    file = os.path.join(folder, "names.safetensors")
    best.save(file)
    print(f"{os.path.getsize(file) / 1000:.0f} kB")
    model = Model.load(file)

words = ["Mirana", "of", "Lakoburg", "will", "work", "for", "Taritech", "."]
for span in model.spans(words):
    print(f"{' '.join(words[span.start : span.end])}: {span.type} ({span.probability:.2f})")

# %%
# If wrong spans cost more than missed ones, keep only probable spans. Precision rises, recall falls:

for least in (0.0, 0.7, 0.9):
    kept = right = 0
    n_gold = sum(label[0] == "B" for labels in y_test for label in labels)
    for tokens, gold in zip(X_test, y_test, strict=True):
        for span in model.spans(tokens):
            if span.probability >= least:
                kept += 1
                inside = [f"{'I' if k else 'B'}-{span.type}" for k in range(span.end - span.start)]
                follows = gold[span.end : span.end + 1] == [f"I-{span.type}"]
                right += gold[span.start : span.end] == inside and not follows
    print(f"probability at least {least}: precision {100 * right / kept:.1f} %, recall {100 * right / n_gold:.1f} %")
