"""Measures CRFsuite's library on attributes in memory: `python -m benchmarks.labelling.in_memory FOLDER MODEL TOKENS`.

Labels the test file of a prepared folder repeatedly, until the given number of tokens is reached. Prints a JSON object:
tokens and processor seconds, without making attributes and without reading.
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
    data, n = [], 0
    for items, labels in sequences(Template.load(files.template), files.test):
        data.append(pycrfsuite.ItemSequence(items))
        n += len(labels)
        if n >= int(sys.argv[3]):
            break
    copies = -(-int(sys.argv[3]) // n)
    began = time.process_time()
    tokens = sum(len(tagger.tag(items)) for _ in range(copies) for items in data)
    print(json.dumps({"tokens": tokens, "cpu_s": time.process_time() - began}))


if __name__ == "__main__":
    main()
