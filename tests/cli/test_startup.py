"""How the program starts: what it loads, its quick parser, and a Ctrl-C while it does."""

import os
import signal
import subprocess
import sys

import pytest
import typer.main
from typer.testing import CliRunner

from sparsecrf import Model
from sparsecrf.cli import app
from sparsecrf.cli.label import label
from sparsecrf.cli.quick import parsed

#: Sends itself a signal when a module is first searched for, while others are being imported.
INTERRUPTED = """
import os, signal, sys
signal.signal({number}, signal.SIG_DFL)  # the tests may run with some signals ignored
class Interrupting:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), {number})
sys.meta_path.insert(0, Interrupting())
sys.argv = ["sparsecrf", *{arguments}]
from sparsecrf.__main__ import main
main()
"""
LABEL, TRAIN, HELP = ["label", "-m", "m"], ["train", "train.txt", "-m", "m"], ["label", "--help"]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    ("arguments", "module"),
    [
        (LABEL, "sparsecrf.cli"),
        (LABEL, "sparsecrf._core"),
        (LABEL, "sparsecrf.model.model"),
        (LABEL, "sparsecrf.cli.files"),
        (HELP, "typer"),
        (TRAIN, "sparsecrf.cli.commands"),
        (TRAIN, "sparsecrf.cli.reading"),
    ],
)
def test_interrupted_while_it_starts(tmp_path, arguments, module, number):
    (tmp_path / "train.txt").write_text("a A\n")
    (tmp_path / "m").write_text("")
    script = INTERRUPTED.format(module=module, number=int(number), arguments=arguments)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ignored_signals_stay_ignored():
    """nohup has SIGHUP ignored."""
    script = (
        "import atexit, os, signal, sys\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "import sparsecrf.cli.commands\n"
        "sparsecrf.cli.commands.app = lambda **_: os.kill(os.getpid(), signal.SIGHUP)\n"
        "from sparsecrf.__main__ import main\n"
        "sys.argv = ['sparsecrf', 'show']\n"
        "atexit.register(print, 'done')\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_label_starts_without_the_parser_of_the_others(tmp_path):
    """And without what takes long to load."""
    Model.from_weights(["A", "B"], {("a", "A"): 1.0}).save(tmp_path / "m")
    (tmp_path / "in.txt").write_text("A\ta\n")
    script = (
        "import sys\nbefore = set(sys.modules)\nfrom sparsecrf.__main__ import main\n"
        "sys.argv = ['sparsecrf', 'label', '-m', 'm', 'in.txt', '-o', 'out.txt']\n"
        "try: main()\nexcept SystemExit as end: assert not end.code\n"
        "slow = {'typer', 'click', 'rich', 'numpy', 'inspect', 'dataclasses', 'pathlib', 'logging', 'threading'}\n"
        "print(sorted(slow & (set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
    assert (tmp_path / "out.txt").read_text() == "A\tA\n\n"


PLAIN = [
    ["-m", "model"],
    ["--model", "model", "in.txt"],
    ["--model=model", "in.txt", "-o", "out"],
    ["in.txt", "--nbest", "3", "-m", "model", "--score", "-q"],
    ["-m", "model", "-", "--marginals", "--all-marginals", "--force", "--threads=2"],
    ["-m", "model", "--constrain", "iob2", "--output", "-"],
]
OTHERS = [
    [],
    ["in.txt"],
    ["--help"],
    ["-m"],
    ["-m", "model", "--nbest", "0"],
    ["-m", "model", "--nbest", "x"],
    ["-m", "model", "--nbest", "²"],
    ["-m", "model", "--threads", "-1"],
    ["-m", "model", "--threads", "1025"],
    ["-m", "model", "--constrain", "nosuch"],
    ["-m", "model", "--score=1"],
    ["-m", "model", "--nosuch"],
    ["-m", "model", "-m", "other"],
    ["-m", "--score"],
    ["-mmodel"],
    ["-qm", "model"],
    ["-m", "model", "--", "-file"],
    ["-m", "model", "one", "two"],
]


def by_typer(arguments):
    """The parameters that Typer finds, defaults included."""
    command = typer.main.get_command(app).commands["label"]
    return command.make_context("label", list(arguments)).params


@pytest.mark.parametrize("arguments", PLAIN)
def test_the_quick_parser_agrees_with_typer(arguments):
    assert parsed(arguments, label) == by_typer(arguments)


@pytest.mark.parametrize("arguments", OTHERS)
def test_the_quick_parser_leaves_the_rest_to_typer(arguments):
    assert parsed(arguments, label) is None


def test_typer_says_what_is_wrong():
    found = CliRunner().invoke(app, ["label", "-m", "model", "--nbest", "0"])
    assert found.exit_code == 2
    assert "--nbest" in found.output
