"""Files of documents: how they are read and cut, and what models make of them."""

import io
import os
import random
from threading import Thread

import pytest
from plain_mentions import WORDS, plain_mentions

from sparsecrf import CRF, InputError, Model, Template, encode_folder, read_documents, with_mentions
from sparsecrf.encoding.formats import documents, format_named
from sparsecrf.encoding.formats.documents import _MOST
from sparsecrf.encoding.formats.records import Answer
from sparsecrf.files.text import Piece

DOCUMENTS = format_named("documents")
NONE = ["_none"] * 7


def file_of(documents):
    """Words of documents as a file; a word is its own label."""
    return "".join(
        "".join(f"{word} {word}\n" for word in words) + "\n" for document in documents for words in document
    ).encode()


def of_file(data, size=1 << 17):
    pieces = list(DOCUMENTS.pieces(io.BytesIO(data), size))
    assert b"".join(piece.data for piece in pieces) == data
    return [record.rows for piece in pieces for record in DOCUMENTS.records(piece, "file", True)]


def random_documents(rng, n):
    def sentences():
        return [rng.choices(WORDS, k=rng.randint(1, 5)) for _ in range(rng.randint(1, 8))]

    # The mark may be a sequence of its own, or the first token of one.
    marked = [[["-DOCSTART-"], *sentences()] if rng.random() < 0.7 else sentences() for _ in range(n)]
    for document in marked:
        if document[0] != ["-DOCSTART-"]:
            document[0].insert(0, "-DOCSTART-")
    return marked


@pytest.mark.parametrize("seed", range(10))
def test_rows_do_not_depend_on_pieces(seed):
    rng = random.Random(seed)
    documents = random_documents(rng, 12)
    alone = [[rng.choices(WORDS, k=3)] for _ in range(rng.randint(0, 4))]  # before the first document: in none
    data = file_of(alone + documents)
    expected = [[[word, *NONE] for word in words] for document in alone for words in document]
    expected += [rows for document in documents for rows in plain_mentions(document)]
    for size in (1, 7, 100, 1000, 1 << 17):
        assert of_file(data, size) == expected


def test_marks_after_blanks():
    documents = random_documents(random.Random(3), 8)
    data = file_of(documents)
    for size in (1, 50, 1 << 17):
        assert of_file(data.replace(b"-DOCSTART-", b" \t-DOCSTART-"), size) == of_file(data)


@pytest.mark.slow
def test_a_pipe_is_cut_in_time(monkeypatch):
    """What came before is not looked at again with every block: sequences are counted a few times only."""
    data = file_of([[["-DOCSTART-"], *[["Ann", "ran", "home"]] * (_MOST - 10)]] * 3)
    counted, blocks = [], []
    count = documents._n_sequences
    monkeypatch.setattr(documents, "_n_sequences", lambda piece: counted.append(len(piece)) or count(piece))

    class Pipe(io.BytesIO):
        def read1(self, size):
            blocks.append(size)
            return super().read1(min(size, 20))

    rows = [r.rows for piece in DOCUMENTS.pieces(Pipe(data), 100) for r in DOCUMENTS.records(piece, "file", True)]
    assert rows == of_file(data)
    assert len(blocks) > 1000
    assert len(counted) < 20


def test_columns_between():
    """Columns between the word and the label follow those of mentions, and must be as many in every line."""
    data = b"-DOCSTART- X O\n\nAnn N P\nran V O\n\nAnn N P\n\n"
    rows = of_file(data)
    assert rows[2] == [["Ann", "n", "_B-1", "Ann", "ran", "_none", "_none", "_none", "N"]]
    with pytest.raises(InputError, match=r"file, line 8: expected 3 columns.*line 1.*found 2: 'Ann N'"):
        of_file(data + b"Ann N\n")
    with pytest.raises(InputError, match="file, line 3: expected text, found a NUL byte"):
        of_file(b"-DOCSTART- O\n\na\0b O\n")


def test_what_is_no_mark():
    """In the middle of a sequence, or within a word."""
    data = b"-DOCSTART- O\n\nAnn O\n-DOCSTART- O\nAnn O\n\n-DOCSTART-ed O\nann O\n\n \nx-DOCSTART- O\n\n"
    for size in (1, 10, 1000):
        rows = of_file(data, size)
        assert [row[0][1] for row in rows] == ["U", "xC", "_none", "_none"]


