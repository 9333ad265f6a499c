"""Reads data for training: datasets, their batches, worker processes.

All names are in :mod:`sluice.io`, too, as in Fluid.
"""

from .batches import Dataset, IterableDataset, TensorDataset, default_collate
from .decorators import batch, buffered, shuffle, xmap_readers
from .feeder import DataFeeder
from .loader import DataLoader
from .samplers import BatchSampler
from .workers import WorkerInfo, get_worker_info

__all__ = [
    "BatchSampler", "DataFeeder", "DataLoader", "Dataset", "IterableDataset",
    "TensorDataset", "WorkerInfo", "batch", "buffered", "default_collate",
    "get_worker_info", "shuffle", "xmap_readers",
]
