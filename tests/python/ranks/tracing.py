"""Traces of a run with two buckets; rank 1 has another clock.

    tracing.py PATH SECONDS_AHEAD
"""

import sys
import time

import numpy as np

import sluice as sl
from sluice.distributed import timeline

sl.distributed.init()
rank = sl.distributed.rank()
ahead = round(float(sys.argv[2]) * 1e9) if rank == 1 else 0
if ahead:
    timeline.monotonic_ns = lambda: time.monotonic_ns() + ahead
    timeline._boot = lambda: "of another host"

x = sl.data("x", [4])
(first,) = sl.layers.c_allreduce_sum([x])
(second,) = sl.layers.c_allreduce_sum([sl.layers.scale(first, scale=2.0)])
exe = sl.Executor()
size = sl.distributed.size()
feed = {"x": np.full(4, 1, np.float32)}
exe.run(feed=feed, fetch_list=[second])
if rank == 0:
    time.sleep(0.2)  # rank 1 waits
run = exe.run_traced(feed=feed, fetch_list=[second])
np.testing.assert_array_equal(run.results[0], np.full(4, 2 * size * size))
sl.distributed.gather_trace(sys.argv[1], run.trace, run.start_ns + ahead)
for what, trace, start in [
    ("no trace", "{}", 0),
    ("no start", run.trace, None if rank == 1 else 0),
]:
    try:
        sl.distributed.gather_trace(sys.argv[1], trace, start)
    except sl.InvalidArgumentError as error:
        sys.stdout.write(f"rank {rank}: {what}: {error}\n")
