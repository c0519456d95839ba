"""
Addresses and other fields
==========================

Addresses, references and log lines consist of fields. Their labels do not need the prefixes ``B-`` and ``I-``: a run of
equal labels is one field.
"""

import json
import os
import random
import tempfile

from made_up import SYLLABLES
from sparsecrf import CRF

rng = random.Random(1)
STATES = ["IL", "OR", "TX", "NY", "CA"]


def name():
    """One to three made-up words."""
    words = ("".join(rng.choices(SYLLABLES, k=rng.choice([2, 3]))) for _ in range(rng.choice([1, 1, 2, 3])))
    return " ".join(word.capitalize() for word in words)


def address():
    """The words of an address and their labels. As in written text, punctuation is attached to the words."""
    number, code = rng.randrange(1, 3000), rng.randrange(10000, 99999)
    fields = [(f"{number}", "number"), (f"{name()} {rng.choice(['Ave,', 'St,', 'Road,'])}", "street")]
    if rng.random() < 0.4:
        fields.append((f"{rng.choice(['Apt', 'Suite'])} {rng.randrange(1, 90)},", "unit"))
    fields += [(f"{name()},", "city"), (rng.choice(STATES), "state"), (f"{code}", "code")]
    tokens = [(word, label) for text, label in fields for word in text.split()]
    return [word for word, _ in tokens], [label for _, label in tokens]


X, y = zip(*(address() for _ in range(200)), strict=True)
X_test, y_test = zip(*(address() for _ in range(200)), strict=True)
print(*zip(X[0], y[0], strict=True))

# %%
# Most words of a new address are unknown. Neighbours, prefixes, suffixes and shapes determine their labels:

plain = CRF().fit(X, y)
crf = CRF(features="words").fit(X, y)
for name, fitted in (("words alone", plain), ("features='words'", crf)):
    print(f"{name}: {100 * (1 - fitted.score(X_test, y_test)):.1f} % of the tokens wrong")

# %%
# ``spans`` returns whole fields with their probabilities:

words = ["410", "Martin", "Luther", "King", "Ave,", "Apt", "7,", "New", "Salem,", "OR", "97301"]
for span in crf.model_.spans(words):
    print(f"{span.type}: {' '.join(words[span.start : span.end])} ({span.probability:.2f})")

from sparsecrf.contrib.plots import plot_marginals

display = plot_marginals(crf.model_, words, tokens=words)

# %%
# You can do the same on the command line, with running text. The model stores that its training tokens look like
# ``Ave,``, so ``label`` splits text at spaces and keeps the comma attached.

import subprocess
import sys

print(crf.model_.training["tokenizer"])
with tempfile.TemporaryDirectory() as folder:
    model = os.path.join(folder, "fields.safetensors")
    crf.model_.save(model)
    command = [sys.executable, "-m", "sparsecrf", "label", "-m", model, "--format", "text"]
    done = subprocess.run(
        command, input="77 Oak Hill Road, Lakewood, NY 10001\n", capture_output=True, text=True, check=True
    )
record = json.loads(done.stdout)
for span in record["spans"]:
    print(f"{span['label']}: {record['text'][span['start'] : span['end']]}")
