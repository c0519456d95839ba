"""Draws the pictures in README.md and on the manual's first page: `python docs/images/draw.py` (takes a minute).

The pictures are SVG files, and every run writes the same bytes.
"""

from pathlib import Path

from sparsecrf.contrib.datasets.cmudict import parse
from sparsecrf.contrib.datasets.fetch import contents
from sparsecrf.contrib.datasets.registry import find
from sparsecrf.contrib.demo.letter_to_sound import train
from sparsecrf.contrib.demo.letters import attributes, make_task
from sparsecrf.contrib.plots import plot_marginals, plot_path

WORDS, SEED = 8000, 1
WORD = "phoneme"
HERE = Path(__file__).parent


def main() -> None:
    dictionary = parse(contents(find("cmudict"))["cmudict.dict"].decode("utf-8"))
    trained = train(make_task([entry for entry in dictionary if entry[0] != WORD], WORDS, SEED))
    plot_path(trained.path, file=HERE / "path.svg")
    plot_marginals(trained.model, attributes(WORD), tokens=list(WORD), file=HERE / "phoneme.svg")


if __name__ == "__main__":
    main()
