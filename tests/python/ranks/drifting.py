"""Parameters of ranks that diverge; see test_distributed_training.py.

    drifting.py FOLDER
"""

import pathlib
import sys

import numpy as np
from telling import tell

import sluice as sl
from sluice.distributed import check_parameters, save_checkpoint

sl.distributed.init()
rank = sl.distributed.rank()
path = pathlib.Path(sys.argv[1]) / f"{rank}"
x, rate = sl.data("x", [None, 2]), sl.data("rate", [1])
x = sl.layers.reshape(sl.layers.fc(x, 3), shape=[-1, 3, 1, 1])
x = sl.layers.fc(sl.layers.batch_norm(x), 1)
optimizer = sl.distributed.DataParallel(sl.optimizer.Momentum(rate))
optimizer.minimize(sl.layers.mean(x))
scope = sl.global_scope()

tell("no values", check_parameters)
exe = sl.Executor(sl.CPUPlace())
exe.run(sl.default_startup_program())


def train(rate):
    batch = np.full((2, 2), [rank + 1, -rank], np.float32)
    exe.run(feed={"x": batch, "rate": [rate]}, fetch_list=[optimizer.loss])


train(0.5)
tell("alike", check_parameters)
right = scope["fc_0.w_0"].numpy()
if rank == 1:
    scope["fc_0.w_0"] = right + 1
tell("set", check_parameters)
tell("save", save_checkpoint, path)
assert path.exists() == (rank == 0)
scope["fc_0.w_0"] = right
tell("saved", save_checkpoint, path)
assert path.exists() == (rank == 0)
train(0.5 if rank == 0 else 0.25)
tell("rates", check_parameters)
for var in sl.default_main_program().all_parameters() if rank == 1 else []:
    scope[var.name] = np.full(var.shape, 7, np.float32)
tell("many", check_parameters)
sl.distributed.broadcast_parameters()
tell("broadcast", check_parameters)
tell("scope", check_parameters, None, 3 if rank == 1 else None)
tell("program", check_parameters, 3 if rank == 1 else None)
