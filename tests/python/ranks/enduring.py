"""Trains until something happens to it; see tests/endurance/ranks.py.

    enduring.py CHECKPOINT train | load

SIGUSR1 makes a rank raise.
"""

import os
import pathlib
import signal
import sys

import numpy as np

import sluice as sl


def fail(_signal, _frame):
    raise RuntimeError("no more data")


signal.signal(signal.SIGUSR1, fail)
sl.distributed.init()
rank = sl.distributed.rank()
path, what = pathlib.Path(sys.argv[1]), sys.argv[2]
x, y = sl.data("x", [None, 64]), sl.data("y", [None, 1])
hidden = sl.layers.fc(x, 256, act="tanh")
error = sl.layers.elementwise_sub(sl.layers.fc(hidden, 1), y)
loss = sl.layers.mean(sl.layers.square(error))
optimizer = sl.distributed.DataParallel(sl.optimizer.Adam(1e-3), 1024)
optimizer.minimize(loss)
exe = sl.Executor(sl.CPUPlace())
exe.run(sl.default_startup_program())
step = 0
if path.exists():
    step = sl.distributed.load_checkpoint(path).step
print(f"rank {rank} pid {os.getpid()} step {step}", flush=True)
random = np.random.default_rng(0)
batch = {
    "x": sl.distributed.shard(random.random((24, 64), np.float32)),
    "y": sl.distributed.shard(random.random((24, 1), np.float32)),
}
last = step + 3 if what == "load" else 10**9
while step < last:
    exe.run(feed=batch, fetch_list=[optimizer.loss])
    step += 1
    if step % 5 == 0:
        sl.distributed.save_checkpoint(path, step=step)
print(f"rank {rank} done", flush=True)
