"""Training and labelling on a Dask cluster.

The optimiser is that of one machine and stays with the caller. Partitions become encoded shards that stay on the
workers; weights of the working set go to them, losses and gradients come back (sparsecrf/shards.py).
"""

from sparsecrf.dask.cluster import ClusterError
from sparsecrf.dask.estimator import DaskCRF
from sparsecrf.dask.labelling import label
from sparsecrf.dask.training import Trained, train

__all__ = ["ClusterError", "DaskCRF", "Trained", "label", "train"]
