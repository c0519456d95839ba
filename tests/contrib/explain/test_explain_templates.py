"""Which line of a template an attribute is of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsecrf import BIAS, Model, Resource, Template
from sparsecrf.contrib.explain import OTHER, TemplateUse

LINES = [
    "U00:%x[-1,0]",
    "U01:%x[0,0]/%x[0,1]",
    'U02:%t[0,0,"^[A-Z\\"]]"]',
    'U03=%m[0,0,"..$"]+%X[1,1]',
    "B1:%x[@1,0]",
    "*%x[0,1]x",
    "B",
    "*",
]


def model_of(attributes, template):
    made = Model.from_weights(["P", "Q"], {(x, "P"): 2.0**k for k, x in enumerate(attributes)})
    return Model(made.vocabulary, made.features, made.w, template=template)


@pytest.mark.slow
@pytest.mark.parametrize("boundary", ["crf++", "wapiti"])
@given(cell=st.text(st.characters(min_codepoint=33, max_codepoint=300), min_size=1), kept=st.sets(st.integers(0, 7)))
def test_every_line_finds_its_attributes(boundary, cell, kept):
    """Attributes come in the order of lines; no line of these can make what another one does."""
    chosen = [LINES[k] for k in sorted(kept)] or LINES
    template = Template("# comment\n\n" + "\r\n".join(chosen) + "\n", boundary)
    [[*attributes]] = template.attributes([[cell, "Word"]])
    uses = model_of(attributes, template).explain().templates
    assert [use.name for use in uses] == chosen[::-1]  # by falling mass
    assert all((use.unigram, use.bigram, use.attributes) == (1, 0, 1) for use in uses)


def test_lines_that_make_the_same_share_a_row():
    template = Template("U:%x[0,0]\nU:%x[-1,0]\nU:%x[0,0]/%x[1,0]\nU9:%x[0,0]\n")
    assert model_of(["U:a", "U:b", "U:a/b", "Z"], template).explain().templates == [
        TemplateUse(OTHER, 1, 0, 8.0, 1),
        TemplateUse("U:%x[0,0]/%x[1,0]", 1, 0, 4.0, 1),
        TemplateUse("U:%x[0,0] | U:%x[-1,0]", 2, 0, 3.0, 2),
        TemplateUse("U9:%x[0,0]", 0, 0, 0.0, 0),  # has no effect: the line could be removed
    ]


def test_comments_of_wapiti():
    template = Template("u:%x[0,0]  # the word\n# nothing\n \nB\n", "wapiti")
    assert [use.name for use in model_of(["u:a", "b"], template).explain().templates] == ["B", "u:%x[0,0]"]


def test_lines_that_look_up_words_in_a_resource():
    lines = ["U1:%d[0,0,places]", "U2:%D[ 0, 0, places ]/%x[0,0]"]
    template = Template("\n".join(lines), resources=[Resource.lexicon("places", ["Paris"])])
    [[*attributes]] = template.attributes(["Paris"])
    uses = model_of(attributes, template).explain().templates
    assert [(use.name, use.attributes) for use in uses] == [(lines[1], 1), (lines[0], 1)]


def test_prefixes_without_a_template():
    model = Model.from_weights(
        ["P", "Q"],
        {("w:a", "P"): 1.0, ("w:a", "Q"): -0.5, ("w:b:c", "P"): 1.0, ("s=x", "P"): 4.0, ("plain", "P"): 0.25},
        {("w:a", "P", "Q"): 0.5, (BIAS, None, "P"): 0.125, (":", "P", "P"): 0.25},
    )
    assert model.explain().templates == [
        TemplateUse("s", 1, 0, 4.0, 1),
        TemplateUse("w", 3, 1, 3.0, 2),
        TemplateUse(OTHER, 1, 1, 0.5, 2),
        TemplateUse(BIAS, 0, 1, 0.125, 1),
    ]


@pytest.mark.parametrize(
    ("attribute", "group"),
    [
        ("word[-3:]:ing", "word[-3:]"),
        ("postag[:2]:NN", "postag[:2]"),
        ("-1:word.lower():the", "-1:word.lower()"),
        ("+1:postag=NN", "+1:postag"),
        ("-1:ix", "-1"),
        ("word:12:30", "word"),
        ("word:[x", "word"),
        ("a[b:c", OTHER),
        ("word.istitle()", OTHER),
    ],
)
def test_groups_without_a_template(attribute, group):
    """Attributes as tutorials of other packages name them."""
    uses = Model.from_weights(["P"], {(attribute, "P"): 1.0}).explain().templates
    assert [use.name for use in uses if use.attributes] == [group]


def test_names_without_a_value_behind_an_offset():
    """`-1:istitle` is a name where others behind -1 have a name and a value; `+1:dog` is a value of +1."""
    texts = ["-1:istitle", "-1:isupper", "-1:postag:NN", "-1:postag:DT", "-1:word=a", "+1:dog", "+1:cat", "+1:a:b"]
    uses = Model.from_weights(["P"], {(text, "P"): 1.0 for text in texts}).explain().templates
    groups = {use.name: use.attributes for use in uses if use.attributes}
    assert groups == {"-1:istitle": 1, "-1:isupper": 1, "-1:postag": 2, "-1:word": 1, "+1": 2, "+1:a": 1}
