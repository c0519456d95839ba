"""The program: training from files in every format, checkpoints, encoded data, and what `label` and others write.

Each case runs in a folder of its own with the files of `_write_files`.
"""

from __future__ import annotations

import io
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import internals
import tiny_data
from case import Case, Setting
from digest import stable_file
from tiny_data import NEW, NEW_LABELS, TRAIN, TRAIN_LABELS

ALL = ("auto", "sbcd", "cd", "owlqn", "lbfgs", "fista", "sgd", "sgd-l1")
SUMS = ("auto", "owlqn", "lbfgs", "fista")
SOME = ("auto", "owlqn")

_TEMPLATE = "U0:%x[0,0]\nU1:%X[-1,0]/%x[0,1]\nB\n"

#: Training with checkpoints: options, and the solvers that support them.
TRAINING: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "template": (["train.txt", "-t", "template.txt"], ("dual", *ALL)),
    "columns": (["train.txt"], ALL),
    "crfsuite": (["train.crfsuite"], ALL),
    "order 3": (["train.txt", "-t", "ngrams.txt", "--order", "3"], (*SUMS, "sgd-l1")),
    "any order": (["train.txt", "-t", "template.txt", "--order", "none", "--order-factor", "1.5"], SOME),
    "label parts": (["train.txt", "-t", "template.txt", "--label-parts", "bio"], (*SUMS, "sgd", "sgd-l1")),
    "class pairs": (["ud.txt", "-t", "template.txt", "--label-parts", "ud", "--class-pairs"], SOME),
    "vectors": (["train.txt", "--features", "words", "--vectors", "vectors.txt", "--recipe", "vectors_window=1"], SUMS),
    "group:attribute": (["train.txt", "--penalty", "group:attribute"], ("auto", "fista")),
    "tree": (["train.txt", "-t", "template.txt", "--penalty", "tree", "--group-weight", "0.5"], ("auto", "fista")),
    "cache": (["train.txt", "-t", "template.txt", "--cache", "cache", "--shard-tokens", "40"], SUMS),
    "cache, order 3": (["train.txt", "--cache", "cache", "--shard-tokens", "40", "--order", "3"], SOME),
    "cache, parts": (["train.txt", "--cache", "cache", "--shard-tokens", "40", "--label-parts", "bio"], SOME),
    "missing": (["missing.txt", "--missing", "?"], SOME),
    "observed only": (["train.txt", "--observed-only", "--min-count", "2"], SOME),
    "no start": (["train.txt", "-t", "template.txt", "--no-start"], SOME),
    "dev": (["train.txt", "-t", "template.txt", "--dev", "new.txt", "--patience", "2"], SOME),
    "gap": (["train.txt", "-t", "template.txt", "--gap", "0.05"], SOME),
}

#: Encoded data: how text becomes lists of attributes.
ENCODING: dict[str, list[str]] = {
    "columns": ["train.txt"],
    "columns, template": ["train.txt", "-t", "template.txt"],
    "columns, stars": ["train.txt", "-t", "stars.txt"],
    "columns, wapiti": ["train.txt", "-t", "template.txt", "--recipe", "boundary=wapiti", "--recipe", "bytes=true"],
    "columns, words": ["train.txt", "--features", "words"],
    "columns, tagging": ["train.txt", "--features", "tagging"],
    "columns, letters": ["letters.txt", "--features", "letters"],
    "columns, columns": ["train.txt", "--features", "columns"],
    "columns, lexicon": ["train.txt", "--features", "words", "--lexicon", "places=places.txt"],
    "columns, clusters": ["train.txt", "--features", "words", "--clusters", "brown=clusters.txt"],
    "columns, classes": ["train.txt", "--features", "tagging", "--classes", "kinds=places.txt"],
    "columns, missing": ["missing.txt", "--missing", "?"],
    "columns, no start": ["train.txt", "--no-start"],
    "columns, ragged": ["ragged.txt", "-t", "words.txt", "--ragged"],
    "columns, latin-1": ["latin.txt", "--encoding", "latin-1"],
    "columns, several files": ["train.txt", "new.txt"],
    "crfsuite": ["train.crfsuite"],
    "conllu": ["train.conllu"],
    "conllu:xpos": ["train.conllu", "--format", "conllu:xpos"],
    "conllu:upos+feats": ["train.conllu", "--format", "conllu:upos+feats", "--features", "tagging"],
    "jsonl": ["train.jsonl"],
    "tokens": ["train.tokens", "--format", "tokens"],
    "documents": ["documents.txt", "--format", "documents", "--features", "documents"],
}

