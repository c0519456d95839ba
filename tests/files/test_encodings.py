"""Text that is not UTF-8: other encodings of characters, and columns of any bytes."""

import json

import pytest
from foreign_model_files import crfpp_binary, wapiti_of_bytes
from model_content import attribute_names

from sparsecrf import InputError, Model
from sparsecrf.contrib.convert.foreign import read_crfpp, read_wapiti
from sparsecrf.files.charset import Charset
from sparsecrf.files.text import Piece

DATA = "été SAISON\nça PRONOM\n\nà MOT\nça PRONOM\nété SAISON\n\n"
OBSERVED = "été\nça\n\nà\n"
TEMPLATE = "U:%x[0,0]\nU1:%x[-1,0]\nB\n"


@pytest.mark.slow
@pytest.mark.parametrize("cache", [[], ["--cache", "cache"]])
def test_train_and_label_in_another_encoding(cache, program):
    """The model is that of the same text in UTF-8, and remembers what its files are."""
    program.write(t_txt=TEMPLATE, a_txt=DATA, b_txt=DATA.encode("latin-1"), in_txt=OBSERVED.encode("latin-1"))
    refused = program("train", "b.txt", "-t", "t.txt", "-m", "m")
    assert (refused.status, "line 1, byte 1: expected text in UTF-8, found byte 0xE9" in refused.err) == (1, True)
    assert "--encoding" in refused.err
    common = ["-t", "t.txt", "--rho1", "0.1"]
    assert program("train", "a.txt", "-m", "utf8", *common).status == 0
    options = ["--encoding", "latin-1", "--dev", "b.txt", *cache]
    assert program("train", "b.txt", "-m", "m", *common, *options).status == 0
    model, utf8 = Model.load("m"), Model.load("utf8")
    assert (attribute_names(model), model.w.tolist()) == (attribute_names(utf8), utf8.w.tolist())
    assert (model.training["encoding"], "encoding" in utf8.training) == ("iso8859-1", False)
    assert program("label", "-m", "m", "in.txt", "-o", "out.txt").status == 0
    expected = "été SAISON\nça PRONOM\n\nà MOT\n\n"
    assert (program.directory / "out.txt").read_bytes() == expected.encode("latin-1")
    assert json.loads(program("eval", "b.txt", "-m", "m", "--json").out)["token_error"] == 0
    program.write(in_txt=OBSERVED)
    assert program("label", "-m", "m", "in.txt", "--encoding", "utf-8").out == expected


def test_eval_of_labels_in_another_encoding(program):
    program.write(a_txt="x é é\ny é à\n".encode("cp1252"))
    found = json.loads(program("eval", "a.txt", "--encoding", "cp1252", "--json", "--confusion", "1").out)
    assert found["confusion"] == [{"gold": "é", "predicted": "à", "tokens": 1}]
    assert json.loads(program("eval", "a.txt", "--encoding", "bytes", "--json").out)["token_error"] == 50


def test_columns_of_any_bytes(program):
    """Lines come back as they were; names show bytes that are no text; expressions read bytes."""
    program.write(t_txt='U:%x[0,0]\nU1:%m[0,0,".$"]\n', a_txt=b"\xe9t\xe9 N\n\n\xc3\xa9t\xe8 V\n\n")
    options = ["--encoding", "bytes", "--rho1", "0.05"]
    assert program("train", "a.txt", "-t", "t.txt", "-m", "m", *options).status == 0
    model = Model.load("m")
    assert model.template.bytes
    assert attribute_names(model) == {"U:\\xe9t\\xe9", "U1:\\xe9", "U:ét\\xe8", "U1:\\xe8"}
    program.write(in_txt=b"\xe9t\xe9\n\n\xe8\n")
    assert program("label", "-m", "m", "in.txt", "-o", "out.txt").status == 0
    assert (program.directory / "out.txt").read_bytes() == b"\xe9t\xe9 N\n\n\xe8 V\n\n"
    assert json.loads(program("eval", "a.txt", "-m", "m", "--json").out)["token_error"] == 0


