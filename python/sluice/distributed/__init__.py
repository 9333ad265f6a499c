"""Training on several processes: ranks that run the same program.

Start the script with ``mpirun -n 4 python train.py``::

    import sluice as sl

    sl.distributed.init()
    ...
    optimizer = sl.distributed.DataParallel(sl.optimizer.Momentum(0.1))
    optimizer.minimize(loss)
    ...
    for images, labels in batches:
        feed = {
            "image": sl.distributed.shard(images),
            "label": sl.distributed.shard(labels),
        }
        exe.run(feed=feed, fetch_list=[optimizer.loss])

Without mpirun there is one rank, and this module changes nothing.
"""

from __future__ import annotations

from .checkpoint import (
    Checkpoint,
    broadcast_parameters,
    load_checkpoint,
    save_checkpoint,
)
from .data_parallel import DataParallel
from .finite import check_finite
from .parameters import check_parameters
from .timeline import gather_trace
from .world import init, rank, shard, size, waited_seconds

__all__ = [
    "Checkpoint", "DataParallel", "broadcast_parameters", "check_finite",
    "check_parameters", "gather_trace", "init", "load_checkpoint", "rank",
    "save_checkpoint", "shard", "size", "waited_seconds",
]
