"""The fuzzing targets: every parser as a function of bytes.

A target takes any bytes. It returns, or raises `InputError` (it rejects the bytes); anything else, a crash, a hang or
unbounded memory is a finding. `tests/fuzz/NAME.txt` has inputs for each target: seeds and former findings.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from sparsecrf import Corpus, InputError, Model, Template, Vocabulary
from sparsecrf.contrib.compat import Tagger
from sparsecrf.contrib.convert import crfpp as crfpp_files
from sparsecrf.contrib.convert import crfpp_binary as crfpp_binary_files
from sparsecrf.contrib.convert import crfsuite as crfsuite_files
from sparsecrf.contrib.convert import wapiti as wapiti_files
from sparsecrf.contrib.convert.crfsuite import to_dump
from sparsecrf.contrib.convert.crfsuite_write import to_binary
from sparsecrf.files import container
from sparsecrf.files.charset import Charset
from sparsecrf.shards.encode_folder import encode_folder
from sparsecrf.shards.folder import MANIFEST, CorpusFolder, _digest
from sparsecrf.training import SOLVERS
from sparsecrf.training.checkpoint import Checkpoint
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet
from torture import text_targets
from torture.text_targets import ROWS, TEMPLATE, all_or_refused, label_with


def attempt(name: str, data: bytes) -> bool:
    """Whether the target accepted the bytes; False if it rejected them."""
    try:
        TARGETS[name](data)
    except InputError:
        return False
    return True


def model(data: bytes) -> None:
    """Model files as they are. The digest detects a flipped bit; `model_content` tests what comes after that check."""
    _use(Model.from_bytes(data))


def model_content(data: bytes) -> None:
    """Model files with a correct digest, whatever they contain."""
    with _any_digest():
        made = Model.from_bytes(data)
    _use(made)


def checkpoint(data: bytes) -> None:
    """Checkpoints with a correct digest, whatever they contain and from any run: they are read and resumed from."""

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
        # A carefully forged file may stop a run with any error, but do nothing worse (SECURITY.md).
        with suppress(Exception):
            solver = SOLVERS[name](objective)
            solver.restore(state.solver)
            solver.step(state.point)


def crfsuite_model(data: bytes) -> None:
    """Models of CRFsuite, binary and dumped; a tagger reads a part of a binary one first."""
    tagger = Tagger()
    if not data.startswith(b"lCRF"):
        return _use(crfsuite_files.from_dump(data, "model"))
    all_or_refused(
        lambda: tagger.open_inmemory(data),
        lambda: tagger.tag([["w", "w=a"], {"é": 2.0}]),
        lambda: _use(crfsuite_files.from_binary(data, "model")),
    )


def wapiti_model(data: bytes) -> None:
    """Models of Wapiti, and their dumps; names as text and as bytes."""
    read = wapiti_files.from_model if data.startswith(b"#mdl#") else wapiti_files.from_dump
    _all_charsets(read, data)


def crfpp_model(data: bytes) -> None:
    """Models of CRF++, text and binary; names as text and as bytes."""
    read = crfpp_binary_files.from_binary if crfpp_binary_files.is_binary(data) else crfpp_files.from_text
    _all_charsets(read, data)


def corpus_file(data: bytes) -> None:
    """Files of corpora, as `Corpus.open` maps them."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "shard")
        path.write_bytes(data)
        corpus = Corpus.open(path)
        corpus.fingerprint  # noqa: B018, reads all of it
        del corpus


def manifest(data: bytes) -> None:
    """Manifests of folders of encoded data, without their digest, which is corrected; then the folder is used."""
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
    """Make a small folder of encoded data."""
    source = folder.with_name("data.txt")
    source.write_text("Ada NNP X\nsaw VBD O\n\nOslo NNP X\n\n" * 3)
    encode_folder(folder, [source], Template(TEMPLATE), shard_tokens=4)


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        text_targets.columns,
        text_targets.column_options,
        text_targets.encodings,
        text_targets.records,
        text_targets.crfsuite,
        text_targets.template,
        text_targets.vectors,
        text_targets.regex,
        text_targets.label,
        text_targets.evaluate,
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


def _all_charsets(read: Callable[[bytes, str, Charset], Model], data: bytes) -> None:
    """Read a model of another tool with each charset for its names."""
    all_or_refused(
        *(lambda name=name: _use(read(data, "model", Charset(name))) for name in ("utf-8", "latin-1", "bytes"))
    )


def _use(made: Model) -> None:
    """Use a loaded model. It must also be the same after saving and loading, and be written for other tools."""
    again = Model.from_bytes(made.to_bytes())
    assert again.to_bytes() == made.to_bytes()
    writers = (to_dump, to_binary, wapiti_files.to_model, crfpp_files.to_text)
    tokens: list[Any] = ROWS if made.template is not None else [["w=a", ("x", -2.0)], [], "b"]
    all_or_refused(
        lambda: made.label(tokens),
        lambda: made.nbest(tokens, 2),
        lambda: made.marginals(tokens),
        lambda: label_with(made, b"Ada NNP\nsaw VBD\n" if made.template is not None else b"X\tw=a\tb:-1\n\nX\n"),
        *(lambda write=write: write(made) for write in writers),
    )


@cache
def corpus_of_checkpoint() -> Any:
    """The corpus of the runs that wrote the checkpoints."""
    X = [["a", "b", "c"], ["b", "a"], ["c"], ["a", "c", "b", "a"]]
    y = [["X", "Y", "X"], ["Y", "X"], ["X"], ["X", "Y", "Y", "X"]]
    return Vocabulary(bigrams="all").encode(X, y, grow=True)


class _any_digest:
    """In this context, every digest is accepted."""

    def __enter__(self) -> None:
        self.before = container.read_container
        container.read_container = partial(self.before, check_digest=False)

    def __exit__(self, *_: object) -> None:
        container.read_container = self.before