def test_long_documents_end():
    """A file with one mark is not kept in memory as a whole: what is far from the mark belongs to no document."""
    documents = [[["-DOCSTART-"], *[["Ann", "ran"]] * (3 * _MOST)], [["-DOCSTART-"], ["Ann"], ["Ann"]]]
    data = file_of(documents)
    rows = of_file(data)
    for size in (100, 5000, 1 << 20):
        assert of_file(data, size) == rows
    assert len(list(DOCUMENTS.pieces(io.BytesIO(data), 100))) > 100
    has = [row[-1][1] != "_none" for row in rows]
    assert has == [False] + [True] * (_MOST - 1) + [False] * (2 * _MOST + 1) + [False, True, True]


def test_ends_of_lines_and_byte_order_marks():
    data = file_of([[["-DOCSTART-"], ["Ann", "ran"], ["Ann"]]])
    expected = of_file(data)
    assert of_file(b"\xef\xbb\xbf" + data)[0][0][0] == "-DOCSTART-"
    assert of_file(b"\xef\xbb\xbf" + data)[1:] == expected[1:]
    assert of_file(data.replace(b"\n", b"\r\n"), 5) == expected
    assert of_file(data.replace(b"\n\n", b"\n \t\n\n"), 5) == expected
    spaced = of_file("-DOCSTART- O\n\n20\u00a0000 O\n\n".encode())
    assert spaced[1][0][0] == "20\u00a0000"


def training_file(rng, n):
    """Names are persons or places, which only the word before their first mention says."""
    lines = []
    for _ in range(n):
        lines += ["-DOCSTART- O", ""]
        names = rng.sample([f"{a}{b}" for a in "BDFGHKLM" for b in ("al", "en", "ir", "os", "um")], 4)
        kinds = [rng.choice(["PER", "LOC"]) for _ in names]
        for name, kind in zip(names, kinds, strict=True):
            lines += [f"{'Mr' if kind == 'PER' else 'near'} O", f"{name} B-{kind}", "rose O", ""]
        for name, kind in rng.sample(list(zip(names, kinds, strict=True)), 4):
            lines += ["then O", f"{name} B-{kind}", "fell O", ""]
    return "\n".join(lines) + "\n"


@pytest.fixture
def run(program):
    rng = random.Random(0)
    program.write(train_txt=training_file(rng, 40), test_txt=training_file(rng, 20))
    return program


@pytest.mark.parametrize(("format", "title"), [("text", "plain-text"), ("tokens", "token-line")])
def test_single_sentences_need_another_model(run, format, title):
    """The error used to be about 8 columns, of which the user had written only two."""
    assert run("train", "train.txt", "--features", "documents", "-m", "model", "--max-iter", "1", "-q").status == 0
    done = run("label", "-m", "model", "--format", format, stdin=b"Ada saw Oslo.\n")
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        f"sparsecrf: --format: expected column files, because the model labels whole documents, found {title} files; "
        "for single sentences, train with --features words\n"
    )


def f1(done):
    assert done.status == 0, done.err
    return float(done.out.split("all")[-1].split()[4])


@pytest.mark.slow
def test_what_documents_are_worth(run):
    """From a file to a model and its score: other mentions say what a sentence alone does not."""
    options = ["--rho1", "0.1", "--rho2", "0.09"]  # not the defaults: otherwise the hint would mention them first
    plain = run("train", "train.txt", "--features", "words", "-m", "plain", "--dev", "train.txt", *options)
    assert "next: --features documents, since train.txt contains documents (-DOCSTART-)" in plain.err
    done = run("train", "train.txt", "--features", "documents", "-m", "m", "--dev", "test.txt", *options)
    assert done.status == 0, done.err
    assert "has documents" not in done.err
    alone, together = (f1(run("eval", "test.txt", "-m", model)) for model in ("plain", "m"))
    assert alone < 90 < 99 < together
    unmarked = (run.directory / "test.txt").read_text().replace("-DOCSTART- O\n\n", "")
    run.write(unmarked_txt=unmarked)
    done = run("eval", "unmarked.txt", "-m", "m")
    assert f1(done) < 90
    assert "unmarked.txt: expected documents that begin with -DOCSTART-, as in training, found none" in done.err


