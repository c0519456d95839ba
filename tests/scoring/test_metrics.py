"""Scores of label sequences, against seqeval, against enumeration of all spans, and against what conlleval prints."""

import re
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval import scheme as seqeval_scheme
from seqeval.metrics import classification_report as seqeval_report
from seqeval.metrics import f1_score, precision_score, recall_score
from seqeval.metrics.sequence_labeling import get_entities
from sklearn.metrics import classification_report as sklearn_report

from sparsecrf import InputError
from sparsecrf.chunks import END, START, ChunkReader, Scheme
from sparsecrf.metrics import ChunkScore, Evaluation, classification_report, evaluate

TYPES = ("X", "Y", "a-b")


def alphabet(letters, types=TYPES):
    return ["O", *(f"{letter}-{kind}" for letter in letters for kind in types)]


@st.composite
def corpora(draw, labels):
    """Gold and predicted sequences of any labels, possible or not, that agree more often than by chance."""
    pairs = []
    for _ in range(draw(st.integers(1, 4))):
        gold = draw(st.lists(st.sampled_from(labels), min_size=1, max_size=8))
        other = draw(st.lists(st.none() | st.sampled_from(labels), min_size=len(gold), max_size=len(gold)))
        pairs.append((gold, [y if z is None else z for y, z in zip(gold, other, strict=True)]))
    return pairs


def spans(labels, scheme):
    """(type, start, end) of each chunk, from the marks; labels must be such that every chunk has its end."""
    reader, found, start = ChunkReader(scheme), [], None
    marks = reader.marks(labels)
    assert len(marks) == len(labels) + 1
    for t, mark in enumerate(marks):
        if mark & END and start is not None:
            found.append((reader.type_of(labels[start]), start, t))
            start = None
        if mark & START:
            assert start is None
            start = t
    assert start is None
    return found


def score(gold_spans, predicted_spans):
    """Scores by type and of all, from lists of spans by sequence."""
    gold = {(k, *span) for k, found in enumerate(gold_spans) for span in found}
    predicted = {(k, *span) for k, found in enumerate(predicted_spans) for span in found}
    kinds = {span[1] for span in gold | predicted}
    by_type = {
        kind: ChunkScore(*(sum(span[1] == kind for span in part) for part in (gold, predicted, gold & predicted)))
        for kind in sorted(kinds)
    }
    return by_type, ChunkScore(len(gold), len(predicted), len(gold & predicted))


# ---- seqeval

