"""Training and labelling on a Dask cluster.

The optimiser is the same as on one machine and runs in the caller's process. Partitions become encoded shards that stay
on the workers, which receive the weights of the working set and return losses and gradients (sparsecrf/shards/).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparsecrf.contrib.dask.cluster import ClusterError
    from sparsecrf.contrib.dask.estimator import DaskCRF
    from sparsecrf.contrib.dask.labelling import label
    from sparsecrf.contrib.dask.training import Trained, train

#: Imported on first use, since workers need neither the estimator nor scikit-learn.
_HOME = {
    "ClusterError": "cluster",
    "DaskCRF": "estimator",
    "Trained": "training",
    "label": "labelling",
    "train": "training",
}

__all__ = ["ClusterError", "DaskCRF", "Trained", "label", "train"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sparsecrf.contrib.dask' has no attribute {name!r}")
    return getattr(import_module(f"sparsecrf.contrib.dask.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
