"""CRFsuite's library on attributes that are in memory: `python -m benchmarks.labelling.in_memory FOLDER MODEL COPIES`.

Labels the test file of a prepared folder so many times. Prints a JSON object: tokens and seconds, those of making the
attributes and of reading left out.
"""

from __future__ import annotations

import json
import pathlib
import sys
import time

import pycrfsuite
from benchmarks.library import sequences
from benchmarks.tasks import Files

from sparsecrf import Template


def main() -> None:
    files, tagger = Files(pathlib.Path(sys.argv[1])), pycrfsuite.Tagger()
    tagger.open(sys.argv[2])
    data = [pycrfsuite.ItemSequence(items) for items, _ in sequences(Template.load(files.template), files.test)]
    began = time.perf_counter()
    tokens = sum(len(tagger.tag(items)) for _ in range(int(sys.argv[3])) for items in data)
    print(json.dumps({"tokens": tokens, "seconds": time.perf_counter() - began}))


if __name__ == "__main__":
    main()
