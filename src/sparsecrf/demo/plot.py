"""The regularisation path as a picture in a file."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

from sparsecrf._core import InputError
from sparsecrf.demo.chart import LEAST, round_numbers
from sparsecrf.io.atomic import write_atomically

FORMATS = (".svg", ".png", ".pdf")


def check_plot(file: Path) -> None:
    """Whether the picture can be made, asked before hours of work."""
    if file.suffix.lower() not in FORMATS:
        raise InputError(f"{file}: expected a name that ends in {', '.join(FORMATS)}, found {file.suffix!r}")
    if not file.resolve().parent.is_dir():
        raise InputError(f"{file}: expected its directory to exist, found none")
    if find_spec("matplotlib") is None:
        raise InputError(f"{file}: expected the package matplotlib, found none: pip install 'sparsecrf[plot]'")


def save_plot(file: Path, active: Sequence[int], errors: Sequence[float], rho1: Sequence[float], chosen: int) -> None:
    """Dev error (percent) against the number of active weights, each point with its rho1, the chosen one marked."""
    import matplotlib
    from matplotlib.figure import Figure

    check_plot(file)
    shown = [k for k, n in enumerate(active) if n > 0]
    heights = [max(LEAST, error) for error in errors]
    ticks = round_numbers(min(heights[k] for k in shown), max(heights[k] for k in shown)) if shown else [1.0, 100.0]
    # Fixed identifiers and no date: the same path gives the same file. No pyplot: it would look for a screen.
    with matplotlib.rc_context({"svg.hashsalt": "sparsecrf", "svg.fonttype": "none"}):
        figure = Figure(figsize=(7.0, 4.2), layout="constrained")
        axes = figure.add_subplot()
        axes.loglog([active[k] for k in shown], [heights[k] for k in shown], "o-", color="#4472a8", markersize=4)
        for k in shown:
            name = f"{rho1[k]:,.0f}" if rho1[k] >= 100 else f"{rho1[k]:.2g}"
            place = (active[k], heights[k])
            axes.annotate(name, place, (3, 6), textcoords="offset points", fontsize=7, color="#777777")
        if chosen in shown:
            name = f"chosen: rho1 = {rho1[chosen]:.3g}, {active[chosen]:,} weights, {errors[chosen]:.2f} %"
            axes.plot(active[chosen], heights[chosen], "D", color="#2a8a3c", markersize=8, label=name)
            axes.axvline(active[chosen], color="#2a8a3c", linewidth=0.8, linestyle=":")
            axes.legend(frameon=False)
        axes.set(xlabel="active weights", ylabel="dev error (%)", title="Regularisation path; small numbers: rho1")
        axes.set_ylim(ticks[0], ticks[-1])
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.spines[["top", "right"]].set_visible(False)
        data = BytesIO()
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(file.suffix.lower(), {})
        figure.savefig(data, format=file.suffix[1:].lower(), dpi=150, metadata=metadata)
    write_atomically(file, data.getvalue())
