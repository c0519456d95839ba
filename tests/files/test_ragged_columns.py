"""Column files whose lines have different numbers of columns, and labels that are kept on imported models."""

import json

import pytest
from foreign_model_files import CRFPP, WAPITI

from sparsecrf import Model

# A word, its shape, then optional annotations; the label is last.
RAGGED = "Ada X name DET\nruns x VERB\n\nthe x stop function DET\ncat x noun NOUN\nruns x VERB\n\n"
EVEN = "Ada X DET\nruns x VERB\n\nthe x DET\ncat x NOUN\nruns x VERB\n\n"
TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,1]\nB\n"


@pytest.mark.slow
def test_ragged_files_train_and_label_as_if_they_were_even(program):
    program.write(t_txt=TEMPLATE, ragged_txt=RAGGED, even_txt=EVEN)
    refused = program("train", "ragged.txt", "-t", "t.txt", "-m", "m")
    assert (refused.status, "line 2: expected 4 columns as in line 1, found 3" in refused.err) == (1, True)
    common = ["-t", "t.txt", "--rho1", "0.1"]
    assert program("train", "even.txt", "-m", "even", *common).status == 0
    for options in ([], ["--cache", "cache"]):
        ragged = program("train", "ragged.txt", "--ragged", "--dev", "ragged.txt", "-m", "m", *common, *options)
        assert ragged.status == 0
        assert (Model.load("m").w == Model.load("even").w).all()
        assert Model.load("m").n_columns == 0  # any number
    labelled = program("label", "-m", "m", "ragged.txt", "--ragged")
    lines = RAGGED.rstrip("\n").split("\n")
    assert [line and f"{line} {line.split()[-1]}" for line in lines] == labelled.out.rstrip("\n").split("\n")
    for arguments in (["ragged.txt", "-m", "m"], ["out.txt"]):
        program.write(out_txt=labelled.out)
        scores = program("eval", *arguments, "--ragged", "--json")
        assert json.loads(scores.out)["tokens"] == 5
        assert json.loads(scores.out)["token_error"] == 0


def test_the_cache_of_even_files_is_not_taken_for_ragged_ones(program):
    program.write(t_txt="U0:%x[0,0]/%x[0,1]\n", a_txt=EVEN)
    common = ["train", "a.txt", "-t", "t.txt", "-m", "m", "--cache", "cache"]
    for options, n_columns in (([], 2), (["--ragged"], 0)):
        assert program(*common, *options).status == 0
        assert Model.load("m").n_columns == n_columns


@pytest.mark.slow
def test_ragged_files_of_bytes_in_a_cache(program):
    """Both options and the cache together; another encoding is another cache."""
    program.write(t_txt="U0:%x[0,0]\nB\n", a_txt="\xe9 x X\nb Y\n\n\xe9 X\nb x y Y\n".encode("latin-1"))
    common = ["train", "a.txt", "-t", "t.txt", "-m", "m", "--rho1", "0", "--rho2", "1", "--ragged"]
    for encoding, name in (("bytes", "U0:\\xe9"), ("latin-1", "U0:é"), ("koi8-r", "U0:И")):
        weights = []
        for cache in ([], ["--cache", "cache"]):
            assert program(*common, "--encoding", encoding, *cache).status == 0
            model = Model.load("m")
            assert model.vocabulary.attributes.find(name) is not None
            weights.append(model.w.tolist())
        assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--vectors", "v.txt"], "--vectors v.txt cannot be combined with --dask tcp://127.0.0.1:1"),
        (
            ["--min-count", "2"],
            "2 cannot be combined with --dask tcp://127.0.0.1:1: attributes are counted in memory",
        ),
    ],
)
def test_what_a_cluster_does_not_read(options, expected, program):
    """Refused before anything is read or asked of the cluster."""
    program.write(t_txt="U0:%x[0,0]\nB\n", a_txt=EVEN)
    found = program("train", "a.txt", "-t", "t.txt", "-m", "m", "--dask", "tcp://127.0.0.1:1", *options)
    said = " ".join(found.err.replace("│", " ").split())
    assert found.status == 2
    assert expected in said.replace("Invalid value for ", "")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["train", "short.txt", "-t", "t.txt", "-m", "new", "--ragged"],
            "line 2: expected at least 3 columns, the label",
        ),
        (["train", "a.txt", "-m", "new", "--ragged"], "--ragged needs --template"),
        (["train", "a.crfsuite", "-m", "new", "--ragged"], "--ragged: expected column files, found CRFsuite files"),
        (["label", "-m", "m", "one.txt", "--ragged"], "line 1: expected at least 2 columns, found 1"),
        (["label", "-m", "m", "two.txt", "--ragged", "--force"], "line 1: expected at least 3 columns, the label last"),
        (["eval", "two.txt", "-m", "m", "--ragged"], "expected at least 2 columns before the gold label"),
        (["eval", "one.txt", "--ragged"], "expected at least 2 columns"),
    ],
)
def test_what_is_too_short(arguments, expected, program):
    program.write(t_txt=TEMPLATE, a_txt=EVEN, a_crfsuite="N\ta\n", one_txt="Ada\n", two_txt="Ada X\n")
    program.write(short_txt="Ada X DET\nruns VERB\n")
    assert program("train", "a.txt", "-t", "t.txt", "-m", "m").status == 0
    refused = program(*arguments)
    assert (refused.status, expected in refused.err) == (2 if expected.startswith("--") else 1, True), refused.err


@pytest.mark.parametrize(("tool", "text"), [("wapiti", WAPITI), ("crf++", CRFPP)])
def test_force_on_imported_models(tool, text, program):
    """They do not say how many columns they were trained on: the last one is the label."""
    program.write(m_txt=text, a_txt="a x V\na x ?\n", narrow_txt="a\n")
    assert program("convert", "m.txt", "m", "--from", tool, "--to", "sparsecrf").status == 0
    assert program("label", "-m", "m", "a.txt").out.split()[3::4] == ["N", "N"]
    forced = program("label", "-m", "m", "--force", "a.txt")
    assert forced.out.split()[3::4] == ["V", "N"]
    ragged = program("label", "-m", "m", "--force", "--ragged", "-", stdin=b"a x y z V\na x ?\n")
    assert [line.split()[-1] for line in ragged.out.split("\n") if line] == ["V", "N"]
    refused = program("label", "-m", "m", "--force", "narrow.txt")
    assert refused.status == 1
    assert "column" in refused.err
