"""Draw the pictures of README.md and of the manual's first page: `python docs/images/draw.py` (a minute).

They are SVG files of text, and the same bytes each time.
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
