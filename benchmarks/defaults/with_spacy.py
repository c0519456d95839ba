"""Trains spaCy from scratch: its entity recogniser if labels encode chunks, else its tagger, with their default
networks.

The dev data are labelled every 100 steps, and the best model labels the test data, as in `spacy train`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import spacy
from spacy.tokens import Doc
from spacy.training import Example, iob_to_biluo
from spacy.util import fix_random_seed, minibatch

EVALUATE = 100  # steps between two evaluations
WORDS = 1000  # approximate number of words in a batch


def train(
    words: list[list[str]],
    labels: list[list[str]],
    *,
    chunks: bool,
    steps: int,
    dev_score: Callable[[Callable[[list[list[str]]], list[list[str]]]], float],
) -> tuple[Callable[[list[list[str]]], list[list[str]]], int]:
    """Returns a function that labels sentences, and the size of the model in bytes. `dev_score`: the score of such a
    function on the dev data."""
    fix_random_seed(0)
    nlp = spacy.blank("xx")
    nlp.add_pipe("ner" if chunks else "tagger")

    def example(sentence: list[str], names: list[str]) -> Example:
        gold = {"entities": iob_to_biluo(names)} if chunks else {"tags": names}
        return Example.from_dict(Doc(nlp.vocab, words=sentence), gold)

    def predict(sentences: list[list[str]]) -> list[list[str]]:
        docs = nlp.pipe([Doc(nlp.vocab, words=sentence) for sentence in sentences])
        return [[label_of(token) if chunks else token.tag_ for token in doc] for doc in docs]

    examples = [example(*pair) for pair in zip(words, labels, strict=True)]
    optimizer = nlp.initialize(lambda: examples)
    size = max(1, WORDS * len(words) // sum(map(len, words)))
    best, best_weights, step = -1.0, nlp.to_bytes(), 0
    while step < steps:
        random.shuffle(examples)
        for batch in minibatch(examples, size=size):
            nlp.update(batch, sgd=optimizer, drop=0.1)
            step += 1
            if step % EVALUATE == 0 or step == steps:
                with nlp.use_params(optimizer.averages):
                    if (score := dev_score(predict)) > best:
                        best, best_weights = score, nlp.to_bytes()
            if step == steps:
                break
    nlp.from_bytes(best_weights)
    return predict, len(best_weights)


def label_of(token: Any) -> str:
    """The label of a token in IOB2."""
    return "O" if token.ent_iob_ in ("", "O") else f"{token.ent_iob_}-{token.ent_type_}"
