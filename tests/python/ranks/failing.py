"""One rank behaves differently from the others: see test_distributed.py."""

import os
import signal
import sys
import time

import numpy as np

import sluice as sl

sl.distributed.init()
rank = sl.distributed.rank()
what = sys.argv[1]
size = 5 if what == "shape" and rank == 1 else 4

x = sl.data("x", [size])
(out,) = sl.layers.c_allreduce_sum([x])
exe = sl.Executor(sl.CUDAPlace(0) if "cuda" in sys.argv else sl.CPUPlace())
for step in range(100):
    if step == 50 and rank == 1:
        if what in ("raise", "early"):
            raise ValueError("no more data")
        if what == "surrogate":
            raise ValueError("bad \udc80")
        if what == "end":
            sys.exit(0)
        if what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        if what == "sleep":
            time.sleep(3)
    if step == 50 and what == "early":
        time.sleep(3)  # the others hear of rank 1 later
    exe.run(feed={"x": np.ones(size, np.float32)}, fetch_list=[out])
print(f"rank {rank}: done", flush=True)
