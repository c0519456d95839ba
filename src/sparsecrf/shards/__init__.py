"""Data in shards, here or elsewhere: questions to all of them, answers merged in order; folders of encoded shards."""

from sparsecrf.shards.shards import (
    FAN_IN,
    LET_GO,
    Floats,
    InProcess,
    Numbers,
    Shard,
    Shards,
    Sparse,
    add,
    in_order,
    shards_of,
    unite,
)

__all__ = [
    "FAN_IN",
    "LET_GO",
    "Floats",
    "InProcess",
    "Numbers",
    "Shard",
    "Shards",
    "Sparse",
    "add",
    "in_order",
    "shards_of",
    "unite",
]