SEQEVAL = {  # our scheme and letters: seqeval's strict scheme, None for its default mode
    "conlleval": (Scheme.CONLLEVAL, "BI", None),
    "conlleval, IOBES letters": (Scheme.CONLLEVAL, "BIES", None),
    "iob1": (Scheme.IOB1, "BI", None),
    "iob2": (Scheme.IOB2, "BI", seqeval_scheme.IOB2),
    "iobes": (Scheme.IOBES, "BIES", seqeval_scheme.IOBES),
    "bilou": (Scheme.IOBES, "BILU", seqeval_scheme.BILOU),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", SEQEVAL)
@given(data=st.data())
def test_equals_seqeval(case, data):
    scheme, letters, strict = SEQEVAL[case]
    pairs = data.draw(corpora(alphabet(letters)))
    found = evaluate(pairs, scheme)
    y_true, y_pred = [gold for gold, _ in pairs], [predicted for _, predicted in pairs]
    if strict is None:
        expected = [[[(kind, s, e + 1) for kind, s, e in get_entities(y)] for y in ys] for ys in (y_true, y_pred)]
        options = {}
    else:
        expected = [
            [[(e.tag, e.start, e.end) for e in tokens] for tokens in seqeval_scheme.Entities(ys, strict).entities]
            for ys in (y_true, y_pred)
        ]
        options = {"mode": "strict", "scheme": strict}
    assert [[spans(y, scheme) for y in ys] for ys in (y_true, y_pred)] == expected
    assert (found.types, found.chunks) == score(*expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of seqeval, about rates of nothing
        rates = [f(y_true, y_pred, zero_division=0, **options) for f in (precision_score, recall_score, f1_score)]
    assert [found.precision, found.recall, found.f1] == pytest.approx([100 * rate for rate in rates])


# ---- Enumeration of all spans, by definitions that look at whole spans instead of pairs of labels


def enumerate_spans(labels, is_chunk):
    parts = [(label[0], label[2:]) for label in labels]
    n = len(labels)
    return [(parts[i][1], i, j) for i in range(n) for j in range(i + 1, n + 1) if is_chunk(parts, i, j)]


def one_type(parts, i, j):
    return all(letter != "O" and kind == parts[i][1] for letter, kind in parts[i:j])


def iob_chunk(parts, i, j):
    """A longest run of one type, cut before each B."""
    goes_on = j < len(parts) and parts[j] == ("I", parts[i][1])
    began_before = i > 0 and parts[i][0] == "I" and parts[i - 1][0] != "O" and parts[i - 1][1] == parts[i][1]
    no_cut = all(letter == "I" for letter, _ in parts[i + 1 : j])
    return one_type(parts, i, j) and no_cut and not goes_on and not began_before


def iob2_chunk(parts, i, j):
    return parts[i][0] == "B" and iob_chunk(parts, i, j)


def iobes_chunk(parts, i, j):
    letters = "".join(letter for letter, _ in parts[i:j])
    return one_type(parts, i, j) and letters in {"S", "B" + "I" * (j - i - 2) + "E"}


DEFINITIONS = {
    Scheme.CONLLEVAL: ("BI", iob_chunk),
    Scheme.IOB1: ("BI", iob_chunk),
    Scheme.IOB2: ("BI", iob2_chunk),
    Scheme.IOBES: ("BIES", iobes_chunk),
}


@pytest.mark.slow
@pytest.mark.parametrize("scheme", DEFINITIONS)
@given(data=st.data())
def test_equals_enumeration(scheme, data):
    letters, is_chunk = DEFINITIONS[scheme]
    pairs = data.draw(corpora(alphabet(letters)))
    found = evaluate(pairs, scheme)
    expected = [[enumerate_spans(pair[side], is_chunk) for pair in pairs] for side in (0, 1)]
    assert (found.types, found.chunks) == score(*expected)

    tokens = [(y, z) for gold, predicted in pairs for y, z in zip(gold, predicted, strict=True)]
    assert found.tokens == len(tokens)
    assert found.sequences == len(pairs)
    assert found.token_error == pytest.approx(100 * sum(y != z for y, z in tokens) / len(tokens))
    assert found.sequence_error == pytest.approx(100 * sum(y != z for y, z in pairs) / len(pairs))
    assert found.confusion == {pair: tokens.count(pair) for pair in set(tokens)}


# ---- Every scheme writes chunks that conlleval's rules read back

ENCODERS = {  # letters of a chunk of n tokens; `before` and `after`: a chunk of the same type touches it there
    "iob1": lambda n, before, after: ("B" if before else "I") + "I" * (n - 1),
    "iob2": lambda n, before, after: "B" + "I" * (n - 1),
    "ioe1": lambda n, before, after: "I" * (n - 1) + ("E" if after else "I"),
    "ioe2": lambda n, before, after: "I" * (n - 1) + "E",
    "iobes": lambda n, before, after: "S" if n == 1 else "B" + "I" * (n - 2) + "E",
    "bilou": lambda n, before, after: "U" if n == 1 else "B" + "I" * (n - 2) + "L",
    "bmes": lambda n, before, after: "S" if n == 1 else "B" + "M" * (n - 2) + "E",
    "brackets": lambda n, before, after: "[",
}
READERS = {"iob1": Scheme.IOB1, "iob2": Scheme.IOB2, "iobes": Scheme.IOBES, "bilou": Scheme.IOBES, "bmes": Scheme.IOBES}


@pytest.mark.parametrize("name", ENCODERS)
@given(pieces=st.lists(st.tuples(st.sampled_from([None, *TYPES]), st.integers(1, 4)), min_size=1, max_size=6))
def test_well_formed_chunks_are_read_back(name, pieces):
    if name == "brackets":  # of one token
        pieces = [(kind, 1) for kind, _ in pieces]
    labels, expected = [], []
    for k, (kind, n) in enumerate(pieces):
        if kind is None:
            labels += ["O"] * n
            continue
        before, after = (0 <= m < len(pieces) and pieces[m][0] == kind for m in (k - 1, k + 1))
        expected.append((kind, len(labels), len(labels) + n))
        labels += [f"{letter}-{kind}" for letter in ENCODERS[name](n, before, after)]
    assert spans(labels, Scheme.CONLLEVAL) == expected
    if name in READERS:
        assert spans(labels, READERS[name]) == expected
    found = evaluate([(labels, labels)])
    if expected:
        assert (found.scheme, found.f1) == (Scheme.CONLLEVAL, 100.0)
    else:
        assert (found.scheme, found.f1, found.types) == (Scheme.NONE, None, {})


# ---- conlleval

CONLLEVAL = [  # gold; predicted ("|" between sentences); gold, predicted and correct chunks; precision, recall, FB1:
    # printed by the script of the CoNLL shared tasks, version 2004-01-26
    ("B-X I-X O", "B-X I-X O", (1, 1, 1), (100, 100, 100)),
    ("I-X B-X I-X | B-X", "I-X I-X I-X | I-X", (3, 2, 1), (50, 33.333333, 40)),
    ("B-a-b I-a-b B-a", "B-a-b I-a-b I-a", (2, 2, 2), (100, 100, 100)),  # hyphens in types
    ("I-X | I-X", "I-X | B-X", (2, 2, 2), (100, 100, 100)),  # the end of a sentence ends a chunk
    ("O O", "O O", (0, 0, 0), (0, 0, 0)),
    ("O B-X", "O O", (1, 0, 0), (0, 0, 0)),
    ("O O", "I-X I-Y", (0, 2, 0), (0, 0, 0)),
    ("I-X E-X I-X E-X E-X", "I-X E-X I-X I-X E-X", (3, 2, 1), (50, 33.333333, 40)),
    ("[-X ]-X . [-Y", "[-X . ]-X [-Y", (3, 3, 2), (66.666667, 66.666667, 66.666667)),  # chunks of one token
    ("I-X [-X O", "I-X [-X O", (2, 2, 1), (50, 50, 50)),  # a bracket does not end another chunk
    ("B I O B", "B I I B", (2, 2, 1), (50, 50, 50)),  # no types
    ("B-X I-X O B-Y", "B-X VB O B-Y", (2, 3, 1), (33.333333, 50, 40)),  # a label of no scheme is a chunk after a chunk
    ("B-X VB", "B-X VB", (2, 2, 2), (100, 100, 100)),  # and ends with the file
]


@pytest.mark.parametrize(("gold", "predicted", "counts", "rates"), CONLLEVAL)
def test_equals_conlleval(gold, predicted, counts, rates):
    pairs = [(y.split(), z.split()) for y, z in zip(gold.split("|"), predicted.split("|"), strict=True)]
    found = evaluate(pairs, "conlleval")
    assert found.chunks == ChunkScore(*counts)
    assert [found.precision, found.recall, found.f1] == pytest.approx(rates, abs=1e-6)


def test_b_after_e_begins_a_chunk():
    """Where the rules depart from conlleval, which reads one chunk here."""
    assert spans(["B-X", "E-X", "B-X", "E-X"], Scheme.CONLLEVAL) == [("X", 0, 2), ("X", 2, 4)]


# ---- What auto decides


@pytest.mark.parametrize(
    ("gold", "predicted", "scheme"),
    [
        ("B-X I-X O", "O O O", "conlleval"),
        ("U-X B-X L-X", "O O O", "conlleval"),
        ("I-X I-X I-Y", "I-X NN I-Y", "conlleval"),  # gold decides
        ("O O", "O B-X", "conlleval"),  # unless it has no chunk
        ("B I O", "B I O", "conlleval"),
        ("B M E S", "S S S S", "conlleval"),
        ("O O", "O O", "none"),
        ("O O", "O NN", "none"),
        ("NN VB O", "NN VB O", "none"),
        ("B-X I-X NN", "B-X I-X NN", "none"),
        ("-LRB- -RRB- NN", "-LRB- -RRB- NN", "none"),
        ("E I L S", "E I L S", "none"),  # phonemes
        ("B E S", "B E S", "none"),
        ("B-", "B-", "none"),
    ],
)
def test_auto(gold, predicted, scheme):
    found = evaluate([(gold.split(), predicted.split())])
    assert found.scheme == scheme
    assert (found.f1 is None) == (scheme == "none")
    assert found.as_dict()["scheme"] == scheme


def test_none_has_no_chunks():
    found = evaluate([(["B-X", "O"], ["B-X", "B-X"])], "none")
    assert (found.chunks, found.types, found.precision, found.recall, found.f1) == (None, {}, None, None, None)
    assert found.token_error == 50.0


# ---- The object


@pytest.mark.slow
@given(pairs=corpora(alphabet("BIES")))
def test_order_of_sequences_does_not_matter(pairs):
    assert evaluate(pairs).as_dict() == evaluate(pairs[::-1]).as_dict()


def test_nothing_added():
    found = Evaluation()
    assert (found.tokens, found.sequences, found.token_error, found.sequence_error, found.f1) == (0, 0, 0.0, 0.0, None)


def test_confusions():
    found = evaluate([("AAABBC", "ABBAAC"), ("AC", "CA")])
    assert found.confusions(10) == [("A", "B", 2), ("B", "A", 2), ("A", "C", 1), ("C", "A", 1)]
    assert found.confusions(1) == [("A", "B", 2)]


def test_as_dict():
    pairs = [(["B-X", "I-X", "O"], ["B-X", "O", "O"]), (["B-Y"], ["B-Y"])]
    one = {"precision": 100.0, "recall": 100.0, "f1": 100.0, "gold": 1, "predicted": 1, "correct": 1}
    other = {"precision": 0.0, "recall": 0.0, "f1": 0.0, "gold": 1, "predicted": 1, "correct": 0}
    assert evaluate(pairs).as_dict() == {
        "tokens": 4,
        "sequences": 2,
        "token_error": 25.0,
        "sequence_error": 50.0,
        "precision": 50.0,
        "recall": 50.0,
        "f1": 50.0,
        "scheme": "conlleval",
        "types": {"X": other, "Y": one},
        "labels": {},
    }
    assert evaluate([("A", "A"), ("B", "C")]).as_dict()["labels"] == {
        "A": one,
        "B": {**other, "predicted": 0},
        "C": {**other, "gold": 0},
    }


# ---- Errors


def test_unequal_lengths():
    found = evaluate([("AB", "AB")])
    with pytest.raises(InputError, match=r"sequence 2: expected 3 predicted labels.*per.*found 2"):
        found.add("ABC", "AB")
    assert (found.tokens, found.sequences) == (2, 1)


@pytest.mark.parametrize(("scheme", "label"), [("iob1", "S-X"), ("iob2", "E-X"), ("iobes", "NN"), ("iobes", "BI-X")])
def test_label_of_another_scheme(scheme, label):
    found = Evaluation(scheme)
    found.add(["B-X", "O"], ["O", "O"])
    before = found.as_dict()
    with pytest.raises(InputError, match=rf"sequence 2, predicted token 2: .*{scheme} .* or O\), found '{label}'"):
        found.add(["O", "O"], ["O", label])
    assert found.as_dict() == before


def test_unknown_scheme():
    with pytest.raises(InputError, match=r"scheme: expected one of auto, .*, none, found 'iob3'"):
        Evaluation("iob3")


# ---- As other packages have it

GOLD = [["B-X", "I-X", "O"], ["B-Y", "O"]]
PREDICTED = [["B-X", "I-X", "O"], ["B-X", "O"]]


def test_two_lists_are_scored_as_their_pairs():
    expected = evaluate(zip(GOLD, PREDICTED, strict=True))
    assert evaluate(GOLD, PREDICTED).as_dict() == expected.as_dict()
    assert evaluate(iter(GOLD), iter(PREDICTED), "iob2").as_dict() == evaluate(GOLD, PREDICTED, scheme="iob2").as_dict()
    assert evaluate(list(zip(GOLD, PREDICTED, strict=True)), "none").f1 is None
    assert evaluate(np.array(GOLD, dtype=object), [np.array(labels) for labels in PREDICTED]).f1 == expected.f1


def test_labels_that_are_no_text():
    assert evaluate([[1, 2], [0]], np.array([[1, 1], [0]], dtype=object)).token_error == pytest.approx(100 / 3)


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        (GOLD, PREDICTED[:1], r"expected.*many sequences.*y_pred.*found only 1 in y_pred"),
        (GOLD[:1], PREDICTED, "found only 1 in y_true and more in y_pred"),
        (GOLD, [["O"], ["O"]], "sequence 1: expected 3 predicted labels"),
        (["A", "B"], ["A", "B"], "sequence 1, gold: expected a list of labels, found 'A'; pass a single sequence as"),
        ([1, 2], [1, 2], "sequence 1, gold: expected a list of labels, found 1"),
        ([["A", None]], [["A", "A"]], "sequence 1, gold token 2: expected a label, found None"),
    ],
)
def test_lists_that_do_not_fit(gold, predicted, message):
    with pytest.raises(InputError, match=message):
        evaluate(gold, predicted)


