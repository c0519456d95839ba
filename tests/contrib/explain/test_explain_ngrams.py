"""Longer strings of labels, explained, drawn, and in a report."""

from importlib.util import find_spec

import pytest
from ngram_sentences import sentences
from reports import content, unpack

from sparsecrf import CRF, InputError
from sparsecrf.contrib.explain import START, LabelString, longest_strings, weights_by_length
from sparsecrf.contrib.plots import LabelStringsDisplay, plot_label_strings
from sparsecrf.contrib.report import make_report
from sparsecrf.contrib.report.of_model import STRINGS

needs_pictures = pytest.mark.skipif(find_spec("matplotlib") is None, reason="pictures need the extra `plot`")


@pytest.fixture(scope="module")
def crf():
    """Two attributes condition the same strings, some of which begin at the start."""
    return CRF(rho1=0.3, order=None, bigrams="all").fit(*sentences())


def by_hand(model):
    """labels: [attributes, positive, negative], from the frame of all weights."""
    sums = {}
    for weight in model.explain(top=None).largest():
        if weight.previous is not None and " " in weight.previous:
            found = sums.setdefault((*weight.previous.split(" "), weight.label), [0, 0.0, 0.0])
            found[0] += 1
            found[1 if weight.weight > 0 else 2] += weight.weight
    return sums


@pytest.mark.slow
def test_longest_strings(crf):
    model, expected = crf.model_, by_hand(crf.model_)
    found = longest_strings(model)
    assert {one.labels for one in found} == set(expected)
    for one in found:
        assert [one.attributes, one.positive, one.negative] == pytest.approx(expected[one.labels])
    assert any(one.attributes > 1 for one in found)
    assert any(one.labels[0] == START for one in found)
    order = [(-len(one.labels), -one.size) for one in found]
    assert order == sorted(order)
    assert len(found[0].labels) > 3
    assert longest_strings(model, 2) == found[:2]
    with pytest.raises(InputError, match="top: expected a positive integer"):
        longest_strings(model, 0)


@pytest.mark.slow
def test_weights_by_length(crf):
    model, counts = crf.model_, weights_by_length(crf.model_)
    assert sum(counts) == model.n_active
    summary = model.explain().summary
    assert counts[:2] == [summary["active_unigram"], summary["active_bigram"]]
    assert len(counts) == len(longest_strings(model, 1)[0].labels)
    pairs = CRF(rho1=0.3).fit(*sentences()).model_
    assert longest_strings(pairs) == []
    assert len(weights_by_length(pairs)) == 2


@pytest.mark.slow
@needs_pictures
def test_drawn(crf, tmp_path):
    display = plot_label_strings(crf, top=5, file=tmp_path / "a.svg")
    assert (tmp_path / "a.svg").stat().st_size > 1000
    expected = longest_strings(crf.model_, 5)
    counts, bars = display.axes_
    assert [text.get_text() for text in bars.get_yticklabels()] == [" ".join(one.labels) for one in expected]
    widths = [patch.get_width() for patch in bars.patches]
    assert widths == pytest.approx([one.positive for one in expected] + [one.negative for one in expected])
    assert [patch.get_height() for patch in counts.patches] == weights_by_length(crf.model_)
    assert display.ax_ is bars


@needs_pictures
def test_drawn_without_any():
    display = LabelStringsDisplay.from_estimator(CRF(rho1=0.3).fit(*sentences())).plot()
    assert "no weights for three or more labels" in display.axes_[1].texts[0].get_text()
    with pytest.raises(InputError, match="by_length: expected at least one number"):
        LabelStringsDisplay([LabelString(("a", "b", "c"), 1, 1.0, 0.0)], [])


@pytest.mark.slow
def test_report(crf):
    """Every weight of the page has a previous label with a name, those of n-grams all labels before the last."""
    model, found = crf.model_, content(make_report(crf.model_))
    names = [*found["labels"], found["start"], *found["weights"]["histories"]]
    columns = [unpack(found["weights"][key]).tolist() for key in "xpy"]
    shown = [
        (found["names"][x], None if p < 0 else names[p], found["labels"][y]) for x, p, y in zip(*columns, strict=True)
    ]
    largest = model.explain(top=None).largest()
    assert shown == [(weight.attribute, weight.previous, weight.label) for weight in largest]
    strings, longest = found["strings"], longest_strings(model, STRINGS)
    assert [tuple(one["labels"]) for one in strings["longest"]] == [one.labels for one in longest]
    assert strings["by_length"] == weights_by_length(model)
    assert [one["negative"] for one in strings["longest"]] == pytest.approx([one.negative for one in longest])
    assert content(make_report(CRF(rho1=0.3).fit(*sentences()).model_))["strings"] is None
