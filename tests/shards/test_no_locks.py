"""Properties that are computed once hold no lock meanwhile: a process that forks would leave it taken in the child.

`cached_property` has such a lock before Python 3.12.
"""

import threading

import pytest

from sparsecrf.model import Model
from sparsecrf.shards import Shards
from sparsecrf.shards.oracle import ShardedOracle
from sparsecrf.training.group_penalty import GroupPenalty


@pytest.mark.parametrize(
    ("of", "name"),
    [
        (Shards, "fingerprint"),
        (ShardedOracle, "signs_agree"),
        (ShardedOracle, "signs_agree_in_lists"),
        (ShardedOracle, "all_labels_count"),
        (ShardedOracle, "value_sizes"),
        (GroupPenalty, "sizes"),
        (Model, "has_plain_transitions"),
    ],
)
def test_two_threads_compute_at_the_same_time(of, name):
    both = threading.Barrier(2)

    class Meeting(Exception):
        pass

    class Slow(of):
        """Fails as soon as two threads have begun to compute; with a lock the second one never begins."""

        def __init__(self):
            pass

        def __getattribute__(self, attribute):
            if attribute not in (name, "__dict__", "__class__"):
                both.wait(timeout=2)
                raise Meeting
            return super().__getattribute__(attribute)

    shared, met = Slow(), []

    def read():
        try:
            getattr(shared, name)
        except Meeting:
            met.append(True)
        except threading.BrokenBarrierError:
            pass

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert met == [True, True]
