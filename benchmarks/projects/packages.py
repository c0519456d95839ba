"""Projects that import python-crfsuite: how each reads its data, makes features, trains and is tested.

Every function takes the folder of a project and returns sequences (features, labels). Code of a project itself is
imported from its folder.
"""

from __future__ import annotations

import csv
import importlib
import os
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Sequence = tuple[Any, list[str]]  # what `Trainer.append` takes


@dataclass(frozen=True)
class Package:
    """A project. Every fifth sequence of `data` is held out."""

    folder: str
    needs: tuple[str, ...]  #: files that are required
    data: Callable[[Path], list[Sequence]]
    params: dict[str, Any]  #: parameters that the project trains with
    tests: tuple[str, ...] = ()  #: arguments of pytest in the folder of the project; or a module with doctests
    #: models that its tests need: file in the folder, and the data that the project trains it on
    models: dict[str, Callable[[Path], list[Sequence]]] = field(default_factory=dict)
    shipped: str = ""  #: a model in the folder; it then provides the labels of `data`, and no gold labels are held out


def _parserator(module: str, files: Iterable[Path]) -> list[Sequence]:
    """Labelled XML in parserator's format: an element for each string, which contains an element for each token."""
    package = importlib.import_module(module)
    found = []
    for file in files:
        text = re.sub(r"&(?!#?\w+;)", "&amp;", file.read_text(encoding="utf-8"))  # some have a bare &
        for element in ET.fromstring(text):
            tokens = [part.text or "" for part in element]
            if tokens and all(re.search(r"\w", token) for token in tokens):  # usaddress fails on others
                found.append((package.tokens2features(tokens), [part.tag for part in element]))
    return found


def _addresses(*names: str) -> Callable[[Path], list[Sequence]]:
    return lambda folder: _parserator("usaddress", (folder / "training" / name for name in names))


def _people(*names: str) -> Callable[[Path], list[Sequence]]:
    return lambda folder: _parserator("probablepeople", (folder / "name_data" / "labeled" / name for name in names))


def _ingredients(folder: Path) -> list[Sequence]:
    """Sentences of recipes, labelled by the shipped model, because the training data are not in the repository. Without
    nltk's tagger, whose data must be fetched separately, every part of speech is number or noun."""
    import nltk
    from ingredient_parser.en import preprocess
    from ingredient_parser.en.preprocess import PreProcessor

    try:
        nltk.data.find("taggers/averaged_perceptron_tagger_eng")
    except LookupError:
        preprocess.pos_tag = lambda tokens: [(token, "CD" if token[:1].isdigit() else "NN") for token in tokens]
    with open(folder / "train/data/bbc/bbc-ingredients-snapshot-2017.csv", newline="", encoding="utf-8") as file:
        sentences = list(dict.fromkeys(row[0] for row in csv.reader(file) if row))[1:501]
    return [(PreProcessor(sentence).sentence_features(), []) for sentence in sentences]


def _tagged_words(_: Path) -> list[Sequence]:
    """English EWT ($SPARSECRF_DATA), the first 4,000 sentences, as nltk's CRFTagger sees them."""
    from nltk.tag import CRFTagger

    from sparsecrf import read_columns

    tagger, found = CRFTagger(), []
    for rows in read_columns(Path(os.environ.get("SPARSECRF_DATA", "."), "ewt", "train.txt")):
        words = [row[0] for row in rows]
        found.append(([tagger._feature_func(words, t) for t in range(len(words))], [row[-1] for row in rows]))
        if len(found) == 4000:
            break
    return found


def _pages(folder: Path) -> list[Sequence]:
    """Municipal regulations in French, as alexi's scripts/train_crf.py sees them by default."""
    from alexi.segment import filter_tab, load, page2features, page2labels, split_pages

    pages = list(split_pages(filter_tab(load(sorted((folder / "data").glob("*.csv"))))))
    return [(page2features(page, "text+layout+structure", 2), page2labels(page, "literal")) for page in pages]


def _spanish(_: Path) -> list[Sequence]:
    """Spanish CoNLL-2002 (a column file, $SPARSECRF_ESP), as python-crfsuite's example "CoNLL 2002" sees it."""
    from sparsecrf import read_columns

    def features(rows: list[list[str]], t: int) -> list[str]:
        found = ["bias"]
        for k, prefix in ((0, ""), (-1, "-1:"), (1, "+1:")):
            if not 0 <= t + k < len(rows):
                found.append("BOS" if k < 0 else "EOS")
                continue
            word, tag = rows[t + k][0], rows[t + k][1]
            if k == 0:
                found += [f"word[-3:]={word[-3:]}", f"word[-2:]={word[-2:]}", f"word.isdigit={word.isdigit()}"]
            found += [f"{prefix}word.lower={word.lower()}", f"{prefix}word.istitle={word.istitle()}"]
            found += [f"{prefix}word.isupper={word.isupper()}"]
            found += [f"{prefix}postag={tag}", f"{prefix}postag[:2]={tag[:2]}"]
        return found

    sentences = list(read_columns(Path(os.environ["SPARSECRF_ESP"])))
    return [([features(rows, t) for t in range(len(rows))], [row[-1] for row in rows]) for rows in sentences]


_PARSERATOR = {"c1": 0.1, "c2": 0.01, "feature.minfreq": 0}

PACKAGES = {
    "usaddress": Package(
        "usaddress",
        ("training/labeled.xml", "usaddress/__init__.py"),
        _addresses("labeled.xml"),
        _PARSERATOR,
        ("tests",),
        {"usaddress/usaddr.crfsuite": _addresses("labeled.xml")},
    ),
    "probablepeople": Package(
        "probablepeople",
        ("name_data/labeled/person_labeled.xml",),
        _people("person_labeled.xml", "company_labeled.xml"),
        _PARSERATOR,
        ("tests",),
        {
            "probablepeople/generic_learned_settings.crfsuite": _people("person_labeled.xml", "company_labeled.xml"),
            "probablepeople/person_learned_settings.crfsuite": _people("person_labeled.xml"),
            "probablepeople/company_learned_settings.crfsuite": _people("company_labeled.xml"),
        },
    ),
    "ingredient-parser": Package(
        "ingredient-parser",
        ("ingredient_parser/en/data/model.en.crfsuite",),
        _ingredients,
        {
            **{"feature.minfreq": 0, "feature.possible_states": True, "feature.possible_transitions": True},
            **{"c1": 0.6, "c2": 0.5, "max_linesearch": 5, "num_memories": 3, "period": 10},
        },
        ("tests",),
        shipped="ingredient_parser/en/data/model.en.crfsuite",
    ),
    "alexi": Package(
        "alexi",
        ("scripts/train_crf.py",),
        _pages,
        {"c1": 0.25, "c2": 0.01, "max_iterations": 200, "feature.possible_transitions": True},
    ),
    "python-crfsuite's example": Package(
        "python-crfsuite",
        ("examples",),
        _spanish,
        {"c1": 1.0, "c2": 1e-3, "max_iterations": 50, "feature.possible_transitions": True},
    ),
    "nltk": Package("nltk", ("nltk/tag/crf.py",), _tagged_words, {}, ("nltk.tag.crf",)),
}


def use(package: Package, folder: Path) -> Path:
    """The folder of the project; its code can be imported after this call."""
    project = folder / package.folder
    sys.path.insert(0, str(project))
    return project
