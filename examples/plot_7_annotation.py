"""
What to annotate next
=====================

You have a few annotated sentences and a pool of raw ones. The model suggests the sentences from which it would learn
most, you annotate them, the model is retrained from its last weights, and the cycle repeats. This example simulates the
annotator: the labels of the pool are known, and are revealed on request.
"""

import random
import time

from made_up import sentences
from sparsecrf import CRF
from sparsecrf.contrib.suggest import suggest

X_all, y_all = sentences(5000, seed=1)
X_test, y_test = sentences(300, seed=2)

# As in much raw text, most sentences of the pool are short and similar.
random.seed(0)
kept = [i for i, words in enumerate(X_all) if len(words) < 8 or random.random() < 0.05][:2000]
X_pool, y_pool = [X_all[i] for i in kept], [y_all[i] for i in kept]


def annotate(numbers):
    """The sentences with these numbers and their labels, as an annotator would provide them."""
    return [X_pool[i] for i in numbers], [y_pool[i] for i in numbers]


# %%
# The loop suggests sentences, annotates them, and retrains with a warm start (`init_model`).


def loop(choose, first=40, step=40, rounds=4):
    """F1 on the test data after each round. `choose` returns the numbers of the next sentences, given a model and the
    sentences to choose from."""
    annotated, crf, scores = list(range(first)), CRF(features="words", rho1=0.3), []
    for _ in range(rounds):
        model = getattr(crf, "model_", None)
        if model is not None:
            annotated += choose(model, [i for i in range(len(X_pool)) if i not in set(annotated)], step)
        crf.fit(*annotate(annotated), init_model=model)
        scores.append((len(annotated), 100 * crf.score(X_test, y_test)))
    return scores


def by_model(model, left, n):
    return [left[found.sequence] for found in suggest(model, [X_pool[i] for i in left], n)]


def by_chance(model, left, n):
    return random.Random(len(left)).sample(left, n)


suggested, at_random = loop(by_model), loop(by_chance)

# %%
# Plot the score against the number of annotated sentences.

from matplotlib import pyplot

figure, axes = pyplot.subplots()
for scores, name in ((suggested, "suggested"), (at_random, "at random")):
    axes.plot(*zip(*scores, strict=True), marker="o", label=name)
axes.set(xlabel="annotated sentences", ylabel="tokens that are right, %")
axes.legend()

# %%
# Retraining takes little time. Here, a model trained on 1,900 sentences is retrained with 100 more:

crf = CRF(features="words", rho1=0.3).fit(*annotate(range(1900)))
began = time.process_time()
crf.fit(*annotate(range(2000)), init_model=crf.model_)
print(f"2,000 sentences: {time.process_time() - began:.1f} s")