def numbers(report):
    """The rows of a report by name, whatever the layout."""
    rows = [re.split(r"\s{2,}", line.strip()) for line in report.splitlines()[1:] if line.strip()]
    return {name: [float(value) for value in values] for name, *values in rows}


@pytest.mark.slow
@given(corpora(alphabet("BI")))
def test_classification_report_equals_seqevals(pairs):
    y_true, y_pred = ([pair[k] for pair in pairs] for k in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = seqeval_report(y_true, y_pred, digits=4, zero_division=0)
        except ValueError:  # seqeval cannot report on data without chunks
            return
    assert numbers(classification_report(y_true, y_pred, digits=4, scheme="conlleval")) == numbers(expected)


def test_classification_report_of_labels_equals_scikit_learns():
    y_true, y_pred = [["a", "b", "a"], ["c", "a"]], [["a", "a", "a"], ["b", "a"]]
    flat = [[label for labels in y for label in labels] for y in (y_true, y_pred)]
    expected = numbers(sklearn_report(*flat, digits=3, zero_division=0))
    assert expected.pop("accuracy") == [0.6, 5.0]
    found = numbers(classification_report(y_true, y_pred, digits=3))
    assert found.pop("micro avg") == [0.6, 0.6, 0.6, 5.0]
    assert found == expected


def test_an_evaluation_is_printed_as_a_table():
    printed = str(evaluate(GOLD, PREDICTED))
    assert printed.splitlines() == [
        "5 tokens, 20.00 % wrong; 2 sequences, 50.00 % with an error; F1 50.00",
        "type  precision  recall     F1  gold  predicted  correct",
        "X         50.00  100.00  66.67     1          2        1",
        "Y          0.00    0.00   0.00     1          0        0",
        "all       50.00   50.00  50.00     2          2        1",
    ]
    assert str(evaluate([["a", "b"]], [["a", "a"]])).splitlines()[1].split()[0] == "label"
    assert repr(evaluate(GOLD, PREDICTED)).startswith("<Evaluation: 2 sequences, 5 tokens,")
    assert repr(evaluate([["A"]], [["A"]])).startswith("<Evaluation: 1 sequence, 1 token,")
    assert str(evaluate([["A"]], [["A"]])).startswith("1 token, 0.00 % wrong; 1 sequence, ")


def test_an_evaluation_in_a_notebook():
    page = evaluate([["B-<b>", "O"]], [["B-<b>", "O"]])._repr_html_()
    assert "F1 100.00" in page
    assert "&lt;b&gt;" in page  # names are escaped
    assert "<b><b>" not in page
    ElementTree.fromstring(page)
