"""Trains a table by sparse gradients on all ranks, and prints it.

    sparse.py [deterministic]
"""

import json
import sys

import numpy as np

import sluice as sl

sl.distributed.init()
rng = np.random.default_rng(0)
ids = sl.data("ids", [None, 3], "int64")
start = sl.initializer.NumpyArrayInitializer(
    rng.standard_normal((50, 4)).astype(np.float32)
)
rows = sl.layers.embedding(
    ids, [50, 4], param_attr=sl.ParamAttr("table", start), is_sparse=True
)
loss = sl.layers.mean(rows * rows * rows)
deterministic = "deterministic" in sys.argv
optimizer = sl.distributed.DataParallel(
    # Fixed parts of the batch make the gradient dense.
    sl.optimizer.SGD(9.0)
    if deterministic
    else sl.optimizer.Adam(0.1, lazy_mode=True),
    deterministic=deterministic,
)
_, [(_, grad)] = optimizer.minimize(loss)
assert (grad.rows is None) == deterministic

exe = sl.Executor(sl.CPUPlace())
exe.run(sl.default_startup_program())
for _ in range(5):
    batch = rng.integers(0, 50, (8, 3))
    exe.run(feed={"ids": sl.distributed.shard(batch)})
if sl.distributed.rank() == 0:
    table = sl.global_scope().find_var("table").numpy()
    print(json.dumps(table.tolist()), flush=True)
