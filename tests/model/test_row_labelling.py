"""Labels of rows by merged sums are those of Viterbi over a corpus, ties included."""

import numpy as np
import pytest
from row_models import row_model

from sparsecrf import Model


def by_corpus(model: Model, rows: list[list[str]]) -> list[str]:
    path, _ = model.chain.viterbi(model.encode([rows]))
    return [model.labels[y] for y in path]


def in_file(model: Model, sequences: list[list[list[str]]]) -> list[list[str]]:
    text = "".join("".join(" ".join(row) + "\n" for row in rows) + "\n" for rows in sequences)
    found = model.label_text(text.encode(), "rows").decode()
    return [[line.split()[-1] for line in part.split("\n")] for part in found.split("\n\n") if part]


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_labels_are_those_of_a_corpus(first):
    for seed in range(first, first + 10):
        model, sequences = row_model(seed)
        expected = [by_corpus(model, rows) for rows in sequences]
        assert [model.label(rows) for rows in sequences] == expected, seed
        assert model.label_each(sequences, model.labels) == expected, seed
        assert in_file(model, sequences) == expected, seed


def test_words_beyond_what_is_kept():
    """Words are forgotten after 16,384; what was kept of them must go, too."""
    model, sequences = row_model(3, conditions=False)
    expected = [by_corpus(model, rows) for rows in sequences]
    many = [[[f"w{k}", f"v{k}"] for k in range(first, first + 500)] for first in range(0, 18_000, 500)]
    found = in_file(model, [*sequences, *many, *sequences])
    assert found[: len(sequences)] == found[-len(sequences) :] == expected


def test_a_tie_goes_to_the_first_label():
    model, _ = row_model(5, conditions=False)
    flat = Model(model.vocabulary, model.features, np.zeros(len(model.features)), template=model.template, n_columns=2)
    assert flat.label([["a", "b"], ["new", "new"]]) == [flat.labels[0]] * 2
