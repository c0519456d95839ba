"""Labels of rows by merged sums are those of Viterbi over a corpus, ties included."""

import numpy as np
import pytest
from row_models import row_model

from sparsecrf import Model, Template, Vocabulary, _core


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


@pytest.mark.parametrize("seed", [1, 3])
def test_lines_beyond_what_is_kept(seed):
    """Lines of files are forgotten after 32,768, and with them the numbers of their words. Ties need an encoder, which
    numbers words itself."""
    model, sequences = row_model(seed, conditions=False)
    expected = [by_corpus(model, rows) for rows in sequences]
    many = [[["a", "b", str(k)] for k in range(first, first + 100)] for first in range(0, 33_000, 100)]
    some = [[[*row, "?"] for row in rows] for rows in sequences]
    others = [[[*row[::-1], "?"] for row in rows] for rows in sequences]  # get the numbers that `some` had
    found = in_file(model, [*some, *many, *others, *some])
    assert found[: len(some)] == found[-len(some) :] == expected
    assert found[-2 * len(some) : -len(some)] == [by_corpus(model, [row[:2] for row in rows]) for rows in others]
    assert model._core.n_repeated > 0


def test_a_long_sequence_whose_words_condition_pairs():
    """Each word has its own matrix of label pairs; together they would take too much memory."""
    rng, labels = np.random.default_rng(0), [f"y{k}" for k in range(40)]
    rows = [[f"w{k}"] for k in range(1_500)]
    vocabulary, template = Vocabulary(start=False), Template("B:%x[0,0]\n")
    gold = [str(rng.choice(labels)) for _ in rows]
    gold[: len(labels)] = labels
    corpus = vocabulary.encode([rows], [gold], template=template, grow=True)
    features = _core.FeatureSet.all_virtual(corpus)
    model = Model(vocabulary, features, rng.normal(size=len(features)), template=template, n_columns=1)
    some, every = rows[:100], by_corpus(model, rows)
    assert in_file(model, [some, rows, some]) == [by_corpus(model, some), every, by_corpus(model, some)]
    assert model._core.n_repeated == 1


@pytest.mark.parametrize("n_words", [6, 3_000])
def test_lines_that_share_cells(n_words):
    """The attributes of lines that read the same cells are cached together, unless the values rarely recur."""
    rng = np.random.default_rng(n_words)
    words = [f"w{k}" for k in range(n_words)]
    sequences = [[[str(word)] for word in rng.choice(words, 50)] for _ in range(500)]
    cells = ["%x[-1,0]", "%x[0,0]", "%x[1,0]", "%s[0,0,1]"]
    lines = [(0, 1), (1, 2), (0, 1, 2), (0, 2), (1, 0), (0, 3), (0, 1, 2, 3), (1, 2, 3)]
    text = "".join(f"U{k}:{'/'.join(cells[c] for c in line)}\n" for k, line in enumerate(lines)) + "B\n"
    template, vocabulary = Template(text), Vocabulary(start=False)
    corpus = vocabulary.encode(sequences[::2], [["x", "y"] * 25] * 250, template=template, grow=True)
    features = _core.FeatureSet.all_virtual(corpus)
    model = Model(vocabulary, features, rng.normal(size=len(features)), template=template, n_columns=1)
    path, _ = model.chain.viterbi(model.encode(sequences))
    assert [name for names in in_file(model, sequences) for name in names] == [model.labels[y] for y in path]


def test_repeated_sequences_are_counted():
    model, _ = row_model(5, conditions=False)
    steps = np.random.default_rng(5).normal(size=len(model.features))
    clear = Model(model.vocabulary, model.features, steps, template=model.template, n_columns=2)
    flat = Model(model.vocabulary, model.features, 0 * steps, template=model.template, n_columns=2)
    for each in (clear, flat):
        in_file(each, [[["a", "b"], ["b", "a"]]] * 3)
        each.label([["a", "b"]])
    assert clear._core.n_repeated == 0
    assert flat._core.n_repeated == 4


def test_a_tie_goes_to_the_first_label():
    model, _ = row_model(5, conditions=False)
    flat = Model(model.vocabulary, model.features, np.zeros(len(model.features)), template=model.template, n_columns=2)
    assert flat.label([["a", "b"], ["new", "new"]]) == [flat.labels[0]] * 2
