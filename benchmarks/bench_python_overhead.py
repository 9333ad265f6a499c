"""What Executor.run costs in Python beyond Plan::Run in C++.

One small feed and one fetch, a program of one op. The C++ figure is the median
of repeated Plan::Run calls on the same plan, measured inside the extension.

  ./dev bench python_overhead [--json FILE]
"""

import argparse
import json
import statistics
import time

import numpy as np

import sluice as sl


def median_us(call, rounds=30, repeat=2000):
    """The median over rounds of the time of one call, in microseconds."""
    for _ in range(repeat):
        call()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(repeat):
            call()
        times.append((time.perf_counter() - begin) / repeat * 1e6)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="write the row to this file")
    arguments = parser.parse_args()
    sl.set_num_threads(1)
    with sl.program_guard(sl.Program(), sl.Program()):
        x = sl.data("x", [None, 4])
        y = sl.layers.scale(x, 2.0)
        feed, fetch_list = {"x": np.ones((2, 4), "f4")}, [y]
        executor = sl.Executor()
        in_python = median_us(
            lambda: executor.run(feed=feed, fetch_list=fetch_list)
        )
        program = sl.default_main_program()
        plan = executor.prepare(feed=feed, fetch_list=fetch_list)
        in_cpp = statistics.median(
            sl._core._measure_plan(plan, program, feed, sl.global_scope(), 2000)
            * 1e6
            for _ in range(30)
        )
    overhead = in_python - in_cpp
    print(
        f"python/run_overhead_us  {overhead:.2f}  "
        f"(run {in_python:.2f}, Plan::Run {in_cpp:.2f}; at most 2)"
    )
    if arguments.json:
        row = {
            "id": "python/run_overhead_us",
            "unit": "us",
            "value": overhead,
            "limit": None,
            "peers": {},
        }
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"rows": [row]}, file, indent=1)


if __name__ == "__main__":
    main()
