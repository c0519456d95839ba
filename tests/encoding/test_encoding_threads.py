"""Attributes by templates: the ids that a plain program gives, on any number of threads, whatever is kept of words."""

import io

import numpy as np
import pytest

from sparsecrf import CRF, InputError, Resource, Template
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.shards.dataset import encode_columns
from sparsecrf.shards.encode_folder import encode_folder

THREADS = (1, 2, 3, 8)
ALPHABET = [*"aAbBcC019-.", "é", "Ж", "İ", "e\u0301", "日", "_"]
TEMPLATES = {
    "words": Template.preset("words"),
    "columns": Template.preset("columns", 2),
    "letters": Template.preset("letters"),
    "every kind": Template(
        "U:%x[0,0]\nU:%x[0,0]\nB:%x[0,0]\nT:%l[0,0]\n*:%x[0,1]/%x[-1,1]\nU:%x[0,0]%x[0,1]\nU:one\nU\nB\nT\n*\n"
        "U:%p[0,0,1]%s[0,0,1]\nB:%e[0]\n"
    ),
    "far and absolute rows": Template(
        "U:%x[@1,0]\nU:%x[@-1,0]/%x[0,0]\nU:%x[@-9,0]\nU:%x[-7,0]\nU:%l[6,0]\nU:%x[-4,0]/%x[5,0]\n"
        "U:%X[-1,0]/%x[0,0]\nB\n"
    ),
    "expressions": Template('U:%t[0,0,"^[aA]"]%m[0,0,"."]\nU:%m[-1,0,".$"]/%x[0,0]\nU:%X[0,0]\nB\n', "wapiti"),
    "bytes": Template('u:%m[0,0,"."]\nu:%m[0,0,"."]/%x[1,0]\nb\n', "wapiti", bytes=True),
    "lexicon": Template(
        "U:%d[0,0,n]\nU:%D[-1,0,n]/%l[0,0]\nB\n", resources=[Resource.lexicon("n", {"a b": "X", "b": "Y", "A": "X"})]
    ),
}


def made_up(n, n_words, seed=0):
    """Sentences of rows (word, class) and labels. Some words look like the cells beyond the ends."""
    rng = np.random.default_rng(seed)
    words = ["_B-1", "_B+1", "_x-1", "outside"]
    words += ["".join(rng.choice(ALPHABET, rng.integers(1, 9))) for _ in range(n_words)]
    X, y = [], []
    for _ in range(n):
        length = int(rng.integers(1, 12))
        chosen = (len(words) * rng.random(length) ** 2).astype(int)  # some much more often than others
        X.append([(words[k], str(rng.choice(["N", "V", "a"]))) for k in chosen])
        y.append([str(rng.choice(["O", "I", "B"])) for _ in range(length)])
    return X, y


def by_plain_program(X, template, start):
    """Attributes in the order in which they come, and the sorted ids of each position: of labels, and of pairs."""
    ids, positions = {}, []
    for rows in X:
        for t, names in enumerate(template.attributes(rows)):
            unigram, bigram = [], []
            for name, kind in zip(names, template.kinds, strict=True):
                pairs = kind != "U" and (t > 0 or start)
                if kind in "BT" and not pairs:
                    continue
                x = ids.setdefault(name, len(ids))
                unigram += [x] if kind in "U*" else []
                bigram += [x] if pairs else []
            positions.append((sorted(unigram), sorted(bigram)))
    return list(ids), positions


def lists_of(corpus):
    """The same for a corpus; an attribute with value 2 occurs twice."""
    found = corpus.to_arrays()

    def of(kind, t):
        here = slice(*found[f"{kind}_ptr"][t : t + 2])
        values = found[f"{kind}_value"]
        counts = 1 if values is None or not len(values) else values[here].astype(int)
        return np.repeat(found[f"{kind}_id"][here], counts).tolist()

    return [(of("unigram", t), of("bigram", t)) for t in range(corpus.n_tokens)]


def column_file(X, y):
    return "\n".join(
        "".join(f"{word} {kind} {label}\n" for (word, kind), label in zip(rows, labels, strict=True))
        for rows, labels in zip(X, y, strict=True)
    ).encode()


def names_of(vocabulary):
    return [[table[k] for k in range(len(table))] for table in (vocabulary.attributes, vocabulary.labels)]


@pytest.mark.slow
@pytest.mark.parametrize("start", [True, False])
@pytest.mark.parametrize("name", TEMPLATES)
def test_ids_are_those_of_a_plain_program(name, start):
    X, y = made_up(400, 150)
    template = TEMPLATES[name]
    names, positions = by_plain_program(X, template, start)
    for threads in THREADS:
        vocabulary = Vocabulary(Template.conditions_pairs, start)
        corpus = vocabulary.encode(X, y, grow=True, template=template, threads=threads)
        assert names_of(vocabulary)[0] == names
        assert lists_of(corpus) == positions
        of_file = Vocabulary(Template.conditions_pairs, start)
        read = encode_columns([io.BytesIO(column_file(X, y))], of_file, template, grow=True, threads=threads).corpus
        assert names_of(of_file) == names_of(vocabulary)
        assert read.fingerprint == corpus.fingerprint


@pytest.mark.slow
def test_more_words_than_are_kept():
    """16,384 words are kept; then all are forgotten."""
    X = [[(f"w{7 * k % 30_011}", "N") for k in range(first, first + 50)] for first in range(0, 45_000, 50)]
    template = Template("U:%x[0,0]\nU:%s[1,0,2]\nU:%x[-1,0]/%l[0,0]\nB\n")
    names, positions = by_plain_program(X, template, True)
    for threads in (1, 2):
        vocabulary = Vocabulary(Template.conditions_pairs)
        corpus = vocabulary.encode(X, [["O"] * 50] * len(X), grow=True, template=template, threads=threads)
        assert names_of(vocabulary)[0] == names
        assert lists_of(corpus) == positions


