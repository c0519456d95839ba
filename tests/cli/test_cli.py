"""The command line: output, exit status, messages."""

import re
import subprocess
import sys

import pytest

import sparsecrf
from sparsecrf import InputError
from sparsecrf.cli import main
from sparsecrf.contrib.demo import simulated


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "sparsecrf", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.slow
def test_version():
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"sparsecrf {sparsecrf.__version__}\n", "")


COMMANDS = ["train", "label", "eval", "path", "show", "report", "convert", "compact", "demo"]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("--help",), ("-h",), *((command, "--help") for command in COMMANDS)])
def test_help_has_an_example(arguments):
    done = run(*arguments)
    assert done.returncode == 0
    assert "Usage: sparsecrf" in done.stdout
    assert re.search(r"Examples?: sparsecrf " + ("demo" if arguments[0].startswith("-") else arguments[0]), done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [("nosuch",), ("--nosuch",), ("demo", "--nosuch"), ("demo", "--sequences", "0"), ("demo", "--seed", "x")],
)
def test_wrong_usage(arguments):
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Usage: sparsecrf" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_demo(tmp_path):
    done = run("demo", "--data", "simulated", "--sequences", "300", "--seed", "3", "-o", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "path  100 %" in done.stderr
    assert "15.40 %" in done.stdout  # the exact Bayes error
    for part in ("Token error", "Some answers"):
        assert part in done.stdout


@pytest.fixture
def failing(monkeypatch):
    """Runs `sparsecrf demo` in this process; the demo's first step raises what it is given."""

    def call(error):
        def fail():
            raise error

        monkeypatch.setattr(simulated, "paper_hmm", fail)
        monkeypatch.setattr(sys, "argv", ["sparsecrf", "demo", "--data", "simulated"])
        with pytest.raises(SystemExit) as stopped:
            main()
        return stopped.value.code

    return call


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (InputError("sequence 3: expected, found"), "sequence 3: expected, found"),
        (FileNotFoundError(2, "No such file", "x.txt"), "x.txt: No such file"),
        (OSError("disk on fire"), "disk on fire"),
    ],
)
def test_error_in_input_or_files(failing, capsys, error, message):
    assert failing(error) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"sparsecrf: {message}\n"


def test_interrupted(failing):
    assert failing(KeyboardInterrupt()) == 130


def test_a_bug_is_not_hidden(failing):
    with pytest.raises(ZeroDivisionError):
        failing(ZeroDivisionError())
