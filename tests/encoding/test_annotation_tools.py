"""Tasks of Prodigy and Label Studio: spans in, labels, and spans out again."""

import io
import json

import pytest

from sparsecrf import InputError, read_jsonl
from sparsecrf.encoding.formats import format_named
from sparsecrf.encoding.formats.records import Answer, FoundSpan
from sparsecrf.files.text import Piece

TOKENS = [
    {"text": "Ada", "start": 0, "end": 3, "id": 0},
    {"text": "B.", "start": 4, "end": 6, "id": 1},
    {"text": "  ", "start": 6, "end": 8, "id": 2},
    {"text": "left", "start": 8, "end": 12, "id": 3},
]
PRODIGY = {
    "text": "Ada B.  left",
    "tokens": TOKENS,
    "spans": [{"start": 0, "end": 6, "label": "PER"}],
    "answer": "accept",
}
RESULT = {"id": "x", "from_name": "ner", "to_name": "doc", "type": "labels"}
STUDIO = {
    "id": 3,
    "data": {"text": "Ada left Oslo"},
    "annotations": [
        {"was_cancelled": True, "result": []},
        {
            "result": [
                {**RESULT, "value": {"start": 0, "end": 3, "text": "Ada", "labels": ["PER"]}},
                {"type": "choices", "value": {"choices": ["good"]}},
            ]
        },
    ],
}


def record(content, labelled=True):
    (found,) = format_named("jsonl").records(Piece(json.dumps(content).encode(), 1), "f", labelled)
    return found


def read(content):
    return list(read_jsonl(io.BytesIO(json.dumps(content).encode())))


def test_prodigy():
    # Its tokens are the words: "B." is one, and blanks are none.
    assert read(PRODIGY) == [(["Ada", "B.", "left"], ["B-PER", "I-PER", "O"])]
    filled = json.loads(record(PRODIGY, False).filled(Answer([], None, [FoundSpan(1, 3, "X", None)])))
    assert filled["spans"] == [{"start": 4, "end": 12, "label": "X", "token_start": 1, "token_end": 3}]
    assert {**filled, "spans": None} == {**PRODIGY, "spans": None}


def test_label_studio():
    assert read(STUDIO) == [(["Ada", "left", "Oslo"], ["B-PER", "O", "O"])]
    filled = json.loads(record(STUDIO, False).filled(Answer([], None, [FoundSpan(2, 3, "LOC", 0.75)])))
    value = {"start": 9, "end": 13, "text": "Oslo", "labels": ["LOC"]}
    names = {name: RESULT[name] for name in ("from_name", "to_name", "type")}
    assert filled.pop("predictions") == [
        {"model_version": "sparsecrf", "result": [{**names, "value": value, "score": 0.75}]}
    ]
    assert filled == STUDIO


def test_a_task_without_annotation_has_no_labels():
    task = {"data": {"text": "Ada left"}}
    assert record(task).labels is None
    filled = json.loads(record(task).filled(Answer([], None, [FoundSpan(0, 1, "PER", None)])))
    assert filled["predictions"][0]["result"][0]["from_name"] == "label"
    with pytest.raises(InputError, match="line 1: expected labels, found none"):
        read(task)


def changed(task, **fields):
    return {**json.loads(json.dumps(task)), **fields}


def studio_with(**value):
    return changed(STUDIO, annotations=[{"result": [{"value": {"start": 0, "end": 3, "labels": ["PER"], **value}}]}])


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (changed(PRODIGY, tokens=[{"start": 0, "end": 99}]), '"tokens": expected start and end of words'),
        (changed(PRODIGY, tokens=[*TOKENS, TOKENS[0]]), '"tokens": expected start and end of words'),
        (changed(PRODIGY, tokens=[TOKENS[0], "B."]), '"tokens": expected start and end of words'),
        (changed(PRODIGY, spans=[{"start": 0, "end": 99, "label": "X"}]), '"spans": expected start, end and label'),
        (changed(STUDIO, data={"text": 3}), '"text": expected a text'),
        (changed(STUDIO, annotations=7), '"annotations": expected a list'),
        (changed(STUDIO, annotations=[{}]), '"annotations": expected a list "result"'),
        (studio_with(labels=["PER", "LOC"]), '"labels": expected one label for each span'),
        (studio_with(end=99), '"spans": expected start, end and label of a span'),
    ],
)
def test_wrong_tasks(task, message):
    with pytest.raises(InputError, match=message):
        read(task)
