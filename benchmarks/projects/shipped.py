"""Runs Python packages that ship CRFsuite models or sklearn-crfsuite pickles, unchanged and with `compat`:

    PYTHONPATH=. python benchmarks/projects/shipped.py [NAME ...]

Each package (pythainlp, khmer-nltk, pyvi, underthesea, hazm; those that are installed) runs twice, in separate
processes, once with the originals and once after `sparsecrf.contrib.compat.install()`, on sentences of words that it
ships, in a fixed random order. Prints how many answers differ. hazm ships no model, so the benchmark trains one with
python-crfsuite, which both runs then open.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Answers = Iterator[tuple[str, Any]]  # the name of a model, and its answer for a sentence: a list or text
SENTENCES, LENGTH = 300, 15


def sentences(words: Iterable[str], joint: str = " ") -> Iterator[str]:
    known, rng = sorted(set(words)), random.Random(0)
    for _ in range(SENTENCES):
        yield joint.join(rng.choices(known, k=rng.randint(1, LENGTH)))


def pythainlp() -> Answers:
    from pycrfsuite import Tagger
    from pythainlp.chunk.crfchunk import CRFChunkParser
    from pythainlp.corpus import thai_words
    from pythainlp.tag.thainer import ThaiNameTagger
    from pythainlp.tokenize import crfcut, han_solo

    chunks, names, rng = CRFChunkParser(), ThaiNameTagger.__new__(ThaiNameTagger), random.Random(1)
    names.crf, names.pos_tag_name = Tagger(), "orchid_ud"  # its constructor would look for a model in another place
    names.crf.open(str(files("pythainlp") / "corpus/thainer_crf_1_5_1.model"))
    for text in sentences(thai_words(), ""):
        yield "han_solo", han_solo.segment(text)
    for text in sentences(thai_words()):
        yield "crfcut", crfcut.segment(text)
        tagged = [(word, rng.choice(["NCMN", "VACT", "VSTA", "RPRE", "ADVN"])) for word in text.split()]
        yield "crfchunk", chunks.parse(tagged)
        yield "thainer", names.get_ner(text, pos=False)


def khmer_nltk() -> Answers:
    import pickle

    from khmernltk import pos_tag, word_tokenize

    with (files("khmernltk") / "pos_tag/sklearn_crf_pos_alt_0.9846.sav").open("rb") as file:
        names = pickle.load(file).attributes_
    words = (name.partition(":")[2] for name in names)
    for text in sentences((word for word in words if re.fullmatch("[\u1780-\u17d2]+", word)), ""):
        yield "words", word_tokenize(text)
        yield "tags", pos_tag(text)


def pyvi() -> Answers:
    from pyvi import ViPosTagger, ViTokenizer
    from pyvi.ViDiac import ViDiac

    words = (files("pyvi") / "models/words.txt").read_text(encoding="utf-8").split()
    for text in sentences(words):
        tokens = ViTokenizer.tokenize(text)
        yield "words", tokens
        yield "tags", list(ViPosTagger.postagging(tokens)[1])
        yield "diacritics", list(ViDiac.model.predict([ViDiac.sent2features(list(text.lower()))])[0])


def underthesea() -> Answers:
    """Its models, opened with python-crfsuite, for which they were made; the package now uses a program of its own."""
    import pycrfsuite
    from underthesea.pipeline.chunking.model_crf import CRFChunkingPredictor
    from underthesea.pipeline.ner.model_crf import CRFNERPredictor

    words = (files("underthesea") / "corpus/data/Viet74K.txt").read_text(encoding="utf-8").split()
    rng = random.Random(1)
    for name, made, extra in (("chunking", CRFChunkingPredictor, ["X"]), ("ner", CRFNERPredictor, ["X", "X"])):
        tagger, predictor = pycrfsuite.Tagger(), made.Instance()
        folder = files("underthesea") / "pipeline" / name
        tagger.open(str(next(path for path in folder.iterdir() if path.name.endswith(".bin"))))
        for text in sentences(words):
            tokens = [[word, rng.choice("NVEAPMRC"), *extra] for word in text.split()]
            yield name, tagger.tag([list(token) for token in predictor.transformer.transform([tokens])[0][0]])


def hazm(model: str) -> Answers:
    # Imported alone: the package imports fastText and gensim, which tagging does not need.
    tagging = runpy.run_path(str(_folder_of_hazm() / "sequence_tagger.py"))
    tagger, data = tagging["SequenceTagger"](), [list(pairs) for pairs in _persian()]
    if not Path(model).exists():
        tagger.train(data, max_iteration=40, verbose=False, file_name=model, report_duration=False)
    tagger.load_model(model)
    for pairs in data:
        yield "tags", [list(pair) for pair in tagger.tag([word for word, _ in pairs])]


def _persian() -> Iterator[Iterator[tuple[str, str]]]:
    """Words of hazm, tagged by their endings, which is often wrong."""
    lines = (_folder_of_hazm() / "data/words.dat").read_text(encoding="utf-8").splitlines()
    rng = random.Random(1)
    for text in sentences(line.split("\t")[0] for line in lines):
        yield ((word, f"T{(ord(word[-1]) if rng.random() < 0.8 else rng.randrange(9)) % 9}") for word in text.split())


def _folder_of_hazm() -> Path:
    spec = find_spec("hazm")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


PROJECTS: dict[str, Callable[..., Answers]] = {
    "pythainlp": pythainlp,
    "khmer-nltk": khmer_nltk,
    "pyvi": pyvi,
    "underthesea": underthesea,
    "hazm": hazm,
}


def answers(name: str, tool: str, folder: str) -> list[Any]:
    """Runs the package in its own process."""
    command = [sys.executable, __file__, name, "--answer", tool, "--folder", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} with {tool}: {done.stderr}")
    return list(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(PROJECTS))
    parser.add_argument("--answer", choices=["original", "compat"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.answer:
        if asked.answer == "compat":
            from sparsecrf.contrib import compat

            compat.install()
        name = asked.names[0]
        made = PROJECTS[name](f"{asked.folder}/hazm") if name == "hazm" else PROJECTS[name]()
        print(json.dumps(list(made)))
        return
    for name in asked.names:
        try:
            title = f"{name} {version(name)}"
        except PackageNotFoundError:
            print(f"{name}: left out, not installed", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            theirs, ours = (answers(name, tool, folder) for tool in ("original", "compat"))
        for model in dict.fromkeys(model for model, _ in theirs):
            pairs = [(a, b) for (of, a), (_, b) in zip(theirs, ours, strict=True) if of == model]
            differ = sum(a != b for a, b in pairs)
            n = sum(len(a.split() if isinstance(a, str) else a) for a, _ in pairs)
            print(f"{title}, {model}: {len(pairs)} sentences, {n} tokens, {differ} sentences differ", flush=True)


if __name__ == "__main__":
    main()
