"""ONNX models by onnxruntime, and by Sluice and OpenVINO in its place, for
bench_models.py; see worker.py."""

import time

import numpy as np
import worker

try:
    import sluice.onnxruntime as onnxruntime
except ImportError:
    try:
        import onnxruntime
    except ImportError:
        import openvino_sessions as onnxruntime

VERSION = onnxruntime.__version__


def set_threads(count):
    """Nothing: each model has its own number."""


def session_of(model, threads):
    """A session of a file, or of a model's bytes, that prints no warnings."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(
        model if isinstance(model, bytes) else str(model), options,
        providers=["CPUExecutionProvider"]
    )


class Models:
    """Runs one model at a time."""

    def load(self, path, threads, feeds):
        """Prepare the model and run it once; the milliseconds of both. `feeds`
        are arrays by name, or a file of them."""
        self.feeds = dict(np.load(feeds) if isinstance(feeds, str) else feeds)
        begin = time.perf_counter()
        self.session = session_of(path, threads)
        self.results = self.session.run(None, self.feeds)
        return (time.perf_counter() - begin) * 1e3

    def run(self, count):
        """The milliseconds of each of some runs."""
        times = []
        for _ in range(count):
            begin = time.perf_counter()
            self.results = self.session.run(None, self.feeds)
            times.append((time.perf_counter() - begin) * 1e3)
        return times

    def outputs(self):
        """The last run's outputs by name."""
        names = [value.name for value in self.session.get_outputs()]
        return dict(zip(names, self.results, strict=True))

    def write(self, path):
        """Write the last run's outputs."""
        np.savez(path, **self.outputs())

    def grown(self, path, before):
        """By how many MB this process grows when it loads a model and runs it
        on zeros, having done so with the model ``before``."""
        sessions = []
        for each in (before, path):
            already = worker.resident()
            sessions.append(session_of(each, 1))
            sessions[-1].run(None, {
                value.name: np.zeros(value.shape, np.float32)
                for value in sessions[-1].get_inputs()
            })
        return (worker.resident() - already) / 2**20


ROWS = {"models": dict.fromkeys(("sluice", "onnxruntime", "openvino"),
                                lambda sizes: Models())}
