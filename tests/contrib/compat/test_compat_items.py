"""Tokens: python-crfsuite's own attributes, compared with those of our ItemSequence and of the encoder."""

from collections import Counter
from itertools import pairwise

import pycrfsuite
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsecrf import InputError, Vocabulary
from sparsecrf.contrib.compat import ItemSequence
from sparsecrf.contrib.compat.itemsequence import tokens

# Names with characters that could be mistaken for structure; few letters, so that attributes coincide. No NUL: it ends
# a string there.
text = st.text(st.sampled_from("ab:=\\é \t"), max_size=4) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=3
)
numbers = st.floats(-1e6, 1e6) | st.integers(-1000, 1000) | st.booleans()
nested = st.recursive(
    numbers | text,
    lambda inner: st.dictionaries(text, inner, max_size=3) | st.lists(text, max_size=3) | st.sets(text, max_size=3),
    max_leaves=8,
)
items = st.one_of(
    st.dictionaries(text, nested, max_size=4),
    st.lists(text, max_size=4),
    st.sets(text, max_size=4),
    st.tuples(text, text),
    text,
)


def encoded(xseq):
    """Attributes and values of each item after the encoder, those of one name added up."""
    vocabulary = Vocabulary(start=False)
    arrays = vocabulary.encode([tokens(xseq)], [["label"] * len(xseq)], grow=True).to_arrays()
    names = [vocabulary.attributes[k] for k in arrays["unigram_id"]]
    begin = arrays["unigram_ptr"]
    return [dict(zip(names[a:b], arrays["unigram_value"][a:b].tolist(), strict=True)) for a, b in pairwise(begin)]


@pytest.mark.slow
@given(st.lists(items, min_size=1, max_size=4))
def test_attributes_are_those_of_python_crfsuite(xseq):
    ours, theirs = ItemSequence(xseq), pycrfsuite.ItemSequence(xseq)
    assert ours.items() == theirs.items()
    assert len(ours) == len(theirs)
    assert repr(ours) == repr(theirs)
    # An attribute that `items` shows once may have been given twice; the encoder adds its values, as CRFsuite does.
    for form in (xseq, ours, ItemSequence(ours)):
        for found, shown, pairs in zip(encoded(form), theirs.items(), ours._items, strict=True):
            total = Counter()
            for name, value in pairs:
                total[name] += value
            assert found.keys() == shown.keys()
            assert found == pytest.approx(dict(total))


@pytest.mark.parametrize(
    "wrong", [[{"a": None}], [{1: "a"}], [[1]], [[("a", 1.0)]], [{"a": [["b"]]}], [{"a": (1, 2)}], [3]]
)
def test_what_python_crfsuite_refuses(wrong):
    with pytest.raises((TypeError, SystemError)):
        pycrfsuite.ItemSequence(wrong)
    with pytest.raises(TypeError, match="item 1: expected") as caught:
        ItemSequence([[], *wrong])
    assert isinstance(caught.value, InputError)


def test_later_changes_change_nothing():
    item = {"a": 1.0}
    sequence = ItemSequence([item])
    item["b"] = 2.0
    assert sequence.items() == [{"a": 1.0}]
