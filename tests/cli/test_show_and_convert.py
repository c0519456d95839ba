"""`sparsecrf show` and `sparsecrf convert`, in this process."""

import csv
import io
import json

import pytest

from sparsecrf import BIAS, Model, Template


@pytest.fixture
def call(program, monkeypatch):
    """Runs the program on a screen of 100 columns: exit status, standard output, standard error."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments):
        done = program(*arguments)
        return done.status, done.out, done.err

    return run


@pytest.fixture
def model(tmp_path):
    made = Model.from_weights(
        ["NOUN", "VERB"],
        {("dogs", "NOUN"): 2.0, ("bark", "VERB"): 0.5, ("[red]bark[/red]", "NOUN"): -1.25},
        {(BIAS, None, "NOUN"): 0.125, (BIAS, "NOUN", "VERB"): 1.5, ("dogs", "VERB", "VERB"): -3.0},
    )
    made = Model(
        made.vocabulary,
        made.features,
        made.w,
        template=Template("U:%x[0,0]\n"),
        training={"rho1": 0.5, "gap": 1.25e-5, "kkt": None, "solver": "auto", "tokens": 1234567},
    )
    made.save(tmp_path / "m.safetensors")
    return made


def test_text(call, model):
    status, out, err = call("show", "m.safetensors")
    assert (status, err) == (0, "")
    for part in ("3 for labels, 3 for label pairs", "U:%x[0,0]", "1.25e-05", "not known", "Transitions", "[start]"):
        assert part in out
    said = {" ".join(line.replace("│", " ").split()) for line in out.splitlines()}
    assert {"training objective above optimum, at most 1.25e-05", "training tokens 1,234,567", "rho1 0.5"} <= said
    assert "[red]bark[/red]" in out  # a name, no colour
    assert out.index("Label NOUN") < out.index("+2.0000") < out.index("-1.2500") < out.index("Label VERB")
    assert BIAS not in out  # its weights are in the matrix


@pytest.mark.slow
def test_distances_are_shown_in_percent_of_the_optimum(call, model, tmp_path):
    training = {"objective": 101.0, "gap": 1.0, "remaining": 0.25}
    for record, said in (
        (training, ["at most 1 (1 %)", "about 0.25 (0.25 %)"]),
        ({**training, "gap": 200.0, "objective": None}, ["at most 200", "about 0.25"]),
        ({**training, "objective": "?", "gap": "x", "remaining": True}, ["at most x", "about True"]),
    ):
        Model(model.vocabulary, model.features, model.w, training=record).save(tmp_path / "m.safetensors")
        status, out, _ = call("show", "m.safetensors")
        lines = [" ".join(line.replace("│", " ").split()) for line in out.splitlines() if "above optimum" in line]
        assert status == 0
        assert lines == [f"training objective above optimum, {text}" for text in said]


@pytest.mark.slow
def test_long_templates_are_shown_by_their_beginning(call, model, tmp_path):
    for n, more in ((12, None), (13, None), (14, 2), (50, 38)):
        template = Template("".join(f"U{k}:%x[0,{k}]\n" for k in range(n)))
        Model(model.vocabulary, model.features, model.w, template=template).save(tmp_path / "m.safetensors")
        out = call("show", "m.safetensors")[1]
        shown = out[: out.index("Templates")]
        assert shown.count(":%x") == (n if more is None else 12)
        assert ("more lines" in shown) == (more is not None)
        if more is not None:
            assert f"... {more} more lines (shown by --format json)" in shown
        assert json.loads(call("show", "m.safetensors", "--format", "json")[1])["template"]["text"] == template.text


def test_text_of_templates(call, tmp_path):
    made = Model.from_weights(["N", "V"], {("U0:a", "N"): 2.0, ("U0:b", "N"): -1.0}, {("B", "N", "V"): 0.5})
    template = Template("U0:%x[0,0]\nU1:%x[1,0]\nB\n")
    Model(made.vocabulary, made.features, made.w, template=template).save(tmp_path / "m.safetensors")
    _, out, _ = call("show", "m.safetensors")
    shown = out[out.index("Templates") : out.index("Transitions")]
    rows = [line.replace("│", " ").split() for line in shown.splitlines() if "│" in line]
    assert rows == [["U0:%x[0,0]", "2", "2", "0", "3.00"], ["B", "1", "0", "1", "0.50"], ["U1:%x[1,0]", *"000", "0.00"]]
    found = json.loads(call("show", "m.safetensors", "--format", "json")[1])
    assert found["templates"][0] == {"name": "U0:%x[0,0]", "unigram": 2, "bigram": 0, "mass": 3.0, "attributes": 2}
    assert "Templates" not in call("show", "m.safetensors", "--label", "N")[1]


def test_text_of_many_prefixes(call, tmp_path):
    Model.from_weights(["N"], {(f"x{k}:", "N"): 100.0 - k for k in range(43)}).save(tmp_path / "m.safetensors")
    _, out, _ = call("show", "m.safetensors")
    [row] = [line.replace("│", " ").split() for line in out.splitlines() if "more" in line]
    assert row == ["3", "more", "3", "3", "0", "177.00"]


def test_text_of_a_label_and_an_attribute(call, model):
    _, out, _ = call("show", "m.safetensors", "--label", "VERB", "--top", "2")
    assert "Label NOUN" not in out
    assert "-3.0000" in out
    assert "+1.5000" in out
    assert "+0.5000" not in out
    _, out, _ = call("show", "m.safetensors", "--attribute", "dogs")
    assert "+2.0000" in out
    assert "-3.0000" in out
    assert "bark" not in out


def test_a_matrix_that_does_not_fit_is_a_list(call, tmp_path):
    labels = [f"a rather long label {k}" for k in range(9)]
    Model.from_weights(labels, {}, {(BIAS, labels[3], labels[7]): 1.0}).save(tmp_path / "m.safetensors")
    _, out, _ = call("show", "m.safetensors")
    assert "label 3" in out
    assert "label 8" not in out


def test_tsv(call, model):
    status, out, err = call("show", "m.safetensors", "--format", "tsv")
    rows = list(csv.DictReader(io.StringIO(out), delimiter="\t"))
    assert (status, err) == (0, "")
    assert [(r["attribute"], r["previous"], r["label"], float(r["weight"])) for r in rows] == [
        ("dogs", "VERB", "VERB", -3.0),
        ("dogs", "", "NOUN", 2.0),
        (BIAS, "NOUN", "VERB", 1.5),
        ("[red]bark[/red]", "", "NOUN", -1.25),
        ("bark", "", "VERB", 0.5),
        (BIAS, "[start]", "NOUN", 0.125),
    ]
    _, out, _ = call("show", "m.safetensors", "--format", "tsv", "--top", "2", "--label", "NOUN")
    assert [line.split("\t")[3] for line in out.splitlines()] == ["weight", "2.0", "-1.25"]


def test_json(call, model):
    _, out, _ = call("show", "m.safetensors", "--format", "json", "--top", "1")
    found = json.loads(out)
    assert found["weights"] == [{"attribute": "dogs", "previous": "VERB", "label": "VERB", "weight": -3.0}]
    assert found["training"] == model.training
    assert (found["labels"], found["active_bigram"], found["template"]["text"]) == (2, 3, "U:%x[0,0]\n")


def test_unknown_names(call, model):
    status, out, err = call("show", "m.safetensors", "--label", "NUON")
    assert (status, out) == (2, "")
    assert "--label: expected one of the model's 2 labels (such as 'NOUN'), found 'NUON'" in err
    status, _, err = call("show", "m.safetensors", "--attribute", "dog")
    assert status == 2
    assert "--attribute: expected one of the model's" in err
    assert "(such as 'dogs')" in err


def test_wrong_usage(call):
    assert call("show", "nosuch")[0] == 1
    assert call("show", "nosuch", "--format", "xml")[0] == 2
    assert call("show", "nosuch", "--top", "0")[0] == 2


# convert


def test_convert_to_crfsuite_and_back(call, tmp_path):
    made = Model.from_weights(["N", "V"], {("a", "N"): 1 / 3}, {(BIAS, "N", "V"): 1.5}, start=False)
    made.save(tmp_path / "m.safetensors")
    assert call("convert", "m.safetensors", "m.txt", "--from", "sparsecrf", "--to", "crfsuite") == (0, "", "")
    assert call("convert", "m.txt", "back.safetensors", "--from", "crfsuite", "--to", "sparsecrf") == (0, "", "")
    back = Model.load(tmp_path / "back.safetensors")
    assert back.marginals(["a", "b"]).tolist() == made.marginals(["a", "b"]).tolist()


def test_convert_errors(call, model):
    status, _, err = call("convert", "m.safetensors", "m.txt", "--from", "sparsecrf", "--to", "mallet")
    assert status == 2
    assert "--to: expected columns, " in err
    status, _, err = call("convert", "m.safetensors", "m.txt", "--from", "sparsecrf", "--to", "crfsuite")
    assert status == 1
    assert "plain transitions" in err
    assert call("convert", "m.safetensors", "x", "--from", "crfsuite", "--to", "sparsecrf")[0] == 1
    assert call("convert", "m.safetensors", "x")[0] == 2


def test_convert_data(call, program):
    program.write(a_txt="the D X\ndog N Y\n\n", t_txt="U0:%x[-1,0]\nB\n")
    wanted = ("--from", "columns", "--to", "crfsuite", "-t", "t.txt", "--boundary", "wapiti")
    assert call("convert", "a.txt", "a.crfsuite", *wanted) == (0, "", "")
    assert (program.directory / "a.crfsuite").read_text() == "X\tu0\\:_x-1\nY\tu0\\:the\n\n"
    assert call("convert", "a.crfsuite", "back.txt", "--from", "crfsuite", "--to", "columns") == (0, "", "")
    assert (program.directory / "back.txt").read_text() == "u0:_x-1 X\nu0:the Y\n\n"


def test_convert_data_errors(call, program):
    program.write(a_txt="the D X\n\ndog N N Y\n", t_txt="U0:%x[-1,0]\nB\n")
    status, _, err = call("convert", "a.txt", "b", "--from", "columns", "--to", "crfsuite")
    assert (status, program.files()) == (1, ["a.txt", "t.txt"])
    assert "a.txt, line 3: expected 3 columns" in err
    data, model = ("--from", "crfsuite", "--to", "columns"), ("--from", "crfsuite", "--to", "sparsecrf")
    assert call("convert", "a.txt", "b", *data, "-t", "t.txt")[0] == 2
    assert call("convert", "-", "b", *model)[0] == 2
    assert call("convert", "a.txt", "nosuch/b", *model)[0] == 1


@pytest.mark.parametrize("command", ["show", "convert"])
def test_help_has_an_example(call, command):
    status, out, _ = call(command, "--help")
    assert status == 0
    assert f": sparsecrf {command}" in out
