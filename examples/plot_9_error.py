"""
Explain an error to a colleague
===============================

A colleague asks why the model got a name wrong. The answer has three parts: how sure the model was, which weights
decided, and how the training data explain these weights.
"""

import os
import tempfile

from made_up import sentences
from sparsecrf import CRF

X, y = sentences(300, seed=1)
X_test, y_test = sentences(150, seed=3)
model = CRF(features="words", rho1=0.3).fit(X, y).model_

# %%
# Find the wrong label with the highest probability:

wrong = []
for words, gold in zip(X_test, y_test, strict=True):
    p, labels = model.marginals(words), model.label(words)
    wrong += [(p[t].max(), t, words, gold) for t in range(len(words)) if labels[t] != gold[t]]
p, t, words, gold = max(wrong, key=lambda error: error[0])
print(f"{len(wrong)} errors. The surest: {words[t]!r} in {' '.join(words)!r}")
print(f"predicted {model.label(words)[t]} with probability {p:.2f}; right is {gold[t]}")

from sparsecrf.contrib.plots import plot_marginals

display = plot_marginals(model, words, tokens=words)

# %%
# Every score is a sum of weights. Print the weights of the predicted label minus those of the correct label, largest
# difference first:

token = model.explain(words, top=None).tokens[t]
own, right = ({term.attribute: term.amount for term in token.contributions(y)} for y in (token.label, gold[t]))
difference = {name: own.get(name, 0.0) - right.get(name, 0.0) for name in own | right}
for name in sorted(difference, key=lambda name: -abs(difference[name]))[:6]:
    print(f"{name:24} {difference[name]:+.2f}")

# %%
# Positive numbers are evidence for the wrong label. Count the labels of similar words in the training data:

from collections import Counter

suffix = words[t][-3:]
pairs = ((word, label) for i in range(len(X)) for word, label in zip(X[i], y[i], strict=True))
seen = Counter(label for word, label in pairs if word.endswith(suffix))
print(f"names that end in {suffix!r} in the training data: {dict(seen)}")

# %%
# To share the explanation, write a report: one HTML file with scores, the sentences (those with errors first), and the
# weights behind each decision. The command is ``sparsecrf report names.safetensors --data test.txt -o report.html``.

from sparsecrf.contrib.report import make_report

with tempfile.TemporaryDirectory() as folder:
    data = os.path.join(folder, "test.txt")
    with open(data, "w", encoding="utf-8") as file:
        for tokens, labels in zip(X_test, y_test, strict=True):
            file.writelines(f"{word} {label}\n" for word, label in zip(tokens, labels, strict=True))
            file.write("\n")
    page = make_report(model, name="names.safetensors", data=data)
print(f"report.html: {len(page) / 1e6:.1f} MB, no other file and no network needed")
