"""Templates: what they make of columns, compared with a plain Python twin, and what they say of mistakes."""

import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsecrf import InputError, Template

# ---- A twin. Wapiti's regular expressions in Python's syntax: its star is lazy, its classes are ASCII.
CLASSES = {"a": "a-zA-Z", "d": "0-9", "l": "a-z", "u": "A-Z", "w": "a-zA-Z0-9", "s": " \\t\\n\\v\\f\\r"}
CLASSES["p"] = re.escape("".join(c for c in map(chr, range(33, 127)) if not c.isalnum()))


def python_regex(expression):
    out, at = "", 0
    if expression.startswith("^"):
        out, at = r"\A", 1
    while at < len(expression):
        c = expression[at]
        if c == "$" and at + 1 == len(expression):
            return out + r"\Z"
        if c == "\\":
            at += 1
            c = expression[at]
            kind = CLASSES.get(c.lower())
            if kind is None:
                out += re.escape(c)
            else:
                out += f"[{kind}]" if c.islower() else f"[^{kind}]"
        elif c == ".":
            out += "."
        else:
            out += re.escape(c)
        at += 1
        if at < len(expression) and expression[at] in "*?":
            out += "*?" if expression[at] == "*" else "?"
            at += 1
    return out


def twin_cell(rows, row, column, boundary):
    if row < 0:
        return f"_B{row}" if boundary == "crf++" else f"_x-{-row if row >= -4 else '#'}"
    if row >= len(rows):
        beyond = row - len(rows) + 1
        return f"_B+{beyond}" if boundary == "crf++" else f"_x+{beyond if beyond <= 4 else '#'}"
    return rows[row][column]


def lower(text):
    return "".join(c.lower() if c.isascii() else c for c in text)


def twin(lines, rows, t, boundary):
    """Attributes of structured lines: (prefix, [(macro, absolute, row, column, expression), literal, ...])."""
    out = []
    for prefix, items in lines:
        text = lower(prefix[0]) + prefix[1:] if boundary == "wapiti" else prefix
        for item in items:
            if isinstance(item, str):
                text += item
                continue
            macro, absolute, row, column, expression = item
            at = (row + len(rows) if row < 0 else row - 1) if absolute else t + row
            value = twin_cell(rows, at, column, boundary)
            if macro.lower() == "t":
                value = "true" if re.search(python_regex(expression), value, re.DOTALL) else "false"
            elif macro.lower() == "m":
                found = re.search(python_regex(expression), value, re.DOTALL)
                value = found[0] if found else ""
            text += lower(value) if macro.isupper() else value
        out.append(text)
    return out


def written(lines):
    """The template file of structured lines."""
    out = []
    for prefix, items in lines:
        line = prefix
        for item in items:
            if isinstance(item, str):
                line += item
                continue
            macro, absolute, row, column, expression = item
            argument = f',"{expression}"' if macro.lower() in "tm" else ""
            line += f"%{macro}[{'@' if absolute else ''}{row},{column}{argument}]"
        out.append(line)
    return "\n".join(out) + "\n"


characters = st.sampled_from(["a", "B", "7", "-", "é", "日", "😀"])
atoms = st.sampled_from(
    [".", "a", "B", "7", "é", "-", r"\a", r"\d", r"\u", r"\l", r"\w", r"\p", r"\s", r"\A", r"\U", r"\."]
)
expressions = st.builds(
    lambda start, parts, end: start + "".join(parts) + end,
    st.sampled_from(["", "^"]),
    st.lists(st.builds(lambda atom, repeat: atom + repeat, atoms, st.sampled_from(["", "", "*", "?"])), max_size=4),
    st.sampled_from(["", "$"]),
)
macros = st.tuples(st.sampled_from("xXtTmM"), st.booleans(), st.integers(-6, 6), st.integers(0, 1), expressions)
literals = st.sampled_from(["/", ":", "|x", " "])
template_lines = st.lists(
    st.tuples(
        st.sampled_from(["U", "u1:", "B", "b:", "*", "*9:"]),
        st.lists(st.one_of(macros, literals), max_size=4).map(lambda items: [*items, "."]),
    ),
    min_size=1,
    max_size=4,
)
cells = st.text(characters, min_size=1, max_size=4)
sequences = st.lists(st.tuples(cells, cells), min_size=1, max_size=4)


@pytest.mark.slow
@given(template_lines, sequences, st.sampled_from(["crf++", "wapiti"]))
def test_attributes(lines, rows, boundary):
    template = Template(written(lines), boundary)
    assert template.attributes(rows) == [twin(lines, rows, t, boundary) for t in range(len(rows))]


