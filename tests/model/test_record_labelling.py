"""Records that the core reads are labelled and written as by Python, to which whatever is not plain is left."""

import copy
import json
import random

import pytest

from sparsecrf import CRF, InputError, Model
from sparsecrf.encoding.formats import format_named
from sparsecrf.encoding.mentions import with_mentions
from sparsecrf.files.text import Piece
from sparsecrf.model.record_labeller import RecordLabeller

X = [["Ada", "went", "to", "Oslo"], ["the", "cat", "saw", "Grace"], ["Ørsted", "said", "“hi”"], ["a", "cat"]]
Y = [["B|x", "O", "O", 'C"\\\t'], ["O", "O", "O", "B|x"], ["B|x", "O", "O"], ["O", "é|"]]


@pytest.fixture(scope="module")
def words() -> Model:
    return CRF(features="words", rho1=0.01, max_iter=20).fit(X, Y).model_


@pytest.fixture(scope="module")
def pairs() -> Model:
    rows = [[[word, word[:1]] for word in sentence] for sentence in X]
    return CRF(template="U%x[0,0]\nU%x[-1,1]/%x[0,1]\nB\n", rho1=0.01, max_iter=20).fit(rows, Y).model_


@pytest.fixture(scope="module")
def documents() -> Model:
    return CRF(features="documents", rho1=0.01, max_iter=20).fit(with_mentions(X), Y).model_


def any_columns(model: Model) -> Model:
    """As from `train --features` on a file with more columns than the features need."""
    return Model(model.vocabulary, model.features, model.w, template=model.template, n_columns=0)


def answer(model: Model, name: str, data: bytes, *, core: bool, line: int = 1) -> bytes | str:
    """The labelled file or the error; not `core`: by Python alone."""
    format = copy.copy(format_named(name))
    if not core:
        format.core = None
    try:
        return RecordLabeller(model, format, "file")(Piece(data, line))
    except InputError as error:
        return str(error)


def check(model: Model, name: str, data: bytes, *, plain: bool, line: int = 1) -> None:
    expected = answer(model, name, data, core=False, line=line)
    assert answer(model, name, data, core=True, line=line) == expected
    labelled = model.label_records(data, *format_named(name).core, line)
    assert labelled == (expected if plain else None)


PLAIN = [
    '{"tokens": ["Ada", "went"]}',
    '{"tokens":["Ada","went"],"labels":["?",null],"id":7}',
    ' \t{ "id" : -12 , "labels" : {"a": [1, {"b": []}]} , "tokens" : [ "cat" , ["Oslo"] ] , "x" : {} } \r',
    '{"tokens": [], "labels": []}',
    r'{"tokens": ["\u00d8rsted", "\ud83d\ude00", "a\/b", "\"\\\b\f\n\r\t\u001f\u007f"], "k\u00e9y": "\u2028"}',
    '{"tokens": ["Ørsted", "", "\x7f", "\u2028"], "t": true, "f": false, "n": null, "s": "ü"}',
    '{"a": 0, "tokens": ["a"], "big": 123456789012345678, "deep": [[[[[[]]]]]]}',
]
NOT_PLAIN = [
    '{"text": "Ada went to Oslo"}',
    '{"tokens": ["a"], "score": 0.50}',
    '{"tokens": ["a"], "n": [1e5, -0, 1234567890123456789, NaN, Infinity]}',
    '{"tokens": ["a"], "id": 1, "id": 2}',
    '{"tokens": ["a"], "x": {"id": 1, "id": 2}}',
    '{"tokens": ["a"], "data": {"text": "a cat"}}',
    '{"text": "a cat", "tokens": [{"text": "a", "start": 0, "end": 1}, {"text": "cat", "start": 2, "end": 5}]}',
    r'{"tokens": ["\ud83d"]}',
    r'{"tokens": ["\ude00\ud83d"]}',
    r'{"tokens": ["a\u0000"]}',
    '{"tokens": ["a", ["b", "c"]]}',
    '{"tokens": [["a", "b"]]}',
    '{"tokens": [[]]}',
    '{"tokens": ["a", 1]}',
    '{"tokens": "a"}',
    '{"tokens": ["a"]} x',
    '{"tokens": ["a"],}',
    '{"tokens": ["a",]}',
    '{"tokens": ["a"], "x": 01}',
    '{"tokens": ["a"], "x": }',
    '{"tokens": ["a", "x": 1}',
    '{"tokens": ["a\tb"]}',
    r'{"tokens": ["\x"]}',
    r'{"tokens": ["\u12"]}',
    '{"tokens": ["a',
    '{"tokens": ["a"]',
    '["a"]',
    "{}",
    "{",
    "\u00a0",
    '{"tokens": ["a"], ' + ", ".join(f'"{k}": 0' for k in range(300)) + "}",
    '{"tokens": ["a"], "x": ' + "[" * 70 + "]" * 70 + "}",
]


@pytest.mark.parametrize("line", PLAIN)
def test_plain_json_lines(words, line):
    check(words, "jsonl", line.encode(), plain=True)
    check(words, "jsonl:x", f"\n{line}\r\n  \n{line}\n".encode(), plain=True)


@pytest.mark.parametrize("line", NOT_PLAIN)
def test_other_json_lines(words, line):
    check(words, "jsonl", f"{PLAIN[0]}\n{line}\n".encode(), plain=False)


def test_json_lines_of_columns(pairs):
    check(pairs, "jsonl", b'{"tokens": [["Ada","A"] ,[ "went", "w" ]]}\n', plain=True)
    check(pairs, "jsonl", b'{"tokens": ["Ada", "went"]}\n', plain=False)