@pytest.mark.slow
@pytest.mark.parametrize("threads", THREADS)
def test_unknown_attributes_are_left_out(threads):
    X, y = made_up(300, 100)
    other, labels = made_up(300, 400, seed=1)
    template = TEMPLATES["words"]
    vocabulary = Vocabulary(Template.conditions_pairs)
    vocabulary.encode(X, y, grow=True, template=template)
    known = {name: k for k, name in enumerate(names_of(vocabulary)[0])}
    corpus = vocabulary.encode(other, labels, template=template, threads=threads)
    expected = [
        sorted(known[name] for name in names[:-1] if name in known)
        for rows in other
        for names in template.attributes(rows)
    ]
    assert [unigram for unigram, _ in lists_of(corpus)] == expected
    assert len(vocabulary.attributes) == len(known)


def test_what_was_unknown_is_found_once_it_is_there():
    template = Template("U:%x[0,0]\nB\n")
    vocabulary = Vocabulary(Template.conditions_pairs)
    vocabulary.encode([["a"]], [["O"]], grow=True, template=template)
    encoder = vocabulary.encoder(template=template)
    encoder.add(["b"], ["O"])
    assert lists_of(encoder.build())[0][0] == []
    new = vocabulary.attributes.intern("U:b")
    encoder.add(["b"], ["O"])
    assert lists_of(encoder.build())[0][0] == [new]


@pytest.mark.slow
def test_files_folders_and_estimators_on_threads(tmp_path):
    X, y = made_up(3000, 800)
    data, template = column_file(X, y), TEMPLATES["words"]
    assert len(data) > 1 << 17, "more than one piece"
    (tmp_path / "train.txt").write_bytes(data)
    made = []
    for threads in THREADS:
        vocabulary = Vocabulary(Template.conditions_pairs)
        encoded = encode_columns([tmp_path / "train.txt"], vocabulary, template, grow=True, threads=threads)
        folder = encode_folder(tmp_path / f"cache{threads}", [tmp_path / "train.txt"], template, threads=threads)
        shards = [opened().fingerprint for opened in folder.openers()]
        made.append((encoded.corpus.fingerprint, names_of(vocabulary), names_of(folder.vocabulary), shards))
    assert all(one == made[0] for one in made)
    fits = [CRF(features="words", rho1=5.0, max_iter=3, n_jobs=n).fit(X[:300], y[:300]) for n in (1, 3)]
    assert fits[0].model_.to_bytes() == fits[1].model_.to_bytes()


def errors_by_threads(encode):
    """The messages that 1, 2, 3 and 8 threads give, and what they had read by then."""
    found = set()
    for threads in THREADS:
        vocabulary = Vocabulary(Template.conditions_pairs)
        with pytest.raises(InputError) as error:
            encode(vocabulary, threads)
        found.add((str(error.value), len(vocabulary.labels), len(vocabulary.attributes)))
    assert len(found) == 1
    return found.pop()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"short O\n", "f.txt, line 601: expected 3 columns as in line 1, found 2 (one token per line, a blank"),
        (b"bad \xff O\n", "f.txt, line 601, byte 5: expected text in UTF-8, found byte 0xFF"),
        (b"nul \0 O\n", "f.txt, line 601, byte 5: expected text in UTF-8, found a NUL byte"),
    ],
)
def test_errors_in_files_name_the_same_line(line, expected):
    sequence = b"a b O\nc d I\n\n"
    file = io.BytesIO(sequence * 200 + line + b"\n" + sequence * 200 + line)
    file.name = "f.txt"

    def encode(vocabulary, threads):
        file.seek(0)
        encode_columns([file], vocabulary, TEMPLATES["columns"], grow=True, threads=threads)

    message, n_labels, _ = errors_by_threads(encode)
    assert message.startswith(expected)
    # Lines before one with a different number of columns have been read; a piece that is not text has not.
    assert n_labels == (2 if "columns" in expected else 0)


@pytest.mark.parametrize(
    ("wrong", "weight", "expected"),
    [
        ({"X": [[("a",)] * 2 + [("a", "b")]]}, 1.0, "sequence 500, position 2: expected 1 columns as at position 0"),
        ({"X": [["a", 3, "a"]]}, 1.0, "sequence 500, position 1: expected text or a sequence of columns, found int 3"),
        ({"y": [["O", "O"]]}, 1.0, "sequence 500, position 2: expected a label for every token, found too few"),
        ({}, -1.0, "sequence 500: expected a finite weight >= 0, found -1"),
        ({"X": [[]], "y": [[]]}, 1.0, "sequence 500: expected at least one position, found none"),
    ],
)
def test_errors_in_lists_name_the_same_sequence(wrong, weight, expected):
    X = [["a", "b", "c"]] * 500 + wrong.get("X", [["a", "b", "c"]]) + [["x", 7]] * 9
    y = [["O", "I", "O"]] * 500 + wrong.get("y", [["O", "I", "O"]]) + [["O", "O"]] * 9
    weights = [1.0] * 500 + [weight] + [1.0] * 9

    def encode(vocabulary, threads):
        vocabulary.encode(X, y, sequence_weight=weights, grow=True, template=TEMPLATES["words"], threads=threads)

    assert errors_by_threads(encode)[0].startswith(expected)
