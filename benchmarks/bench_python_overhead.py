"""The overhead of Executor.run in Python over Plan::Run in C++.

  ./dev bench python_overhead [--json FILE] [--peers]

One small feed and one fetch, a program of one op. python/run_us is one call;
python/run_overhead_us is that minus the median of repeated Plan::Run calls on
the same plan, measured inside the extension.
"""

import sys

import bench_report
import numpy as np
import peer_timing

import sluice as sl


def main():
    options = bench_report.parse_options(__doc__, seconds=0.5)
    sl.set_num_threads(1)
    with sl.program_guard(sl.Program(), sl.Program()):
        x = sl.data("x", [None, 4])
        y = sl.layers.scale(x, 2.0)
        feed, fetch_list = {"x": np.ones((2, 4), "f4")}, [y]
        executor = sl.Executor()
        plan = executor.prepare(feed=feed, fetch_list=fetch_list)
        program, scope = sl.default_main_program(), sl.global_scope()
        (found,) = executor.run(feed=feed, fetch_list=fetch_list)
        np.testing.assert_array_equal(found, np.full((2, 4), 2))
        in_python = peer_timing.median_of_many(
            lambda: executor.run(feed=feed, fetch_list=fetch_list),
            options.seconds,
        )
        in_cpp = np.median(
            [
                sl._core._measure_plan(plan, program, feed, scope, 2000)
                for _ in range(1 if options.smoke else 30)
            ]
        )
    report = bench_report.Report(options)
    report.add("python/run_us", "us", in_python * 1e6)
    overhead = float(in_python - in_cpp) * 1e6
    report.add("python/run_overhead_us", "us", overhead, at_most=2)
    report.measure_peers("python_overhead", "--threads", "1")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