@pytest.mark.parametrize(("data", "line", "plain"), [(b"\xef\xbb\xbf", 1, True), (b"\xef\xbb\xbf", 2, False)])
def test_a_byte_order_mark_at_the_beginning_only(words, data, line, plain):
    check(words, "jsonl", data + PLAIN[0].encode() + b"\n", plain=plain, line=line)


@pytest.mark.parametrize("line", [1, 7])
def test_byte_order_marks_in_documents(documents, line):
    mark = b"\xef\xbb\xbf"
    check(documents, "documents", mark + b"Ada\nwent\n", plain=line == 1, line=line)
    check(documents, "documents", mark * 2 + b"Ada\nwent\n", plain=False, line=line)


@pytest.mark.parametrize("wrong", [b"\xff", b"\0"])
@pytest.mark.parametrize("name", ["jsonl", "conllu", "documents"])
def test_what_is_no_text(words, name, wrong):
    check(words, name, b"\n" + wrong + b"\n", plain=False)


def word(number: str, form: str = "cat", n: int = 10) -> str:
    return "\t".join([number, form, *"abcdefgh"[: n - 2]]) + "\n"


CONLLU = f"""\
# text = a cat
{word("1-2", "al")}{word("1", "a")}{word("2", "20 000")}{word("2.1")}
 \t
{word("1", "Ørsted")}
# nothing but a comment

{word("1").strip()}"""


@pytest.mark.parametrize("field", ["upos", "xpos", "feats", "upos+feats"])
def test_plain_conllu(words, field):
    check(words, f"conllu:{field}", CONLLU.encode(), plain=True)
    check(words, f"conllu:{field}", CONLLU.replace("\n", "\r\n").encode(), plain=True)


@pytest.mark.parametrize(
    "lines",
    [
        word("2"),
        word("1") + word("3"),
        word("1", n=9),
        word("1", ""),
        word("x"),
        word("1-"),
        word("01"),
        word("\u0661"),
    ],
)
def test_other_conllu(words, lines):
    check(words, "conllu", f"{word('1')}\n{lines}".encode(), plain=False)


def document(rng: random.Random, sentences: int, more: str = "") -> str:
    made = [[rng.choice(["Ada", "ADA", "ada", "Oslo", "to", "Ørsted", "x"]) for _ in range(rng.randrange(1, 7))]]
    made += [["-DOCSTART-"]] * (rng.random() < 0.3)
    made += [[rng.choice(["Ada", "cat", "CAT"])] for _ in range(sentences)]
    return "".join("".join(f"{word}{more}\n" for word in sentence) + "\n" for sentence in made)


@pytest.mark.parametrize("more", ["", " O", "\tO", "  O "])
def test_documents(documents, more):
    rng = random.Random(1)
    texts = [document(rng, rng.randrange(4), more) for _ in range(20)]
    check(documents, "documents", "".join(texts).encode(), plain=True)
    check(documents, "documents", f"-DOCSTART-{more}\n\n{texts[0]}\n-DOCSTART-{more}\n{texts[1]}".encode(), plain=True)


@pytest.mark.parametrize("text", ["Ada\n\n-DOCSTART-\n\nwent\n", "Ada x O\nwent y O\n", "Ada x\nwent O\n\ncat\tx\n"])
def test_documents_of_any_number_of_columns(documents, text):
    check(any_columns(documents), "documents", text.encode(), plain=True)


def test_json_lines_of_any_number_of_columns(words, pairs):
    check(any_columns(words), "jsonl", b'{"tokens": [["Ada", "A"], ["went", "w"]]}\n{"tokens": ["a"]}\n', plain=True)
    check(any_columns(pairs), "jsonl", b'{"tokens": [["Ada", "A", "x"]]}\n', plain=True)
    check(any_columns(pairs), "jsonl", b'{"tokens": ["Ada", "went"]}\n', plain=False)


@pytest.mark.parametrize("n", [498, 499, 500, 501])
def test_long_documents(documents, n):
    text = "-DOCSTART-\n\n" + "Ada left\n\n".replace(" ", "\n") * n + "Ada\n"
    check(documents, "documents", text.encode(), plain=True)


@pytest.mark.parametrize("text", ["Ada O\n\ncat\n", "Ada x O\n", "cat\nAda O\n"])
def test_documents_of_other_columns(documents, text):
    check(documents, "documents", text.encode(), plain=False)


def test_random_json(words):
    """Objects as Python writes them in several ways."""
    rng = random.Random(7)

    def value(depth: int):
        kind = rng.randrange(7 if depth < 3 else 5)
        if kind == 5:
            return [value(depth + 1) for _ in range(rng.randrange(3))]
        if kind == 6:
            return {text(): value(depth + 1) for _ in range(rng.randrange(3))}
        if kind == 4 and rng.random() < 0.1:
            return rng.random()
        return (None, True, rng.randrange(-999, 999), text())[min(kind, 3)]

    def text() -> str:
        return "".join(rng.choice('ab"\\\n\x01é\u2028😀/') for _ in range(rng.randrange(5)))

    plain = 0
    for _ in range(2_000):
        record = {text(): value(0) for _ in range(rng.randrange(3))}
        record |= {"tokens": [text() for _ in range(rng.randrange(4))]}
        record |= {key: value(0) for key in (text(), "labels") if rng.random() < 0.5}
        separators = rng.choice([(", ", ": "), (",", ":"), (" ,  ", " : ")])
        data = json.dumps(record, ensure_ascii=rng.random() < 0.5, separators=separators).encode() + b"\n"
        expected = answer(words, "jsonl", data, core=False)
        labelled = words.label_records(data, "jsonl", "labels")
        assert labelled in (expected, None), data
        plain += labelled is not None
    assert plain > 1_000
