"""Text files: what is read from them, in whatever pieces, and what is said of broken ones."""

import bz2
import gzip
import io
import lzma
import os
import threading
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsecrf import BIAS, InputError, Template, Vocabulary, read_columns
from sparsecrf._core import TextEncoder, whole_sequences
from sparsecrf.files.crfsuite import crfsuite_lines, read_crfsuite
from sparsecrf.files.text import pieces
from sparsecrf.shards.dataset import encode_columns, encode_crfsuite


def columns(text, name=None):
    file = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    if name:
        file.name = name
    return list(read_columns(file))


cells = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=5)
tables = st.integers(1, 3).flatmap(
    lambda width: st.lists(
        st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=4), min_size=1, max_size=4
    )
)


@pytest.mark.slow
@given(
    tables,
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([" ", "\t", "  ", " \t"]),
    st.sampled_from(["", " ", "\t"]),
    st.booleans(),
)
def test_columns(table, end, between, blank, finished):
    text = (blank + end).join("".join(between.join(row) + end for row in rows) for rows in table)
    assert columns(text if finished else text.removesuffix(end)) == table
    assert columns(end + blank + end + text + end + end) == table


def test_a_byte_order_mark_is_no_text():
    assert columns("\ufeffa b\n") == [[["a", "b"]]]


def test_hash_is_no_comment():
    assert columns("# #\n\n#a b\n") == [[["#", "#"]], [["#a", "b"]]]


@given(tables, st.integers(1, 60))
def test_pieces_are_whole_sequences(table, size):
    text = "\n".join("".join(" ".join(row) + "\n" for row in rows) for rows in table).encode()
    found = list(pieces(io.BytesIO(text), size))
    assert b"".join(piece.data for piece in found) == text
    assert [rows for piece in found for rows in columns(piece.data)] == table
    for k, piece in enumerate(found):
        assert piece.line == 1 + text[: sum(len(other.data) for other in found[:k])].count(b"\n")


def test_a_very_long_line():
    word = "x" * 3_000_000
    assert columns(f"{word} A\n\nb B\n") == [[[word, "A"]], [["b", "B"]]]


def test_a_sequence_from_a_pipe_comes_when_it_is_whole():
    """The next one has not been written yet, and the pipe is still open."""
    reading, writing = os.pipe()
    with open(reading, "rb") as source, open(writing, "wb", buffering=0) as sink:
        found = read_columns(source)
        sink.write(b"a A\n\nb")
        timer = threading.Timer(20, sink.close)
        timer.start()
        assert next(found) == [["a", "A"]]
        assert not sink.closed
        timer.cancel()


HINT = "(one token per line, a blank line between sequences; to label plain text: `sparsecrf label --format text`)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a A\n\nb\n", f"data, line 3: expected 2 columns, found 1 {HINT}"),
        (b"a A\nb B C\n", f"data, line 2: expected 2 columns as in line 1, found 3 {HINT}"),
        (b"\n\na\nb B\n", f"data, line 4: expected 1 column as in line 3, found 2 {HINT}"),
        (b"a A\n\xe9t\xe9 B\n", "data, line 2, byte 1: expected text in UTF-8, found byte 0xE9"),
        (b"a A\nbc\xc3 B\n", "data, line 2, byte 3: expected text in UTF-8, found byte 0xC3"),
        (b"a \xed\xa0\x80\n", "data, line 1, byte 3: expected text in UTF-8, found byte 0xED"),
        (b"a \xc0\xaf\n", "data, line 1, byte 3: expected text in UTF-8, found byte 0xC0"),
        (b"a \xf4\x90\x80\x80\n", "data, line 1, byte 3: expected text in UTF-8, found byte 0xF4"),
        (b"a A\n\xff\xfeb\x00\n", "data, line 2, byte 1: expected text in UTF-8, found byte 0xFF"),
        (b"a A\nb\x00 B\n", "data, line 2, byte 2: expected text in UTF-8, found a NUL byte"),
    ],
)
def test_broken_columns(text, message):
    with pytest.raises(InputError) as error:
        columns(text, "data")
    assert str(error.value) == message


