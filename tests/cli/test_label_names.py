"""Labels that an output format cannot hold: `label` names them instead of writing files that nobody can read."""

import json

import pytest

from sparsecrf import CRF


@pytest.fixture
def model(tmp_path):
    def make(label):
        crf = CRF(template="U:%x[0,0]\nB").fit([[["a"], ["b"]]] * 5, [[label, "O"]] * 5)
        crf.model_.save(tmp_path / "m")
        return str(tmp_path / "m")

    return make


@pytest.mark.parametrize("label", ["New York", "A\tB", "A\nB", "A\0B"])
@pytest.mark.parametrize("form", ["columns", "tokens"])
def test_labels_that_would_break_the_lines_of_a_file(program, model, label, form):
    program.write(t="a\nb\n")
    done = program("label", "-m", model(label), "t", "--format", form)
    assert (done.status, done.out) == (1, "")
    assert f"label {label!r}:" in done.err
    assert "--format jsonl" in done.err


def test_json_holds_any_label(program, model):
    program.write(t_jsonl=json.dumps({"tokens": ["a", "b"]}) + "\n")
    done = program("label", "-m", model("New\nYork"), "t.jsonl")
    assert json.loads(done.out)["labels"] == ["New\nYork", "O"]


def test_a_blank_is_no_harm_on_a_line_of_its_own(program, tmp_path):
    CRF().fit([[["a"], ["b"]]] * 5, [["New York", "O"]] * 5).model_.save(tmp_path / "m")
    program.write(t_crfsuite="O\ta\nO\tb\n\n")
    done = program("label", "-m", str(tmp_path / "m"), "t.crfsuite")
    assert done.status == 0, done.err
    assert "New York" in done.out
