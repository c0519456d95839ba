"""Questions to a model that make no sense, and constraints that nothing meets."""

import pytest

from problems import weather
from sparsecrf import InputError, UnsatisfiableError


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda m: m.log_prob(["dry"], ["snow"]),
            "sequence 0, position 0: expected a label of the model, found str 'snow'",
        ),
        (
            lambda m: m.log_prob(["dry"], []),
            "sequence 0, position 0: expected a label for every token",
        ),
        (
            lambda m: m.log_prob([], []),
            "sequence 0: expected at least one position",
        ),
        (
            lambda m: m.label([]),
            "sequence 0: expected at least one position",
        ),
        (
            lambda m: m.label(["dry", 3]),
            "sequence 0, position 1: expected a token",
        ),
        (
            lambda m: m.label(["dry"], fixed=["snow"]),
            r"expected a label of the model \(sun, rain, fog\), found 'snow'",
        ),
        (
            lambda m: m.label(["dry"], allowed=[["snow"]]),
            "expected a label of the model .* found 'snow'",
        ),
        (
            lambda m: m.label(["dry"], forbidden=[("snow", "sun")]),
            "expected a label of the model .* found 'snow'",
        ),
        (
            lambda m: m.label(["dry"], fixed=["sun", "sun"]),
            "fixed: expected 1 entries, one per token, found 2",
        ),
        (
            lambda m: m.marginals(["dry", "wet"], allowed=[None]),
            "allowed: expected 2 entries, one per token, found 1",
        ),
        (
            lambda m: m.span_prob(["dry", "wet"], 1, ["sun", "sun"]),
            "expected a span within its 2 positions",
        ),
        (
            lambda m: m.span_prob(["dry", "wet"], -1, ["sun"]),
            "expected a span within its 2 positions",
        ),
        (
            lambda m: m.span_prob(["dry"], 0, []),
            "expected a span of labels, found none",
        ),
        (
            lambda m: m.span_prob(["dry"], 0, ["snow"]),
            "expected a label of the model .* found 'snow'",
        ),
        (
            lambda m: m.nbest(["dry"], 0),
            "n-best: expected k >= 1, found 0",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(InputError, match=message):
        call(weather())


@pytest.mark.parametrize(
    "limits",
    [
        {"allowed": [None, [], None]},
        {"fixed": ["sun", "sun", None], "forbidden": [("sun", "sun")]},
        {"fixed": [None, "sun", None], "allowed": [None, ["rain"], None]},
        {"forbidden": [(p, y) for p in ("sun", "rain", "fog") for y in ("sun", "rain", "fog")]},
        {"forbidden": [(None, y) for y in ("sun", "rain", "fog")]},
    ],
)
@pytest.mark.parametrize("question", ["label", "marginals", "nbest"])
def test_constraints_that_nothing_meets(limits, question):
    model = weather()
    extra = (2,) if question == "nbest" else ()
    with pytest.raises(UnsatisfiableError, match=r"sequence 0, position [012]: no label sequence"):
        getattr(model, question)(["dry", "wet", "grey"], *extra, **limits)
