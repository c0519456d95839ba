"""The demo on both kinds of data, in small; its letters."""

import os
import subprocess
import sys

import pytest
from rich.cells import cell_len

from sparsecrf import Model
from sparsecrf.cli.demo import demo
from sparsecrf.contrib.demo.letters import (
    HELD_OUT,
    Part,
    attributes,
    conditions_pairs,
    make_task,
    phonemes,
    pronunciations,
)
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.files.crfsuite import read_crfsuite


def run(*arguments, **environment):
    preloaded = {name: os.environ[name] for name in os.environ if name in ("LD_PRELOAD", "ASAN_OPTIONS")}
    return subprocess.run(
        [sys.executable, "-m", "sparsecrf", "demo", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={"PYTHONUTF8": "1", "COLUMNS": "80", **preloaded, **environment},
    )


# ---- The whole


@pytest.mark.slow
def test_letters_to_sounds(tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need the extra `plot`")
    done = run("--data", "cmudict", "--words", "100", "-o", str(tmp_path / "made"))
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1].startswith("path  100 %")
    for part in ("Alignment", "K+S", "chosen: rho1 =", "letters (tokens)", "words (any sound)", "what to do next"):
        assert part in done.stdout
    assert max(map(cell_len, done.stdout.splitlines())) <= 80
    files = ["model.safetensors", "path.svg", "report.html", "test.crfsuite", "weights.svg"]
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == files
    assert all(name in done.stdout.replace("\n", "") for name in files)
    assert "one SE" in (tmp_path / "made" / "path.svg").read_text(encoding="utf-8")
    assert "error (%)" in (tmp_path / "made" / "path.svg").read_text(encoding="utf-8")
    model = Model.load(tmp_path / "made" / "model.safetensors")
    tokens, labels = next(read_crfsuite(tmp_path / "made" / "test.crfsuite"))
    assert len(model.label(tokens)) == len(labels)


@pytest.mark.slow
@pytest.mark.parametrize("words", [["--words", "99"], ["--data", "nosuch"]])
def test_wrong_usage(words):
    assert run(*words).returncode == 2


@pytest.mark.slow
def test_without_the_dictionary_the_task_is_simulated(monkeypatch, capsys, tmp_path):
    """`auto` is not an error on a machine that has only the package itself; asking for CMUdict is."""
    monkeypatch.setattr("sparsecrf.contrib.datasets.fetch.is_here", lambda data_set: False)
    demo(sequences=50, output=tmp_path)
    printed = capsys.readouterr()
    assert "pip install 'sparsecrf[demo]'" in printed.err
    assert "15.40 %" in printed.out
    assert "report.html" in printed.out.replace("\n", "")  # long paths are wrapped
    assert (tmp_path / "report.html").stat().st_size > 10_000


@pytest.mark.slow
def test_without_matplotlib_the_demo_draws_nothing(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sparsecrf.contrib.demo.screen.find_spec", lambda name: None)
    demo(data="simulated", sequences=50, output=tmp_path)
    assert "pip install 'sparsecrf[plot]'" in capsys.readouterr().out
    assert not list(tmp_path.glob("*.svg"))


def test_a_file_where_the_folder_should_be(program):
    program.write(taken="")
    done = program("demo", "-o", "taken")
    assert (done.status, program.files()) == (1, ["taken"])
    assert "expected a folder" in done.err
    assert program("demo", "-o", "no/such").status == 1


# ---- Letters


def test_attributes_of_a_letter():
    last = attributes("phoenix")[-1]
    assert {"0:x", "-1:ix", "-3:eni", "1:$$", "-4:o", "4:$", "-2:nix$"} <= set(last)
    assert len(set(last)) == len(last)
    assert [name for name in last if conditions_pairs(name)] == ["0:x"]


def test_phonemes_of_labels():
    assert phonemes(["F", "_", "_", "IY", "N", "IH", "K+S"]) == ("F", "IY", "N", "IH", "K", "S")


def test_pronunciations_add_up_labellings_that_sound_the_same():
    """All four labellings of `ee` are equally probable; two of them sound alike."""
    model = Model.from_weights(["E", "_"], {("0:e", "E"): 0.0})
    found = dict(pronunciations(model, "ee"))
    assert found == pytest.approx({("E",): 0.5, ("E", "E"): 0.25, (): 0.25})


def test_parts_do_not_overlap():
    words = [(f"{a}{b}{c}", [a.upper(), b.upper(), c.upper()]) for a in "abcdefgh" for b in "abcd" for c in "abcd"]
    task = make_task(words, 20, seed=3)
    parts = [{spelling for spelling, _ in part.words} for part in (task.train, task.dev, task.test)]
    assert len(words) // 4 < HELD_OUT
    assert [len(part) for part in parts] == [20, 32, 32]
    assert not parts[0] & parts[1] | parts[0] & parts[2] | parts[1] & parts[2]
    assert task.dev.labels[0] == list(task.dev.words[0][1])


def test_a_label_that_training_does_not_have_counts_as_wrong():
    vocabulary = Vocabulary()
    Part([("a", ["A"])], [["A"]]).encode(vocabulary, grow=True)
    assert Part([("ab", ["A", "B"])], [["A", "B"]]).encode(vocabulary).labels.tolist() == [0, -1]