@given(expressions, st.text(characters, max_size=6))
def test_regular_expressions(expression, text):
    found = re.search(python_regex(expression), text, re.DOTALL)
    (made,) = Template(f'U%t[0,0,"{expression}"]/%m[0,0,"{expression}"]').attributes([(text,)])
    assert made == [f"U{'true' if found else 'false'}/{found[0] if found else ''}"]


@given(expressions, st.text(characters, max_size=6))
def test_expressions_of_bytes_cut_characters_as_wapiti_does(expression, text):
    """Compared with Python's expressions on bytes. What is no text any more is escaped."""
    found = re.search(python_regex(expression.encode().decode("latin-1")).encode("latin-1"), text.encode(), re.DOTALL)
    lines = f'U%t[0,0,"{expression}"]/%m[0,0,"{expression}"]'
    (made,) = Template(lines, bytes=True).attributes([(text,)])
    cut = (found[0] if found else b"").decode("utf-8", "backslashreplace")
    assert made == [f"U{'true' if found else 'false'}/{cut}"]


def test_pieces_of_a_character_that_meet_are_text_again():
    """Well-formedness is that of the attribute, which is all that Wapiti compares."""
    assert Template('U%m[0,0,"^."]%m[0,0,".$"]|%m[0,0,".$"]', bytes=True).attributes([["é"]]) == [["Ué|\\xa9"]]
    assert Template('U%m[0,0,"^."]').attributes([["é"]]) == [["Ué"]]


def test_bytes_are_kept_by_copies():
    copied = pickle.loads(pickle.dumps(Template('U%m[0,0,"^."]', "wapiti", bytes=True)))
    assert (copied.bytes, copied.boundary, copied.attributes(["é"])) == (True, "wapiti", [["u\\xc3"]])
    assert not Template("U").bytes


def test_star_takes_as_little_as_will_do():
    """As in Wapiti, unlike most others."""
    assert Template('U%m[0,0,"^a.*"]|%m[0,0,"^a.*$"]').attributes([["abc"]]) == [["Ua|abc"]]


def test_many_stars_end():
    text = "a" * 300
    assert Template(f'U%t[0,0,"^{".*a" * 60}b$"]').attributes([[text]]) == [["Ufalse"]]
    with pytest.raises(InputError, match="column 139: expected at most 64 repetitions"):
        Template('U%t[0,0,"' + "a*" * 300_000 + '"]')


def test_rows_that_are_made_on_demand():
    """A NumPy array makes a new object at every access: nothing may point into it afterwards."""
    rows = np.array([[f"word-{k}-{'x' * 50}"] for k in range(50)])
    assert Template("U%x[0,0]").attributes(rows) == [[f"U{row[0]}"] for row in rows]


def test_boundaries():
    template = "U%x[-6,0],%x[-1,0],%x[1,0],%x[6,0]"
    assert Template(template).attributes(["w"]) == [["U_B-6,_B-1,_B+1,_B+6"]]
    assert Template(template, "wapiti").attributes(["w"]) == [["u_x-#,_x-1,_x+1,_x+#"]]


def test_comments_blank_lines_and_line_ends():
    text = "\ufeff# first\r\n\r\nU1:%x[0,0]\r\n   \r\n#B\nB#1"
    template = Template(text)
    assert template.attributes([["a#b"]]) == [["U1:a#b", "B#1"]]
    assert len(template) == 2
    assert Template("u1:%x[0,0]#c\nB #", "wapiti").attributes([["a"]]) == [["u1:a", "b"]]
    # As in CRF++, a comment or blanks at the end of a line are part of the attribute.
    assert Template("U1:%x[0,0] # c\nB ").attributes([["a"]]) == [["U1:a # c", "B "]]


def test_blanks_in_macros():
    assert Template('U%x[ +1 , 0 ]%t[ @1 ,0, "a" ]').attributes([["a"], ["b"]]) == [["Ubtrue"], ["U_B+1true"]]


