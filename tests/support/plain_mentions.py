"""The plain twin of `with_mentions`, and words of all kinds to try it with."""

from reference.word_functions import class_of, lower

WORDS = [
    "ann",
    "Ann",
    "ANN",
    "of",
    "Of",
    "I",
    "i",
    "I.",
    "U.S.",
    "7",
    "-",
    "McAdam",
    "mcadam",
    "A-b",
    "élan",
    "Élan",
    "東京",
    "ß",
    "ǅ",
    "ΟΔΟΣ",
    "οδος",
    "οδοσ",
    "İ",
]


def plain_mentions(document):
    """Every other place of every word, looked for one by one."""
    places = [(i, t) for i, words in enumerate(document) for t in range(len(words))]

    def word(i, t):
        return "_B-1" if t < 0 else "_B+1" if t == len(document[i]) else document[i][t]

    def way(i, t):
        classes = [class_of(character) for character in word(i, t)]
        if "x" in classes and "X" not in classes:
            return "x"
        if "X" in classes and "x" not in classes and len(classes) > 1:
            return "U"
        return "C" if t > 0 and classes[0] == "X" and "x" in classes and "X" not in classes[1:] else ""

    made = [[] for _ in document]
    for i, t in places:
        others = [p for p in places if p != (i, t) and lower(word(*p)) == lower(word(i, t))]
        written = {way(*p) for p in others}
        row = [word(i, t), "".join(k for k in "xCU" if k in written) or "n"] if others else [word(i, t), "_none"]
        for k in range(2):
            row += [word(others[k][0], others[k][1] + d) for d in (-1, 0, 1)] if k < len(others) else ["_none"] * 3
        made[i].append(row)
    return made
