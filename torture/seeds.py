"""Well-formed inputs of every target, the seeds of fuzzing: `python -m torture.seeds` writes them to tests/fuzz."""

from __future__ import annotations

import json
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sparsecrf import BIAS, CRF, Model, fit
from sparsecrf.contrib.convert.crfsuite import to_dump
from sparsecrf.contrib.convert.crfsuite_write import to_binary
from sparsecrf.encoding.presets import PRESETS, preset
from sparsecrf.encoding.vectors import WordVectors
from torture.inputs import keep
from torture.targets import MANIFEST, corpus_of_checkpoint, make_folder
from torture.text_targets import ENCODINGS, FUNCTIONS, RECORDS, TEMPLATE, models

COLUMNS = "Ada NNP B-PER\nsaw VBD O\n\nOslo\tNNP\tB-LOC\r\n1984 CD O\n \n日本 NNP B-LOC"
CRFSUITE = "X\tw=a\tb:-1.5\tc\\:d:2e3\n@weight:0.5\nO\n\nX\t\\\\\n"
LATIN = "Zoé NNP B-PER\nvit VBD O\n\nOslo NNP B-LOC\n"
_RAGGED = (b"Ada NNP B-PER\nsaw\tVBD O\n\nZ\xe9 NNP O\n", b"Ada NNP a b B-PER\nsaw VBD O\n\nOslo NNP x O\nin IN O\n")
_RECORDS = {
    "conllu": "# text = al mar\n1-2\tal\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\ta\tADP\ts\t_\t3\tcase\t_\t_\n"
    "2\tel\tel\tDET\td\tNumber=Sing|Gender=Masc\t3\tdet\t_\t_\n3\tmar\tmar\tNOUN\tn\t_\t0\troot\t_\tSpaceAfter=No\n\n",
    "jsonl": '{"tokens": ["Ada", "in", "Oslo"], "labels": ["B-PER", "O", "B-LOC"]}\n{"tokens": [], "labels": []}\n',
    "tokens": "Ada/B-PER in/O Oslo/B-LOC\n\nthe/O cat\\/dog/O\n",
}
WAPITI_DUMP = "u:the\t#\tDET\t1.5\nu:dog\t#\tNOUN\t2.0\nb\tDET\tNOUN\t0.5\n*:a\t#\tDET\t1\n"
CRFPP = (
    "version: 100\ncost-factor: 1\nmaxid: 6\nxsize: 1\n\nDET\nNOUN\n\nU0:%x[0,0]\nB\n\n4 U0:the\n0 B\n\n"
    "1.5\n-0.5\n0\n0.25\n3e-2\n-7\n"
)


def seeds() -> Iterator[tuple[str, str, bytes]]:
    """For each input: the target, the name of the file, and the content."""
    yield "columns", "columns", COLUMNS.encode()
    yield "columns", "byte_order_mark", b"\xef\xbb\xbf" + COLUMNS.encode()
    yield "crfsuite", "crfsuite", CRFSUITE.encode()
    yield "template", "crfpp", TEMPLATE.encode()
    yield "template", "wapiti", b'# words\nu1:%x[-1,0]/%X[@1,1] # here\nb:%t[ 0 , 1 ,"\\"^\\u\\u*$"]\n*\n'
    yield "template", "functions", FUNCTIONS.encode()
    for name in PRESETS:
        yield "template", f"preset_{name}", preset(name, 2).encode()
    for bits in range(16):
        yield "column_options", f"bits_{bits}", bytes([bits]) + _RAGGED[bits >> 1 & 1]
    for k, name in enumerate(ENCODINGS):
        text = LATIN if name in ("latin-1", "cp1252") else COLUMNS
        yield "encodings", name, bytes([k]) + text.encode("utf-8" if name == "bytes" else name, "replace")
    for k, name in enumerate(RECORDS):
        yield "records", name, bytes([k]) + _RECORDS[name].encode()
    yield "regex", "classes", "^\\u\\a*.?é\\.\\D$\nZürich.é.x".encode()
    yield "regex", "stars", b"a*a*a*a*b\n" + b"a" * 200
    yield "label", "labelled", COLUMNS.encode()
    yield "label", "plain", b"Ada NNP\nsaw VBD\n\nOslo NNP\n"
    yield "evaluate", "labelled", b"a B-X B-X\nb I-X O\n\nc O B-Y\nd S-Z E-Z\n"
    of_columns, of_attributes, of_triples = models()
    for target in ("model", "model_content"):
        yield target, "compact", of_columns.to_bytes(compact=True)
        yield target, "compact_float32", of_attributes.to_bytes(compact="float32")
        yield target, "template", of_columns.to_bytes()
        yield target, "attributes", of_attributes.to_bytes()
        yield target, "triples", of_triples.to_bytes()
        yield target, "vectors", _with_vectors().to_bytes()
        yield target, "pairs", Model.from_weights(["a", "é"], {}, {(BIAS, None, "a"): 1.0}, start=False).to_bytes()
    for solver in ("auto", "sbcd", "sgd-l1"):
        yield "checkpoint", solver, _checkpoint(solver)
    yield "vectors", "glove", b"Ada 1 -0.5\nsaw .5 2e-1\n. . . 3 4\n"
    yield "vectors", "word2vec", b"2 3\nAda 1 2 3 \nsaw\t4 5 6\r\n"
    yield "vectors", "promises", b"99999999999 99999999999\nAda 1\n"
    yield "vectors", "promises_only", b"1 99999999999\n"
    yield "corpus_file", "corpus", _corpus_file()
    yield "manifest", "manifest", _manifest()
    yield "crfsuite_model", "binary", _crfsuite_binary(["X", "Y"], ["w=a", "é"], [(0, 0, 1, 0.5), (1, 0, 1, -2.0)])
    yield "crfsuite_model", "written", to_binary(_plain())
    yield "crfsuite_model", "dump", _crfsuite_dump()
    yield "wapiti_model", "model", _wapiti_model()
    yield "wapiti_model", "bytes", _wapiti_model("d\xe9", "latin-1", "1.5e+00")
    yield "wapiti_model", "dump", WAPITI_DUMP.encode()
    yield "crfpp_model", "model", CRFPP.encode()


