"""The command path: what it writes, what it chooses by, what it says."""

import json
import re
from unittest.mock import ANY

import pytest
from simulated_columns import TEMPLATE, simulated

from sparsecrf import Model
from sparsecrf.path.progress import PathProgress


@pytest.fixture
def files(program):
    """A program in a directory with data."""
    program.write(train_txt=simulated(60, 1), dev_txt=simulated(20, 2), t_txt=TEMPLATE)
    return program


@pytest.mark.slow
def test_rows_of_a_path_are_of_its_models(files):
    """Stochastic solvers return the best weights seen, not the last ones; without all labels there is no gap."""
    text = (files.directory / "train.txt").read_text(encoding="utf-8")
    label = text.split("\n", 1)[0].split()[-1]
    (files.directory / "some.txt").write_text(text.replace(f" {label}\n", " ?\n", 1), encoding="utf-8")
    options = ["-t", "t.txt", "--n-rho", "4", "--json", "-q", "--missing", "?"]
    for solver in ("auto", "sgd-l1"):
        done = files("path", "some.txt", "-o", "q", *options, "--solver", solver)
        rows = json.loads(done.out, parse_constant=pytest.fail)["path"]
        assert [row["gap"] for row in rows] == [None] * 4
        for row in rows:
            counts = Model.load(files.directory / "q" / row["model"]).explain().summary
            assert (row["active_unigram"], row["active_bigram"]) == (counts["active_unigram"], counts["active_bigram"])


@pytest.mark.slow
def test_path(files):
    done = files("path", "train.txt", "-t", "t.txt", "--dev", "dev.txt", "-o", "p", "--n-rho", "4", "--json", "-q")
    assert done.status == 0
    found = json.loads(done.out)
    assert [row["model"] for row in found["path"]] == [f"model-{k:02d}.safetensors" for k in range(4)]
    errors = [row["dev_error"] for row in found["path"]]
    assert errors[found["best"]] == min(errors)
    lines = (files.directory / "p" / "path.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[0].split("\t") == list(found["path"][0])
    assert len(lines) == 5
    best = json.loads(files("eval", "dev.txt", "-m", "p/best.safetensors", "--json").out)
    assert best["token_error"] == pytest.approx(min(errors))


def test_path_without_dev_data_says_that_it_chooses_none(files):
    done = files("path", "train.txt", "-t", "t.txt", "-o", "g", "--n-rho", "2")
    assert re.search(
        r"g: 2 models in .* s; no best model was chosen, because that requires held-out labelled data \(--dev\)",
        done.err,
    )
    assert "best.safetensors" not in {file.name for file in (files.directory / "g").iterdir()}


@pytest.mark.slow
def test_the_best_of_an_earlier_path_is_not_left(files):
    options = ["-t", "t.txt", "-o", "p", "--n-rho", "2", "-q"]
    assert files("path", "train.txt", "--dev", "dev.txt", *options).status == 0
    assert (files.directory / "p" / "best.safetensors").exists()
    assert files("path", "dev.txt", *options).status == 0
    assert not (files.directory / "p" / "best.safetensors").exists()


def test_the_table_has_every_model_that_is_there(files, monkeypatch):
    """A run that is killed leaves a table of the models that it wrote."""
    rows = []
    save = Model.save

    def saving(model, path, **options):
        table = files.directory / "p" / "path.tsv"
        rows.append(len(table.read_text(encoding="utf-8").splitlines()) if table.exists() else 0)
        save(model, path, **options)

    monkeypatch.setattr(Model, "save", saving)
    assert files("path", "train.txt", "-t", "t.txt", "-o", "p", "--n-rho", "3", "-q").status == 0
    assert rows == [0, 2, 3]  # with the header line, before each model


@pytest.mark.slow
def test_path_searches_by_itself(files):
    done = files("path", "train.txt", "-t", "t.txt", "--dev", "dev.txt", "-o", "s", "--json")
    assert done.status == 0
    found = json.loads(done.out)
    rho1, errors = ([row[name] for row in found["path"]] for name in ("rho1", "dev_error"))
    assert rho1 == sorted(rho1, reverse=True)
    assert 0 < found["best"] < len(rho1) - 1
    assert errors[found["best"]] == min(errors)
    assert (found["score"], found["edge"], found["warning"]) == ("token accuracy", None, None)
    best = json.loads(files("eval", "dev.txt", "-m", "s/best.safetensors", "--json").out)
    assert best["token_error"] == pytest.approx(min(errors))
    for row in found["path"]:  # names are by the order of the fits, rows by falling rho1
        assert Model.load(files.directory / "s" / row["model"]).training["rho1"] == row["rho1"]
    assert re.search(r"point \d+: rho1 .* weights  token accuracy .* %", done.err)
    expected = r"best: rho1 .* nonzero weights, token accuracy .* % on the dev data; saved as s.best\.safetensors\n"
    assert re.search(expected, done.err)


CHUNKS = "a B-X\nb I-X\nc O\n\na B-X\nc O\n\nc O\nb O\n\nd B-Y\nc O\n\n"


@pytest.mark.slow
def test_path_is_scored_by_chunks_or_as_asked(files):
    files.write(chunks_txt=CHUNKS * 5, other_txt=CHUNKS.replace("b I-X", "b O"))
    options = [
        "-t",
        "t.txt",
        "--dev",
        "other.txt",
        "-o",
        "c",
        "--n-rho",
        "4",
        "--rho-min-ratio",
        "0.01",
        "--json",
        "-q",
    ]
    by_chunks = json.loads(files("path", "chunks.txt", *options).out)
    assert by_chunks["score"] == "chunk F1"
    assert by_chunks == {**json.loads(files("path", "chunks.txt", *options, "--score", "f1").out), "time_s": ANY}
    f1 = [row["dev_f1"] for row in by_chunks["path"]]
    assert f1[by_chunks["best"]] == max(f1) > f1[0]
    best = json.loads(files("eval", "other.txt", "-m", "c/best.safetensors", "--json").out)
    assert best["f1"] == pytest.approx(max(f1))
    by_tokens = json.loads(files("path", "chunks.txt", *options, "--score", "error").out)
    assert by_tokens["score"] == "token accuracy"
    assert [row["dev_f1"] for row in by_tokens["path"]] == [None] * 4
    assert [row["dev_error"] for row in by_tokens["path"]] == [row["dev_error"] for row in by_chunks["path"]]
    wrong = files("path", "train.txt", "-t", "t.txt", "--dev", "dev.txt", "-o", "w", "--score", "f1")
    assert wrong.status == 1
    assert "score: expected labels that encode chunks" in wrong.err


def test_path_says_that_its_best_is_at_an_edge(files):
    options = ["--dev", "dev.txt", "-o", "e", "--n-rho", "2", "--rho-min-ratio", "0.1", "--json", "-q"]
    done = files("path", "train.txt", "-t", "t.txt", *options)
    found = json.loads(done.out)
    assert (found["best"], found["edge"]) == (1, "lower")
    assert "is the smallest value tried" in found["warning"]
    assert f"warning: {found['warning']}" in done.err


@pytest.mark.slow
def test_path_searches_for_both_penalties(files):
    done = files("path", "train.txt", "-t", "t.txt", "--dev", "dev.txt", "-o", "b", "--rho2", "search", "--json")
    assert done.status == 0
    found = json.loads(done.out)
    rows = found["path"]
    assert len({row["rho2"] for row in rows}) > 1
    order = [(-row["rho1"], row["rho2"]) for row in rows]
    assert order == sorted(order)
    errors = [row["dev_error"] for row in rows]
    assert errors[found["best"]] <= 1.02 * min(errors)
    assert found["edge_rho2"] in (None, "lower", "upper")
    lines = (files.directory / "b" / "path.tsv").read_text(encoding="utf-8").splitlines()
    # New columns are added at the end: programs that read the table by position still work.
    assert lines[0].split("\t")[-2:] == ["rho2", "stopped_by"]
    assert len(lines) == len(rows) + 1
    for row in rows:
        training = Model.load(files.directory / "b" / row["model"]).training
        assert (training["rho1"], training["rho2"]) == (row["rho1"], row["rho2"])
    best = Model.load(files.directory / "b" / "best.safetensors").training
    assert best["rho2"] == rows[found["best"]]["rho2"]
    assert re.search(r"point \d+: rho1 .*, rho2 0\.1  .* weights", done.err)
    assert re.search(r"best: rho1 .*, rho2 .*, .* nonzero weights", done.err)


@pytest.mark.slow
def test_a_number_for_rho2_means_that_number(files):
    done = files("path", "train.txt", "-t", "t.txt", "--dev", "dev.txt", "-o", "n", "--rho2", "0.25", "--json", "-q")
    assert {row["rho2"] for row in json.loads(done.out)["path"]} == {0.25}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--rho2", "best", "--dev", "dev.txt"], "expected a number of at least 0 or search, found 'best'"),
        (["--rho2", "-1", "--dev", "dev.txt"], "expected a number of at least 0 or search, found '-1'"),
        (["--rho2", "nan", "--dev", "dev.txt"], "expected a number of at least 0 or search, found 'nan'"),
        (["--rho2", "search"], "--rho2 search needs --dev"),
        (["--rho2", "search", "--dev", "dev.txt", "--n-rho", "3"], "--rho2 search cannot be combined with --n-rho 3"),
    ],
)
def test_wrong_values_of_rho2(files, options, said):
    done = files("path", "train.txt", "-t", "t.txt", "-o", "w", *options)
    assert done.status == 2
    assert said in " ".join(done.err.replace("│", " ").split())
    assert "w" not in files.files()


