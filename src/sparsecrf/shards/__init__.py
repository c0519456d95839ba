"""Data in shards, in this process or elsewhere: queries go to all shards, and their answers are merged in order. Also
folders of encoded shards."""

from sparsecrf.shards.protocol import Floats, Numbers, Oracle
from sparsecrf.shards.shards import (
    FAN_IN,
    LET_GO,
    InProcess,
    Shard,
    Shards,
    Sparse,
    add,
    merge_tree,
    shards_of,
    unite,
)

__all__ = [
    "FAN_IN",
    "LET_GO",
    "Floats",
    "InProcess",
    "Numbers",
    "Oracle",
    "Shard",
    "Shards",
    "Sparse",
    "add",
    "merge_tree",
    "shards_of",
    "unite",
]
