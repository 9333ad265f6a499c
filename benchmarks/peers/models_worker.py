"""Runs ONNX models by onnxruntime for bench_models.py, which sends one line for
each turn:

    load PATH THREADS FEEDS.npz   -> the milliseconds until it can run
    run COUNT                     -> the milliseconds of each of COUNT runs
    write OUTPUTS.npz             -> writes the last run's outputs

Answers are JSON, a line each.
"""

import json
import sys
import time

import numpy as np
import onnxruntime


class Worker:
    """Runs one model at a time."""

    def load(self, path, threads, feeds):
        """Prepare the model and run it once."""
        self.feeds = dict(np.load(feeds))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(threads)
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        begin = time.perf_counter()
        self.session = onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"]
        )
        self.results = self.session.run(None, self.feeds)
        return (time.perf_counter() - begin) * 1e3

    def run(self, count):
        """Time runs, one by one."""
        times = []
        for _ in range(int(count)):
            begin = time.perf_counter()
            self.results = self.session.run(None, self.feeds)
            times.append((time.perf_counter() - begin) * 1e3)
        return times

    def write(self, path):
        """Write the outputs by name."""
        names = [value.name for value in self.session.get_outputs()]
        np.savez(path, **dict(zip(names, self.results, strict=True)))
        return onnxruntime.__version__


def main():
    worker = Worker()
    for line in sys.stdin:
        command, *arguments = line.split()
        print(json.dumps(getattr(worker, command)(*arguments)), flush=True)


if __name__ == "__main__":
    main()