@pytest.mark.slow
def test_lines_are_counted_over_pieces():
    text = b"a A\n\n" * 200_000 + b"b\n"
    with pytest.raises(InputError, match="line 400001: expected 2 columns, found 1"):
        columns(text)


# ---- Encoding.
TEMPLATE = Template("U1:%x[0,0]\nB\n*2:%x[-1,0]/%x[0,1]\nU3:%x[1,0]\nB4:%x[0,1]")
TABLE = [[["the", "D", "O"], ["dog", "N", "B"], ["barks", "V", "O"]], [["no", "D", "O"], ["dog", "N", "B"]]]


def text_of(table):
    return "\n".join("".join(" ".join(row) + "\n" for row in rows) for rows in table).encode()


def named(corpus, vocabulary):
    """Sequences of (label, unigram attributes, bigram attributes), by name and value; the bias left out."""
    arrays = corpus.to_arrays()

    def entries(kind, t):
        begin, end = arrays[f"{kind}_ptr"][t : t + 2]
        value = arrays.get(f"{kind}_value")
        values = [1.0] * (end - begin) if value is None else value[begin:end]
        pairs = zip(arrays[f"{kind}_id"][begin:end], values, strict=True)
        return {(vocabulary.attributes[int(x)], float(v)) for x, v in pairs} - {(BIAS, 1.0)}

    labels = [None if y < 0 else vocabulary.labels[int(y)] for y in corpus.labels]
    positions = [(y, entries("unigram", t), entries("bigram", t)) for t, y in enumerate(labels)]
    ends = arrays["lengths"].cumsum()
    return [positions[end - length : end] for end, length in zip(ends, arrays["lengths"], strict=True)]


@pytest.mark.parametrize("start", [True, False])
def test_encoding_equals_that_of_python_tokens(start):
    """Of attributes that condition pairs only, the encoder of Python tokens makes unigram ones too."""
    both = Template(TEMPLATE.text.replace("B", "*"))
    vocabulary = Vocabulary(bigrams=Template.conditions_pairs, start=start)
    encoded = encode_columns([io.BytesIO(text_of(TABLE))], vocabulary, both, grow=True)
    assert encoded.n_columns == 2
    twin = Vocabulary(bigrams=Template.conditions_pairs, start=start)
    tokens = [both.attributes([row[:-1] for row in rows]) for rows in TABLE]
    corpus = twin.encode(tokens, [[row[-1] for row in rows] for rows in TABLE], grow=True)
    assert named(encoded.corpus, vocabulary) == named(corpus, twin)


def test_kinds_of_lines():
    vocabulary = Vocabulary(start=False)
    corpus = encode_columns([io.BytesIO(text_of(TABLE))], vocabulary, TEMPLATE, grow=True).corpus
    (_, (_, unigram, bigram), _), ((_, unigram_first, bigram_first), _) = named(corpus, vocabulary)
    assert {name for name, _ in unigram} == {"U1:dog", "*2:the/N", "U3:barks"}
    assert {name for name, _ in bigram} == {"B", "*2:the/N", "B4:N"}
    assert {name for name, _ in unigram_first} == {"U1:no", "*2:_B-1/D", "U3:dog"}
    assert bigram_first == set()


def test_unknown_names_without_growth():
    vocabulary = Vocabulary()
    encode_columns([io.BytesIO(text_of(TABLE))], vocabulary, TEMPLATE, grow=True)
    n_attributes, n_labels = len(vocabulary.attributes), len(vocabulary.labels)
    corpus = encode_columns([io.BytesIO(b"cat N X\ndog N B\n")], vocabulary, TEMPLATE).corpus
    assert (len(vocabulary.attributes), len(vocabulary.labels)) == (n_attributes, n_labels)
    assert list(corpus.labels) == [-1, vocabulary.labels.find("B")]


def test_missing_labels():
    vocabulary = Vocabulary()
    corpus = encode_columns([io.BytesIO(b"a ?\nb B\n")], vocabulary, grow=True, missing="?").corpus
    assert list(corpus.labels) == [-1, 0]
    assert vocabulary.labels.find("?") is None


