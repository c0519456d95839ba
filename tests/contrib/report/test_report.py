"""The report: what is in the page, in words and numbers, and what the program says when it cannot be made.

tests/browser looks at the page itself.
"""

import base64
import hashlib
import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reports import DATA, HEBREW, SCRIPT, TRAINING, content, large_model, small_model, unpack

from sparsecrf import BIAS, InputError, Model
from sparsecrf.contrib.explain import START
from sparsecrf.contrib.report import make_report
from sparsecrf.contrib.report.of_model import history
from sparsecrf.contrib.report.of_sentences import sentence_data
from sparsecrf.contrib.report.pack import Names, real, whole
from sparsecrf.contrib.report.page import as_script_text
from sparsecrf.contrib.report.words import certificate, facts, rounded_up
from sparsecrf.metrics import evaluate


@pytest.fixture
def files(program):
    """A model and data in files."""
    small_model().save(program.directory / "m.safetensors")
    program.write(test_txt=DATA)
    return program


# ---- Numbers and names


@pytest.mark.slow
@given(st.lists(st.integers(-(2**31), 2**31 - 1)))
def test_whole_numbers(values):
    assert unpack(whole(values)).tolist() == values


def test_small_numbers_are_small():
    assert list(whole([0, 255])) == ["u8"]
    assert list(whole([-1, 256])) == ["i16"]
    assert list(whole([70_000])) == ["i32"]
    with pytest.raises(OverflowError):
        whole([2**40])


def test_real_numbers():
    assert unpack(real([0.5, -1e300])).tolist() == [0.5, -np.finfo(np.float32).max]


def test_names():
    names = Names(["a", "b"])
    assert (names.number("b"), names.number("c"), names.all, len(names)) == (1, 2, ["a", "b", "c"], 3)


# ---- Words


@pytest.mark.parametrize(
    ("percent", "text"),
    [(0.0400001, "0.041"), (0.04, "0.041"), (12.01, "13"), (99.5, "100"), (0.000001, "0.000001"), (1e-12, "0.000001")],
)
def test_percentages_of_bounds_are_rounded_up(percent, text):
    assert rounded_up(percent) == text
    assert float(text) >= percent


def test_the_certificate_in_words():
    made = certificate(TRAINING)
    assert (made.headline, made.good) == ("Training objective within 0.041 % of its optimum", True)
    assert "below 99.96; these weights reach 100." in made.detail
    assert certificate({**TRAINING, "gap": 20.0}).headline == "Training objective within 25 % of its optimum"
    assert not certificate({**TRAINING, "gap": 20.0}).good
    assert certificate({**TRAINING, "gap": 99.0}).headline == "No useful bound yet"
    assert certificate({**TRAINING, "gap": 200.0}).headline == "No useful bound yet"
    assert certificate({**TRAINING, "gap": 0.0}).headline == "Training objective at its optimum"
    assert certificate({**TRAINING, "gap": None}).headline == "No bound on the distance to the optimum"
    assert certificate({"imported_from": "crfsuite"}).detail == "The weights were imported from crfsuite."
    assert certificate({}).headline == "No certificate"
    assert certificate({"objective": "much", "gap": True}).headline == "No certificate"


def test_the_training_record_in_words():
    lines = dict(facts(TRAINING))
    assert (lines["Objective"], lines["Duality gap"], lines["Iterations"]) == ("100", "0.04", "40")
    assert lines["Stopped because"] == "close enough to the optimum"
    assert facts({}) == []
    assert facts({"rho1": 10**400, "rho2": -(10**400)}) == [
        ("l1 penalty rho1", "not known"),
        ("l2 penalty rho2", "not known"),
    ]
    assert facts({"kkt": None, "stopped_by": "boredom"}) == [
        ("KKT residual, relative", "not known"),
        ("Stopped because", "boredom"),
    ]