@pytest.mark.slow
@pytest.mark.parametrize("during_a_fit", [True, False])
def test_an_interrupted_path_says_so(files, monkeypatch, during_a_fit):
    """The two fits before have larger penalties, and larger errors than the unfinished one."""
    done = []

    def each(self, point):
        done.append(point)
        if len(done) == 2 and not during_a_fit:
            raise KeyboardInterrupt

    def callback(self, record):
        if len(done) == 2 and record["iter"] == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(PathProgress, "each", each)
    monkeypatch.setattr(PathProgress, "callback", callback)
    monkeypatch.setattr("sparsecrf.path.grid.rho_max", lambda *_, **__: 1e4)
    ran = files(
        "path",
        "train.txt",
        "-t",
        "t.txt",
        "--dev",
        "dev.txt",
        "-o",
        "i",
        "--rho-min-ratio",
        "1e-5",
        "--n-rho",
        "3",
        "--json",
    )
    assert ran.status == 130
    found = json.loads(ran.out)
    value = f"the fit with rho1 {found['path'][-1]['rho1']:.4g} is unfinished"
    what = f"interrupted; {value}" if during_a_fit else "interrupted between two fits"
    assert f"warning: {what}\n" in ran.err
    assert (found["best"], found["warning"]) == (1, what)
    folder = files.directory / "i"
    assert (folder / "best.safetensors").read_bytes() == (folder / "model-01.safetensors").read_bytes()
    stopped = [line.split("\t")[-1] for line in (folder / "path.tsv").read_text(encoding="utf-8").splitlines()]
    assert stopped[0] == "stopped_by"
    assert [reason == "interrupt" for reason in stopped[1:]] == [False, False, *([True] if during_a_fit else [])]
    if during_a_fit:
        assert found["path"][2]["dev_error"] < found["path"][1]["dev_error"]
