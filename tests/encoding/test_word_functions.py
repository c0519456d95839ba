"""Functions of words in templates, compared with the plain twin (reference.word_functions)."""

import random
import sys
import unicodedata

import pytest
from model_content import attribute_names
from unicode_table import TABLE, table

from reference import word_functions as twin
from sparsecrf import CRF, InputError, Model, Template
from sparsecrf.contrib.convert import crfpp, wapiti

#: Blocks of 20 scripts with their marks, numbers and punctuation, and blocks that belong to no script.
SCRIPTS = {
    "latin": (0x41, 0x24F),
    "greek": (0x370, 0x3FF),
    "cyrillic": (0x400, 0x52F),
    "armenian": (0x531, 0x58A),
    "hebrew": (0x591, 0x5F4),
    "arabic": (0x600, 0x6FF),
    "syriac": (0x700, 0x74F),
    "devanagari": (0x900, 0x97F),
    "bengali": (0x980, 0x9FE),
    "tamil": (0xB82, 0xBFA),
    "thai": (0xE01, 0xE5B),
    "tibetan": (0xF00, 0xFDA),
    "georgian": (0x10A0, 0x10FF),
    "hangul": (0x1100, 0x11FF),
    "ethiopic": (0x1200, 0x139F),
    "cherokee": (0x13A0, 0x13FD),
    "khmer": (0x1780, 0x17F9),
    "mongolian": (0x1820, 0x18AA),
    "kana": (0x3041, 0x30FF),
    "han": (0x4E00, 0x4FFF),
    "deseret": (0x10400, 0x1044F),
    "adlam": (0x1E900, 0x1E95F),
    "ascii": (0x21, 0x7E),
    "combining": (0x300, 0x36F),
    "emoji": (0x1F600, 0x1F64F),
}
FUNCTIONS = {
    "%l[0,0]": twin.lower,
    **{f"%p[0,0,{n}]": lambda word, n=n: twin.prefix(word, n) for n in (1, 2, 5)},
    **{f"%P[0,0,{n}]": lambda word, n=n: twin.prefix(twin.lower(word), n) for n in (1, 3)},
    **{f"%s[0,0,{n}]": lambda word, n=n: twin.suffix(word, n) for n in (1, 2, 5)},
    **{f"%S[0,0,{n}]": lambda word, n=n: twin.suffix(twin.lower(word), n) for n in (1, 3)},
    "%h[0,0]": twin.shape,
    **{f"%h[0,0,{n}]": lambda word, n=n: twin.shape(word, n) for n in (1, 2)},
    "%c[0,0]": twin.classes,
    "%n[0,0]": twin.length,
}
TEMPLATE = Template("".join(f"U{k}:{macro}\n" for k, macro in enumerate(FUNCTIONS)))


def random_words(n, seed):
    """Words of one script, or with a few characters of others."""
    rng = random.Random(seed)
    # Only characters that are assigned in this version of Unicode: others may not have the rest.
    alphabets = [
        [chr(c) for c in range(first, last + 1) if unicodedata.category(chr(c)) != "Cn"]
        for first, last in SCRIPTS.values()
    ]
    for k in range(n):
        own = alphabets[k % len(alphabets)]
        length = rng.randint(1, 9)
        yield "".join(rng.choice(own if rng.random() < 0.8 else rng.choice(alphabets)) for _ in range(length))


def differences(words):
    """Words of which the core makes something else than the twin, with both."""
    for word, made in zip(words, TEMPLATE.attributes(words), strict=True):
        expected = [f"U{k}:{function(word)}" for k, function in enumerate(FUNCTIONS.values())]
        if made != expected:
            yield word, made, expected


@pytest.mark.slow
def test_random_words_of_20_scripts():
    assert len(SCRIPTS) >= 20
    assert list(differences(list(random_words(10_000, seed=1)))) == []


@pytest.mark.slow
@pytest.mark.skipif(f"Unicode {unicodedata.unidata_version}" not in TABLE.read_text(), reason="another Unicode here")
def test_the_table_is_that_of_unicodedata():
    assert TABLE.read_text(encoding="utf-8") == table()


@pytest.mark.slow
@pytest.mark.skipif(f"Unicode {unicodedata.unidata_version}" not in TABLE.read_text(), reason="another Unicode here")
def test_every_code_point():
    """NUL and surrogates are no text."""
    codes = [c for c in range(1, sys.maxunicode + 1) if not 0xD800 <= c <= 0xDFFF]
    template = Template("U%c[0,0]%l[0,0]")
    for first in range(0, len(codes), 50_000):
        some = [chr(c) for c in codes[first : first + 50_000]]
        made = [names[0] for names in template.attributes(some)]
        assert made == [f"U{twin.class_of(c)}{c.lower()}" for c in some]


