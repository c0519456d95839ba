"""
Tag a small language
====================

For most languages, only a few hundred tagged sentences and some raw text exist. Word endings, tags that share parts,
and word clusters from the raw text make the most of both. The language here is made up; for a treebank in CoNLL-U, use
``sparsecrf train treebank.conllu --format conllu:upos+feats``.
"""

import random

from sparsecrf import CRF, Resource
from sparsecrf.encoding.clusters import word_clusters

rng = random.Random(5)
STEMS = {part: ["".join(rng.choices(["ka", "lu", "ti", "mo", "se", "ra"], k=3)) for _ in range(60)] for part in "NVA"}
ENDINGS = {"N": {"Sing": "", "Plur": "k"}, "A": {"Sing": "", "Plur": "k"}, "V": {"Sing": "", "Plur": "nt"}}
NAMES = {"N": "NOUN", "A": "ADJ", "V": "VERB"}


def sentence():
    """A sentence of noun phrases and a verb that agrees with the first of them.

    Endings reveal the number, but hardly the part of speech.
    """
    words, tags = [], []
    number = rng.choice(["Sing", "Plur"])
    for part in rng.choice(["N V N", "A N V N", "N V A N", "N N V", "V N A"]).split():
        if words and tags[-1].startswith("VERB"):
            number = rng.choice(["Sing", "Plur"])
        words.append(rng.choice(STEMS[part]) + ENDINGS[part][number])
        tags.append(f"{NAMES[part]}|Number={number}")
    return words, tags


X, y = zip(*(sentence() for _ in range(60)), strict=True)
X_test, y_test = zip(*(sentence() for _ in range(400)), strict=True)
raw = [sentence()[0] for _ in range(5000)]  # sentences without tags
print(*zip(X[0], y[0], strict=True))

# %%
# Compute clusters from the raw text: words that occur in the same contexts share a cluster. On the command line, use
# ``sparsecrf data clusters``.

found = word_clusters(raw, n_clusters=12)
clusters = Resource.clusters("raw", {word.word: word.path for word in found})
print(f"{len(found)} words in {len({word.path for word in found})} clusters")

# %%
# Train four models on the same sixty sentences. With ``label_parts="ud"``, all plural tags share weights.

for name, options in {
    "words alone": {},
    "features='tagging'": {"features": "tagging"},
    "with parts of tags": {"features": "tagging", "label_parts": "ud"},
    "with clusters as well": {"features": "tagging", "label_parts": "ud", "resources": [clusters]},
}.items():
    crf = CRF(**options).fit(X, y)
    print(f"{name:24} {100 * (1 - crf.score(X_test, y_test)):5.1f} % wrong, {crf.n_active_} weights")

# %%
# This is what the last model has learnt about each tag and part:

crf.model_.explain(top=3)

# %%
# Plot the transitions between tags:

from sparsecrf.contrib.plots import plot_transitions

display = plot_transitions(crf.model_.without_parts())

# %%
# To choose a sentence to tag next, find the one whose best tags have the lowest probability:

unsure = min(raw[:500], key=lambda words: crf.model_.nbest(words, 1)[0][1])
best = crf.model_.nbest(unsure, 2)
for labels, p in best:
    print(f"{p:.2f}  {' '.join(f'{word}/{label}' for word, label in zip(unsure, labels, strict=True))}")
