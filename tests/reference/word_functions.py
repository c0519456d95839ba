"""Functions of words in templates (%l, %p, %s, %h, %c, %n, %e), as in cpp/core/text/templates/word_functions.cpp.

A character is a code point with the combining marks (general category M) that follow it. Its class is that of the code
point, by general category.
"""

import unicodedata

#: X and x: upper (or title) and lower case, o: letters without case, 0: numbers, .: punctuation, $: symbols,
#: m: combining marks with nothing before them, ?: blanks, control and unassigned characters.
CLASS_OF_CATEGORY = {
    **dict.fromkeys(("Lu", "Lt"), "X"),
    "Ll": "x",
    **dict.fromkeys(("Lm", "Lo"), "o"),
    **dict.fromkeys(("Nd", "Nl", "No"), "0"),
    **dict.fromkeys(("Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"), "."),
    **dict.fromkeys(("Sm", "Sc", "Sk", "So"), "$"),
    **dict.fromkeys(("Mn", "Mc", "Me"), "m"),
    **dict.fromkeys(("Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"), "?"),
}
CLASSES = "Xxo0.$m?"  #: in the order of %c


def class_of(code_point: str) -> str:
    return CLASS_OF_CATEGORY[unicodedata.category(code_point)]


def characters(word: str) -> list[str]:
    """The characters of a word, each with its marks."""
    found: list[str] = []
    for code_point in word:
        if found and class_of(code_point) == "m":
            found[-1] += code_point
        else:
            found.append(code_point)
    return found


def lower(word: str) -> str:
    """%l: every code point in lower case, regardless of its neighbours (a final sigma is treated like any other)."""
    return "".join(code_point.lower() for code_point in word)


def prefix(word: str, n: int) -> str:
    """%p: the first n characters, or all if there are fewer."""
    return "".join(characters(word)[:n])


def suffix(word: str, n: int) -> str:
    """%s: the last n characters, or all if there are fewer."""
    return "".join(characters(word)[-n:])


def shape(word: str, most: int | None = None) -> str:
    """%h: letters and numbers by their class, other characters as they are, without marks; runs of the same character
    are cut to this length."""
    made, run = "", 0
    for character in characters(word):
        found = class_of(character[0])
        mark = found if found in "Xxo0m" else character[0]
        run = run + 1 if made.endswith(mark) else 1
        if most is None or run <= most:
            made += mark
    return made


def classes(word: str) -> str:
    """%c: the classes that occur, each once."""
    found = {class_of(character[0]) for character in characters(word)}
    return "".join(name for name in CLASSES if name in found)


def length(word: str) -> str:
    """%n: the number of characters."""
    return str(len(characters(word)))


def edge(row: int, n_rows: int) -> str:
    """%e: the place of a row in its sequence."""
    if not 0 <= row < n_rows:
        return "outside"
    if n_rows == 1:
        return "only"
    return "first" if row == 0 else "last" if row == n_rows - 1 else "inside"
