"""The shared parts of the peer scripts: timing, arguments, and data."""

import argparse
import json
import os
import subprocess
import sys
import time

import libraries


def arguments() -> argparse.Namespace:
    """Parses the arguments from libraries.py, and sets the variables that a
    library reads at import: call it before importing that."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sizes", default="", help="NxMxP,NxMxP,...")
    parser.add_argument("--seconds", type=float, default=0.5,
                        help="for each figure")
    parser.add_argument("--case", help="the file of networks.py")
    parser.add_argument("--first-step", metavar="PEER",
                        help="print the first step's ms, and nothing else")
    parser.add_argument("--mean", type=float,
                        help="of the elements that must come out")
    parser.add_argument("--half-mean", type=float,
                        help="the same in bfloat16, where that is measured")
    options = parser.parse_args()
    os.environ.update(libraries.thread_variables(options.threads))
    options.sizes = [tuple(int(d) for d in size.split("x"))
                     for size in options.sizes.split(",") if size]
    return options


def median_seconds(function, at_least: int = 7, seconds: float = 0.5,
                   at_most: int = 20000) -> float:
    """The median of as many calls as fit into `seconds`, after two calls and a
    tenth of `seconds` of warm-up. With 0 seconds there is one call."""
    if seconds <= 0:
        begin = time.perf_counter()
        function()
        return time.perf_counter() - begin
    function()
    begin = time.perf_counter()
    function()
    once = time.perf_counter() - begin
    while time.perf_counter() - begin < seconds / 10:
        function()
    count = max(at_least, min(at_most, int(seconds / max(once, 1e-7))))
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return sorted(times)[count // 2]


def median_of_many(function, seconds: float = 0.5, repeat: int = 100) -> float:
    """The median for calls of some microseconds: each sample is the time of
    `repeat` calls, divided by it."""
    def many():
        for _ in range(repeat):
            function()

    return median_seconds(many, seconds=seconds) / repeat


def in_new_processes(command: list, count: int = 3) -> float:
    """The median of the numbers that `command` prints, when Python runs it in
    `count` new processes."""
    values = [
        float(subprocess.run([sys.executable, *command], check=True,
                             stdout=subprocess.PIPE, text=True)
              .stdout.split()[-1])
        for _ in range(count)
    ]
    return sorted(values)[count // 2]


def import_ms(module: str, count: int = 7) -> float:
    """The median time of importing a module after NumPy in `count` new
    interpreters."""
    code = ("import time, numpy; t = time.perf_counter(); "
            f"import {module}; print((time.perf_counter() - t) * 1e3)")
    return in_new_processes(["-c", code], count)


def distances(options, peer: str, prepare, at_least: int = 7,
              suite: str = "manhattan") -> dict:
    """Rows of bench_manhattan, in 10^9 element pairs per second, of one library.
    prepare(x, y) returns the call to measure; x and y are float32 matrices of
    uniform random numbers."""
    import numpy as np
    rows = {}
    for n, m, p in options.sizes:
        random = np.random.default_rng(0)
        call = prepare(random.random((n, p), dtype=np.float32),
                       random.random((m, p), dtype=np.float32))
        seconds = median_seconds(call, at_least)
        row = f"{suite}/{n}x{m}x{p}/f32/t{options.threads}"
        rows[row] = {peer: n * m * p / seconds / 1e9}
    return rows


def report(rows: dict) -> None:
    """Prints {row id: {peer: value}} for libraries.py."""
    json.dump(rows, sys.stdout)