#: What is labelled: options of `train`, the file, options of `label`.
LABELLING: dict[str, tuple[list[str], str, list[str]]] = {
    "columns": (["train.txt", "-t", "template.txt"], "new.txt", []),
    "columns, order 3": (["train.txt", "-t", "ngrams.txt", "--order", "3"], "new.txt", []),
    "columns, vectors": (["train.txt", "--features", "words", "--vectors", "vectors.txt"], "new.txt", []),
    "columns, parts": (["train.txt", "-t", "template.txt", "--label-parts", "bio"], "new.txt", []),
    "columns, class pairs": (
        ["ud.txt", "-t", "template.txt", "--label-parts", "ud", "--class-pairs"],
        "new_ud.txt",
        [],
    ),
    "crfsuite": (["train.crfsuite"], "new.crfsuite", []),
    "conllu": (["train.conllu"], "new.conllu", []),
    "conllu:upos+feats": (["train.conllu", "--format", "conllu:upos+feats"], "new.conllu", []),
    "jsonl": (["train.jsonl"], "new.jsonl", []),
    "tokens": (["train.tokens", "--format", "tokens"], "new.tokens", ["--format", "tokens"]),
    "documents": (
        ["documents.txt", "--format", "documents", "--features", "documents"],
        "new_documents.txt",
        ["--format", "documents"],
    ),
}
OUTPUTS: dict[str, list[str]] = {
    "labels": [],
    "marginals": ["--marginals"],
    "all marginals": ["--all-marginals"],
    "n-best": ["--nbest", "3", "--score"],
    "token scores": ["--token-scores"],
    "forced": ["--force"],
    "constrained": ["--constrain", "iob2"],
    "cost factor": ["--cost-factor", "2", "--marginals"],
}
_ONE_LABEL_A_TOKEN = ("conllu", "conllu:upos+feats", "jsonl", "tokens", "documents")
#: Input that formats reject; labels that do not encode chunks; a file without labels.
_NOT_FOR = {
    "all marginals": _ONE_LABEL_A_TOKEN,
    "n-best": _ONE_LABEL_A_TOKEN,
    "token scores": _ONE_LABEL_A_TOKEN,
    "constrained": ("columns, class pairs", "conllu:upos+feats"),
    "forced": ("tokens",),
}


def _write_files() -> None:
    unlabelled = tiny_data.missing()
    values, new_values = tiny_data.values(negative=True), tiny_data.values(negative=True)
    new_values = new_values._replace(X=new_values.new_X, y=new_values.new_y)
    parts, letters = tiny_data.ud(), tiny_data.letters()
    train = tiny_data.column_file(TRAIN, TRAIN_LABELS)
    words = [[[word] for word, _ in rows] for rows in TRAIN]
    files = {
        "train.txt": train,
        "new.txt": tiny_data.column_file(NEW, NEW_LABELS),
        "ud.txt": tiny_data.column_file(TRAIN, parts.y),
        "new_ud.txt": tiny_data.column_file(NEW, parts.new_y),
        "missing.txt": tiny_data.column_file(TRAIN, unlabelled.y),
        "letters.txt": tiny_data.column_file([[[x] for x in word] for word in letters.X], letters.y),
        "ragged.txt": tiny_data.column_file([[*TRAIN[0], ["one"]], *words], [[*TRAIN_LABELS[0], "O"], *TRAIN_LABELS]),
        "train.crfsuite": tiny_data.crfsuite_file(values),
        "new.crfsuite": tiny_data.crfsuite_file(new_values),
        "train.conllu": tiny_data.conllu_file(TRAIN, TRAIN_LABELS),
        "new.conllu": tiny_data.conllu_file(NEW, NEW_LABELS),
        "train.jsonl": tiny_data.json_file(TRAIN, TRAIN_LABELS),
        "new.jsonl": tiny_data.json_file(NEW, NEW_LABELS),
        "train.tokens": tiny_data.token_file(TRAIN, TRAIN_LABELS),
        "new.tokens": tiny_data.token_file(NEW),
        "documents.txt": tiny_data.document_file(TRAIN, TRAIN_LABELS),
        "new_documents.txt": tiny_data.document_file(NEW, NEW_LABELS),
        "template.txt": _TEMPLATE,
        "stars.txt": "*0:%x[0,0]\n*1:%x[-1,1]/%x[1,1]\nU2:%h[0,0,2]\nB3:%x[0,1]\n",
        "ngrams.txt": _TEMPLATE + "T\nT1:%x[0,1]\n",
        "words.txt": "U0:%x[0,0]\nB\n",
        "vectors.txt": tiny_data.vector_text(),
        "places.txt": "Oslo\tcity\nLima\tcity\nAccra\ttown\nthe old\tphrase\n",
        "clusters.txt": "0\tOslo\t5\n10\tcat\t3\n110\tAda\t2\n111\tAlan\t1\n",
    }
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")
    Path("latin.txt").write_bytes(train.encode("latin-1"))


