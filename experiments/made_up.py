"""Small simulated data, always the same, that replace NETtalk and CoNLL-2003 if there is no data folder.

Words consist of syllables, so that groups of letters repeat. A letter has one sound by itself and other sounds in some
groups of three and of five letters: context matters, and a group of letters says more than its letters one by one.
Each word of a sentence has a tag; names of two kinds are one or two words long. In other sentences, words have a stem,
which determines the part of speech, and an ending, which determines number and case.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

LETTERS, SOUNDS, STRESSED = "abcdefghij", 60, 3
SOUNDS_OF_A_LETTER = 3
TRAIN, TEST = 500, 250
ODD_SOUNDS = 0.5, 0.35  # shares of groups of three and of five letters that have their own sound
NOISE = 0.02  # share of letters with a random sound


def write(folder: Path, seed: int = 0) -> Path:
    """Write the files that experiments read, under `folder`."""
    rng = np.random.default_rng(seed)
    words = _words(rng)
    for suffix, stress in ((".txt", False), (".stress.txt", True)):
        _write_parts(folder / "nettalk", suffix, [_spoken(word, stress) for word in words])
    _write_parts(folder / "conll2003", ".txt", _sentences(rng))
    for treebank in ("hungarian-tags", "latin-tags", "turkish-tags"):
        _write_parts(folder / treebank, ".txt", _tagged(rng))
    return folder


def _write_parts(folder: Path, suffix: str, sequences: list[list[str]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    half = (TRAIN + len(sequences)) // 2
    for part, lines in (("train", sequences[:TRAIN]), ("test", sequences[TRAIN:]), ("dev", sequences[TRAIN:half])):
        text = "".join("\n".join(sequence) + "\n\n" for sequence in lines)
        (folder / f"{part}{suffix}").write_text(text, encoding="utf-8")


def _words(rng: np.random.Generator) -> list[list[tuple[str, int]]]:
    """Letters with their sounds."""
    syllables = ["".join(rng.choice(list(LETTERS), size=rng.integers(2, 4))) for _ in range(25)]
    sounds_of = {letter: rng.choice(SOUNDS, SOUNDS_OF_A_LETTER, replace=False).tolist() for letter in LETTERS}
    sounds: dict[str, int | None] = {}

    def odd(group: str, share: float) -> int | None:
        if group not in sounds:
            letter = group[len(group) // 2]
            sounds[group] = int(rng.choice(sounds_of[letter])) if rng.random() < share else None
        return sounds[group]

    words = []
    for _ in range(TRAIN + TEST):
        spelling = "".join(rng.choice(syllables, size=rng.integers(1, 4)))
        padded, word = f"__{spelling}__", []
        for t, letter in enumerate(spelling, 2):
            found = odd(padded[t - 2 : t + 3], ODD_SOUNDS[1])
            found = odd(padded[t - 1 : t + 2], ODD_SOUNDS[0]) if found is None else found
            sound = sounds_of[letter][0] if found is None else found
            word.append((letter, int(rng.choice(sounds_of[letter])) if rng.random() < NOISE else sound))
        words.append(word)
    return words


def _spoken(word: list[tuple[str, int]], stress: bool) -> list[str]:
    """Lines of a column file; the position of a sound in the word determines its stress."""
    return [
        f"{letter} p{sound}" + (f"/{min(t, STRESSED - 1)}" if stress else "") for t, (letter, sound) in enumerate(word)
    ]


def _sentences(rng: np.random.Generator) -> list[list[str]]:
    """Lines with word, tag, chunk tag and IOB1 label. Some words are common, most are rare; names have their own
    words."""
    kinds = ("PER", "LOC")
    names = {kind: [f"{kind.lower()}{k}" for k in range(60)] for kind in kinds}
    common, rare = [f"w{k}" for k in range(30)], [f"r{k}" for k in range(600)]
    sentences = []
    for _ in range(TRAIN + TEST):
        lines = []
        for _ in range(rng.integers(4, 12)):
            if rng.random() < 0.2:
                kind = str(rng.choice(kinds))
                words = [names[kind][int(60 * rng.random() ** 2)] for _ in range(rng.integers(1, 3))]
                lines += [f"{word} NNP I-NP I-{kind}" for word in words]
            elif rng.random() < 0.1:
                lines.append(f"{rng.choice(rare)} NNP I-NP O")
            else:
                word = rng.choice(common) if rng.random() < 0.6 else rng.choice(rare)
                lines.append(f"{word} {'NN' if word[0] == 'r' else 'VB'} I-VP O")
        sentences.append(lines)
    return sentences


def _tagged(rng: np.random.Generator) -> list[list[str]]:
    """Lines with word and label: part of speech, number and case. Endings determine number and case in the same way for
    all parts of speech."""
    speech = {"NOUN": "bdg", "ADJ": "klm", "VERB": "prs"}
    endings = {"a": "Case=Nom|Number=Sing", "e": "Case=Acc|Number=Sing", "i": "Case=Nom|Number=Plur"}
    endings |= {"o": "Case=Acc|Number=Plur", "u": "Case=Dat|Number=Sing", "y": "Case=Dat|Number=Plur"}
    sentences = []
    for _ in range(TRAIN + TEST):
        lines = []
        for _ in range(rng.integers(3, 8)):
            kind, ending = str(rng.choice(list(speech))), str(rng.choice(list(endings)))
            stem = "".join(rng.choice(list(speech[kind]), size=2)) + str(rng.integers(40))
            feature = endings[ending] if rng.random() > NOISE else endings[str(rng.choice(list(endings)))]
            lines.append(f"{stem}{ending} {kind}|{feature}")
        sentences.append(lines)
    return sentences
