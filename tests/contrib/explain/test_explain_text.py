"""Explanations as text and in notebooks."""

from html.parser import HTMLParser

import pytest
from problems import weather

from sparsecrf import BIAS, Model

#: Text that would be harmful on a page, or break a table, if it were not escaped.
HOSTILE = ['<script>alert("x")</script>', '"><img src=x onerror=alert(1)>', "'&amp;", "[red]x[/red]", "\\[bold]"]


class Page(HTMLParser):
    """Reads a page strictly: tags, attributes of tags, rows of cells, text."""

    def __init__(self, html):
        super().__init__()
        self.opened, self.tags, self.names, self.text, self.rows, self.titles = [], set(), set(), "", [], []
        self.feed(html)
        self.close()
        assert self.opened == []

    def handle_starttag(self, tag, attrs):
        self.opened.append(tag)
        self.tags.add(tag)
        self.names |= {name for name, _ in attrs}
        self.titles += [value for name, value in attrs if name == "title"]
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.opened.pop() == tag

    def handle_data(self, data):
        self.text += data
        if "td" in self.opened or "th" in self.opened:
            self.rows[-1][-1] += data


def hostile():
    """Every name is hostile."""
    a, b, c, d, e = HOSTILE
    return Model.from_weights(
        [a, b], {(c, a): 1.0, (d, b): -2.0, (e, a): 0.5}, {(BIAS, a, b): 1.0, (b, None, a): 3.0, (a, b, b): 0.25}
    )


@pytest.mark.parametrize("kind", ["model", "sequence", "given"])
def test_html_is_escaped_and_stands_alone(kind):
    model = hostile()
    tokens = [HOSTILE, *HOSTILE]
    labels = [model.labels[0]] * len(tokens) if kind == "given" else None
    explained = model.explain() if kind == "model" else model.explain(tokens, labels, top=None)
    page = Page(explained._repr_html_())
    for name in HOSTILE:
        assert name in page.text
    tables = {"table", "thead", "tbody", "tr", "th", "td"}
    assert page.tags <= tables | {"div", "span", "b", "code", "details", "summary"}
    assert page.names <= {"style", "title", "open"}
    assert "url(" not in explained._repr_html_()


def test_html_of_a_sequence():
    page = Page(weather().explain(["dry", ["wet", "grey"], [("grey", 2.0)]])._repr_html_())
    assert page.rows[0] == ["token", "label", "P", "runner-up", "margin", "path margin", "contributions"]
    assert page.rows[3] == ["grey", "fog", "0.989", "rain", "+4.89", "+5.00"] + [
        "grey (2): rain → fog +4.00grey (2) +2.00"
    ]
    assert page.titles[-1] == "unigram: value 2, weight +1"
    assert page.text.startswith("P(labels) 0.7869, score 11.7")


def test_html_without_anything_to_show():
    """One label, no weights: nothing to divide by."""
    model = Model.from_weights(["only"], {})
    page = Page(model.explain(["a"])._repr_html_())
    assert page.rows[1] == ["a", "only", "1.000", "", "∞", "∞", ""]
    assert "1 label, 0 attributes" in Page(model.explain()._repr_html_()).text
    assert "only" in str(model.explain(["a"]))


def test_html_of_a_model():
    made = weather()
    model = Model(made.vocabulary, made.features, made.w, training={"rho1": 0.5, "gap": None, "solver": "<b>"})
    page = Page(model.explain()._repr_html_())
    assert "rho1 0.5; solver <b>" in page.text
    assert ["rain", "", "+1.0", ""] in page.rows
    assert ["[start]", "+0.7", "", ""] in page.rows
    assert ["[bias]", "1", "0", "2", "1.7"] in page.rows
    assert page.rows[page.rows.index(["fog", ""]) :][1:3] == [["grey", "+1.000"], ["wet", "+0.500"]]
    assert ["grey: rain → fog", "+2.000"] in page.rows
    one = Page(model.explain(label="rain")._repr_html_())
    assert "Transitions" not in one.text
    assert ["grey", "+1.000"] not in one.rows


def test_html_of_many_labels_has_the_largest_transitions():
    labels = [f"L{k}" for k in range(40)]
    made = Model.from_weights(labels, {}, {(BIAS, f"L{k}", "L0"): 1.0 + k for k in range(40)})
    page = Page(made.explain(top=2)._repr_html_())
    assert page.rows[:3] == [["previous → label", ""], ["L39 → L0", "+40.000"], ["L38 → L0", "+39.000"]]


def test_text_of_a_sequence(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    explained = weather().explain(["dry", ["wet", "grey"], [("grey", 2.0)]], top=1)
    lines = str(explained).splitlines()
    assert lines[0] == "P(labels) 0.7869, score 11.7"
    assert " ".join(lines[-1].split()) == "grey fog 0.989 rain +4.89 grey (2): rain -> fog +4.00, 1 more +2.00"
    assert repr(explained) == "<SequenceExplanation: sun rain fog, score 11.7, P 0.7869>"
    monkeypatch.setenv("COLUMNS", "400")
    for name in HOSTILE:  # no markup either
        assert name in str(hostile().explain([name]))


def test_text_of_a_model(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    text = str(weather().explain())
    assert text.index("Templates") < text.index("Transitions") < text.index("Label sun") < text.index("+2.0000")
    assert "Label sun" not in str(weather().explain(attribute="wet"))
    assert repr(weather().explain()) == "<ModelExplanation: 7 weights>"
    one = Model.from_weights(["A"], {("a", "A"): 1.0})
    assert repr(one) == "<Model: 1 label, 1 attribute, 1 weight>"
    assert repr(one.explain()) == "<ModelExplanation: 1 weight>"