@pytest.mark.slow
def test_labelled_files(run):
    run("train", "train.txt", "--format", "documents", "-m", "m", "--rho1", "0.1", "-q")
    text = (run.directory / "test.txt").read_text()
    done = run("label", "-m", "m", "test.txt")
    assert done.status == 0, done.err
    assert done.err == ""
    rows = [line.split(" ") for line in done.out.split("\n")]
    assert "\n".join(" ".join(row[:-1]) for row in rows) == text.rstrip("\n") + "\n\n"
    # Words alone get the same labels; columns are separated as in the file.
    words = "\n".join(line.split(" ")[0] for line in text.split("\n"))
    found = run("label", "-m", "m", "--marginals", "-", stdin=words.encode())
    assert [line.split(" ")[1:2] for line in found.out.split("\n")] == [row[2:] for row in rows]
    tabs = run("label", "-m", "m", "--threads", "2", stdin=words.replace("\n", "\tx\n").replace("\n\tx", "\n").encode())
    assert tabs.out.split("\n")[0] == "-DOCSTART-\tx\tO"
    alone = run("label", "-m", "m", stdin=b"Mr\nBal\n")
    assert "standard input: expected documents that begin with -DOCSTART-" in alone.err
    assert run("label", "-m", "m", stdin=b"\n-DOCSTART-\n\nMr\nBal\n").err == ""
    missing = run("eval", "-", "-m", "m", stdin=text.replace("-DOCSTART- O\n\n", "").encode())
    assert "standard input: expected documents that begin with -DOCSTART-" in missing.err


@pytest.mark.slow
def test_wrong_numbers_of_columns(run):
    run("train", "train.txt", "--format", "documents", "-m", "m", "--rho1", "0.1", "-q")
    labelled = run("label", "-m", "m", "test.txt").out
    done = run("eval", "-", "-m", "m", stdin=labelled.encode())  # its last column is not gold
    assert "expected 1 column as in training and then the label, found 3 columns" in done.err
    done = run("label", "-m", "m", stdin=b"Mr Bal rose today\n")
    assert "line 1: expected 1 column as in training, or one more with the label, found 4 columns" in done.err


@pytest.mark.slow
def test_one_wrong_sequence(run):
    """It is left out; other documents keep their mentions."""
    run("train", "train.txt", "--features", "documents", "-m", "m", "--rho1", "0.1", "--rho2", "0.1", "-q")
    good, begin = (run.directory / "test.txt").read_bytes(), b"-DOCSTART- O\n\nxx\xff O\n\nMr O\nBal B-PER\n\n"
    expected = run("label", "-m", "m", stdin=good).out
    for choice, bad in (("skip", ""), ("replace", "xx\ufffd O O\n")):
        done = run("label", "-m", "m", "--on-error", choice, stdin=begin + good)
        assert done.out.startswith(f"-DOCSTART- O O\n\n{bad}\nMr O O\nBal B-PER B-PER\n\n")
        assert done.out.endswith(expected)
        assert "line 3, byte 3: expected text in UTF-8" in done.err


@pytest.mark.slow
def test_through_a_pipe(run):
    """Byte by byte: the same answers as for a file."""
    run("train", "train.txt", "--features", "documents", "-m", "m", "--rho1", "0.1", "-q")
    expected = run("label", "-m", "m", "test.txt").out
    reading, writing = os.pipe()
    text = (run.directory / "test.txt").read_bytes()

    def feed():
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            for byte in text[: text.index(b"\n\n", 2000) + 2]:
                pipe.write(bytes([byte]))

    Thread(target=feed).start()
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        records = [r for piece in DOCUMENTS.pieces(pipe) for r in DOCUMENTS.records(piece, "pipe", True)]
    model = Model.load("m")
    marks = [k for k, r in enumerate(records) if r.rows[0][0] == "-DOCSTART-"]  # the last document is not whole
    found = "".join(r.filled(Answer(model.label(r.rows))) for r in records[: marks[-1]])
    assert expected.startswith(found)
    assert len(found) > 1000


@pytest.mark.slow
def test_python(run):
    X, y = zip(*read_documents("train.txt"), strict=True)
    crf = CRF(features="documents", rho1=0.1, rho2=0.1).fit(X, y)
    sentences = [["Mr", "Fum", "rose"], ["then", "Fum", "fell"]]
    rows = with_mentions([["-DOCSTART-"], *sentences])[1:]
    assert crf.predict(rows).tolist() == [["O", "B-PER", "O"]] * 2
    run("train", "train.txt", "--features", "documents", "-m", "m", "--rho1", "0.1", "--rho2", "0.1", "-q")
    assert Model.load("m").label(rows[1]) == ["O", "B-PER", "O"]
    with pytest.raises(InputError, match=r"expected 8 columns .* .features 'documents' for rows of with_mentions"):
        CRF(features="documents").fit(sentences, [["O", "B-PER", "O"]] * 2)
    crf.model_.save("own")
    assert run("label", "-m", "own", "test.txt").out == run("label", "-m", "m", "test.txt").out
    again = run("train", "test.txt", "--init", "m", "-m", "again", "--rho1", "0.1")
    assert again.status == 0, again.err
    assert Model.load("again").training["format"] == "documents"
    run.write(a_jsonl="{}")
    done = run("train", "a.jsonl", "--features", "documents", "-m", "x")
    assert "--features documents: expected files with --format documents, found JSON-lines files" in done.err


