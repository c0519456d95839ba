"""Files of documents: where else in its document a word stands, and what models make of it."""

import io
import random

import pytest

from program import Program
from sparsecrf import CRF, InputError, Model, Template, encode_folder, read_documents, with_mentions
from sparsecrf.encoding.formats import format_named
from sparsecrf.encoding.formats.documents import _MOST
from sparsecrf.files.text import Piece

DOCUMENTS = format_named("documents")
NONE = ["_none"] * 7


def plain_mentions(document):
    """Every other place of every word, looked for one by one."""
    places = [(i, t) for i, words in enumerate(document) for t in range(len(words))]

    def word(i, t):
        return "_B-1" if t < 0 else "_B+1" if t == len(document[i]) else document[i][t]

    def ways(i, t):
        found = word(i, t)
        if found == found.lower() != found.upper():
            return "x"
        if found == found.upper() != found.lower() and len(found) > 1:
            return "U"
        return "C" if t > 0 and found[0] == found[0].upper() != found[0].lower() and found[1:].islower() else ""

    made = [[] for _ in document]
    for i, t in places:
        others = [p for p in places if p != (i, t) and word(*p).lower() == word(i, t).lower()]
        written = {way for p in others for way in ways(*p)}
        row = [word(i, t), "".join(way for way in "xCU" if way in written) or "n"] if others else [word(i, t), "_none"]
        for k in range(2):
            row += [word(others[k][0], others[k][1] + d) for d in (-1, 0, 1)] if k < len(others) else ["_none"] * 3
        made[i].append(row)
    return made


WORDS = [
    "ann",
    "Ann",
    "ANN",
    "of",
    "Of",
    "I",
    "i",
    "I.",
    "U.S.",
    "7",
    "-",
    "McAdam",
    "mcadam",
    "élan",
    "Élan",
    "東京",
    "ß",
    "ǅ",
]


@pytest.mark.parametrize("seed", range(30))
def test_mentions(seed):
    rng = random.Random(seed)
    vocabulary = rng.sample(WORDS, rng.randint(2, len(WORDS)))
    document = [rng.choices(vocabulary, k=rng.randint(0, 6)) for _ in range(rng.randint(1, 6))]
    assert with_mentions(document) == plain_mentions(document)


def test_columns_of_rows_stay():
    rows = with_mentions([[("Ann", "NNP"), ("ran", "VBD")], [("Ann", "NNP")]])
    assert rows[1] == [["Ann", "n", "_B-1", "Ann", "ran", "_none", "_none", "_none", "NNP"]]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (["Ann", "ran"], "sequence 0: expected a list of tokens, found 'Ann'"),
        ([["Ann"], 7], "sequence 1: expected a list of tokens, found 7"),
        ([["Ann", []]], "sequence 0, position 1: expected a word, or a row that begins with it, found \\[\\]"),
        ([[(1, "x")]], "sequence 0, position 0: expected a word, or a row that begins with it, found \\(1, 'x'\\)"),
    ],
)
def test_what_is_no_document(document, message):
    with pytest.raises(InputError, match=message):
        with_mentions(document)


