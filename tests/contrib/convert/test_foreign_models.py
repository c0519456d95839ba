"""Models of other tools: CRFsuite's own answers are compared, the formats of the others are composed by hand."""

import numpy as np
import pycrfsuite
import pytest
from foreign_model_files import CRFPP, WAPITI, wapiti_of_bytes

from sparsecrf import BIAS, InputError, Model
from sparsecrf.contrib.convert.foreign import READERS, read_crfpp, read_crfsuite, read_wapiti, write_crfsuite

LABELS = ["DET", "NOUN", "VERB", "a --> b"]


def sequences(n, seed=0):
    """Made-up sequences with real values, and names that are hard to tell apart in a text."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        y = rng.integers(0, 4, rng.integers(1, 8))
        x = [
            {f"w={k}": 1.0, f"x --> {k % 2}": float(rng.normal()), "é: 1.5": 0.5, f"n{rng.integers(9)}": -2.0}
            for k in y + rng.integers(0, 2, len(y))
        ]
        yield x, [LABELS[k] for k in y]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("crfsuite") / "model"
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c1": 0.1, "c2": 0.01, "max_iterations": 50})
    for x, y in sequences(60):
        trainer.append(pycrfsuite.ItemSequence(x), y)
    trainer.train(str(path))
    return path


@pytest.fixture
def tagger(trained):
    tagger = pycrfsuite.Tagger()
    with tagger.open(str(trained)):
        yield tagger


def assert_same_answers(model, tagger, tolerance):
    assert sorted(model.labels) == sorted(tagger.labels())
    for x, _ in sequences(40, seed=1):
        assert tagger.tag(pycrfsuite.ItemSequence(x)) == model.label(x)
        theirs = [[tagger.marginal(label, t) for label in model.labels] for t in range(len(x))]
        np.testing.assert_allclose(model.marginals(x), theirs, rtol=0, atol=tolerance)


def test_crfsuite_model(trained, tagger):
    model = read_crfsuite(trained)
    assert not model.vocabulary.start
    assert model.vocabulary.bigrams == "bias"
    assert model.training == {"imported_from": "crfsuite"}
    assert_same_answers(model, tagger, 1e-9)
    assert_same_answers(Model.from_bytes(model.to_bytes()), tagger, 1e-9)


def test_crfsuite_dump(tagger, tmp_path):
    """The text has 6 decimals."""
    path = tmp_path / "dump"
    tagger.dump(str(path))
    assert_same_answers(read_crfsuite(path), tagger, 1e-4)


def test_crfsuite_dump_of_ours(trained, tagger, tmp_path):
    """Ours has all digits, and is laid out as theirs is."""
    model, ours, theirs = read_crfsuite(trained), tmp_path / "ours", tmp_path / "theirs"
    write_crfsuite(model, ours)
    assert read_crfsuite(ours).to_bytes() == model.to_bytes()
    tagger.dump(str(theirs))

    def rounded(path):
        """Sections as sets of lines, weights to 4 decimals; theirs has weights that 6 decimals make zero."""
        found = []
        for section in path.read_text().split("}\n\n")[3:5]:
            lines = [line.rpartition(": ") for line in section.split("\n") if line.startswith("  ")]
            found.append({(name, round(float(w), 4)) for name, _, w in lines if abs(float(w)) > 1e-3})
        return found

    assert rounded(ours) == rounded(theirs)
    assert ours.read_text().split("}\n\n")[1] == theirs.read_text().split("}\n\n")[1]  # labels


@pytest.mark.parametrize(
    ("bigram", "expected"),
    [
        ({("w", "N", "V"): 1.0}, "found transition weights for attribute 'w'"),
        ({(BIAS, None, "V"): 1.0}, "no start label: expected no weights for it, found a weight for label 'V'"),
    ],
)
def test_what_crfsuite_cannot_express(bigram, expected, tmp_path):
    model = Model.from_weights(["N", "V"], {("w", "N"): 1.0}, bigram)
    with pytest.raises(InputError, match=expected):
        write_crfsuite(model, tmp_path / "dump")
    with pytest.raises(InputError, match="expected one line"):
        write_crfsuite(Model.from_weights(["N"], {("a\nb", "N"): 1.0}), tmp_path / "dump")
    assert not (tmp_path / "dump").exists()


@pytest.mark.slow
def test_damaged_crfsuite_models(trained, tmp_path):
    """CRFsuite has no digest, so a wrong weight is not found; but nothing worse than an error happens."""
    whole, path = trained.read_bytes(), tmp_path / "damaged"
    rng = np.random.default_rng(0)
    refused = []
    for place in [*range(48), *rng.integers(0, len(whole), 300)]:
        data = bytearray(whole)
        data[place] ^= 0xFF
        path.write_bytes(data)
        try:
            read_crfsuite(path)
        except InputError as error:
            refused.append(str(error))
    assert len(refused) > 40
    assert all(message.startswith(str(path)) for message in refused)
    for length in (4, 47, 48, 60, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="expected a CRFsuite model"):
            read_crfsuite(path)


DUMP = """FILEHEADER = {
  magic: lCRF
}

