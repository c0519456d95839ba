"""Runs with label sets that are interrupted and resumed, shown, or spread over a cluster: as those with labels."""

import json
import pathlib

import pytest
from problems import make_problem
from stopped_runs import OPTIONS, assert_same

from sparsecrf import Model, fit

DATA = "the D\ncan N|V\nrusts V\n\nwe P\ncan ?\nfish N|V\n\nthe D\nfish N\n\n"
READING = ("--missing", "?", "--label-sets", "|", "--solver", "owlqn", "--rho1", "0.01", "--tol", "1e-7")


@pytest.fixture(scope="module")
def corpus():
    lengths = [6] * 20
    return make_problem(3, 4, lengths, 8, 3, 0.3, real_values=True, missing=0.1, label_sets=0.4).corpus()


@pytest.mark.parametrize("solver", ["auto", "owlqn", "fista", "sbcd", "sgd-l1"])
def test_resumed_runs_have_the_same_bits(corpus, solver, tmp_path):
    def interrupt(record):
        if record["iter"] == 3:
            raise KeyboardInterrupt

    options = {**OPTIONS, "solver": solver, "max_iter": 20}
    whole = fit(corpus, **options)
    assert whole.history[-1].iter > 8
    run = {"checkpoint": tmp_path / "run", **options}
    stopped = fit(corpus, callback=interrupt, **run)
    assert (stopped.stopped_by, stopped.history[-1].iter) == ("interrupt", 3)
    fit(corpus, resume=True, **{**run, "max_iter": 6})
    assert_same(fit(corpus, resume=True, **run), whole)


def test_ctrl_c_keeps_model_log_and_checkpoint(program, monkeypatch):
    from sparsecrf.cli.watched_run import Log

    program.write(train_txt=DATA * 5)
    command = ("train", "train.txt", *READING, "--checkpoint", "c", "--log", "log")
    whole = program("train", "train.txt", *READING, "-m", "whole")
    assert whole.status == 0, whole.err
    assert "training  iteration" in whole.err
    with monkeypatch.context() as patch:
        write = Log.__call__

        def interrupt(log, record):
            write(log, record)
            if record["iter"] == 4:
                raise KeyboardInterrupt

        patch.setattr(Log, "__call__", interrupt)
        assert program(*command, "-m", "m").status == 130
    assert Model.load("m").training["stopped_by"] == "interrupt"
    assert [json.loads(line)["iter"] for line in pathlib.Path("log").read_text().splitlines()] == [0, 1, 2, 3, 4]
    assert program(*command, "-m", "m", "--resume").status == 0
    assert pathlib.Path("m").read_bytes() == pathlib.Path("whole").read_bytes()
    assert program.files() == ["c", "log", "m", "train.txt", "whole"]