@contextmanager
def _folder() -> Iterator[None]:
    """A new folder with the files is the current one."""
    before = os.getcwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            _write_files()
            yield
        finally:
            os.chdir(before)


def program(*arguments: str, stdin: bytes = b"") -> bytes:
    """`sparsecrf ARGUMENTS` in this process: its standard output. Raises if it fails."""
    from sparsecrf.__main__ import main

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    streams = sys.argv, sys.stdin, sys.stdout, sys.stderr
    out, err = io.BytesIO(), io.StringIO()
    sys.argv, sys.stdin = ["sparsecrf", *arguments], io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    sys.stdout, sys.stderr = io.TextIOWrapper(out, encoding="utf-8", write_through=True), err
    status: Any = 0
    try:
        main()
    except SystemExit as stopped:
        status = stopped.code or 0
    finally:
        written = out.getvalue()
        sys.argv, sys.stdin, sys.stdout, sys.stderr = streams
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if status:
        raise RuntimeError(f"sparsecrf {' '.join(arguments)}: exit status {status}: {err.getvalue()}")
    return written


def _train(options: list[str], solver: str, setting: Setting, max_iter: int, *more: str) -> bytes:
    """`sparsecrf train`, to model.safetensors."""
    # sgd has no l1 penalty.
    penalties = ["--rho1", "0" if solver == "sgd" else "0.3", "--rho2", "0.05"]
    limits = ["--tol", "1e-4", "--max-iter", str(max_iter), "--threads", str(setting.threads), "-q"]
    return program(
        *["train", *options, "-m", "model.safetensors", "--solver", solver],
        *[*penalties, *limits, *more],
    )


def _without_times(line: str) -> dict[str, Any]:
    """A JSON object without what differs between equal runs."""
    return {name: value for name, value in json.loads(line).items() if "time" not in name and name != "peak_rss_mb"}


def _file(name: str) -> tuple[bytes, bytes]:
    return stable_file(Path(name).read_bytes())


def _training(name: str, solver: str, setting: Setting) -> dict[str, Any]:
    """Three iterations, then two more from the checkpoint."""
    options = TRAINING[name][0]
    with _folder():
        kept = ["--checkpoint", "run.ckpt"]
        result = _train(options, solver, setting, 3, *kept, "--json", "--log", "log.jsonl").decode()
        found: dict[str, Any] = {
            "result": _without_times(result.splitlines()[-1]),
            "log": [_without_times(line) for line in Path("log.jsonl").read_text().splitlines()],
            "model": _file("model.safetensors"),
            "checkpoint": _file("run.ckpt"),
        }
        _train(options, solver, setting, 5, *kept, "--resume")
        return {**found, "resumed model": _file("model.safetensors"), "resumed checkpoint": _file("run.ckpt")}


def _encoding(name: str, setting: Setting) -> dict[str, Any]:
    with _folder():
        _train(ENCODING[name], "auto", setting, 1, "--cache", "cache", "--shard-tokens", "60")
        return internals.encoded_folder(Path("cache"))


