"""Trains six steps with a checkpoint after three, or the last three from it.

    resuming.py PATH save | load
"""

import json
import sys

import numpy as np

import sluice as sl

sl.distributed.init()
rank = sl.distributed.rank()
path, what = sys.argv[1:]
# Only rank 0 has the file.
path = path if rank == 0 else "/this/folder/is/not/there"
rng = np.random.default_rng(0)
inputs = rng.standard_normal((6, 8, 5)).astype(np.float32)
wanted = rng.standard_normal((6, 8, 1)).astype(np.float32)

x, y = sl.data("x", [None, 5]), sl.data("y", [None, 1])
error = sl.layers.fc(sl.layers.fc(x, 7, act="tanh"), 1) - y
loss = sl.layers.mean(error * error)
optimizer = sl.distributed.DataParallel(
    sl.optimizer.Adam(0.05), deterministic=True
)
optimizer.minimize(loss)
exe, scope = sl.Executor(sl.CPUPlace()), sl.global_scope()
exe.run(sl.default_startup_program())
first = 0
if what == "load":
    found = sl.distributed.load_checkpoint(path)
    first = found.step
    assert scope.step == 17, scope.step
    assert not [name for name in scope.names() if "checkpoint" in name]
losses = []
for step in range(first, 6):
    if what == "save" and step == 3:
        scope.step = 17 + rank
        sl.distributed.save_checkpoint(path, step=step)
    feed = {
        "x": sl.distributed.shard(inputs[step]),
        "y": sl.distributed.shard(wanted[step]),
    }
    (value,) = exe.run(feed=feed, fetch_list=[optimizer.loss])
    losses.append(value.item())
if rank == 0:
    print(json.dumps(losses), flush=True)
if what == "load":
    print(f"rank {rank}: {found}", flush=True)