LABELS = {
      0: A
      1: B
}

ATTRIBUTES = {
      0: x
}

TRANSITIONS = {
  (1) A --> B: 0.500000
}

STATE_FEATURES = {
  (0) x --> A: -1.250000
}

"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("x --> A: -1.25", "x --> C: -1.25", "line 19: expected an unambiguous '.type. name --> label: weight'"),
        ("x --> A: -1.250000", "x --> A: much", "line 19: expected a weight, found 'much'"),
        ("      0: x", "      1: x", "line 11: expected '0: name'"),
        ("      1: B", "      1: A", "line 15: expected an unambiguous '.type."),
        ("TRANSITIONS", "TRANSISTORS", "expected complete sections"),
        ("FILEHEADER = {", "digraph {", "line 1: expected a section"),
    ],
)
def test_damaged_crfsuite_dumps(old, new, expected, tmp_path):
    path = tmp_path / "dump"
    path.write_text(DUMP)
    model = read_crfsuite(path)
    assert model.transitions().tolist() == [[0, 0.5], [0, 0], [0, 0]]
    path.write_text(DUMP.replace(old, new))
    with pytest.raises(InputError, match=expected):
        read_crfsuite(path)


# Wapiti. Labels N, V; attributes u:a (2 weights: 0, 1), b (4: 2-5), *:é (2 + 4: 6, 7, 8-11).
WAPITI_WEIGHTS = {
    ("u:a", "N"): 1.5,
    ("*:é", "V"): 0.1,
    ("b", "N", "V"): -0.25,
    ("*:é", "N", "V"): 2.0,
    ("*:é", "V", "V"): -8.0,
}


def by_name(model):
    """All weights; the previous label of unigram ones is left out."""
    f, x, y = model.features, model.vocabulary.attributes, [*model.labels, None]
    n = f.n_unigram
    found = {(x[a], y[b]): w for a, b, w in zip(f.unigram_attribute, f.unigram_label, model.w[:n], strict=True)}
    bigram = zip(f.bigram_attribute, f.bigram_previous, f.bigram_label, model.w[n:], strict=True)
    return found | {(x[a], y[p], y[b]): w for a, p, b, w in bigram}


def test_wapiti_model(tmp_path):
    path = tmp_path / "model"
    path.write_text(WAPITI, encoding="utf-8")
    model = read_wapiti(path)
    assert (model.labels, model.vocabulary.start) == (["N", "V"], False)
    assert by_name(model) == WAPITI_WEIGHTS
    assert model.vocabulary.bigrams == {"b", "*:é"}
    assert (model.template.text, model.template.boundary) == ("u:%x[0,0]\nb\n*:%x[0,1]\n", "wapiti")
    # score of N V: 1.5, then u:a says nothing of V, b -0.25, *:é 0.1 + 2
    tokens = [["a", "z"], ["a", "é"]]
    scores = [[0 + 1.5 + 1.5, 1.5 + 0.1 + 2 - 0.25], [1.5, 0.1 - 8]]  # [first, second]
    z = np.log(np.exp(scores).sum())
    assert model.log_prob(tokens, ["N", "V"]) == pytest.approx(scores[0][1] - z, abs=1e-12)


def test_old_and_maxent_wapiti_models(tmp_path):
    path = tmp_path / "model"
    path.write_text(WAPITI.replace("#mdl#2#6", "#mdl#6").replace("3/1/0", "3/1"), encoding="utf-8")
    assert by_name(read_wapiti(path)) == WAPITI_WEIGHTS
    path.write_text("#mdl#0#1\n#rdr#0/0/1\n#qrk#2\n1:N,\n1:V,\n#qrk#1\n4:uabc,\n1=0x1p+0\n")
    model = read_wapiti(path)
    assert (by_name(model), model.template) == ({("abc", "V"): 1.0}, None)


