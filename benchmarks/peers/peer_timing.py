"""What the peer scripts share: timing, arguments, and the data they work on."""

import argparse
import json
import os
import sys
import time


def arguments() -> argparse.Namespace:
    """Parses --threads and --sizes, and sets the thread variables that the
    libraries read when they are imported: call it before importing them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sizes", default="", help="NxMxP,NxMxP,...")
    options = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                 "NUMBA_NUM_THREADS"):
        os.environ[name] = str(options.threads)
    options.sizes = [tuple(int(d) for d in size.split("x"))
                     for size in options.sizes.split(",") if size]
    return options


def median_seconds(function, at_least: int = 7, seconds: float = 0.5,
                   at_most: int = 2000) -> float:
    """The median of as many calls as fit into `seconds`, after two."""
    function()
    begin = time.perf_counter()
    function()
    once = time.perf_counter() - begin
    count = max(at_least, min(at_most, int(seconds / max(once, 1e-7))))
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return sorted(times)[count // 2]


def gigapairs(size: tuple, seconds: float) -> float:
    """Element pairs a second, in units of 10^9."""
    n, m, p = size
    return n * m * p / seconds / 1e9


def matrices(size: tuple):
    """Two float32 matrices of uniform random numbers."""
    import numpy as np
    n, m, p = size
    random = np.random.default_rng(0)
    return (random.random((n, p), dtype=np.float32),
            random.random((m, p), dtype=np.float32))


def row_id(name: str, size: tuple, threads: int) -> str:
    """As bench_manhattan names its rows."""
    return f"{name}/{'x'.join(map(str, size))}/f32/t{threads}"


def report(rows: dict) -> None:
    """Hands {row id: {peer: value}} to run.py."""
    json.dump(rows, sys.stdout)