def test_properties(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("U%x[0,2]\nB\n", encoding="utf-8")
    template = Template.load(path, "wapiti")
    assert (template.text, template.boundary, template.n_columns, len(template)) == ("U%x[0,2]\nB\n", "wapiti", 3, 2)


def test_of_columns():
    assert Template.of_columns(2).attributes([["a", "b"]]) == [["*0:a", "*1:b", "*"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "template: expected at least one line U..., B..., T... or *..., found none"),
        ("# only a comment", "template: expected at least one line"),
        (
            "U:%x[0,0]\nX:%x[0,0]",
            "template, line 2, column 1: expected a line that begins with U, B, T, * or #, found 'X:",
        ),
        (" U:%x[0,0]", "template, line 1, column 1: expected a line that begins"),
        ("éééééééééé", "template, line 1, column 1: expected a line that begins with U, B, T, * or #, found 'éééééé'"),
        (
            "U:%y[0,0]",
            "template, line 1, column 4: expected x, t, m, l, p, s, h, c, n, d or e after '%', found 'y[0,0]'",
        ),
        (
            "U:%",
            "template, line 1, column 4: expected x, t, m, l, p, s, h, c, n, d or e after '%', found the end of",
        ),
        (
            "U:50%",
            "template, line 1, column 6: expected x, t, m, l, p, s, h, c, n, d or e after '%', found the end of",
        ),
        ("U:%x(0,0)", "template, line 1, column 5: expected '[', found '(0,0)'"),
        ("U:%x[a,0]", "template, line 1, column 6: expected a row (an integer), found 'a,0]'"),
        ("U:%x[-,0]", "template, line 1, column 6: expected a row (an integer), found '-,0]'"),
        ("U:%x[@,0]", "template, line 1, column 7: expected a row (an integer), found ',0]'"),
        ("U:%x[0]", "template, line 1, column 7: expected ',' and a column, found ']'"),
        ("U:%x[0,]", "template, line 1, column 8: expected a column (an integer from 0), found ']'"),
        ("U:%x[0,-1]", "template, line 1, column 8: expected a column (an integer from 0), found '-1]'"),
        ("U:%x[0,0", "template, line 1, column 9: expected ']', found the end of the line"),
        ('U:%x[0,0,"a"]', "template, line 1, column 9: expected ']', found ',\"a\"]'"),
        ("U:%x[9999999999,0]", "template, line 1, column 6: expected a smaller number"),
        ("U:%t[0,0]", "template, line 1, column 9: expected ',' and a regular expression in quotes, found ']'"),
        ("U:%m[0,0,a]", "template, line 1, column 10: expected a regular expression in quotes, found 'a]'"),
        (
            "U:%L[0,0]",
            "template, line 1, column 4: expected x, t, m, l, p, s, h, c, n, d or e after '%', found 'L[0,0]'",
        ),
        ("U:%p[0,0]", "template, line 1, column 9: expected ',' and a number of characters, found ']'"),
        ("U:%S[0,0,]", "template, line 1, column 10: expected a number of characters (an integer from 1), found ']"),
        (
            "U:%p[0,0,0]",
            "template, line 1, column 10: expected a number of characters (an integer from 1), found '0]",
        ),
        ("U:%h[0,0,-1]", "template, line 1, column 10: expected a number of characters (an integer from 1)"),
        ("U:%h[0]", "template, line 1, column 7: expected ',' and a column, found ']'"),
        ("U:%n[0,0,1]", "template, line 1, column 9: expected ']', found ',1]'"),
        ("U:%e[0,0]", "template, line 1, column 7: expected ']', found ',0]'"),
        ('U:%t[0,0,"a]', "template, line 1, column 13: expected '\"' to close the regular expression"),
        ('U:%t[0,0,"a\\"]', "template, line 1, column 15: expected '\"' to close the regular expression"),
        ('U:%t[0,0,"a**"]', "template, line 1, column 13: expected a character before '*'"),
        ('U:%t[0,0,"^?"]', "template, line 1, column 12: expected a character before '?'"),
        (b"U:\xc3(", "template, line 1, byte 3: expected text in UTF-8, found byte 0xC3"),
        (b"U\nB\x00", "template, line 2, byte 2: expected text in UTF-8, found a NUL byte"),
    ],
)
def test_mistakes(text, message):
    with pytest.raises(InputError) as error:
        Template(text)
    assert str(error.value).startswith(message)


def test_mistakes_name_the_file(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_text("U:%q", encoding="utf-8")
    with pytest.raises(InputError, match=r"bad\.txt, line 1, column 4"):
        Template.load(path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["a"]], "position 0: expected 2 columns of observations (template, line 1: %x[0,1]), found 1"),
        ([["a", "b"], ["c"]], "position 1: expected 2 columns as at position 0, found ['c']"),
        ([["a", 3]], "position 0: expected text in every column, found ['a', 3]"),
        ([7], "position 0: expected text or a sequence of columns, found 7"),
        ([["a", "\ud800"]], "position 0: expected text that UTF-8 can encode"),
    ],
)
def test_wrong_rows(rows, message):
    with pytest.raises(InputError) as error:
        Template("U:%x[0,1]").attributes(rows)
    assert str(error.value).startswith(message)


def test_unknown_boundary():
    with pytest.raises(InputError, match="boundary: expected 'crf\\+\\+' or 'wapiti', found 'mallet'"):
        Template("U", "mallet")
