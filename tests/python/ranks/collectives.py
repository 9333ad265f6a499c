"""Every collective op, on all ranks; run by test_distributed.py. With the
argument "cuda" on CUDA devices."""

import os
import sys

import numpy as np

import sluice as sl

sl.distributed.init()
rank, size = sl.distributed.rank(), sl.distributed.size()
on_cuda = "cuda" in sys.argv[1:]
exe = sl.Executor(sl.CUDAPlace(0) if on_cuda else sl.CPUPlace())


def of_rank(r, shape, dtype):
    """The values of a rank: small numbers, whose sums are exact."""
    return np.random.default_rng(r).integers(-4, 5, shape).astype(dtype)


def run(op, x, **attributes):
    """The results of an op for this rank's arrays."""
    with sl.program_guard(sl.Program(), sl.Program()):
        feeds = {f"x{i}": array for i, array in enumerate(x)}
        given = [
            sl.data(name, array.shape, str(array.dtype))
            for name, array in feeds.items()
        ]
        if op in ("c_allgather", "c_reducescatter"):
            (given,) = given
        out = getattr(sl.layers, op)(given, **attributes)
        fetches = out if isinstance(out, list) else [out]
        return exe.run(feed=feeds, fetch_list=fetches)


# For the last shape Open MPI uses Rabenseifner's algorithm if there are many
# ranks, and a ring otherwise.
shapes = [(3, 5), (), (0, 2), (1,), (17,), (2 * size, 3), (40_009,)]
for dtype in ["float32", "float64", "float16", "int8", "int32", "uint64"]:
    give = [[of_rank(r, s, dtype) for s in shapes] for r in range(size)]
    for ordered in [False, True]:
        sums = run("c_allreduce_sum", give[rank], ordered=ordered)
        for i, got in enumerate(sums):
            want = sum(g[i].astype(dtype) for g in give)
            np.testing.assert_array_equal(got, want.astype(dtype))
    for i, got in enumerate(run("c_allreduce_max", give[rank])):
        np.testing.assert_array_equal(got, np.max([g[i] for g in give], 0))
    root = size - 1
    for i, got in enumerate(run("c_broadcast", give[rank], root=root)):
        np.testing.assert_array_equal(got, give[root][i])
    for i, got in enumerate(run("barrier", give[rank])):
        np.testing.assert_array_equal(got, give[rank][i])
    (got,) = run("c_allgather", [give[rank][0]], nranks=size)
    np.testing.assert_array_equal(got, np.concatenate([g[0] for g in give]))
    (got,) = run("c_reducescatter", [give[rank][5]], nranks=size)
    total = sum(g[5] for g in give).astype(dtype)
    np.testing.assert_array_equal(got, total[2 * rank : 2 * rank + 2])

nan = np.array([1.0, np.nan if rank == 0 else 2.0, 3.0], np.float32)
(got,) = run("c_allreduce_max", [nan])
np.testing.assert_array_equal(got, [1, np.nan, 3])

# Each is computed where the program runs, except the sum in rank order, which
# MPI computes.
for op, ordered in [("c_allreduce_sum", False), ("c_allreduce_sum", True)]:
    with sl.program_guard(sl.Program(), sl.Program()):
        x = sl.data("x", [3])
        (out,) = sl.layers.c_allreduce_sum([x], ordered=ordered)
        feed = {"x": np.ones(3, "float32")}
        exe.run(feed=feed, fetch_list=[out])
        decisions = exe.explain()
        nccl = on_cuda and not ordered and size > 1
        assert (" nccl " in decisions) == nccl, decisions

alone = os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE") == "1" and size > 1
where = ", alone on its host" if alone else ""
print(f"rank {rank} of {size}{where}: ok", flush=True)