@pytest.mark.parametrize(
    "record",
    [
        None,
        [],
        {},
        {"iter": 3},
        {"iter": [0]},
        {"iter": [0, None]},
        {"iter": ["a", "b"]},
        {"iter": [float("nan"), 1.0]},
    ],
)
def test_a_history_that_makes_no_sense_is_left_out(record):
    assert history({"history": record}) is None
    assert history({}) is None


def test_a_history():
    found = history({"history": {"iter": [0, 1], "objective": [2.0, "x"], "gap": [1.0], "sounds": [1, 2]}})
    assert found == {"iter": [0, 1], "objective": [2.0, None]}


# ---- The page


def test_strings_cannot_leave_the_script():
    hostile = ["</script><script>alert(1)</script>", "<!--", "]]>", "&amp;", "\u2028\u2029", '"\\', "\0\r\n", HEBREW]
    text = as_script_text(hostile)
    assert not set(text) & set("<>&\u2028\u2029\0\r\n")
    assert json.loads(text) == hostile


def test_the_page_loads_nothing_and_runs_its_own_script_only():
    page = make_report(small_model(), name='</title><b>"')
    assert "&lt;/title&gt;&lt;b&gt;&quot;" in page
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    style, script = (
        re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1],
        page.split("<script>")[1].split("</script>")[0],
    )
    for kind, text in (("style", style), ("script", script)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    addresses = set(re.findall(r"https?://[^\s\"')]*", page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, not a place
    assert not re.search(r"\ssrc=|@import|url\(", page)
    assert page.count("<script") == 2
    assert "innerHTML" not in page
    assert "{{" not in page.split("<script>")[0]


def test_weights_of_the_page():
    model = small_model()
    found = content(make_report(model, name="m"))
    weights = found["weights"]
    x, p, y, w = (unpack(weights[key]) for key in "xpyw")
    labels = [*found["labels"], found["start"]]
    rows = [
        (found["names"][a], None if b < 0 else labels[b], labels[c], round(float(d), 6))
        for a, b, c, d in zip(x, p, y, w, strict=True)
    ]
    assert rows[0] == (f"U:{SCRIPT}", None, '<b>"&', 4.0)
    assert ("B", START, "NOUN", 0.25) in rows
    assert rows == [tuple(weight) for weight in model.explain(top=None).largest()]
    assert [found["names"][k] for k in weights["plain"]] == ["B"]
    assert (found["name"], weights["total"], found["summary"]["active"], found["summary"]["features"]) == (
        "m",
        14,
        14,
        1000,
    )
    matrix = np.zeros((5, 4))
    matrix[unpack(found["transitions"]["p"]), unpack(found["transitions"]["y"])] = unpack(found["transitions"]["w"])
    assert matrix.tolist() == model.transitions().tolist()
    uses = {use["name"]: (use["attributes"], use["unigram"], use["bigram"]) for use in found["templates"]}
    assert uses == {"U:%x[0,0]": (8, 9, 0), "B": (1, 0, 4), "B1:%x[0,1]": (1, 0, 1), "U9:%x[9,0]": (0, 0, 0)}
    assert found["history"]["gap"][5] == 50.0
    assert found["sentences"] is None


def test_more_weights_than_wanted():
    found = content(make_report(large_model(1000), max_weights=10))
    w = unpack(found["weights"]["w"])
    assert (found["weights"]["total"], len(w)) == (1000, 10)
    assert len(found["names"]) <= 10
    assert abs(w).min() > 1.5  # the largest


@pytest.mark.slow
def test_a_large_model_is_a_small_page():
    page = make_report(large_model())
    assert len(page) < 3e6
    assert len(unpack(content(page)["weights"]["w"])) == 100_000


@pytest.mark.parametrize("labels", [["N"], ["N", "V"]])
def test_a_model_without_weights(labels, tmp_path):
    (tmp_path / "a.crfsuite").write_text("N\ta\nN\tb\n\n")
    found = content(make_report(Model.from_weights(labels, {}), data=tmp_path / "a.crfsuite"))
    assert (found["summary"]["active"], found["templates"], found["certificate"]["good"]) == (0, [], False)
    assert found["sentences"]["scores"]["token_error"] == 0


# ---- Sentences


def sentences(model, tmp_path, text=DATA, **options):
    (tmp_path / "test.txt").write_text(text, encoding="utf-8")
    names = Names()
    return sentence_data(model, tmp_path / "test.txt", options.pop("max_sentences", 100), names, **options), names.all


def test_sentences_are_scored_and_errors_come_first(tmp_path):
    found, _ = sentences(small_model(), tmp_path)
    gold = [[line.split()[-1] for line in block.split("\n")] for block in DATA.strip().split("\n\n")]
    rows = [[line.split()[:-1] for line in block.split("\n")] for block in DATA.strip().split("\n\n")]
    predicted = [small_model().label(sentence) for sentence in rows]
    assert found["scores"] == evaluate(zip(gold, predicted, strict=True)).as_dict()
    assert (found["wrong"], found["confusions"]) == (2, [("VERB", "NOUN", 1), ("unheard-of", '<b>"&', 1)])
    order = [1, 2, 0, 3]  # those with errors, then the others
    assert unpack(found["number"]).tolist() == [k + 1 for k in order]
    assert found["words"] == [[row[0] for row in rows[k]] for k in order]
    assert found["more"][0] == ["NN", "VB"]
    names = found["names"]
    assert [names[k] for k in unpack(found["gold"])] == [label for k in order for label in gold[k]]
    assert [names[k] for k in unpack(found["predicted"])] == [label for k in order for label in predicted[k]]


def test_terms_add_up(tmp_path):
    """Contributions of a token are its score for the label and for the rival, whatever is left out or added up."""
    model = small_model()
    found, names = sentences(model, tmp_path)
    counts, own = unpack(found["terms"]["counts"]), unpack(found["terms"]["own"])
    first = model.explain([["dog", "NN"], ["runs", "VB"]])
    expected = [token.score for token in first.tokens]
    ends = np.cumsum(counts)
    assert [own[:2].sum(), own[ends[0] : ends[1]].sum()] == pytest.approx(expected, rel=1e-6)
    assert names[unpack(found["terms"]["x"])[0]] == "U:dog"
    # The gold label of the first token, VERB, is the runner-up.
    assert found["names"][unpack(found["rival"])[0]] == "VERB"
    assert unpack(found["terms"]["rival"])[0] == -1.0
    assert unpack(found["goldP"])[0] == pytest.approx(first.marginals[0, 2])
    assert unpack(found["topP"])[: found["nTop"]].sum() == pytest.approx(1.0)


def test_many_terms_are_added_up(tmp_path):
    many = {(f"a{k}", "N"): 1.0 + k / 10 for k in range(30)}
    model = Model.from_weights(["N", "V"], many, {(BIAS, None, "N"): 1e-4})
    text = "N\t" + "\t".join(f"a{k}" for k in range(30)) + "\n\n"
    found, _ = sentences(model, tmp_path, text)
    x, value, own = (unpack(found["terms"][key]) for key in ("x", "value", "own"))
    assert unpack(found["terms"]["counts"]).tolist() == [10]
    assert (x[-1], value[-1]) == (-1, 22)  # 21 others, and the bias, which is too small to print
    assert own.sum() == pytest.approx(sum(many.values()) + 1e-4)


def test_few_sentences_are_kept(tmp_path):
    found, _ = sentences(small_model(), tmp_path, max_sentences=3)
    assert unpack(found["number"]).tolist() == [2, 3, 1]
    assert found["scores"]["sequences"] == 4  # scores are of all
    found, _ = sentences(small_model(), tmp_path, max_tokens=5)
    assert unpack(found["number"]).tolist() == [2, 3]
    found, _ = sentences(small_model(), tmp_path, max_tokens=1)
    assert unpack(found["number"]).tolist() == [2]


def test_space_within_a_word(tmp_path):
    """Columns are set off by the blanks of ASCII; a word may have other space in it."""
    file = tmp_path / "d.txt"
    file.write_text("the\u00a0dog NN NOUN\nruns\u3000 VB VERB\n\n", encoding="utf-8")
    data = sentence_data(small_model(), file, 5, Names())
    assert data["words"] == [["the\u00a0dog", "runs\u3000"]]
    assert data["more"] == [["NN", "VB"]]


def test_crfsuite_files(tmp_path):
    model = Model.from_weights(["N", "V"], {("w[0]=dogs", "N"): 2.0, ("len", "V"): 0.5}, {(BIAS, "N", "V"): 1.0})
    found, names = sentences(model, tmp_path, "N\tx\tw[0]=dogs\tlen:4\nV\tbark\n\n")
    assert found["words"] == [["dogs", "bark"]]
    assert found["more"] is None
    value = unpack(found["terms"]["value"]).tolist()
    assert value[[names[k] for k in unpack(found["terms"]["x"])].index("len")] == 4.0


# ---- The program


def test_the_program_writes_a_page(files):
    done = files("report", "m.safetensors", "-o", "r.html", "--data", "test.txt", "--max-sentences", "2")
    assert (done.status, done.out) == (0, "")
    assert "r.html" in done.err
    page = (files.directory / "r.html").read_text(encoding="utf-8")
    assert content(page)["name"] == "m.safetensors"
    assert len(content(page)["sentences"]["words"]) == 2
    assert files("report", "m.safetensors", "-o", "q.html", "-q").err == ""
    assert files.files() == ["m.safetensors", "q.html", "r.html", "test.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nosuch", "-o", "r.html"), "nosuch: No such file"),
        (("test.txt", "-o", "r.html"), "test.txt: expected a sparsecrf model"),
        (("m.safetensors", "-o", "nosuch/r.html"), "nosuch' does not exist"),
        (("m.safetensors", "-o", "."), "expected the name of a file, found a directory"),
        (("m.safetensors", "-o", "-"), "found standard output"),
        (("m.safetensors", "-o", "m.safetensors"), "this file is also an input"),
        (("m.safetensors", "-o", "test.txt", "--data", "test.txt"), "this file is also an input"),
        (("m.safetensors", "-o", "r.html", "--data", "nosuch"), "nosuch: No such file"),
        (("m.safetensors", "-o", "r.html", "--data", "narrow.txt"), "narrow.txt, line 1: expected 3 columns"),
        (("m.safetensors", "-o", "r.html", "--data", "ragged.txt"), "ragged.txt, line 2: expected 3 columns"),
        (("m.safetensors", "-o", "r.html", "--data", "empty.txt"), "empty.txt: expected at least one line with labels"),
    ],
)
def test_errors(files, arguments, message):
    files.write(narrow_txt="dog NOUN\n", ragged_txt="dog NN NOUN\nruns VERB\n", empty_txt="\n\n", r_html="old")
    before = files.files()
    done = files("report", *arguments)
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("sparsecrf: ")
    assert message in done.err
    assert files.files() == before  # nothing half-written
    assert (files.directory / "r.html").read_text() == "old"


@pytest.mark.parametrize("more", [(), ("-o", "r.html", "--max-sentences", "0"), ("-o", "r.html", "--max-weights", "0")])
def test_wrong_usage(files, more):
    done = files("report", "m.safetensors", *more)
    assert (done.status, done.out) == (2, "")
    assert "Usage: sparsecrf report" in done.err


def test_a_page_that_cannot_be_finished_leaves_the_old_one(files, monkeypatch):
    files.write(r_html="old")

    def full(*_):
        raise OSError(28, "No space left on device", "r.html")

    monkeypatch.setattr("os.fsync", full)
    done = files("report", "m.safetensors", "-o", "r.html")
    assert (done.status, done.out) == (1, "")
    assert "No space left on device" in done.err
    assert (files.directory / "r.html").read_text() == "old"
    assert files.files() == ["m.safetensors", "r.html", "test.txt"]


def test_wrong_options():
    with pytest.raises(InputError, match=r"max_sentences: expected.*number.*least 1.*found 0"):
        make_report(small_model(), max_sentences=0)
