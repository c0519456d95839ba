"""Made-up sentences in the shape of CoNLL-2002's Spanish news: lists of (word, part of speech, IOB label).

Names are made of syllables, so that a test set has new ones; the same surname, town or noun is part of persons, places,
organisations and other names, so that words alone do not tell; and a share of the tokens has a wrong part of speech.
"""

import random

_SYLLABLES = "ba be bo ca co da do fa ga gue la le lo ma mo na no pa pe que ra re ri ro sa so ta te to va vi za ña llo"
_ENDINGS = {"PER": "ez ano illo era és", "LOC": "ona al ía ejo ario", "ORG": "sa tel bank"}
_FIRST = ["Juan", "Ana", "Luis", "Elena", "Pablo", "Marta", "Jorge", "Rosa", "Íñigo", "Carmen"]
_COMMON = {
    "NC": "acuerdo reunión ministro juez precio millones gol obra derecho plaza calle campo mayo",
    "VMI": "anunció dijo visitó ganó firmó presentó criticó vive juega",
    "AQ": "nuevo gran español último local",
}
_OTHER = ["Copa", "Plan", "Ley", "Premio"]


def _name(rng, kind):
    stem = "".join(rng.choices(_SYLLABLES.split(), k=rng.choice([1, 2, 2]))).capitalize()
    return stem + rng.choice(_ENDINGS[kind].split())


class _Grammar:
    def __init__(self, rng):
        self.rng = rng
        self.known = {kind: [_name(rng, kind) for _ in range(25)] for kind in _ENDINGS}

    def proper(self, kind):
        return self.rng.choice(self.known[kind]) if self.rng.random() < 0.7 else _name(self.rng, kind)

    def person(self):
        surnames = [self.proper("PER" if self.rng.random() < 0.8 else "LOC") for _ in range(self.rng.choice([1, 1, 2]))]
        return _chunk("PER", [*([self.rng.choice(_FIRST)] if self.rng.random() < 0.7 else []), *surnames])

    def place(self):
        return _chunk("LOC", self.rng.choice([["San"], ["La"], [], [], []]) + [self.proper("LOC")])

    def organisation(self):
        acronym = "".join(self.rng.choices("ABCEFIOPRSTU", k=3))
        forms = [
            [acronym],
            [self.proper("ORG")],
            ["Banco", "de", self.proper("LOC")],
            ["Real", self.proper("LOC")],
            [self.proper("LOC")],  # a club named after its town
            ["Fundación", self.rng.choice(_FIRST), self.proper("PER")],
        ]
        return _chunk("ORG", self.rng.choice(forms))

    def other(self):
        return _chunk(
            "MISC", [self.rng.choice(_OTHER), "de", self.rng.choice([self.proper("LOC"), "Derecho", "Campo"])]
        )

    def entity(self):
        return self.rng.choice([self.person, self.place, self.organisation, self.other])()

    def plain(self, tag):
        word = self.rng.choice(_COMMON[tag].split())
        return [(word.capitalize() if self.rng.random() < 0.1 else word, tag, "O")]

    def sentence(self):
        rng, out = self.rng, []
        if rng.random() < 0.3:
            out += [*self.place(), (",", "Fc", "O"), (str(rng.randint(1, 31)), "Z", "O"), ("may", "NC", "O")]
            out += [
                ("(", "Fpa", "O"),
                *_chunk("ORG", [rng.choice(["EFE", "EFECOM"])]),
                (")", "Fpt", "O"),
                (".", "Fp", "O"),
            ]
        else:
            subject = self.entity() if rng.random() < 0.6 else [("el", "DA", "O"), *self.plain("NC")]
            out += [*subject, *self.plain("VMI"), (rng.choice(["la", "el", "un"]), "DA", "O"), *self.plain("NC")]
            if rng.random() < 0.4:
                out += self.plain("AQ")
            for _ in range(rng.choice([0, 1, 1, 2])):
                out += [(rng.choice(["de", "en", "con", "a"]), "SP", "O"), *self.entity()]
            out.append((".", "Fp", "O"))
        tags = ["NC", "NP", "AQ", "SP", "VMI"]
        return [(word, rng.choice(tags) if rng.random() < 0.07 else tag, label) for word, tag, label in out]


def _chunk(kind, words):
    tags = {"de": "SP", "La": "DA"}
    labels = [f"B-{kind}", *[f"I-{kind}"] * (len(words) - 1)]
    return [
        (word, tags.get(word, "NC" if word.isupper() else "NP"), label)
        for word, label in zip(words, labels, strict=True)
    ]


def sentences(n, seed=0):
    """n sentences; the names that are known are the same for every n."""
    grammar = _Grammar(random.Random(seed))
    return [grammar.sentence() for _ in range(n)]


def sent2labels(sent):
    return [label for _, _, label in sent]


def print_transitions(trans_features):
    for (label_from, label_to), weight in trans_features:
        print(f"{label_from:<6} -> {label_to:<7} {weight:0.6f}")
