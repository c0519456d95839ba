"""Malformed input of every kind: a clear message, exit status 1 or 2, and nothing left behind."""

import pytest

from sparsecrf import Model, Template

DATA = "a D X\nb N Y\n\nb N Y\na D X\n"
TEMPLATE = "U:%x[0,0]\nB\n"
GOOD = "good.safetensors"

#: name, files, arguments, exit status, what the message must name
CASES = [
    # ---- Templates.
    ("unknown line", {"t_txt": "U:%x[0,0]\nZ\n"}, "train", 1, "t.txt, line 2, column 1"),
    ("unknown macro", {"t_txt": "U:%z[0,0]\n"}, "train", 1, "t.txt, line 1, column 4"),
    ("no bracket", {"t_txt": "U:%x0,0\n"}, "train", 1, "t.txt, line 1, column 5"),
    ("no row", {"t_txt": "U:%x[,0]\n"}, "train", 1, "t.txt, line 1, column 6"),
    ("no column", {"t_txt": "U:%x[0]\n"}, "train", 1, "t.txt, line 1, column 7"),
    ("negative column", {"t_txt": "U:%x[0,-1]\n"}, "train", 1, "t.txt, line 1, column 8"),
    ("open bracket", {"t_txt": "U:%x[0,0\n"}, "train", 1, "t.txt, line 1, column 9"),
    ("huge row", {"t_txt": "U:%x[99999999999,0]\n"}, "train", 1, "t.txt, line 1, column 6"),
    ("no expression", {"t_txt": "U:%t[0,0]\n"}, "train", 1, "t.txt, line 1, column 9"),
    ("open expression", {"t_txt": 'U:%m[0,0,"a]\n'}, "train", 1, "t.txt, line 1, column 13"),
    ("double star", {"t_txt": 'U:%m[0,0,"a**"]\n'}, "train", 1, "t.txt, line 1, column 13"),
    ("empty template", {"t_txt": ""}, "train", 1, "t.txt: expected at least one line"),
    ("only comments", {"t_txt": "# nothing\n\n"}, "train", 1, "t.txt: expected at least one line"),
    ("template in Latin-1", {"t_txt": b"U\xe9\n"}, "train", 1, "t.txt, line 1, byte 2"),
    ("template in UTF-16", {"t_txt": "U\n".encode("utf-16-le")}, "train", 1, "t.txt, line 1, byte 2"),
    (
        "column of the label",
        {"t_txt": "U:%x[0,2]\n"},
        "train",
        1,
        "train.txt, line 1: expected 3 columns of observations",
    ),
    ("missing template", {}, "train train.txt -m m -t none.txt", 1, "none.txt"),
    ("template is a directory", {}, "train train.txt -m m -t .", 1, ".: expected a file, found a directory"),
    (
        "unknown boundary",
        {},
        "train train.txt -m m -t t.txt --recipe boundary=mallet",
        1,
        "boundary: expected 'crf++' or 'wapiti'",
    ),
    # ---- Column files.
    (
        "too few columns",
        {"train_txt": "a D X\nb Y\n"},
        "train",
        1,
        "train.txt, line 2: expected 3 columns as in line 1, found 2",
    ),
    ("too many columns", {"train_txt": "a D X\nb N N Y\n"}, "train", 1, "train.txt, line 2: expected 3 columns"),
    ("commas", {"train_txt": "a,X\nb,Y\n"}, "train train.txt -m m", 1, "spaces or tabs; this looks like CSV)"),
    (
        "commas and a template",
        {"train_txt": "\na,X\nb,Y\n"},
        "train",
        1,
        "train.txt, line 2: expected 2 or more columns, with the label in the last one, found 1 (columns are "
        "separated by spaces or tabs; this looks like CSV)",
    ),
    (
        "only labels",
        {"train_txt": "X\nY\n"},
        "train",
        1,
        "train.txt, line 1: expected 2 or more columns, with the label in the last one, found 1 (columns are "
        "separated by spaces or tabs)",
    ),
    ("only labels and no template", {"train_txt": "X\nY\n"}, "train train.txt -m m", 1, "with the label in the last"),
    ("empty data", {"train_txt": ""}, "train", 1, "train.txt: expected at least one sequence"),
    ("blank data", {"train_txt": "\n \n\t\n"}, "train", 1, "train.txt: expected at least one sequence"),
    ("data in Latin-1", {"train_txt": b"a D X\n\n\xe9 D X\n"}, "train", 1, "train.txt, line 3, byte 1"),
    ("a cut character", {"train_txt": b"a D X\nb N \xe2\x82"}, "train", 1, "train.txt, line 2, byte 5"),
    ("overlong UTF-8", {"train_txt": b"a\xc0\xaf D X\n"}, "train", 1, "train.txt, line 1, byte 2"),
    ("a surrogate", {"train_txt": b"\xed\xa0\x80 D X\n"}, "train", 1, "train.txt, line 1, byte 1"),
    ("a NUL byte", {"train_txt": b"a D X\nb\0 N Y\n"}, "train", 1, "train.txt, line 2, byte 2"),
    ("data in UTF-16", {"train_txt": DATA.encode("utf-16")}, "train", 1, "train.txt, line 1, byte 1"),
    ("a binary file", {"train_txt": bytes(range(256))}, "train", 1, "train.txt, line 1, byte 1"),
    ("missing data", {}, "train none.txt -m m", 1, "none.txt"),
    ("data is a directory", {}, "train . -m m", 1, ".: expected a file, found a directory"),
    ("second file missing", {}, "train train.txt none.txt -m m", 1, "none.txt"),
    (
        "second file of other width",
        {"o_txt": "a X\n"},
        "train train.txt o.txt -m m",
        1,
        "o.txt, line 1: expected 3 columns",
    ),
    ("missing dev", {}, "train train.txt -m m --dev none.txt", 1, "none.txt"),
    (
        "dev of other width",
        {"o_txt": "a X\n"},
        "train train.txt -m m --dev o.txt",
        1,
        "o.txt, line 1: expected 3 columns",
    ),
    (
        "dev without known labels",
        {"o_txt": "a D Z\n"},
        "train train.txt -m m --dev o.txt",
        1,
        "o.txt: expected labels of the",
    ),
    ("no label at all", {"train_txt": "a D ?\n"}, "train train.txt -m m --missing ?", 1, "train.txt"),
    # ---- CRFsuite files.
    ("value is no number", {"d_crfsuite": "X\ta:b\n"}, "train d.crfsuite -m m", 1, "d.crfsuite, line 1, column 5"),
    ("no value", {"d_crfsuite": "X\ta\n\nX\ta:\n"}, "train d.crfsuite -m m", 1, "d.crfsuite, line 3, column 5"),
    (
        "infinite value",
        {"d_crfsuite": "X\ta:inf\n"},
        "train d.crfsuite -m m",
        1,
        "d.crfsuite, line 1, column 5",
    ),
    ("CRFsuite with a template", {"d_crfsuite": "X\ta\n"}, "train d.crfsuite -m m -t t.txt", 2, "--template"),
    ("CRFsuite in Latin-1", {"d_crfsuite": b"X\t\xe9\n"}, "train d.crfsuite -m m", 1, "d.crfsuite, line 1, byte 3"),
    ("unknown format", {}, "train train.txt -m m --format xml", 2, "--format"),
    # ---- Labelling.
    (
        "wider than before",
        {"x_txt": "a D\n\nb N N Y\n"},
        f"label -m {GOOD} x.txt -o o.txt",
        1,
        "x.txt, line 3: expected 2 columns",
    ),
    (
        "running text",
        {"x_txt": "The dog barks in Oslo .\n"},
        f"label -m {GOOD} x.txt -o o.txt",
        1,
        "found 6 columns (one token per line, a blank line between sequences; "
        "to label plain text: `sparsecrf label --format text`)",
    ),
    (
        "lines of running text",
        {"x_txt": "The dog .\nIt sees a cat .\n"},
        f"label -m {GOOD} x.txt -o o.txt",
        1,
        "found 5 (one token per line, a blank line between sequences; to label plain text: "
        "`sparsecrf label --format text`)",
    ),
    ("too narrow", {"x_txt": "a\n"}, f"label -m {GOOD} x.txt -o o.txt", 1, "x.txt, line 1: expected 2 columns"),
    ("input in Latin-1", {"x_txt": b"a D\n\xe9 D\n"}, f"label -m {GOOD} x.txt -o o.txt", 1, "x.txt, line 2, byte 1"),
    ("missing input", {}, f"label -m {GOOD} none.txt -o o.txt", 1, "none.txt"),
    ("force without labels", {"x_txt": "a D\n"}, f"label -m {GOOD} x.txt --force -o o.txt", 1, "x.txt, line 1"),
    ("constraints for other labels", {}, f"label -m {GOOD} train.txt --constrain iob2 -o o.txt", 1, "constraints iob2"),
    (
        "unknown constraints",
        {},
        f"label -m {GOOD} train.txt --constrain xyz -o o.txt",
        2,
        "--constrain",
    ),
    ("no directory for the output", {}, f"label -m {GOOD} train.txt -o none/o.txt", 1, "none/o.txt"),
    ("output is a directory", {}, f"label -m {GOOD} train.txt -o .", 1, ".: expected the name of a file"),
    # ---- Models.
    ("missing model", {}, "label -m none train.txt", 1, "none"),
    ("an empty model", {"m_st": b""}, "label -m m.st train.txt -o o.txt", 1, "m.st"),
    ("a text as model", {"m_st": DATA}, "label -m m.st train.txt -o o.txt", 1, "m.st"),
    ("a zip as model", {"m_st": b"PK\x03\x04" + bytes(100)}, "label -m m.st train.txt -o o.txt", 1, "m.st"),
    ("a header of 2^60 bytes", {"m_st": (1 << 60).to_bytes(8, "little") + b"{}"}, "label -m m.st train.txt", 1, "m.st"),
    ("a directory as model", {}, "label -m . train.txt", 1, "expected a file, found a directory"),
    ("a header without content", {"c_txt": b"\x08" + bytes(7) + b"{}      "}, "label -m c.txt train.txt", 1, "c.txt"),
    (
        "columns for a CRFsuite model",
        {},
        "label -m plain.safetensors train.txt -o o.txt",
        1,
        "train.txt, line 1: expected a label, a tab and attributes (CRFsuite's format), found",
    ),
    ("too many threads", {}, f"label -m {GOOD} train.txt --threads 99999999999", 2, "--threads"),
    ("a model to standard output", {}, "train train.txt -m -", 1, "-: expected the name of a file"),
    (
        "a gold label is missing",
        {"x_txt": "a D\n"},
        f"eval -m {GOOD} x.txt",
        1,
        "x.txt, line 1: expected 3 columns, the last with the gold label, found",
    ),
    ("no label in CRFsuite", {"d_crfsuite": "A\ta\n\ta\n"}, "train d.crfsuite -m m", 1, "d.crfsuite, line 2"),
    ("unknown solver of a path", {}, "path train.txt -o p --solver newton", 2, "--solver"),
    ("init is no model", {"m_st": DATA}, "train train.txt -m m --init m.st", 1, "m.st"),
    ("no directory for the model", {}, "train train.txt -m none/m", 1, "none/m"),
    ("model is a directory", {}, "train train.txt -m .", 1, ".: expected the name of a file"),
    ("checkpoint of another kind", {"c_txt": DATA}, "train train.txt -m m --checkpoint c.txt --resume", 1, "c.txt"),
    ("show no model", {"m_st": DATA}, "show m.st", 1, "m.st"),
    # ---- Scores.
    ("one column to score", {"x_txt": "X\n"}, "eval x.txt", 1, "x.txt: expected at least 2 columns"),
    ("uneven columns to score", {"x_txt": "a X X\nb Y\n"}, "eval x.txt", 1, "x.txt, line 2: expected 3 columns"),
    ("nothing to score", {"x_txt": ""}, "eval x.txt", 1, "x.txt: expected at least one line"),
    # ---- Options.
    ("no such command", {}, "learn train.txt", 2, "learn"),
    ("no such option", {}, "train train.txt -m m --fast", 2, "--fast"),
    ("no data", {}, "train -m m", 2, "TRAIN"),
    ("no model", {}, "train train.txt", 2, "--model"),
    ("unknown solver", {}, "train train.txt -m m --solver newton", 2, "--solver"),
    ("infinite rho1", {}, "train train.txt -m m --rho1 inf", 2, "--rho1"),
    ("a model over the data", {}, "train train.txt -m train.txt", 1, "train.txt: this file is also an input"),
    ("labels over the model", {}, f"label -m {GOOD} train.txt -o {GOOD}", 1, f"{GOOD}: this file is also an input"),
    (
        "far too wide",
        {"x_txt": "a b c d\n"},
        f"label -m {GOOD} x.txt -o o.txt",
        1,
        "x.txt, line 1: expected 2 columns as in training, or one more with the label, found 4 columns",
    ),
    (
        "labelled twice",
        {"x_txt": "a D X X\n"},
        f"eval -m {GOOD} x.txt",
        1,
        "x.txt, line 1: expected 3 columns, the last with the gold label, found",
    ),
    ("a device as data", {}, "train /dev/null -m m", 1, "/dev/null: expected at least one sequence"),
    (
        "iob1 is not iob2",
        {},
        "label -m iob1.safetensors train.txt -o o.txt --constrain iob2",
        1,
        "constraints iob2: expected a label B-",
    ),
    (
        "iob2 is not iobes",
        {},
        "label -m iob2.safetensors train.txt -o o.txt --constrain iobes",
        1,
        "constraints iobes: expected labels E-",
    ),
    ("negative rho1", {}, "train train.txt -m m --rho1 -1", 2, "--rho1"),
    ("rho2 is no number", {}, "train train.txt -m m --rho2 x", 2, "--rho2"),
    ("rho1 is NaN", {}, "train train.txt -m m --rho1 nan", 2, "--rho1"),
    ("no iterations", {}, "train train.txt -m m --max-iter 0", 2, "--max-iter"),
    ("patience without dev", {}, "train train.txt -m m --patience 3", 2, "--patience"),
    ("resume without checkpoint", {}, "train train.txt -m m --resume", 2, "--resume"),
    ("l1 for sgd", {}, "train train.txt -m m --solver sgd", 2, "--rho1 0.05 is not supported by --solver sgd"),
    ("no labellings", {}, f"label -m {GOOD} train.txt --nbest 0", 2, "--nbest"),
    ("negative threads", {}, f"label -m {GOOD} train.txt --threads -2", 2, "--threads"),
    ("unknown scheme", {}, "eval train.txt --scheme bilbo", 2, "--scheme"),
    ("ratio above 1", {}, "path train.txt -o p --rho-min-ratio 2", 2, "--rho-min-ratio"),
    ("path without values", {}, "path train.txt -o p --n-rho 0", 2, "--n-rho"),
]


def test_there_are_enough_cases():
    assert len({name for name, *_ in CASES}) == len(CASES) >= 60


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "command", "status", "message"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_bad_input(program, files, command, status, message):
    program.write(train_txt=DATA, t_txt=TEMPLATE)
    made = Model.from_weights(["X", "Y"], {("U:a", "X"): 1.0, ("U:b", "Y"): 1.0})
    Model(made.vocabulary, made.features, made.w, template=Template("U:%x[0,0]\nU:%x[0,1]"), n_columns=2).save(GOOD)
    made.save("plain.safetensors")
    for name, labels in (("iob1", ["O", "I-X", "B-Y", "I-Y"]), ("iob2", ["O", "B-X", "I-X"])):
        Model.from_weights(labels, {("U:a", "I-X"): 1.0}).save(f"{name}.safetensors")
    program.write(**files)
    before = program.files()
    done = program(*("train train.txt -t t.txt -m m" if command == "train" else command).split())
    assert done.status == status, done.err
    assert message in " ".join(done.err.split())
    assert "Traceback" not in done.err
    if status == 1:
        assert done.err.splitlines()[-1].startswith("sparsecrf: ")
    assert done.out == ""
    assert program.files() == before
