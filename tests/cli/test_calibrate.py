"""`sparsecrf calibrate` and `label --coverage`."""

import json

import pytest
from reader_files import TEMPLATE, _columns, _crfsuite
from sentences import dicts, sentences

from sparsecrf import Model


@pytest.fixture
def calibrated(program):
    """A program in a directory with a calibrated model."""
    program.write(train_txt=_columns(*sentences(100)), held_txt=_columns(*sentences(200, 1)), t_txt=TEMPLATE)
    program.write(test_txt=_columns(*sentences(40, 2)))
    assert program("train", "train.txt", "-t", "t.txt", "-m", "m", "--rho1", "0.5", "-q").status == 0
    done = program("calibrate", "m", "held.txt", "--json")
    assert done.status == 0, done.err
    assert "calibrated on 200 sentences" in done.err
    assert json.loads(done.out)["sequences"] == 200
    return program


def blocks(text):
    return [block.split("\n") for block in text.split("\n\n")[:-1]]


def test_sequences(calibrated):
    done = calibrated("label", "-m", "m", "test.txt", "--coverage", "0.95")
    assert done.status == 0, done.err
    model, (X, _) = Model.load("m"), sentences(40, 2)
    expected = []
    for tokens, own in zip(X, model.predict_set([[list(token) for token in one] for one in X], 0.95), strict=True):
        best = [model.label([list(token) for token in tokens])]
        expected += [[f"# {r}", labels] for r, (labels, _) in enumerate(own)] if own else [["# abstain", *best]]
    found = [[header.rsplit(" ", 2)[0], [line.split()[-1] for line in lines]] for header, *lines in blocks(done.out)]
    assert found == expected
    assert len(found) > 40


def test_abstention(calibrated):
    done = calibrated("label", "-m", "m", "test.txt", "--coverage", "0.99", "--nbest", "1")
    headers = [block[0].split()[1] for block in blocks(done.out)]
    assert len(headers) == 40
    assert set(headers) == {"0", "abstain"}


@pytest.mark.parametrize("more", [[], ["--score"]])
def test_tokens(calibrated, more):
    done = calibrated("label", "-m", "m", "test.txt", "--coverage", "0.99", "--all-marginals", *more)
    assert done.status == 0, done.err
    X, _ = sentences(40, 2)
    sets = Model.load("m").predict_set([[list(token) for token in one] for one in X], 0.99, of="tokens")
    rows = [line.split() for block in blocks(done.out) for line in block[len(more) :]]
    found = [[cell.rpartition(":")[0] for cell in row[5:]] for row in rows]
    expected = [[label for label, _ in own] for one in sets for own in one]
    # Printed probabilities are rounded: one more label may be needed if the threshold is that close.
    assert all(own[: len(other)] == other for own, other in zip(found, expected, strict=True))
    assert sum(own != other for own, other in zip(found, expected, strict=True)) < len(found) / 20
    assert max(map(len, found)) > 1
    few = calibrated("label", "-m", "m", "test.txt", "--coverage", "0.99", "--all-marginals", "--nbest", "1", *more)
    last = [line.split()[5:] for block in blocks(few.out) for line in block[len(more) :]]
    assert [own == ["abstain"] for own in last] == [len(own) > 1 for own in found]


def test_attributes_of_their_own(program):
    """CRFsuite's format."""
    for seed, name in enumerate(("train", "held", "test")):
        X, y = sentences(60, seed)
        program.write(**{f"{name}_crfsuite": _crfsuite(dicts(X), y)})
    program("train", "train.crfsuite", "-m", "m", "-q")
    assert program("calibrate", "m", "held.crfsuite", "-o", "other", "-q").err == ""
    done = program("label", "-m", "m", "test.crfsuite", "--coverage", "0.9")
    assert (done.status, "--coverage: expected a calibrated model, found an uncali" in done.err) == (2, True)
    done = program("label", "-m", "other", "test.crfsuite", "--coverage", "0.9")
    assert done.out.startswith("# 0 ")


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        ("label -m m test.txt --coverage 1.5", 2, "--coverage: expected a number above 0 and below 1"),
        ("label -m m test.txt --coverage 0", 2, "--coverage"),
        ("label -m m test.txt --coverage x", 2, "--coverage"),
        ("label -m m test.txt --coverage 0.9 --force", 2, "--coverage cannot be used with --force"),
        ("label -m m test.txt --coverage 0.9 --constrain iob2", 2, "cannot be used with --constrain"),
        ("label -m m test.txt --coverage 0.9 --cost-factor 2", 2, "cannot be used with --cost-factor"),
        ("label -m m test.txt --coverage 0.9 --nbest 1001", 2, "--nbest: expected at most 1000"),
        (
            "label -m m test.txt --coverage 0.999",
            2,
            "--coverage 0.999: expected a model calibrated on at least 999 sentences",
        ),
        ("calibrate m few.txt", 1, "few.txt: expected at least 19 sentences"),
        ("calibrate m empty.txt", 1, "found 0"),
        ("calibrate m new.txt", 1, "new.txt, sequence 0, token 0: expected a label of the model"),
        ("calibrate m missing.txt", 1, "missing.txt"),
        ("calibrate m held.txt -o held.txt", 1, "this file is also an input"),
        ("calibrate held.txt held.txt", 1, "held.txt"),
    ],
)
def test_bad_input(calibrated, command, status, message):
    few = _columns(*sentences(10, 1))
    calibrated.write(few_txt=few, empty_txt="", new_txt="a b NEW\n\n" + few)
    before = {path.name: path.read_bytes() for path in calibrated.directory.iterdir()}
    done = calibrated(*command.split())
    assert done.status == status, done.err
    assert message in " ".join(done.err.split())
    assert {path.name: path.read_bytes() for path in calibrated.directory.iterdir()} == before


def test_interrupted(calibrated, monkeypatch):
    """The file stays as it was."""
    before = Model.load("m").to_bytes()

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("sparsecrf.model.calibrating.check_enough", interrupt)
    assert calibrated("calibrate", "m", "held.txt").status == 130
    assert Model.load("m").to_bytes() == before


def test_a_compact_file(calibrated):
    """Rounding ends a calibration; a compact file can have one of its own, and stays compact."""
    assert "calibrate small again" in calibrated("compact", "m", "small").err
    assert calibrated("label", "-m", "small", "test.txt", "--coverage", "0.9").status == 2
    size = (calibrated.directory / "small").stat().st_size
    assert calibrated("calibrate", "small", "held.txt").status == 0
    assert calibrated("label", "-m", "small", "test.txt", "--coverage", "0.9").status == 0
    assert size < (calibrated.directory / "small").stat().st_size < size + 5000
    assert "calibrate" not in calibrated("compact", "small", "again").err