def _with_vectors() -> Model:
    vectors = WordVectors(["a", "é"], [[1.0, 2.0], [2.0, 1.0]], window=1)
    return CRF(vectors=vectors, max_iter=2).fit([["a", "é"]], [["X", "Y"]]).model_


def _checkpoint(solver: str) -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "run")
        fit(corpus_of_checkpoint(), rho1=0.1, rho2=0.01, solver=solver, max_iter=7, checkpoint=path, threads=1, tol=0.0)
        return path.read_bytes()


def _corpus_file() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "shard")
        corpus_of_checkpoint().save(path)
        return path.read_bytes()


def _manifest() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory, "cache")
        make_folder(folder)
        entries = json.loads((folder / MANIFEST).read_bytes())
        del entries["digest"]
        return json.dumps(entries).encode()


def _crfsuite_binary(labels: list[str], attributes: list[str], features: list[tuple[int, int, int, float]]) -> bytes:
    """The layout that sparsecrf/contrib/convert/crfsuite.py describes, without the tables that only CRFsuite needs."""
    parts = [b"FEAT" + struct.pack("<II", 12 + 20 * len(features), len(features))]
    parts[0] += b"".join(struct.pack("<IIId", *feature) for feature in features)
    for names in (labels, attributes):
        records, offsets = b"", []
        for k, name in enumerate(names):
            offsets.append(24 + len(records))
            raw = name.encode() + b"\0"
            records += struct.pack("<II", k, len(raw)) + raw
        table = struct.pack(f"<{len(names)}I", *offsets)
        size, links = 24 + len(records) + len(table), 24 + len(records)
        parts.append(b"CQDB" + struct.pack("<5I", size, 0, 0x62445371, len(names), links) + records + table)
    begins = [48]
    for part in parts:
        begins.append(begins[-1] + len(part))
    counts = (len(features), len(labels), len(attributes))
    return struct.pack("<4sI4s9I", b"lCRF", begins[3], b"FOMC", 100, *counts, *begins[:3], 0, 0) + b"".join(parts)


def _plain() -> Model:
    pairs = {(BIAS, "X", "a --> b"): 0.5}
    return Model.from_weights(["X", "a --> b"], {("w", "X"): 1.0, ("é", "a --> b"): 0.5}, pairs, start=False)


def _crfsuite_dump() -> bytes:
    return to_dump(_plain()).encode()


def _wapiti_model(noun: str = "NOUN", encoding: str = "utf-8", weight: str = "0x1.8p+0") -> bytes:
    def strings(*names: str) -> str:
        return "".join(f"{len(name.encode(encoding))}:{name},\n" for name in names)

    head = "#mdl#2#3\n#rdr#2/1/0\n" + strings("u:%x[0,0]", "b") + "#qrk#2\n" + strings("DET", noun)
    return (head + "#qrk#2\n" + strings("u:the", "b") + f"0={weight}\n3=-0x1p-1\n5=0x0p+0\n").encode(encoding)


if __name__ == "__main__":
    for target, name, content in seeds():
        keep(target, {name: content})
