"""Models and data for reports: small ones whose answers are known, with names that are hard on a page; large ones."""

import base64
import json
import re

import numpy as np

from sparsecrf import CRF, Model, Template, Vocabulary
from sparsecrf.encoding.vectors import WordVectors

SCRIPT = "<script>alert(1)</script>"
HEBREW = "שלום"
TRAINING = {
    "rho1": 0.5,
    "rho2": 0.01,
    "objective": 100.0,
    "loss": 80.0,
    "kkt": 1e-4,
    "gap": 0.04,
    "solver": "auto",
    "stopped_by": "tol",
    "iterations": 40,
    "features": 1000,
    "sequences": 3,
    "tokens": 7,
    "version": "0.1.0",
    "history": {
        "iter": list(range(41)),
        "passes": [k * 1.5 for k in range(41)],
        "objective": [100 + 900 / (k + 1) ** 2 for k in range(41)],
        "kkt": [0.5 if k == 5 else 1e-4 if k == 40 else None for k in range(41)],
        "gap": [50.0 if k == 5 else 0.04 if k == 40 else None for k in range(41)],
        "active": [k % 7 + 10 for k in range(41)],
    },
}
#: Words with labels that have long names; some of the labels are wrong.
LONG_LABELS = "".join(
    f"{word} {part}|Case={case}|Gender=Feminine|Number={number}|Degree=Positive\n"
    for word, part, case, number in (
        ("gut", "ADJ", "Nominative", "Singular"),
        ("neu", "ADJ", "Genitive", "Plural"),
        ("Hand", "NOUN", "Accusative", "Singular"),
        ("Hand", "NOUN", "Nominative", "Plural"),
        ("Oslo", "PROPN", "Dative", "Singular"),
    )
)
#: Sentences of the data: the second has an error, and the third has one whose gold label the model does not know.
DATA = f"""the NN DET
dog NN NOUN
runs VB VERB

dog NN VERB
runs VB VERB

{SCRIPT} NN unheard-of
"quoted" NN NOUN
</script> NN NOUN

{HEBREW} NN NOUN
עולם NN VERB

"""


def small_model():
    """Labels words by the word itself; attributes condition pairs too."""
    made = Model.from_weights(
        ["DET", "NOUN", "VERB", '<b>"&'],
        {
            ("U:the", "DET"): 3.0,
            ("U:dog", "NOUN"): 2.0,
            ("U:dog", "VERB"): -1.0,
            ("U:runs", "VERB"): 2.5,
            (f"U:{SCRIPT}", '<b>"&'): 4.0,
            ('U:"quoted"', "NOUN"): 2.0,
            ("U:</script>", "NOUN"): 1.0,
            (f"U:{HEBREW}", "NOUN"): 1.5,
            ("U:עולם", "VERB"): 1.5,
        },
        {
            ("B", None, "NOUN"): 0.25,
            ("B", "DET", "NOUN"): 1.25,
            ("B", "NOUN", "VERB"): 0.75,
            ("B", "VERB", "VERB"): -0.5,
            ("B1:NN", "DET", "NOUN"): 0.125,
        },
    )
    template = Template("U:%x[0,0]\nB\nB1:%x[0,1]\nU9:%x[9,0]\n")
    return Model(made.vocabulary, made.features, made.w, template=template, n_columns=2, training=TRAINING)


def model_of_parts(**options):
    """A trained model whose labels have parts; `options` are those of the estimator, label n-grams unless given."""
    words = {
        "dog": "NOUN|Number=Sing",
        "dogs": "NOUN|Number=Plur",
        "runs": "VERB|Number=Sing",
        "run": "VERB|Number=Plur",
    }
    sentences = [["dog", "dog", "runs"], ["dogs", "dogs", "run"], ["dog", "runs"], ["dogs", "run"]] * 5
    crf = CRF(rho1=0.01, rho2=0.01, label_parts="ud", **(options or {"order": 3}))
    return crf.fit(sentences, [[words[word] for word in s] for s in sentences]).model_


def model_with_vectors():
    """A trained model that looks up the vectors of three words."""
    vectors = WordVectors(["dog", "runs", "the"], np.eye(3)[:, :2])
    crf = CRF(rho1=0.01, vectors=vectors)
    return crf.fit([["the", "dog", "runs"], ["dog", "runs"]], [["D", "N", "V"], ["N", "V"]]).model_


def large_model(n=100_000, Y=40):
    """n active weights, most of them of labels."""
    vocabulary, rng = Vocabulary(bigrams="all"), np.random.default_rng(0)
    for y in range(Y):
        vocabulary.labels.intern(f"L{y}")
    X = n * 2 // 5
    for x in range(X):
        vocabulary.attributes.intern(f"U{x % 20:02}:word{x}")
    n_pairs = n // 10
    pairs = np.column_stack([np.arange(n_pairs) % X, rng.integers(0, Y + 1, n_pairs), rng.integers(0, Y, n_pairs)])
    cells = rng.choice(X * Y, n - n_pairs, replace=False)
    labels = np.column_stack([cells // Y, cells % Y])
    return Model.from_cells(vocabulary, labels, rng.normal(size=len(labels)), pairs, rng.normal(size=n_pairs))


_TYPES = {"u8": "<u1", "i16": "<i2", "i32": "<i4", "f32": "<f4"}


def unpack(column):
    ((kind, text),) = column.items()
    return np.frombuffer(base64.b64decode(text), _TYPES[kind])


def content(page):
    """The data of a page."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])
