"""
What to annotate next
=====================

You have a few annotated sentences and a pool of raw ones. The model says from which of these it would learn most;
somebody annotates them; the model is retrained from its last weights, and the cycle repeats. Here the annotator is
simulated: the labels of the pool are known, and are revealed on request.
"""

import random
import time

from made_up import sentences
from sparsecrf import CRF
from sparsecrf.contrib.suggest import suggest

X_all, y_all = sentences(5000, seed=1)
X_test, y_test = sentences(300, seed=2)

# Raw text is not made for annotators: most sentences of the pool are short and much alike.
random.seed(0)
kept = [i for i, words in enumerate(X_all) if len(words) < 8 or random.random() < 0.05][:2000]
X_pool, y_pool = [X_all[i] for i in kept], [y_all[i] for i in kept]


def annotate(numbers):
    """What an annotator would do with these sentences."""
    return [X_pool[i] for i in numbers], [y_pool[i] for i in numbers]


# %%
# The loop: suggest, annotate, retrain with a warm start (`init_model`), suggest again.


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
# The score against the number of annotated sentences.

from matplotlib import pyplot

figure, axes = pyplot.subplots()
for scores, name in ((suggested, "suggested"), (at_random, "at random")):
    axes.plot(*zip(*scores, strict=True), marker="o", label=name)
axes.set(xlabel="annotated sentences", ylabel="tokens that are right, %")
axes.legend()

# %%
# Retraining is quick enough to wait for. A model of 1,900 sentences gets 100 more:

crf = CRF(features="words", rho1=0.3).fit(*annotate(range(1900)))
began = time.process_time()
crf.fit(*annotate(range(2000)), init_model=crf.model_)
print(f"2,000 sentences: {time.process_time() - began:.1f} s")
