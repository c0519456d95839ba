"""Faults and attacks, in short. `make torture` has the long versions (torture/)."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # torture is not part of the package

from torture import disk_full, kill, memory, soak, tiny_fits  # noqa: E402
from torture.common import environment, program  # noqa: E402
from torture.targets import corpus_of_checkpoint  # noqa: E402
from torture.valgrind import errors_of_core  # noqa: E402

from sparsecrf import InputError, Model, Template, fit  # noqa: E402
from sparsecrf.files.container import pack, unpack  # noqa: E402
from sparsecrf.training.checkpoint import FORMAT, VERSION  # noqa: E402

linux = pytest.mark.skipif(sys.platform != "linux", reason="limits and /proc as Linux has them")
posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")
no_sanitizer = pytest.mark.skipif("san.so" in os.environ.get("LD_PRELOAD", ""), reason="sanitizers need the memory")


# ---- Regular expressions


@pytest.mark.parametrize(
    "expression", ["a*a*a*a*b", "a*b", ".*.*.*.*x$", "a?" * 32 + "a*" * 32 + "b", "a*" + "a" * 900]
)
def test_regular_expressions_take_time_by_their_length_times_the_cell(expression):
    """By backtracking each of these would take minutes at best."""
    template = Template(f'U%t[0,0,"{expression}"]')
    began = time.perf_counter()
    (made,) = template.attributes([["a" * 100_000 + "é"]])
    assert time.perf_counter() - began < 20
    assert made == [f"U{'true' if expression.endswith('aaa') else 'false'}"]


def test_regular_expressions_are_not_endless():
    assert Template('U%m[0,0,"' + "a" * 1000 + '"]').attributes([["a" * 1001]]) == [["U" + "a" * 1000]]
    with pytest.raises(InputError, match=r"line 1, column 1011: expected.*most 1000 characters.*classes.*found more"):
        Template('U%m[0,0,"' + "a" * 1001 + '"]')


# ---- Tiny data


@pytest.mark.slow
def test_tiny_fits():
    """Every solver, path and feature list on a few tokens: an InputError or a finite result."""
    done = [tiny_fits.attempt(number) for number in range(200)]
    assert [finding for _, finding in done if finding] == []
    kinds = [kind for kinds, _ in done for kind in kinds]
    assert {*tiny_fits.KINDS} <= {*kinds}
    assert sum("refused" in kind for kind in kinds) < 100


def test_tiny_fits_find_what_is_wrong(monkeypatch):
    monkeypatch.setattr("sparsecrf.training.solvers.working_set.remaining", lambda values: 1 / 0)
    found = [finding for _, finding in map(tiny_fits.attempt, range(20)) if finding]
    assert found
    assert "ZeroDivisionError: division by zero (" in found[0]


# ---- Killed


@posix
@pytest.mark.slow
def test_killed_in_training(tmp_path):
    outcome = kill.training(tmp_path / "train", kills=3, sentences=60)
    assert outcome.findings == []
    assert outcome.detail["kills"] == 3


@posix
@pytest.mark.slow
def test_killed_in_saving(tmp_path):
    outcome = kill.saving(tmp_path / "save", kills=2, attributes=3000)
    assert outcome.findings == []


# ---- A full disk


@posix
@pytest.mark.slow
def test_a_full_disk(tmp_path):
    outcome = disk_full.with_a_limit(tmp_path)
    assert outcome.findings == []
    assert outcome.executions == 5


@linux
def test_standard_output_is_full(tmp_path):
    (tmp_path / "data").write_text("a X\n")
    Model.from_weights(["X"], {("U:a", "X"): 1.0}).save(tmp_path / "plain")
    model = Model.load(tmp_path / "plain")
    Model(model.vocabulary, model.features, model.w, template=Template("U:%x[0,0]")).save(tmp_path / "model")
    with open("/dev/full", "wb") as full:
        command = program("label", "-m", "model", "data")
        done = subprocess.run(
            command, cwd=tmp_path, env=environment(), stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert done.stderr.decode().splitlines()[0] == "sparsecrf: No space left on device"
    assert b"Traceback" not in done.stderr


# ---- Little memory


@pytest.mark.slow
@linux
@no_sanitizer
def test_absurd_sizes(tmp_path):
    outcome = memory.headers()
    assert outcome.findings == []
    assert outcome.executions > 50


@linux
@no_sanitizer
@pytest.mark.slow
def test_out_of_memory(tmp_path):
    outcome = memory.starved(tmp_path, (4,))
    assert outcome.findings == []
    assert outcome.detail["out of memory"]["train"] > 0


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "out of memory"),
        (MemoryError("std::bad_alloc"), "std::bad_alloc"),
        (RuntimeError("can't start new thread"), "can't start new thread"),
        (
            ImportError("\n\nPlease read this.\nlib.so: failed to map segment from shared object\n\n"),
            "lib.so: failed to map segment from shared object",
        ),
    ],
)
def test_the_program_says_that_memory_is_short(program, monkeypatch, error, said):
    def fail(path):
        raise error

    monkeypatch.setattr(Model, "load", fail)
    program.write(model_st="", data_txt="a\n")
    done = program("label", "-m", "model.st", "data.txt")
    assert done.status == 1
    assert done.err == f"sparsecrf: out of memory ({said})\n"


def test_other_errors_of_importing_are_not_taken_for_it(program, monkeypatch):
    def fail(path):
        raise ImportError("No module named 'numpi'")

    monkeypatch.setattr(Model, "load", fail)
    program.write(model_st="", data_txt="a\n")
    with pytest.raises(ImportError, match="numpi"):
        program("label", "-m", "model.st", "data.txt")


@linux
@no_sanitizer
def test_too_little_memory_to_load_the_program(tmp_path):
    """With less than the core takes; Python itself runs."""
    command = ["sh", "-c", 'ulimit -v 20480 && exec "$@"', "sh", *program("show", "nosuch")]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    reached = any(f"sparsecrf{os.sep}{file}" in done.stderr for file in ("__init__.py", "__main__.py"))
    # When memory runs out, Python's compiler may raise SystemError instead of MemoryError.
    in_python = "Fatal Python error" in done.stderr or "<built-in function compile>" in done.stderr
    in_python = in_python or ("Traceback" in done.stderr and not reached)
    if done.returncode == 127 or in_python:  # a traceback without our code: the error came before the program started
        pytest.skip("Python does not run either")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("sparsecrf: ")
    assert "Traceback" not in done.stderr


# ---- A broken terminal or environment


@pytest.mark.slow
@linux
@pytest.mark.parametrize("format", ["text", "tsv", "json"])
def test_names_that_standard_output_cannot_encode(tmp_path, format):
    """Data are UTF-8, whatever the terminal takes; text for people has escapes."""
    Model.from_weights(["é"], {("日", "é"): 1.0}).save(tmp_path / "model")
    done = subprocess.run(
        program("show", "model", "--format", format),
        cwd=tmp_path,
        env={**environment(), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert (b"\\u65e5" if format == "text" else "日".encode()) in done.stdout


def test_a_wrong_instruction_set_is_one_line():
    env = {**environment(), "SPARSECRF_ISA": "sse9"}
    done = subprocess.run(program("show", "m"), env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("sparsecrf: SPARSECRF_ISA: expected an instruction set of this machine (")
    assert done.stderr.count("\n") == 1


# ---- Complete checkpoints that were modified afterwards


def checkpoint(path, spoil):
    fit(corpus_of_checkpoint(), rho1=0.1, max_iter=4, tol=0.0, checkpoint=path, threads=1)
    metadata, found = unpack(path.read_bytes(), "run", FORMAT, VERSION)
    state = json.loads(metadata["state"])
    arrays = {name: np.array(array.data).reshape(array.shape) for name, array in found.items()}
    spoil(state, arrays)
    described = {"run": metadata["run"], "state": json.dumps(state)}
    path.write_bytes(pack(FORMAT, VERSION, described, arrays))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda state, arrays: state.pop("iteration"),
        lambda state, arrays: state.update(iteration=-1),
        lambda state, arrays: state.update(loss="small"),
        lambda state, arrays: state.update(history=[{"iter": 0}]),
        lambda state, arrays: state["history"][0].update(objective=None),
        lambda state, arrays: arrays.pop("w"),
        lambda state, arrays: arrays.update(w=arrays["w"][1:]),
        lambda state, arrays: arrays.update(g=arrays["g"].view(np.int64)),
        lambda state, arrays: arrays.update(numbers=arrays["numbers"][::-1].copy()),
        lambda state, arrays: state.update(best={"error": 0.0, "iteration": 1}),
        lambda state, arrays: state.update(lowest=1.0),
    ],
)
def test_a_forged_checkpoint(spoil, tmp_path):
    checkpoint(tmp_path / "run", lambda state, arrays: None)
    options = {"rho1": 0.1, "max_iter": 5, "tol": 0.0, "checkpoint": tmp_path / "run", "resume": True, "threads": 1}
    fit(corpus_of_checkpoint(), **options)
    checkpoint(tmp_path / "run", spoil)
    with pytest.raises(InputError, match=r"run: expected the state of a training run, found other content"):
        fit(corpus_of_checkpoint(), **options)


# ---- A soak


@pytest.mark.slow
@no_sanitizer
def test_a_short_soak():
    outcome = soak.soak(2.0)
    assert [finding for finding in outcome.findings if not finding.startswith("memory")] == []
    assert outcome.executions > 8


def test_what_flat_is():
    """Two seconds are too short for it: pools of the allocator still fill."""
    flat = [(float(t), 100.0 + (t % 3)) for t in range(90)]
    assert abs(soak.growth_of(flat)[0]) < 0.5
    growing = [(t, m + 0.1 * t) for t, m in flat]
    assert soak.growth_of(growing)[0] == pytest.approx(0.1 * 59, rel=0.1)


# ---- What Valgrind says


def test_errors_of_the_core_are_told_from_those_of_python():
    def error(*objects):
        frames = "".join(f"<frame><obj>{name}</obj><fn>f</fn></frame>" for name in objects)
        return f"<error><kind>K</kind><what>Invalid read</what><stack>{frames}</stack></error>"

    ours, theirs = (
        ("/lib/libc.so", "/x/sparsecrf/_core.abi3.so", "/usr/bin/python"),
        ("/lib/libc.so", "/usr/bin/python"),
    )
    assert errors_of_core(f"<v>{error(*theirs)}</v>") == []
    assert errors_of_core(f"<v>{error(*theirs)}{error(*ours)}</v>") == ["Invalid read in f < f < f"]