def test_several_files_have_as_many_columns():
    files = [io.BytesIO(b"a A\n"), io.BytesIO(b"b x B\n")]
    files[1].name = "second"
    with pytest.raises(InputError, match="second, line 1: expected 2 columns, found 3"):
        encode_columns(files, Vocabulary(), grow=True)


@pytest.mark.parametrize("encode", [encode_columns, encode_crfsuite])
def test_no_sequence(encode):
    with pytest.raises(InputError, match="input: expected at least one sequence, found none"):
        encode([io.BytesIO(b"\n \n")], Vocabulary(), grow=True)


def test_too_few_columns_for_the_template():
    with pytest.raises(InputError, match=r"line 1: expected 2 columns of observations \(template, line 3: %x\[0,1\]\)"):
        encode_columns([io.BytesIO(b"a A\n")], Vocabulary(), TEMPLATE, grow=True)


# ---- CRFsuite files.
names = st.text(st.sampled_from("ab:\\é/="), min_size=1, max_size=5)
values = st.one_of(st.just(1.0), st.floats(-1e50, 1e50))
items = st.lists(st.tuples(st.lists(st.tuples(names, values), max_size=3), names), min_size=1, max_size=3)


@given(st.lists(items, min_size=1, max_size=3))
def test_crfsuite_round_trip(sequences):
    lines = [line for sequence in sequences for line in crfsuite_lines(*zip(*sequence, strict=True))]
    found = list(read_crfsuite(io.BytesIO("".join(lines).encode())))
    assert found == [([list(t) for t, _ in sequence], [y for _, y in sequence]) for sequence in sequences]


def test_crfsuite_values_and_escapes():
    text = b"B-NP\tw=the\tlen:3\ta\\:b\\\\c:-0.5e1\r\nO\n\n\nO\tx\n"
    assert list(read_crfsuite(io.BytesIO(text))) == [
        ([[("w=the", 1.0), ("len", 3.0), ("a:b\\c", -5.0)], []], ["B-NP", "O"]),
        ([[("x", 1.0)]], ["O"]),
    ]


def test_crfsuite_encoding_equals_that_of_python_tokens():
    vocabulary, twin = Vocabulary(), Vocabulary()
    corpus = encode_crfsuite([io.BytesIO(b"A\tx\ty:2\nB\tx\n\nB\tz\n")], vocabulary, grow=True).corpus
    tokens = [[["x", ("y", 2.0)], ["x"]], [["z"]]]
    assert named(corpus, vocabulary) == named(twin.encode(tokens, [["A", "B"], ["B"]], grow=True), twin)
    assert corpus.to_arrays()["bigram_ptr"][-1] == 3  # the bias at every position
    assert vocabulary.attributes.find(BIAS) is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"A\tx\n\nB\tx:y\n", "input, line 3, column 5: expected a number after ':' .* found 'y'"),
        (b"A\tx:\n", "input, line 1, column 5: expected a number after ':' .* found ''"),
        (b"A\tx: 1\n", "expected a number after ':' .* found ' 1'"),
        (b"A\tx:1:2\n", "expected a number after ':' .* found '1:2'"),
        (b"A\t\xff\n", "line 1, byte 3: expected text in UTF-8, found byte 0xFF"),
        (b"A\tx\n\nA\tx\tx:inf\n", r"line 3, column 7: expected.*number.*most 1e100.*size.*found 'inf'"),
        (b"A\tx:1e101\n", r"line 1, column 5: expected.*number.*most 1e100.*size.*found '1e101'"),
        (b"A\tx:nan\n", r"line 1, column 5: expected.*number.*most 1e100.*size.*found 'nan'"),
        (b"A\tx\n\tx\n", "line 2: expected a label first, found none"),
        (b"@weight:x\nA\tx\n", "line 1, column 9: expected a number"),
    ],
)
def test_broken_crfsuite(text, message):
    with pytest.raises(InputError, match=message):
        list(read_crfsuite(io.BytesIO(text)))


def test_crfsuite_weights():
    corpus = encode_crfsuite([io.BytesIO(b"@weight:2.5\nA\tx\n\nB\tx\n")], Vocabulary(), grow=True).corpus
    assert list(corpus.to_arrays()["sequence_weight"]) == [2.5, 1.0]


