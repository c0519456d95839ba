"""Projects that run Wapiti or CRF++: converts their models and trains on their data, and compares with these programs.

`wapiti`, `crf_learn` and `crf_test` must be on the path.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import Finished, run

from sparsecrf import Model
from sparsecrf.files.charset import Charset, decoded
from sparsecrf.files.columns import read_columns
from sparsecrf.metrics import Evaluation


@dataclass(frozen=True)
class Converted:
    """A model of another tool, and data that both tools label."""

    name: str
    model: str
    data: Callable[[Path, Path], Path]  #: (project, temporary folder) to a column file
    tool: str  #: wapiti or crf++
    options: tuple[str, ...] = ()  #: options of `sparsecrf label`
    encoding: str = "utf-8"


@dataclass(frozen=True)
class Trained:
    """Data that both tools train on, with an L2 penalty of 1 / `c`."""

    name: str
    train: str
    test: str  #: "": every fifth sequence of the training data
    template: str
    c: float
    encoding: str = "utf-8"


def _file(name: str) -> Callable[[Path, Path], Path]:
    return lambda project, _: project / name


def _raw_of(folder: str, n: int = 60) -> Callable[[Path, Path], Path]:
    """The first raw training files of GROBID, one after the other."""

    def joined(project: Path, out: Path) -> Path:
        files = sorted((project / "grobid-trainer/resources/dataset" / folder).iterdir())[:n]
        made = out / "data.txt"
        made.write_bytes(b"\n\n".join(file.read_bytes().rstrip(b"\n") for file in files) + b"\n")
        return made

    return joined


def _references(project: Path, out: Path) -> Path:
    """Words of AnyStyle's references. Its Ruby code makes the other columns; here they are random values that the model
    knows."""
    run_or_stop(["sparsecrf", "convert", project / _ANYSTYLE, out / "a.model", "--from", "wapiti", "--to", "sparsecrf"])
    model = Model.load(out / "a.model")
    assert model.template is not None
    names = [model.vocabulary.attributes[x] for x in range(len(model.vocabulary.attributes))]
    columns: dict[int, list[str]] = {}
    for line in model.template.text.splitlines():
        if found := re.fullmatch(r"([uU*][^%]*)%[xX]\[ *0 *, *(\d+) *\]", line.strip()):
            values = [name[len(found[1]) :] for name in names if name[: len(found[1])].lower() == found[1].lower()]
            columns.setdefault(int(found[2]), []).extend(
                v for v in values if v and not v.startswith("_x") and " " not in v
            )
    rng, width = random.Random(0), model.template.n_columns
    text = re.sub(
        r"<[^>]+>", " ", (project / "res/parser/core.xml").read_text(encoding="utf-8").replace("</sequence>", "\n\n")
    )
    lines = []
    for sequence in text.split("\n\n")[:400]:
        others = range(1, width)
        lines += [" ".join([w, *(rng.choice(columns.get(c) or ["0"]) for c in others)]) for w in sequence.split()]
        lines.append("")
    made = out / "references.txt"
    made.write_text("\n".join(lines), encoding="utf-8")
    return made


_ANYSTYLE = "lib/anystyle/support/parser.mod"
_GROBID = "grobid-home/models"
_PARSCIT = "crfpp/traindata"
CONVERTED = {
    "grobid": [
        Converted("figure", f"{_GROBID}/figure/model.wapiti", _raw_of("figure/corpus/raw"), "wapiti"),
        Converted("table", f"{_GROBID}/table/model.wapiti", _raw_of("table/corpus/raw"), "wapiti", ("--ragged",)),
        Converted(
            "header of IETF documents",
            f"{_GROBID}/header/sdo/ietf/model.wapiti",
            _raw_of("header/sdo/ietf/corpus/raw"),
            "wapiti",
        ),
    ],
    "anystyle": [Converted("parser", _ANYSTYLE, _references, "wapiti")],
    "ParsCit": [
        Converted(
            "citations",
            "share/resources/parsCit.matteo.model",
            _file(f"{_PARSCIT}/parsCit.train.data"),
            "crf++",
            encoding="bytes",
        ),
        Converted(
            "sections",
            "share/resources/sectLabel/genericSect.model",
            _file(f"{_PARSCIT}/genericSect.train.data"),
            "crf++",
        ),
        Converted(
            "splitting",
            "share/resources/parsCit.split.model",
            _file(f"{_PARSCIT}/parsCit/parsCit.split.train.data"),
            "crf++",
        ),
    ],
}
TRAINED = {
    "crfpp": [
        Trained(
            f"example/{name}",
            f"example/{name}/train.data",
            f"example/{name}/test.data",
            f"example/{name}/template",
            c,
            encoding,
        )
        for name, c, encoding in (
            ("basenp", 4.0, "utf-8"),
            ("chunking", 4.0, "utf-8"),
            ("JapaneseNE", 4.0, "bytes"),
            ("seg", 10.0, "bytes"),
        )
    ],
    "ParsCit": [
        Trained("citations", f"{_PARSCIT}/parsCit.train.data", "", f"{_PARSCIT}/parsCit.template", 1.0, "bytes")
    ],
}


def run_or_stop(command: list[object], limit_s: float = 3600) -> Finished:
    done = run(command, limit_s)
    if done.status != 0:
        raise SystemExit(f"{done.command}: expected status 0, found {done.status}: {done.text[-1000:]}")
    return done


def converted(task: Converted, project: Path, out: Path) -> tuple[int, int]:
    """Numbers of tokens, and of labels that differ from those of the tool itself."""
    data = task.data(project, out)
    ours, theirs, model = out / "ours.txt", out / "theirs.txt", out / "model"
    charset = ["--encoding", task.encoding] if task.encoding != "utf-8" else []
    run_or_stop(
        ["sparsecrf", "convert", project / task.model, model, "--from", task.tool, "--to", "sparsecrf", *charset]
    )
    run_or_stop(["sparsecrf", "label", "-m", model, data, "-o", ours, *task.options, *charset])
    if task.tool == "wapiti":
        run_or_stop(["wapiti", "label", "-m", project / task.model, data, theirs])
    else:
        run_or_stop(["crf_test", "-m", project / task.model, "-o", theirs, data])
    return differing(ours, theirs)


def differing(one: Path, other: Path) -> tuple[int, int]:
    """The number of labels, and how many differ between two files."""
    pairs = list(zip(_last_columns(one), _last_columns(other), strict=True))
    return len(pairs), sum(a != b for a, b in pairs)


def _last_columns(file: Path) -> Iterator[bytes]:
    for line in file.read_bytes().split(b"\n"):
        if cells := line.split():
            yield cells[-1]


@dataclass(frozen=True)
class Measured:
    """A training run of one tool."""

    cpu_s: float
    peak_mb: float
    model_bytes: int
    accuracy: float  #: percent of held-out tokens


def trained(task: Trained, project: Path, out: Path) -> tuple[Measured, Measured, int, int]:
    """The run of the other tool, our run, and the numbers of tokens and of differing labels when their model is used
    here."""
    train, test = _split(project / task.train, project / task.test if task.test else None, out)
    template, charset = project / task.template, ["--encoding", task.encoding] if task.encoding != "utf-8" else []
    learn = ["crf_learn", "-c", task.c, template, train, out / "crfpp"]
    done = run_or_stop(learn)
    run_or_stop(["crf_test", "-m", out / "crfpp", "-o", out / "theirs.txt", test])
    theirs = Measured(
        done.cpu_s, done.peak_mb, (out / "crfpp").stat().st_size, _accuracy(out / "theirs.txt", task.encoding)
    )
    penalty: list[object] = ["--rho1", 0, "--rho2", 1 / task.c, "--no-start", "--threads", 1, "--quiet"]
    done = run_or_stop(["sparsecrf", "train", train, "-t", template, "-m", out / "ours", *penalty, *charset])
    run_or_stop(["sparsecrf", "label", "-m", out / "ours", test, "-o", out / "ours.txt", *charset])
    ours = Measured(done.cpu_s, done.peak_mb, (out / "ours").stat().st_size, _accuracy(out / "ours.txt", task.encoding))
    run_or_stop(
        ["sparsecrf", "convert", out / "crfpp", out / "moved", "--from", "crf++", "--to", "sparsecrf", *charset]
    )
    run_or_stop(["sparsecrf", "label", "-m", out / "moved", test, "-o", out / "moved.txt", *charset])
    return theirs, ours, *differing(out / "moved.txt", out / "theirs.txt")


def _split(train: Path, test: Path | None, out: Path) -> tuple[Path, Path]:
    if test is not None:
        return train, test
    sequences = re.split(rb"\n\s*\n", train.read_bytes().strip(b"\n"))
    files = out / "train.txt", out / "test.txt"
    for file, held_out in zip(files, (False, True), strict=True):
        kept = [sequence for k, sequence in enumerate(sequences) if (k % 5 == 0) == held_out]
        file.write_bytes(b"\n\n".join(kept) + b"\n")
    return files


def _accuracy(file: Path, encoding: str) -> float:
    evaluation = Evaluation("none")
    with decoded(str(file), Charset(encoding)) as source:
        for rows in read_columns(source):
            evaluation.add([row[-2] for row in rows], [row[-1] for row in rows])
    return 100 - evaluation.token_error