def test_shards(run):
    """A shard ends where a document does: the attributes are those of all documents at once."""
    template, found = Template.preset("documents"), []
    for tokens in (20, 10**6):
        folder = encode_folder(f"of{tokens}", ["train.txt"], template, format="documents", shard_tokens=tokens)
        names = folder.vocabulary.attributes
        found.append((len(folder.shards) > 1, folder.n_tokens, [names[k] for k in range(len(names))]))
    (several, *small), (one, *large) = found
    assert (several, one) == (True, False)
    assert small == large


def test_parts_for_a_cluster(tmp_path):
    """Large files are cut where documents begin, as far as these are not too long."""
    rng = random.Random(1)
    documents = [[["-DOCSTART-"], *[rng.choices(WORDS, k=6) for _ in range(rng.randint(1, 300))]] for _ in range(60)]
    data = file_of(documents)
    (tmp_path / "all.txt").write_bytes(data)
    parts_of = pytest.importorskip(
        "sparsecrf.contrib.dask.partitions", reason="clusters need the extra `dask`"
    ).parts_of
    for size in (1000, 20_000, len(data) // 2):
        ends = [part.end for part in parts_of(str(tmp_path / "all.txt"), DOCUMENTS, size)][:-1]
        assert ends
        assert all(data[end:].startswith(b"-DOCSTART- ") for end in ends)


@pytest.mark.slow
def test_conversion(run):
    done = run("convert", "train.txt", "columns.txt", "--from", "documents", "--to", "columns")
    assert done.status == 0, done.err
    lines = (run.directory / "columns.txt").read_text().split("\n")
    assert lines[0] == "-DOCSTART- " + " ".join(NONE) + " O"
    assert all(len(line.split()) in (0, 9) for line in lines)
    columns = ["--features", "documents", "--format", "columns", "--rho1", "0.1", "-q"]
    assert run("train", "columns.txt", "-m", "a", *columns).status == 0
    assert run("train", "train.txt", "-m", "b", "--features", "documents", "--rho1", "0.1", "-q").status == 0
    assert Model.load("a").w.tolist() == Model.load("b").w.tolist()
    run("convert", "train.txt", "tokens.txt", "--from", "columns", "--to", "tokens")
    run("convert", "tokens.txt", "again.txt", "--from", "tokens", "--to", "documents")
    assert (run.directory / "again.txt").read_text().rstrip() == (run.directory / "train.txt").read_text().rstrip()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"-DOCSTART-\n\nAnn\n\n", "bad.txt, line 1: expected a word first and its label last, found '-DOCSTART-'"),
        (b"-DOCSTART- O\n\nAnn\n\n", "bad.txt, line 3: expected 2 columns as in line 1, found 1: 'Ann'"),
        (b"-DOCSTART- O\n\nAnn \xff O\n\n", "bad.txt, line 3, byte 5: expected text in UTF-8, found byte 0xFF"),
        (b"\n\n", "bad.txt: expected at least one sequence, found none"),
    ],
)
def test_errors(run, data, message):
    run.write(bad_txt=data)
    done = run("train", "bad.txt", "--features", "documents", "-m", "m")
    assert done.status != 0
    assert message in " ".join(done.err.split())
    assert "m" not in run.files()


def test_texts_of_other_formats():
    assert DOCUMENTS.text([["Ann"], ["20\u00a0000"]], ["N", "V"]) == "Ann N\n20\u00a0000 V\n\n"
    assert DOCUMENTS.text([["Ann", "x"]], ["N"]) == "Ann x N\n\n"
    for rows, labels in [([["a b"]], ["N"]), ([["a", ""]], ["N"]), ([["a"]], ["N V"])]:
        with pytest.raises(InputError, match="expected text without whitespace, found"):
            DOCUMENTS.text(rows, labels)
    assert DOCUMENTS.width(Piece(b"-DOCSTART- O\n\n", 1), "f") == 10  # of a token without a label, and one