def test_labels_of_any_bytes(program):
    program.write(t_txt="U:%x[0,0]\n", a_txt=b"a \xe9\n\nb V\n\n")
    assert program("train", "a.txt", "-t", "t.txt", "-m", "m", "--encoding", "bytes").status == 0
    assert Model.load("m").labels == ["\\xe9", "V"]


def test_expressions_of_characters_need_text(program):
    program.write(t_txt='U:%m[0,0,".$"]\n', a_txt="é N\n\n", in_txt=b"\xe9\n")
    assert program("train", "a.txt", "-t", "t.txt", "-m", "m").status == 0
    refused = program("label", "-m", "m", "in.txt", "--encoding", "bytes")
    assert (refused.status, "regular expressions of the template read characters" in refused.err) == (1, True)


def test_data_are_converted_in_their_encoding(program):
    program.write(a_txt=DATA.encode("latin-1"))
    common = ["--from", "columns", "--to", "crfsuite", "--encoding", "latin-1"]
    assert program("convert", "a.txt", "b.txt", *common).status == 0
    assert (program.directory / "b.txt").read_bytes().startswith("SAISON\tU0\\:été\n".encode("latin-1"))
    assert program("convert", "a.txt", "c.txt", *common[:-1], "bytes").status == 2


def test_models_of_other_tools_in_their_encoding(program):
    """Names of Wapiti and CRF++ are bytes: the file does not say what text they are."""
    program.write(m_crf=crfpp_binary(entries={b"B": 0, b"U:\xe9": 4}), in_txt=b"\xe9\n")
    for encoding, name in (("latin-1", "U:é"), ("bytes", "U:\\xe9")):
        common = ["--from", "crf++", "--to", "sparsecrf", "--encoding", encoding]
        assert program("convert", "m.crf", "m", *common).status == 0
        assert attribute_names(Model.load("m")) == {"B", name}
        assert program("label", "-m", "m", "in.txt", "-o", "out.txt").status == 0  # as the model says
        assert (program.directory / "out.txt").read_bytes() == b"\xe9 N\n\n"
        assert program("convert", "m", "back.txt", "--from", "sparsecrf", "--to", "crf++").status == 0
        assert b" U:\xe9\n" in (program.directory / "back.txt").read_bytes()
        assert read_crfpp("back.txt", encoding).label([["é" if encoding == "latin-1" else "\\xe9"]]) == ["N"]


def test_wapiti_expressions_and_encodings(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(wapiti_of_bytes(b'u:%m[0,0,"..$"]'))
    assert read_wapiti(path, "bytes").training["encoding"] == "bytes"
    with pytest.raises(InputError, match=r"expected.*encoding utf-8.*bytes.*found iso8859-1"):
        read_wapiti(path, "latin-1")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("latin-15", "expected utf-8, latin-1, cp1252 or another text encoding, or bytes, found 'latin-15'"),
        ("rot13", "another text encoding"),
        ("utf-16", "that extends ASCII, found utf-16: convert the file to UTF-8"),
        ("", "another text encoding"),
    ],
)
def test_encodings_that_cannot_be_read(name, expected, program):
    program.write(a_txt=DATA)
    refused = program("train", "a.txt", "-m", "m", "--encoding", name)
    assert (refused.status, "--encoding: " in refused.err, expected in refused.err) == (2, True, True)


def test_where_text_is_wrong():
    with pytest.raises(InputError, match="file, line 8, byte 3: expected text in cp1252, found byte 0x81"):
        Charset("cp1252").decoded(Piece(b"a\nxy\x81\n", 7), "file")
    assert Charset("shift_jis").decoded(Piece("日本\n".encode("shift_jis"), 1), "file").data == "日本\n".encode()
