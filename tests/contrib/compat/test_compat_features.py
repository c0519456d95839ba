"""The features that are trained: as many as CRFsuite makes, and the same ones."""

import pycrfsuite
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsecrf.contrib.compat import Tagger, Trainer

VALUES = st.sampled_from([-1.0, -0.25, 0.0, 0.5, 1.0, 2.0])  # sums are exact
ITEM = st.dictionaries(st.sampled_from("abcd"), VALUES, min_size=1)
SEQUENCE = st.lists(st.tuples(ITEM, st.sampled_from("XYZ")), min_size=1, max_size=4)
PARAMS = st.fixed_dictionaries(
    {
        "feature.minfreq": st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0]),
        "feature.possible_states": st.booleans(),
        "feature.possible_transitions": st.booleans(),
    }
)


def trained(package, data, params, path, holdout=-1):
    trainer = package.Trainer("lbfgs", {"c2": 0.5, "delta": 1e-9, **params}, verbose=False)
    for group, sequence in data:
        trainer.append([item for item, _ in sequence], [label for _, label in sequence], group)
    trainer.train(str(path), holdout)
    with package.Tagger().open(str(path)) as tagger:
        return trainer.logparser.featgen_num_features, tagger.labels(), tagger.info()


class Ours:
    Trainer, Tagger = Trainer, Tagger


def same_weights(found, expected):
    # CRFsuite's weights have 6 decimals, and its optimum is only as accurate.
    keys = {key for weights in (found, expected) for key, w in weights.items() if abs(w) > 1e-3}
    for key in keys:
        assert found.get(key, 0.0) == pytest.approx(expected.get(key, 0.0), abs=2e-3)


@pytest.mark.slow
@given(data=st.lists(st.tuples(st.integers(0, 1), SEQUENCE), min_size=1, max_size=5), params=PARAMS)
def test_features_are_those_of_crfsuite(data, params, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model"
    holdout = 1 if len({group for group, _ in data}) == 2 else -1
    n_features, labels, info = trained(pycrfsuite, data, params, path, holdout)
    found, our_labels, ours = trained(Ours, data, params, path, holdout)
    assert found == n_features
    assert our_labels == labels
    same_weights(ours.state_features, info.state_features)
    same_weights(ours.transitions, info.transitions)


def test_false_makes_a_feature_and_negative_sums_do_not(tmp_path):
    """What is easily overlooked: seen with value 0 is seen, and a sum below 0 is below the default minimum of 0."""
    data = [(0, [({"upper": False, "n": -1.0}, "X"), ({"upper": True, "n": 0.5}, "Y")])]
    n_features, _, info = trained(Ours, data, {}, tmp_path / "model")
    assert set(info.state_features) == {("upper", "X"), ("upper", "Y"), ("n", "Y")}
    assert n_features == 4  # and X -> Y


def test_listing_features_takes_little_memory():
    """NumPy's tables of all occurrences, which it took before, were larger than all of training."""
    import tracemalloc

    from sparsecrf.contrib.compat.features import crfsuite_features
    from sparsecrf.contrib.compat.itemsequence import Data

    data = Data()
    for i in range(200):
        items = [[f"a{(i + 7 * t + k) % 300}" for k in range(40)] for t in range(10)]
        data.add(items, ["XYZ"[(i + t) % 3] for t in range(10)], 0)
    corpus, _ = data.split(-1)
    bias = data.vocabulary.attributes.find("[bias]")
    tracemalloc.start()
    crfsuite_features(corpus, bias, minfreq=0.0, possible_states=False, possible_transitions=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * 10 * 40 * 4  # bytes: less than the occurrences themselves take