def test_an_encoder_survives_an_error():
    vocabulary = Vocabulary()
    encoder = TextEncoder(vocabulary.attributes, vocabulary.labels, True, True)
    with pytest.raises(InputError, match="expected a finite weight >= 0, found -1"):
        encoder.add_crfsuite(b"@weight:-1\nA\tx\n", BIAS, "input", 1)
    encoder.add_crfsuite(b"A\ty\n", BIAS, "input", 1)
    assert named(encoder.build(), vocabulary) == [[("A", {("y", 1.0)}, set())]]


@pytest.mark.parametrize("text", ["\ufeff\na b X\n", "\ufeff\n\na b X\nc d Y\n"])
def test_a_mark_and_a_blank_line_first(text):
    assert columns(text)[0][0] == ["a", "b", "X"]
    found = encode_columns([io.BytesIO(text.encode())], Vocabulary(), grow=True)
    assert (found.n_columns, found.template.n_columns) == (2, 2)


def test_a_blank_file_first():
    found = encode_columns([io.BytesIO(b"\n\n"), io.BytesIO(b"a b X\n")], Vocabulary(), grow=True)
    assert found.template.n_columns == 2


def test_positions_count_the_byte_order_mark():
    with pytest.raises(InputError, match="line 1, byte 5: expected text in UTF-8, found byte 0xFF"):
        columns(b"\xef\xbb\xbfa\xff\n")


def test_a_long_sequence_in_small_blocks_is_not_read_again_and_again():
    class Trickle(io.RawIOBase):
        """Gives a line at a time, whatever is asked for."""

        def __init__(self, n):
            self.left = n

        def read(self, size=-1):
            self.left -= 1
            return b"word LABEL\n" if self.left >= 0 else b""

    scanned = 0

    def counted(piece):
        nonlocal scanned
        scanned += len(piece)
        return whole_sequences(piece)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sparsecrf.files.text.whole_sequences", counted)
        (piece,) = pieces(Trickle(5000))
    assert len(piece.data) == 5000 * 11
    assert scanned <= 3 * len(piece.data)


def zipped(data):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("train.txt", data)
    return made.getvalue()


PACKERS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zip": zipped}


@pytest.mark.slow
@pytest.mark.parametrize("packer", PACKERS)
def test_packed_files_are_named(program, packer):
    """By every command that reads data, whatever the format, and from Python."""
    text = b"the D\ndog N\n\n" * 5
    program.write(train_txt=text, packed_txt=PACKERS[packer](text))
    assert program("train", "train.txt", "-m", "m").status == 0
    expected = f"packed.txt: expected text, found a file compressed with {packer}; decompress it first ("
    for arguments in (
        ("train", "packed.txt", "-m", "x"),
        ("train", "packed.txt", "-m", "x", "--format", "conllu"),
        ("train", "train.txt", "--dev", "packed.txt", "-m", "x"),
        ("train", "packed.txt", "-m", "x", "--cache", "folder"),
        ("label", "-m", "m", "packed.txt"),
        ("label", "-m", "m", "packed.txt", "--format", "jsonl"),
        ("eval", "packed.txt", "-m", "m"),
        ("convert", "packed.txt", "x.txt", "--from", "columns", "--to", "crfsuite"),
    ):
        done = program(*arguments)
        assert (done.status, expected in done.err) == (1, True), (arguments, done.err)
    done = program("label", "-m", "m", stdin=PACKERS[packer](text))
    assert f"standard input: expected text, found a file compressed with {packer}; " in done.err
    assert " FILE | sparsecrf ...) with - in place of the file name" in done.err
    with pytest.raises(InputError, match=f"found a file compressed with {packer}"):
        list(read_columns("packed.txt"))


def test_text_that_begins_like_a_packed_file():
    assert columns("BZh9 X\nPK Y\n") == [[["BZh9", "X"], ["PK", "Y"]]]
    assert columns("PK\u00e9 X\n") == [[["PK\u00e9", "X"]]]
