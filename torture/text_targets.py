"""The fuzzing targets for texts: data files, templates, expressions. targets.py lists all targets and defines them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, suppress
from functools import cache
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from sparsecrf import CRF, InputError, Model, Template, Vocabulary, fit, read_columns
from sparsecrf._core import StringTable
from sparsecrf.cli.answers import Answers, OnError
from sparsecrf.cli.convert import converted
from sparsecrf.cli.evaluate import _evaluate
from sparsecrf.encoding.formats import COLUMNS, CRFSUITE, FORMATS, Records
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.encoding.vector_files import width_of
from sparsecrf.encoding.vectors import WordVectors
from sparsecrf.files.charset import Charset
from sparsecrf.files.crfsuite import read_crfsuite
from sparsecrf.files.text import Piece, pieces
from sparsecrf.model.predict import predicted
from sparsecrf.model.record_labeller import RecordLabeller
from sparsecrf.shards.dataset import encode_columns, encode_crfsuite, encode_files

ROWS = [["Ada", "NNP"], ["saw", "VBD"], ["Zürich-Oerlikon", "NNP"], ["1984", "CD"]]
TEMPLATE = 'U0:%x[0,0]\nU1:%X[-1,0]/%x[1,1]\nU2:%m[0,0,"^.?.?"]\nU3:%t[@-1,0,"\\d*$"]\n*4:%x[0,1]\nB\n'
FUNCTIONS = (
    "U0:%l[0,0]\nU1:%p[0,0,2]/%S[-1,0,3]\nU2:%h[0,0]\nU3:%h[1,0,1]\nU4:%c[0,0]%n[0,0]\nU5:%e[0]\n*6:%P[0,1,1]\nB\n"
)


def columns(data: bytes) -> None:
    """Column files: as Python lists, as a corpus without and with a template, as a CRFsuite file."""
    works = (
        lambda: list(read_columns(BytesIO(data))),
        lambda: encode_columns([BytesIO(data)], Vocabulary(bigrams="all"), grow=True),
        lambda: encode_columns([BytesIO(data)], Vocabulary(bigrams="all"), Template(TEMPLATE), grow=True),
        lambda: list(converted(BytesIO(data), COLUMNS, CRFSUITE)),
    )
    all_or_refused(*works)


def crfsuite(data: bytes) -> None:
    """CRFsuite files: as Python lists, as a corpus, as a column file, and labelled."""
    all_or_refused(
        lambda: list(read_crfsuite(BytesIO(data))),
        lambda: encode_crfsuite([BytesIO(data)], Vocabulary(), grow=True),
        lambda: list(converted(BytesIO(data), CRFSUITE, COLUMNS)),
        lambda: label_with(models()[1], data),
    )


def vectors(data: bytes) -> None:
    """Word vectors as text: their width, all vectors, the vectors of some words, and a model with them."""
    some = StringTable()
    some.intern("Ada")

    def narrow(path: Path) -> None:
        width = width_of(path)
        assert width <= len(data), f"{width} numbers of a vector in {len(data)} bytes"

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "vectors.txt")
        path.write_bytes(data)
        all_or_refused(
            lambda: narrow(path),
            lambda: WordVectors.load(path, wanted=some),
            lambda: WordVectors.load(path, window=1).of([["Ada", "unheard"]]),
            lambda: CRF(vectors=WordVectors.load(path, window=1), max_iter=1).fit([["Ada", "saw"]], [["X", "O"]]),
        )


def template(data: bytes) -> None:
    """Templates in both dialects, for characters and for bytes, and the attributes that they generate."""
    for boundary, of_bytes in (("crf++", False), ("wapiti", False), ("wapiti", True)):
        with suppress(InputError):
            made = Template(data, boundary, bytes=of_bytes)
            made.attributes(ROWS)
            Template(made.text, boundary, bytes=of_bytes)
    Template(data)


def regex(data: bytes) -> None:
    """An expression, a line feed, and the cell that it is applied to."""
    expression, _, cell = data.partition(b"\n")
    made = Template(b'U%t[0,0,"' + expression + b'"]|%m[0,0,"' + expression + b'"]')
    made.attributes([[cell.decode("utf-8", "replace")]])


def label(data: bytes) -> None:
    """Text for a model that works on columns."""
    label_with(models()[0], data)


def evaluate(data: bytes) -> None:
    """Gold and predicted labels, by every scheme; gold labels for a model."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "data")
        file.write_bytes(data)
        all_or_refused(
            *(
                lambda scheme=scheme: _evaluate(str(file), None, scheme, "", "").as_dict()
                for scheme in ("auto", "iob2", "iobes")
            ),
            lambda: list(predicted(models()[0], file)),
        )


