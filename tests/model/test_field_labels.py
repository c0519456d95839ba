"""Fields of labels that are not chunk tags: GROBID's, and plain ones."""

import json

import pytest

from sparsecrf import CRF, InputError, Model
from sparsecrf.chunks import ChunkReader, span_scheme
from sparsecrf.metrics import evaluate
from sparsecrf.model.spans import chunks


def fields(scheme, labels):
    reader, labels = ChunkReader(scheme), labels.split()
    return [(a, b, reader.type_of(labels[a])) for a, b in chunks(reader.marks(labels))]


@pytest.mark.parametrize(
    ("scheme", "labels", "expected"),
    [
        ("grobid", "I-<title> <title> <title> I-<author> <author>", [(0, 3, "<title>"), (3, 5, "<author>")]),
        ("grobid", "I-<title> I-<title> <title>", [(0, 1, "<title>"), (1, 3, "<title>")]),
        ("grobid", "<title> <title> <author>", [(0, 2, "<title>"), (2, 3, "<author>")]),  # an I- forgotten
        ("grobid", "I-<other> <other> I-<date> <other> <date>", [(2, 3, "<date>"), (4, 5, "<date>")]),
        ("grobid", "O I-<date> O", [(1, 2, "<date>")]),
        ("grobid", "", []),
        ("runs", "author author title title title author", [(0, 2, "author"), (2, 5, "title"), (5, 6, "author")]),
        ("runs", "O O B-X B-X I-X O", [(2, 4, "B-X"), (4, 5, "I-X")]),
        ("runs", "a", [(0, 1, "a")]),
    ],
)
def test_fields(scheme, labels, expected):
    assert fields(scheme, labels) == expected


def test_scores_of_fields():
    gold = ["I-<title>", "<title>", "I-<author>", "I-<author>", "<other>"]
    predicted = ["I-<title>", "<title>", "I-<author>", "<author>", "I-<other>"]
    found = evaluate([gold], [predicted], scheme="grobid")
    assert {name: (s.gold, s.predicted, s.correct) for name, s in found.types.items()} == {
        "<title>": (1, 1, 1),
        "<author>": (2, 1, 0),
    }
    plain = evaluate([["a", "a", "b"]], [["a", "b", "b"]], scheme="runs")
    assert (plain.chunks.gold, plain.chunks.predicted, plain.chunks.correct) == (2, 2, 0)


def test_eval_by_fields(program):
    program.write(a_txt="x I-<a> I-<a>\ny <a> <a>\nz I-<b> <a>\n", b_txt="x a a\ny a a\nz b a\n")
    found = json.loads(program("eval", "a.txt", "--scheme", "grobid", "--json").out)
    assert (found["scheme"], found["precision"], found["recall"]) == ("grobid", 0.0, 0.0)
    assert found["types"]["<b>"]["gold"] == 1
    assert json.loads(program("eval", "b.txt", "--scheme", "runs", "--json").out)["recall"] == 0.0
    assert "read as runs" in program("eval", "b.txt", "--scheme", "runs").out
    assert program("eval", "b.txt", "--scheme", "fields").status == 2


def test_spans_of_fields():
    model = Model.from_weights(["name", "O"], {("Ada", "name"): 5.0, ("Byron", "name"): 5.0, ("saw", "O"): 5.0})
    found = model.spans(["Ada", "Byron", "saw", "Ada"], scheme="runs")
    assert [(span.start, span.end, span.type) for span in found] == [(0, 2, "name"), (3, 4, "name")]


STREETS = Model.from_weights(
    ["number", "street", "O"],
    {("100", "number"): 5.0, **{(word, "street"): 5.0 for word in ("Martin", "Luther", "King")}, ("to", "O"): 5.0},
)


def places(spans):
    return [(span.start, span.end, span.type) for span in spans]


def test_runs_of_equal_labels_are_one_span_by_default():
    sequence = ["to", "to", "100", "Martin", "Luther", "King", "to"]
    found = STREETS.spans(sequence)
    assert places(found) == [(2, 3, "number"), (3, 6, "street")]  # never a span called O
    assert found[1].probability == pytest.approx(STREETS.span_prob(sequence, 3, ["street"] * 3))
    each = [(2, 3, "number"), *((t, t + 1, "street") for t in (3, 4, 5))]
    assert places(STREETS.spans(sequence, scheme="none")) == each
    assert places(CRF.from_model(STREETS).predict_spans([sequence])[0]) == places(found)
    with pytest.raises(InputError, match=r"scheme: expected a label in the iob2 scheme .* found 'number'"):
        STREETS.spans(sequence, scheme="iob2")


@pytest.mark.parametrize(
    ("labels", "scheme"),
    [
        ("B-X I-X O", "conlleval"),
        ("B I O", "conlleval"),
        ("street city", "runs"),
        ("O", "runs"),
        ("I-<a> <a> I-<b> <b> O", "grobid"),
        ("<a> <b>", "runs"),
        ("I-<a> <a> city", "runs"),
    ],
)
def test_what_auto_means_for_spans(labels, scheme):
    assert span_scheme(labels.split()) == scheme


def test_label_writes_fields_as_spans(program):
    rows = "to O\n100 number\nMartin street\nLuther street\nKing street\nto O\n\n"
    program.write(train_txt=rows * 20, new_jsonl=json.dumps({"text": "100 Martin Luther King to"}) + "\n")
    program("train", "train.txt", "-m", "m", "--rho1", "0.05", "-q")
    ask = ["label", "-m", "m", "new.jsonl"]
    spans = json.loads(program(*ask).out)["spans"]
    assert spans == [{"start": 0, "end": 3, "label": "number"}, {"start": 4, "end": 22, "label": "street"}]
    sure = json.loads(program(*ask, "--marginals").out)["spans"]
    assert [span["label"] for span in sure] == ["number", "street"]
    assert all(0 < span["probability"] <= 1 for span in sure)
    each = json.loads(program(*ask, "--scheme", "none").out)["spans"]
    assert [span["label"] for span in each] == ["number", "street", "street", "street"]
    wrong = program("label", "-m", "m", "train.txt", "--scheme", "runs")
    assert (wrong.status, "--scheme: expected a format with spans" in wrong.err) == (2, True)
    assert program(*ask, "--scheme", "iob2").status == 1  # labels of another scheme
    assert program(*ask, "--scheme", "fields").status == 2
