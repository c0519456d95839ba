"""What is fuzzed: every parser as a function of bytes.

A target takes any bytes. It returns, or raises `InputError` (the bytes are refused); anything else, a crash, a hang or
memory without bound is a finding. `tests/fuzz/NAME.txt` has inputs for each: seeds, and what was once found.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from sparsecrf import Corpus, InputError, Model, Template, Vocabulary, read_columns
from sparsecrf.cli.evaluate import _evaluate
from sparsecrf.encoding.convert import converted
from sparsecrf.encoding.encode import encode_columns, encode_crfsuite
from sparsecrf.encoding.formats import COLUMNS, CRFSUITE
from sparsecrf.files import container
from sparsecrf.files.crfsuite import read_crfsuite
from sparsecrf.model import crfpp as crfpp_files
from sparsecrf.model import crfpp_binary as crfpp_binary_files
from sparsecrf.model import crfsuite as crfsuite_files
from sparsecrf.model import wapiti as wapiti_files
from sparsecrf.model.predict import predicted
from sparsecrf.shards.encode_folder import encode_folder
from sparsecrf.shards.folder import MANIFEST, CorpusFolder, _digest
from sparsecrf.training import SOLVERS
from sparsecrf.training.checkpoint import Checkpoint
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet

ROWS = [["Ada", "NNP"], ["saw", "VBD"], ["Zürich-Oerlikon", "NNP"], ["1984", "CD"]]
TEMPLATE = 'U0:%x[0,0]\nU1:%X[-1,0]/%x[1,1]\nU2:%m[0,0,"^.?.?"]\nU3:%t[@-1,0,"\\d*$"]\n*4:%x[0,1]\nB\n'


def attempt(name: str, data: bytes) -> bool:
    """Whether the target took the bytes; False: it refused them."""
    try:
        TARGETS[name](data)
    except InputError:
        return False
    return True


def columns(data: bytes) -> None:
    """Column files: as Python lists, as a corpus without and with a template, as a CRFsuite file."""
    works = (
        lambda: list(read_columns(BytesIO(data))),
        lambda: encode_columns([BytesIO(data)], Vocabulary(bigrams="all"), grow=True),
        lambda: encode_columns([BytesIO(data)], Vocabulary(bigrams="all"), Template(TEMPLATE), grow=True),
        lambda: list(converted(BytesIO(data), COLUMNS, CRFSUITE)),
    )
    _all_or_refused(*works)


def crfsuite(data: bytes) -> None:
    """CRFsuite files: as Python lists, as a corpus, as a column file, and labelled."""
    _all_or_refused(
        lambda: list(read_crfsuite(BytesIO(data))),
        lambda: encode_crfsuite([BytesIO(data)], Vocabulary(), grow=True),
        lambda: list(converted(BytesIO(data), CRFSUITE, COLUMNS)),
        lambda: _label(_models()[1], data),
    )


def template(data: bytes) -> None:
    """Templates, in both dialects, of characters and bytes, and the attributes that they make."""
    for boundary, of_bytes in (("crf++", False), ("wapiti", False), ("wapiti", True)):
        with suppress(InputError):
            made = Template(data, boundary, bytes=of_bytes)
            made.attributes(ROWS)
            Template(made.text, boundary, bytes=of_bytes)
    Template(data)


def regex(data: bytes) -> None:
    """An expression, a line feed, and the cell that it is for."""
    expression, _, cell = data.partition(b"\n")
    made = Template(b'U%t[0,0,"' + expression + b'"]|%m[0,0,"' + expression + b'"]')
    made.attributes([[cell.decode("utf-8", "replace")]])


def label(data: bytes) -> None:
    """Text for a model that works on columns."""
    _label(_models()[0], data)


def evaluate(data: bytes) -> None:
    """Gold and predicted labels, by every scheme; gold labels for a model."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "data")
        file.write_bytes(data)
        _all_or_refused(
            *(
                lambda scheme=scheme: _evaluate(str(file), None, scheme).as_dict()
                for scheme in ("auto", "iob2", "iobes")
            ),
            lambda: list(predicted(_models()[0], file)),
        )


def model(data: bytes) -> None:
    """Model files as they are. A flipped bit is found by the digest: `model_content` goes on from there."""
    _use(Model.from_bytes(data))


def model_content(data: bytes) -> None:
    """Model files whose digest is right, whatever they hold."""
    with _any_digest():
        made = Model.from_bytes(data)
    _use(made)


def checkpoint(data: bytes) -> None:
    """Checkpoints whose digest is right, whatever they hold and of whatever run: read, and gone on from."""

    class OfAnyRun(Checkpoint):
        def _check_run(self, found: Any) -> None:
            pass

    objective = Objective(corpus_of_checkpoint(), ElasticNet(0.1, 0.01), threads=1)
    with tempfile.TemporaryDirectory() as directory, _any_digest():
        path = Path(directory, "run")
        path.write_bytes(data)
        state = OfAnyRun(path, 0.0, {}).load(objective)
    assert state is not None
    for name in ("auto", "sbcd", "owlqn", "sgd-l1"):
        # What was forged with care may stop a run with an error of any kind, but do nothing worse (SECURITY.md).
        with suppress(Exception):
            solver = SOLVERS[name](objective)
            solver.restore(state.solver)
            solver.step(state.point)