@pytest.mark.parametrize(
    ("word", "lower", "shape", "short", "classes", "length"),
    [
        ("McDonald's", "mcdonald's", "XxXxxxxx'x", "XxXx'x", "Xx.", 10),
        ("Zürich-1", "zürich-1", "Xxxxxx-0", "Xx-0", "Xx0.", 8),
        ("Zu\u0308rich", "zu\u0308rich", "Xxxxxx", "Xx", "Xx", 6),  # a combining mark belongs to its letter
        ("İZMİR", "i\u0307zmi\u0307r", "XXXXX", "X", "X", 5),
        ("ΣΟΦΟΣ", "σοφοσ", "XXXXX", "X", "X", 5),
        ("हिन्दी", "हिन्दी", "ooo", "o", "o", 3),
        ("東京2020", "東京2020", "oo0000", "o0", "o0", 6),
        ("\u0663\u066b\u0665", "\u0663\u066b\u0665", "0\u066b0", "0\u066b0", "0.", 3),
        ("$1,000", "$1,000", "$0,000", "$0,0", "0.$", 6),
        ("\u0301a", "\u0301a", "mx", "mx", "xm", 2),
        ("a\u200db", "a\u200db", "x\u200dx", "x\u200dx", "x?", 3),
        ("", "", "", "", "", 0),
    ],
)
def test_examples(word, lower, shape, short, classes, length):
    (made,) = Template("U%l[0,0]|%h[0,0]|%h[0,0,1]|%c[0,0]|%n[0,0]").attributes([[word]])
    assert made == [f"U{lower}|{shape}|{short}|{classes}|{length}"]


def test_neighbours_and_ends():
    """Beyond the ends, the boundary cell is returned unchanged; rows may count from the ends."""
    template = Template("U%p[-1,0,1]|%h[1,0]|%S[@-1,0,2]|%n[@1,1]\nU%e[-1]|%e[0]|%e[ @1 ]\n")
    assert template.n_columns == 2
    assert template.attributes([["One", "a"], ["Two", "bc"]]) == [
        ["U_B-1|Xxx|wo|1", "Uoutside|first|first"],
        ["UO|_B+1|wo|1", "Ufirst|last|first"],
    ]
    edges = Template("U%e[0]")
    assert [made for (made,) in edges.attributes(["a", "b", "c"])] == ["Ufirst", "Uinside", "Ulast"]
    assert edges.attributes(["a"]) == [["Uonly"]]
    assert Template("u%h[-5,0]", "wapiti").attributes(["a"]) == [["u_x-#"]]


def test_files_and_tokens_have_the_same_attributes(program):
    """By the reader of files, the encoder of tokens, and `attributes`."""
    lines = "U:%l[0,0]\nU:%s[0,0,2]\nU:%h[1,0,1]\nU:%e[0]\nB\n"
    words = [["The", "DOG", "barks"], ["a", "Cat"], ["the", "cat", "RUNS"]]
    tags = [["D", "N", "V"], ["D", "N"], ["D", "N", "V"]]
    sentences = ("".join(f"{w} {y}\n" for w, y in zip(*pair, strict=True)) for pair in zip(words, tags, strict=True))
    program.write(t_txt=lines, a_txt="\n".join(sentences))
    assert program("train", "a.txt", "-t", "t.txt", "-m", "m", "--rho1", "0.001", "--tol", "1e-6").status == 0
    from_files = Model.load("m")
    crf = CRF(template=lines, rho1=0.001, tol=1e-6).fit(words, tags)
    made = {name for sentence in words for position in Template(lines).attributes(sentence) for name in position}
    assert attribute_names(crf.model_) == made
    assert attribute_names(from_files) == attribute_names(crf.model_.compacted())
    assert from_files.label(words[0]) == crf.model_.label(words[0]) == tags[0]


def test_bytes_that_are_no_text(program):
    """A byte that begins no character is a character of its own."""
    program.write(t_txt="*:%h[0,0]/%s[0,0,1]\n", a_txt=b"caf\xe9 N\nab V\n\n", b_txt=b"xyz\xe9 ?\n\n")
    common = ["train", "a.txt", "-t", "t.txt", "-m", "m", "--rho1", "0.01"]
    assert program(*common, "--encoding", "bytes").status == 0
    assert attribute_names(Model.load("m")) <= {"*:xxx\\xe9/\\xe9", "*:xx/b"}
    assert "expected text in UTF-8" in program(*common).err


@pytest.mark.parametrize(
    ("tool", "write", "message"),
    [
        (
            "wapiti",
            wapiti.to_model,
            "Wapiti does not support functions of words; expected only %x, %t and %m, found 'u:%s[0,0,2]'",
        ),
        ("crf++", crfpp.to_text, "CRF++ supports only %x[row,column] with rows from -8 to 8, found %s[0,0,2] in"),
    ],
)
def test_other_tools_do_not_have_them(tool, write, message):
    template = Template("U:%s[0,0,2]\nB\n", tool)
    model = CRF(template=template, rho1=0.01, start=False).fit([["a", "b"]], [["X", "Y"]]).model_
    with pytest.raises(InputError) as error:
        write(model)
    assert message in str(error.value)


def test_lines_are_told_apart_in_explanations():
    lines = "U:s=%s[0,0,2]\nU:e=%e[0]\nU:h=%h[0,0,1]/%P[-1,0,3]\nB\n"
    model = CRF(template=lines, rho1=0.01).fit([["ab", "cd", "ef"]], [["X", "Y", "Z"]]).model_
    uses = {use.name: use.attributes for use in model.explain().templates}
    assert set(uses) == set(lines.split())
    assert uses["U:s=%s[0,0,2]"] > 0