def test_wapiti_expressions_read_bytes(program):
    """`..$` is the last two bytes, one letter; as characters it would be two letters, and no attribute would match."""
    program.write(m_wapiti=wapiti_of_bytes(b'u:%m[0,0,"..$"]'), a_txt="ЖИ\n")
    assert program("convert", "m.wapiti", "m", "--from", "wapiti", "--to", "sparsecrf").status == 0
    model = Model.load("m")
    assert model.template.bytes
    assert by_name(model) == {("u:И", "N"): 1.0, ("u:\\x99", "N"): -1.0, ("u:\\x99", "V"): 1.0}
    assert program("label", "-m", "m", "a.txt").out.split() == ["ЖИ", "N"]
    assert model.log_prob([["ЖИ"]], ["N"]) == pytest.approx(1 - np.log(np.e + 1))


def test_wapiti_attributes_that_are_pieces_of_characters(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(wapiti_of_bytes(b'u:%m[0,0,".$"]'))
    assert read_wapiti(path).log_prob([["ЖЙ"]], ["V"]) == pytest.approx(1 - np.log(np.exp(1) + np.exp(-1)))


@pytest.mark.slow
def test_training_with_bytes(program):
    """bytes is kept in the model, and the cache of other data is not taken for these."""
    program.write(t_txt='U:%m[0,0,".$"]\n', a_txt="ЖИ N\n\nЖЙ V\n\n")
    by_bytes = ["--recipe", "bytes=true"]
    for options in ([], ["--cache", "cache"], ["--cache", "cache", *by_bytes], by_bytes):
        assert program("train", "a.txt", "-t", "t.txt", "-m", "m", "--rho1", "0.1", *options).status == 0
        model = Model.load("m")
        assert model.template.bytes == ("bytes=true" in options)
        names = {model.vocabulary.attributes[k] for k in range(len(model.vocabulary.attributes))}
        assert names <= ({"U:\\x98", "U:\\x99"} if "bytes=true" in options else {"U:И", "U:Й"})
        assert model.label([["ЖЙ"]]) == ["V"]


@pytest.mark.parametrize("written", ["10.5", "1.050000e+01", "1.05E1", "0x1.5p+3", "0X1.5P+3", "+10.5"])
def test_wapiti_weights_are_hexadecimal_only_after_0x(written, tmp_path):
    path = tmp_path / "model"
    path.write_text(WAPITI.replace("0=0x1.8p+0", f"0={written}"), encoding="utf-8")
    assert by_name(read_wapiti(path)) == WAPITI_WEIGHTS | {("u:a", "N"): 10.5}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("#mdl#2#6", "#mdl#1#6", "found memm"),
        ("#mdl#2#6", "#mdl#2#7", "expected 7 weights, found 6"),
        ("#mdl#2#6", "#mdl#two#6", "expected #mdl#TYPE#NUMBER"),
        ("#rdr#3", "#rdr#4", "expected line of the template 3 of 4"),
        ("#rdr#3", "#rdr#999999999", "expected line of the template 3 of 999999999"),
        ("3:u:a,", "9999999999:u:a,", "expected attribute 0 of 3"),
        ("3:u:a,", "3:x:a,", "begin with u, b or"),
        ("1:V,", "1:N,", "distinct labels, found 'N' twice"),
        ("11=-0x1p+3", "12=-0x1p+3", "weights numbered below 12, found 12"),
        ("11=-0x1p+3", "-1=-0x1p+3", "weights numbered below 12"),
        ("11=-0x1p+3", "9=-0x1p+3", "distinct bigram features"),
        ("11=-0x1p+3", "99999999999999999999999=0x1p0", "expected NUMBER=WEIGHT"),
        ("11=-0x1p+3", "11=-0x1p+9999", "expected NUMBER=WEIGHT"),
        ("11=-0x1p+3", "11=nan", "finite"),
        ("11=-0x1p+3", "11=1e999", "finite"),
        ("11=-0x1p+3", "11=a.8", "expected NUMBER=WEIGHT"),
        ("11=-0x1p+3", "11=1_0.5", "expected NUMBER=WEIGHT"),
        ("9:u:%x[0,0],", "9:u:%y[0,0],", "template, line 1"),
    ],
)
def test_damaged_wapiti_models(old, new, expected, tmp_path):
    path = tmp_path / "model"
    assert old in WAPITI
    path.write_text(WAPITI.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=expected) as error:
        read_wapiti(path)
    assert str(error.value).startswith(str(path))