#: The first byte of an input determines the encoding of the rest.
ENCODINGS = ("bytes", "latin-1", "cp1252", "koi8-r", "euc-jp", "shift_jis", "gb18030", "big5", "utf-8")


def encodings(data: bytes) -> None:
    """Column files in an encoding that the first byte chooses: read as a corpus, and labelled with each way of handling
    errors."""
    name, text = ENCODINGS[data[0] % len(ENCODINGS) if data else 0], data[1:]
    with suppress(InputError):
        encode_columns([BytesIO(text)], Vocabulary(bigrams="all"), Template(TEMPLATE), grow=True, encoding=name)
    charset, model = Charset(name), models()[0]
    for on_error in (OnError.SKIP, OnError.REPLACE):
        answers = Answers(
            lambda piece: model.label_text(piece.data, "input", 0, piece.line, bytes=charset.is_bytes),
            COLUMNS,
            charset,
            "input",
            on_error,
        )
        with redirect_stderr(StringIO()):  # it says what was skipped
            for piece in pieces(BytesIO(text)):
                answers(piece)
    Charset(name).decoded(Piece(text, 1), "input")


#: Formats that are read in Python.
RECORDS = ("conllu", "jsonl", "tokens")


def records(data: bytes) -> None:
    """CoNLL-U, JSON lines and token lines, as the first byte chooses: read, encoded, labelled sequence by sequence."""
    name, text = RECORDS[data[0] % len(RECORDS) if data else 0], data[1:]
    format_, recipe = FORMATS[name], Recipe(name)
    assert isinstance(format_, Records)
    labelled = RecordLabeller(models()[0], format_, "input")
    all_or_refused(
        lambda: list(format_.read(BytesIO(text))),
        lambda: encode_files([BytesIO(text)], recipe, recipe.vocabulary(), grow=True),
        lambda: [labelled(one) for piece in format_.pieces(BytesIO(text)) for one in format_.sequences(piece)],
    )


def column_options(data: bytes) -> None:
    """Column files as the bits of the first byte say: 1 any bytes, 2 ragged, 4 labels are given, 8 functions of words.

    cpp/tests/fuzz.cpp has a target of the same name.
    """
    bits, text = data[0] if data else 0, data[1:]
    how: dict[str, Any] = {"bytes": bool(bits & 1), "ragged": bool(bits & 2)}
    template = Template(FUNCTIONS if bits & 8 else TEMPLATE)
    encoding = "bytes" if bits & 1 else "utf-8"
    _, _, of_functions = models()
    model = of_functions if bits & 8 else models()[0]
    all_or_refused(
        lambda: list(read_columns(BytesIO(text), ragged=how["ragged"])),
        lambda: encode_columns(
            [BytesIO(text)], Vocabulary(), template, grow=True, ragged=how["ragged"], encoding=encoding
        ),
        lambda: model.label_text(text, "input", 0, 1, force=bool(bits & 4), token_scores=True, **how),
    )


def all_or_refused(*works: Callable[[], Any]) -> None:
    """Try all functions; the input is rejected if one of them rejects it."""
    refused: InputError | None = None
    for work in works:
        try:
            work()
        except InputError as error:
            refused = error
    if refused is not None:
        raise refused


def label_with(made: Model, data: bytes) -> None:
    all_or_refused(
        lambda: made.label_text(data, "input", 0, 1),
        lambda: made.label_text(data, "input", 0, 1, nbest=3, headers=True, distribution=True),
        lambda: made.label_text(data, "input", 0, 1, force=True),
    )


@cache
def models() -> tuple[Model, Model, Model]:
    """A model of columns, one of CRFsuite's attributes, one of columns with functions of words and label triples."""
    weights = {("U0:Ada", "B-PER"): 2.0, ("U0:saw", "O"): 1.5, ("U2:Zü", "B-LOC"): 1.0, ("w=a", "O"): 1.0}
    pairs = {("B", "B-PER", "O"): 0.5, ("*4:NNP", None, "B-LOC"): -0.5}
    made = Model.from_weights(["O", "B-PER", "B-LOC"], weights, pairs)
    of_columns = Model(made.vocabulary, made.features, made.w, template=Template(TEMPLATE), n_columns=2)
    return of_columns, Model.from_weights(["O", "X"], {("w=a", "X"): 1.0, ("b", "O"): -1.0}), _of_triples()


def _of_triples() -> Model:
    """A model with label triples. It is trained, because weights of label triples have no names."""
    text = BytesIO(b"Ada NNP A\nsaw VBD B\nOslo NNP C\n1984 CD A\n\nin IN B\nOslo NNP C\n" * 2)
    vocabulary = Vocabulary()
    data = encode_columns([text], vocabulary, Template(FUNCTIONS), grow=True)
    found = fit(data.corpus, rho1=0.01, rho2=0.01, order=3, threads=1)
    return data.model(found)
