"""Adds figures of `sparsecrf.contrib.plots` to the gallery, whose own scraper finds only pyplot figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sphinx_gallery.scrapers import figure_rst

from sparsecrf.contrib.plots.display import Display

DPI = 150
_SHOWN = "_in_gallery"  # attribute of figures that are already on the page


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Show the figures of all displays that a block of an example has drawn."""
    paths = []
    for display in list(block_vars["example_globals"].values()):
        figure = getattr(display, "figure_", None) if isinstance(display, Display) else None
        if figure is None or hasattr(figure, _SHOWN):
            continue
        setattr(figure, _SHOWN, True)
        paths.append(next(block_vars["image_path_iterator"]))
        figure.savefig(paths[-1], dpi=DPI)
    return str(figure_rst(paths, gallery_conf["src_dir"]))


def _get_sg_image_scraper() -> Callable[..., str]:
    """The scraper; sphinx-gallery calls this function."""
    return scrape
