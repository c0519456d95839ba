"""Objective against time, all tools of a task: one panel a feature space."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.peers.tables import Space


def draw(name: str, spaces: dict[str, Space], path: pathlib.Path) -> None:
    import matplotlib

    matplotlib.rcParams["svg.hashsalt"] = "sparsecrf"
    from matplotlib.figure import Figure

    shown = {key: space for key, space in spaces.items() if space.tools}
    figure = Figure(figsize=(5.0 * len(shown), 3.8), layout="constrained")
    for ax, (space_name, space) in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown.items(), strict=True):
        for k, tool in enumerate(space.tools):
            points = sorted(
                (row.seconds, 100 * (row.objective / space.best - 1))
                for row in space.rows
                if row.tool == tool and not row.repetition and row.seconds and row.objective is not None
            )
            style = "-" if tool.startswith("sparsecrf") else "--"
            ax.plot(
                [t for t, _ in points], [max(v, 1e-4) for _, v in points], style, color=f"C{k % 10}", label=tool, lw=1.2
            )
        ax.set(xscale="log", yscale="log", title=f"{name}: {space_name}", xlabel="seconds of training")
        ax.set_ylabel("% above the best objective")
        ax.legend(fontsize=6)
    figure.savefig(path, metadata={"Date": None})