def file_of(documents):
    """Words of documents as a file; a word is its own label."""
    return "".join(
        "".join(f"{word} x {word}\n" for word in words) + "\n" for document in documents for words in document
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
def run(tmp_path, monkeypatch, capsys):
    rng = random.Random(0)
    program = Program(tmp_path, monkeypatch, capsys)
    program.write(train_txt=training_file(rng, 40), test_txt=training_file(rng, 20))
    return program


def f1(done):
    assert done.status == 0, done.err
    return float(done.out.split("all")[-1].split()[4])


def test_what_documents_are_worth(run):
    """From a file to a model and its score: other mentions say what a sentence alone does not."""
    options = ["--rho1", "0.1", "--rho2", "0.1"]
    plain = run("train", "train.txt", "--features", "words", "-m", "plain", *options)
    assert "train.txt has documents (-DOCSTART-): --features documents" in plain.err
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


def test_labelled_files(run):
    run("train", "train.txt", "--format", "documents", "-m", "m", "--rho1", "0.1", "-q")
    text = (run.directory / "test.txt").read_text()
    done = run("label", "-m", "m", "test.txt")
    assert done.status == 0, done.err
    assert done.err == ""
    rows = [line.split(" ") for line in done.out.split("\n")]
    assert "\n".join(" ".join(row[:-1]) for row in rows) == text.rstrip("\n") + "\n\n"
    # Words alone get the same labels; columns are set off as in the file.
    words = "\n".join(line.split(" ")[0] for line in text.split("\n"))
    found = run("label", "-m", "m", "--marginals", "-", stdin=words.encode())
    assert [line.split(" ")[1:2] for line in found.out.split("\n")] == [row[2:] for row in rows]
    tabs = run("label", "-m", "m", "--threads", "2", stdin=words.replace("\n", "\tx\n").replace("\n\tx", "\n").encode())
    assert tabs.out.split("\n")[0] == "-DOCSTART-\tx\tO"
    alone = run("label", "-m", "m", stdin=b"Mr\nBal\n")
    assert "standard input: expected documents that begin with -DOCSTART-" in alone.err
    skipped = run("label", "-m", "m", "--on-error", "skip", "--force", stdin=b"-DOCSTART- O\n\nMr O\nBal\n\nMr O\n\n")
    assert "line 4: expected a word and, last, its label, found 'Bal'; the sequence was skipped" in skipped.err
    assert skipped.out.startswith("-DOCSTART- O O\n\n\nMr O O\n")


def test_python(run):
    X, y = zip(*read_documents("train.txt"), strict=True)
    crf = CRF(features="documents", rho1=0.1, rho2=0.1).fit(X, y)
    sentences = [["Mr", "Fum", "rose"], ["then", "Fum", "fell"]]
    rows = with_mentions([["-DOCSTART-"], *sentences])[1:]
    assert crf.predict(rows).tolist() == [["O", "B-PER", "O"]] * 2
    run("train", "train.txt", "--features", "documents", "-m", "m", "--rho1", "0.1", "--rho2", "0.1", "-q")
    assert Model.load("m").label(rows[1]) == ["O", "B-PER", "O"]
    with pytest.raises(InputError, match="expected 8 columns of observations"):
        crf.predict(sentences)


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


def test_conversion(run):
    done = run("convert", "train.txt", "columns.txt", "--from", "documents", "--to", "columns")
    assert done.status == 0, done.err
    lines = (run.directory / "columns.txt").read_text().split("\n")
    assert lines[0] == "-DOCSTART- " + " ".join(NONE) + " O"
    assert all(len(line.split()) in (0, 9) for line in lines)
    run("convert", "columns.txt", "again.txt", "--from", "columns", "--to", "documents")
    assert (run.directory / "again.txt").read_text().split() == (run.directory / "train.txt").read_text().split()
    columns = ["--features", "documents", "--format", "columns", "--rho1", "0.1", "-q"]
    assert run("train", "columns.txt", "-m", "a", *columns).status == 0
    assert run("train", "train.txt", "-m", "b", "--features", "documents", "--rho1", "0.1", "-q").status == 0
    assert Model.load("a").w.tolist() == Model.load("b").w.tolist()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"-DOCSTART- O\n\nAnn\n\n", "bad.txt, line 3: expected a word and, last, its label, found 'Ann'"),
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
    assert DOCUMENTS.text([["Ann"], ["ran"]], ["N", "V"]) == "Ann N\nran V\n\n"
    for rows, labels in [([["a b"]], ["N"]), ([["a", "b"]], ["N"]), ([["a"]], ["N V"]), ([[""]], ["N"])]:
        with pytest.raises(InputError, match="expected a token of one word without blanks"):
            DOCUMENTS.text(rows, labels)
    assert DOCUMENTS.width(Piece(b"-DOCSTART- O\n\n", 1), "f") == 9
