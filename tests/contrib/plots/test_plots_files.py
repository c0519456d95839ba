"""Pictures as files, by the library and by the program; what is imported when; axes of the caller."""

import os
import subprocess
import sys

import numpy as np
import pytest
from simulated_columns import TEMPLATE, simulated

from sparsecrf import BIAS, InputError, Model
from sparsecrf.contrib.plots import PathDisplay, TransitionsDisplay, WeightsDisplay, check_plot, plot_transitions

pytestmark = pytest.mark.slow

pytest.importorskip("matplotlib", reason="pictures need the extra `plot`")

DRAW = """
import sys, sparsecrf.contrib.plots
assert 'matplotlib' not in sys.modules and 'sklearn' not in sys.modules
from sparsecrf import BIAS, Model
from sparsecrf.contrib.plots import plot_transitions
model = Model.from_weights(["$A$", "_B"], {}, {(BIAS, "$A$", "_B"): 1.0, (BIAS, "_B", "_B"): -1.0})
for file in sys.argv[1:]:
    plot_transitions(model, file=file)
assert 'matplotlib.pyplot' not in sys.modules
"""


def python(code, *arguments, **environment):
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, env={**os.environ, **environment})


@pytest.fixture
def model():
    return Model.from_weights(["A", "B"], {("x", "A"): 1.0}, {(BIAS, "A", "B"): 1.0, ("x", "B", "B"): 2.0})


def test_a_picture_is_the_same_each_time(tmp_path):
    """In another process too, whose hashes and day differ; without a screen. Matplotlib waits until something is drawn,
    and pyplot is never imported."""
    heads = {".svg": b"<?xml", ".PNG": b"\x89PNG", ".pdf": b"%PDF"}
    runs = [[tmp_path / f"{k}{suffix}" for suffix in heads] for k in range(2)]
    for k, files in enumerate(runs):
        python(DRAW, *map(str, files), PYTHONHASHSEED=str(k), SOURCE_DATE_EPOCH=str(10**9 * (k + 1)), DISPLAY="")
    for one, other, head in zip(*runs, heads.values(), strict=True):
        assert one.read_bytes() == other.read_bytes()
        assert one.read_bytes().startswith(head)
    assert ">$A$</text>" in runs[0][0].read_text(encoding="utf-8")
    assert len(list(tmp_path.iterdir())) == 6


def test_a_picture_that_cannot_be_made_is_refused(tmp_path, monkeypatch, model):
    for name, found in (("a.txt", "'.txt'"), ("a", "'no ending'")):
        with pytest.raises(InputError, match=rf"expected a name that ends in \.svg, \.png, \.pdf, found {found}"):
            check_plot(tmp_path / name)
    monkeypatch.setattr("sparsecrf.contrib.plots.files.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"plots need the package matplotlib: pip install 'sparsecrf\[plot\]'"):
        check_plot(tmp_path / "a.svg")
    with pytest.raises(InputError, match="pip install"):
        TransitionsDisplay.from_model(model).plot()


def test_axes_of_the_caller(model):
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.subplots(2, 2)
    display = TransitionsDisplay.from_model(model).plot(ax=axes[0, 0])
    assert display.ax_ is axes[0, 0]
    assert display.axes_ == (axes[0, 0],)
    assert display.figure_ is figure
    assert display.plot() is display
    assert display.figure_ is not figure
    both = WeightsDisplay.from_model(model, attributes=["x"]).plot(ax=axes[1])
    assert both.axes_ == tuple(axes[1])
    grid = PathDisplay([1.0, 0.5, 0.1], [0, 1, 2], errors=[9.0, 8.0, 7.0]).plot(ax=figure.subplots(2, 1, squeeze=False))
    assert grid.ax_ is grid.axes_[1]
    with pytest.raises(InputError, match=r"ax: expected 2 axes.*panel.*found 1"):
        both.plot(ax=axes[0, 1])


def test_save_draws_what_is_not_drawn_yet_and_notebooks_show_it(tmp_path, model):
    display = TransitionsDisplay.from_model(model)
    display.save(tmp_path / "a.png")
    drawn = display.figure_
    assert display._repr_png_() == (tmp_path / "a.png").read_bytes()
    assert display.figure_ is drawn
    display.save(tmp_path / "a.svg")
    assert display._repr_png_() == (tmp_path / "a.png").read_bytes()
    assert plot_transitions(model, file=tmp_path / "b.png").figure_ is not drawn
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_a_file_that_cannot_be_written_keeps_the_old_one(tmp_path, monkeypatch, model):
    file = tmp_path / "a.svg"
    file.write_text("old")
    display = TransitionsDisplay.from_model(model).plot()
    monkeypatch.setattr("os.fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        display.save(file)
    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]


# ---- The program


@pytest.fixture
def files(program):
    program.write(train_txt=simulated(40, 1), dev_txt=simulated(20, 2), t_txt=TEMPLATE)
    return program


def test_train_draws_how_it_went(files):
    done = files(
        "train", "train.txt", "-t", "t.txt", "-m", "m.safetensors", "--dev", "dev.txt", "--plot", "run.svg", "-q"
    )
    assert (done.status, done.err.startswith("dev data: "), done.out) == (0, True, "")
    text = (files.directory / "run.svg").read_text(encoding="utf-8")
    for part in ("above the best", "duality gap", "KKT residual", "active features", "dev error (%)", "time (s)"):
        assert part in text


@pytest.mark.parametrize("dev", [["--dev", "dev.txt"], []])
def test_path_draws_the_path(files, dev):
    done = files("path", "train.txt", "-t", "t.txt", "-o", "models", "--n-rho", "3", *dev, "--plot", "path.svg", "-q")
    assert (done.status, done.err) == (0, "")
    text = (files.directory / "path.svg").read_text(encoding="utf-8")
    assert ("error (%)" in text) == ("best: " in text) == bool(dev)
    table = [line.split("\t") for line in (files.directory / "models" / "path.tsv").read_text().splitlines()[1:]]
    if dev:
        best = min(table, key=lambda row: float(row[7]))
        assert f"{int(best[5]) + int(best[6])} features, {float(best[7]):.2f} %" in text


@pytest.mark.parametrize("command", [["train", "train.txt", "-m", "m.safetensors"], ["path", "train.txt", "-o", "out"]])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("run.txt", "expected a name that ends in"),
        ("nosuch/run.svg", "nosuch' does not exist"),
        ("train.txt", "this file is also an input"),
    ],
)
def test_the_program_refuses_before_it_reads(files, command, name, message, monkeypatch):
    monkeypatch.setattr("sparsecrf.shards.dataset.read_files", lambda *_, **__: pytest.fail("it has begun"))
    done = files(*command, "--plot", name)
    assert done.status == 1
    assert message in done.err
    assert not (files.directory / "m.safetensors").exists()


def test_tight_limits_and_one_fit_are_drawn_too(files):
    done = files(
        "train", "train.txt", "-m", "m.safetensors", "--max-iter", "1", "--rho1", "1e6", "--plot", "a.png", "-q"
    )
    assert done.status == 0
    done = files("path", "train.txt", "-o", "one", "--n-rho", "1", "--plot", "b.pdf", "-q")
    assert done.status == 0
    assert all(
        np.frombuffer((files.directory / name).read_bytes(), np.uint8).size > 1000 for name in ("a.png", "b.pdf")
    )
