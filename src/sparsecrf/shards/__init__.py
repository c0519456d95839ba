"""Data in shards, in this process or elsewhere. Queries go to all shards, and their answers are merged in order. This
package also contains folders of encoded shards."""

from sparsecrf.shards.shards import FAN_IN, LET_GO, InProcess, Shard, Shards, add, merge_tree, shards_of

__all__ = ["FAN_IN", "LET_GO", "InProcess", "Shard", "Shards", "add", "merge_tree", "shards_of"]