def test_wapiti_dump(tmp_path):
    path = tmp_path / "dump"
    lines = [
        "\t".join([key[0], "#" if len(key) == 2 else key[1], key[-1], f"{w:.5f}"]) for key, w in WAPITI_WEIGHTS.items()
    ]
    path.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    assert by_name(read_wapiti(path)) == WAPITI_WEIGHTS
    path.write_text("b\t#\tN\t1.0\n")  # a bigram attribute: # is a label
    assert by_name(read_wapiti(path)) == {("b", "#", "N"): 1.0}
    for text, expected in [
        ("", "found no weights"),
        ("a text\n", "line 1: expected a line of `wapiti dump`"),
        ("u:a\t#\tN\tx\n", "line 1: expected a weight, found 'x'"),
        ("u:a\t#\t#\t1\n*:a\t#\tN\t1\n", "line 2: a label named # is ambiguous"),
    ]:
        path.write_text(text)
        with pytest.raises(InputError, match=expected):
            read_wapiti(path)


# CRF++. Labels N, V; U:a has the weights 4, 5; B 0-3.


def test_crfpp_model(tmp_path):
    path = tmp_path / "model.txt"
    path.write_text(CRFPP)
    model = read_crfpp(path)
    assert (model.labels, model.vocabulary.start) == (["N", "V"], False)
    assert by_name(model) == {("U:a", "N"): 1.0, ("B", "N", "V"): -0.75, ("B", "V", "N"): 0.125}
    assert (model.template.text, model.template.boundary) == ("U:%x[0,0]\nB\n", "crf++")
    assert model.transitions()[:2].tolist() == [[0, -0.75], [0.125, 0]]
    tokens = [["a", "x"], ["z", "x"]]
    scores = [[1, 1 - 0.75], [0.125, 0]]
    assert model.log_prob(tokens, ["N", "V"]) == pytest.approx(0.25 - np.log(np.exp(scores).sum()), abs=1e-12)


def test_a_crfpp_model_labels_columns(program):
    program.write(m_txt=CRFPP, a_txt="a x\nz x\n\nz x\na x\n")
    assert program("convert", "m.txt", "m.safetensors", "--from", "crf++", "--to", "sparsecrf").status == 0
    labelled = " ".join(program("label", "-m", "m.safetensors", "a.txt").out.split())
    assert labelled == "a x N z x N z x V a x N"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("version: 100", "\x64\0\0\0", "expected a model of CRF"),
        ("version: 100", "version: 200", "expected version 1xx"),
        ("maxid: 6", "maxid: 7", "expected 7 weights .maxid., found 6"),
        ("cost-factor: 0.5", "cost: 0.5", "cost-factor: expected a weight"),
        ("4 U:a", "5 U:a", "line 13: expected the number of a first weight below 6"),
        ("4 U:a", "-1 U:a", "line 13: expected the number"),
        ("4 U:a", "4 X:a", "line 13: expected the number"),
        ("4 U:a", f"{'9' * 5000} U:a", "line 13: expected the number"),
        ("4 U:a", "4 U:a\n4 U:a", "separate weights for each attribute"),
        ("2.0000000000000000", "two", "line 19: expected a weight, found 'two'"),
        ("2.0000000000000000", "inf", "line 19: expected a weight"),
        ("N\nV\n\nU:%x[0,0]\nB\n\n", "", r"expected five parts.*blank.*found"),
        ("U:%x[0,0]", "U:%x[0,0", "template, line 1"),
    ],
)
def test_damaged_crfpp_models(old, new, expected, tmp_path):
    path = tmp_path / "model.txt"
    assert old in CRFPP
    path.write_text(CRFPP.replace(old, new))
    with pytest.raises(InputError, match=expected) as error:
        read_crfpp(path)
    assert str(error.value).startswith(str(path))


def test_many_labels_do_not_take_memory(tmp_path):
    """No array of all pairs of 100,000 labels is made for a file that has no room for their weights."""
    path = tmp_path / "model.txt"
    path.write_text(CRFPP.replace("N\nV\n", "".join(f"L{k}\n" for k in range(100_000))))
    with pytest.raises(InputError, match="expected the number of a first weight below 6"):
        read_crfpp(path)


@pytest.mark.parametrize("tool", READERS)
def test_models_of_no_tool(tool, tmp_path):
    path = tmp_path / "model"
    for data in (b"", b"\xff\xfe\x00", b"He PRP B-NP\n", Model.from_weights(["N"], {("a", "N"): 1.0}).to_bytes()):
        path.write_bytes(data)
        with pytest.raises(InputError, match="expected") as error:
            READERS[tool](path)
        assert str(error.value).startswith(str(path))
    with pytest.raises(FileNotFoundError):
        READERS[tool](tmp_path / "nosuch")