def _labelling(name: str, setting: Setting) -> dict[str, Any]:
    options, file, manner = LABELLING[name]
    with _folder():
        _train(options, "auto", setting, 4)
        ask = ["label", "-m", "model.safetensors", *manner, "--threads", str(setting.threads), "-q"]
        found: dict[str, Any] = {}
        for output, wanted in OUTPUTS.items():
            if name not in _NOT_FOR.get(output, ()):
                program(*ask, *wanted, file, "-o", "labelled.txt")
                found[output] = Path("labelled.txt").read_bytes()
        if not file.endswith(".crfsuite"):
            piped = [*manner, "--format", file.rpartition(".")[2]] if file.endswith(("conllu", "jsonl")) else manner
            found["piped"] = program(*["label", "-m", "model.safetensors", *piped, "-q"], stdin=Path(file).read_bytes())
        found["eval"] = program("eval", file, "-m", "model.safetensors", *manner, "--json") if name != "tokens" else b""
        shown = program("show", "model.safetensors", "--format", "json")
        found["show"] = re.sub(rb'("version": ?")[^"]*', rb"\1", shown)  # same digests across releases
        return found


def _others(setting: Setting) -> dict[str, Any]:
    """Other commands that write models or data."""
    threads = ["--threads", str(setting.threads), "-q"]
    with _folder():
        options = ["-t", "template.txt", "--tol", "0.01"]
        program("path", "train.txt", *options, "-o", "path", "--n-rho", "3", "--rho-min-ratio", "0.1", *threads)
        found: dict[str, Any] = {"path": [_file(str(file)) for file in sorted(Path("path").glob("*.safetensors"))]}
        # Models that these tools can read: no start label, and either their boundary cells and macros or only
        # attributes.
        readable = {
            "wapiti": ["train.txt", "-t", "template.txt", "--no-start", "--recipe", "boundary=wapiti"],
            "crf++": ["train.txt", "-t", "words.txt", "--no-start"],
            "crfsuite-binary": ["train.crfsuite", "--no-start", "--observed-only"],
        }
        for kind, trained_with in readable.items():
            _train(trained_with, "auto", setting, 4)
            program("convert", "model.safetensors", "converted", "--from", "sparsecrf", "--to", kind)
            found[f"model for {kind}"] = Path("converted").read_bytes()
            # The same from a file of the other tool.
            binary = kind.removesuffix("-binary")
            program("convert", "converted", "back.safetensors", "--from", binary, "--to", "sparsecrf")
            found[f"model of {kind}"] = _file("back.safetensors")
        program("convert", "train.txt", "out.txt", "--from", "columns", "--to", "crfsuite", "-t", "template.txt")
        found["converted data"] = Path("out.txt").read_bytes()
        _train(["train.txt", "-t", "template.txt"], "auto", setting, 4)
        for weights in ("int16", "float32"):
            program("compact", "model.safetensors", "small.safetensors", "--weights", weights, "-q")
            found[f"compact, {weights}"] = _file("small.safetensors")
            found[f"labels, {weights}"] = program("label", "-m", "small.safetensors", "new.txt", *threads)
        _train(["train.txt", "--init", "small.safetensors"], "owlqn", setting, 2)
        found["init"] = _file("model.safetensors")
        program("data", "clusters", "train.txt", "--columns", "-n", "4", "-o", "made.txt", *threads)
        found["clusters"] = Path("made.txt").read_bytes()
        found["templates"] = [program("data", "template", name) for name in ("words", "tagging", "letters", "columns")]
        return found


def cases() -> list[Case]:
    named: list[tuple[str, Callable[[Setting], dict[str, Any]]]] = [
        (f"program/train/{name}/{solver}", partial(_training, name, solver))
        for name, (_, solvers) in TRAINING.items()
        for solver in solvers
    ]
    named += [(f"program/encode/{name}", partial(_encoding, name)) for name in ENCODING]
    named += [(f"program/label/{name}", partial(_labelling, name)) for name in LABELLING]
    named += [("program/others", _others)]
    return [Case(name, run, once=True) for name, run in named]