def crfsuite_model(data: bytes) -> None:
    """Models of CRFsuite, binary and dumped."""
    read = crfsuite_files.from_binary if data.startswith(b"lCRF") else crfsuite_files.from_dump
    _use(read(data, "model"))


def wapiti_model(data: bytes) -> None:
    """Models of Wapiti, and their dumps."""
    read = wapiti_files.from_model if data.startswith(b"#mdl#") else wapiti_files.from_dump
    _use(read(data, "model"))


def crfpp_model(data: bytes) -> None:
    """Models of CRF++, text and binary."""
    read = crfpp_binary_files.from_binary if crfpp_binary_files.is_binary(data) else crfpp_files.from_text
    _use(read(data, "model"))


def corpus_file(data: bytes) -> None:
    """Files of corpora, as `Corpus.open` maps them."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "shard")
        path.write_bytes(data)
        corpus = Corpus.open(path)
        corpus.fingerprint  # noqa: B018, reads all of it
        del corpus


def manifest(data: bytes) -> None:
    """Manifests of folders of encoded data, without their digest, which is made right; the folder is used."""
    try:
        entries = json.loads(data)
    except (ValueError, RecursionError):
        raise InputError("expected JSON") from None
    if not isinstance(entries, dict):
        raise InputError("expected an object")
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory, "cache")
        make_folder(folder)
        entries["digest"] = _digest(entries)
        (folder / MANIFEST).write_text(json.dumps(entries))
        loaded = CorpusFolder.load(folder)
        for k in range(len(loaded.shards)):
            loaded.open(k)
        weights = [], [], [], []
        made = Model.from_cells(loaded.vocabulary, *weights, template=loaded.template, n_columns=loaded.n_columns)
        Model.from_bytes(made.to_bytes())


def make_folder(folder: Path) -> None:
    """A small one."""
    source = folder.with_name("data.txt")
    source.write_text("Ada NNP X\nsaw VBD O\n\nOslo NNP X\n\n" * 3)
    encode_folder(folder, [source], Template(TEMPLATE), shard_tokens=4)


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        columns,
        crfsuite,
        template,
        regex,
        label,
        evaluate,
        model,
        model_content,
        checkpoint,
        crfsuite_model,
        wapiti_model,
        crfpp_model,
        corpus_file,
        manifest,
    )
}


def _all_or_refused(*works: Callable[[], Any]) -> None:
    """All of them are tried; refused if one refuses."""
    refused: InputError | None = None
    for work in works:
        try:
            work()
        except InputError as error:
            refused = error
    if refused is not None:
        raise refused


def _use(made: Model) -> None:
    """What a model that was loaded is for; it must come back from its own file."""
    again = Model.from_bytes(made.to_bytes())
    assert again.to_bytes() == made.to_bytes()
    tokens: list[Any] = ROWS if made.template is not None else [["w=a", ("x", -2.0)], [], "b"]
    _all_or_refused(
        lambda: made.label(tokens),
        lambda: made.nbest(tokens, 2),
        lambda: made.marginals(tokens),
        lambda: _label(made, b"Ada NNP\nsaw VBD\n" if made.template is not None else b"X\tw=a\tb:-1\n\nX\n"),
    )


def _label(made: Model, data: bytes) -> None:
    labeller = made.labeller()
    _all_or_refused(
        lambda: labeller.label(data, "input", 0, 1),
        lambda: labeller.label(data, "input", 0, 1, nbest=3, headers=True, distribution=True),
        lambda: labeller.label(data, "input", 0, 1, force=True),
    )


@cache
def _models() -> tuple[Model, Model]:
    """A model of columns and one of CRFsuite's attributes."""
    weights = {("U0:Ada", "B-PER"): 2.0, ("U0:saw", "O"): 1.5, ("U2:Zü", "B-LOC"): 1.0, ("w=a", "O"): 1.0}
    pairs = {("B", "B-PER", "O"): 0.5, ("*4:NNP", None, "B-LOC"): -0.5}
    made = Model.from_weights(["O", "B-PER", "B-LOC"], weights, pairs)
    of_columns = Model(made.vocabulary, made.features, made.w, template=Template(TEMPLATE), n_columns=2)
    return of_columns, Model.from_weights(["O", "X"], {("w=a", "X"): 1.0, ("b", "O"): -1.0})


@cache
def corpus_of_checkpoint() -> Any:
    """The corpus of the runs that the checkpoints are of."""
    X = [["a", "b", "c"], ["b", "a"], ["c"], ["a", "c", "b", "a"]]
    y = [["X", "Y", "X"], ["Y", "X"], ["X"], ["X", "Y", "Y", "X"]]
    return Vocabulary(bigrams="all").encode(X, y, grow=True)


class _AnyDigest:
    """Equal to every digest."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 0


class _any_digest:
    """While it lasts, no file is damaged."""

    def __enter__(self) -> None:
        self.before = container._digest
        container._digest = lambda metadata, arrays: _AnyDigest()  # type: ignore[assignment,return-value]

    def __exit__(self, *_: object) -> None:
        container._digest = self.before
