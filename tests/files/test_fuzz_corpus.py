"""What fuzzing starts from and what it once found, tried again; and a little fuzzing by Hypothesis.

A target takes any bytes and returns or raises InputError (torture/targets.py). `make torture ONLY=fuzz` goes further.
"""

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # torture is not part of the package

from torture import fuzz
from torture.inputs import CORPUS, inputs
from torture.targets import TARGETS, attempt

from sparsecrf import InputError

INPUTS = [(name, title, data) for name in TARGETS for title, data in inputs(name).items()]
#: What the parsers look for.
TOKENS = [
    b"\n",
    b"\n\n",
    b" ",
    b"\t",
    b"\\",
    b":",
    b"%x[",
    b'"',
    b"]",
    b"*",
    b"0",
    b"-1",
    b"9" * 20,
    b"nan",
    b"\0",
    b"\xc3",
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "data"), [(n, d) for n, _, d in INPUTS], ids=[f"{n}/{t}" for n, t, _ in INPUTS])
def test_corpus(name, data):
    attempt(name, data)


def test_every_target_is_tried():
    assert {name for name, *_ in INPUTS} == set(TARGETS) == {path.stem for path in CORPUS.iterdir()}


@st.composite
def changed(draw, seeds):
    """One of the inputs, with some of it replaced."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        length = draw(st.sampled_from([0, 0, 1, 4, 16, len(data)]))
        data = data[:at] + draw(st.sampled_from(TOKENS) | st.binary(max_size=8)) + data[at + length :]
    return data


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_changed_inputs(name):
    seeds = [*inputs(name).values()]

    @settings(parent=settings.get_profile(settings._current_profile), max_examples=40)
    @given(changed(seeds))
    def try_it(data):
        attempt(name, data)

    try_it()


def test_targets_that_there_are_none_of(tmp_path):
    with pytest.raises(InputError, match=r"expected targets such as .*, found \['c\+\+ nosuch'\]"):
        fuzz.run(1, tmp_path, ["c++ nosuch", "c++ json"])
