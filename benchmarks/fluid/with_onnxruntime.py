"""ONNX Runtime's contestants of `./dev bench fluid`; see worker.py."""

import numpy as np
import onnxruntime
import worker
from onnx import TensorProto, helper
from onnx_session import floats, model_of, node, session_of

VERSION = onnxruntime.__version__
threads = 1


def set_threads(count):
    global threads
    threads = count


def loop():
    """One sum an iteration, and the Identity that Loop wants for its
    condition, which counts as its own."""
    vector = floats(4)
    number, truth = (TensorProto.INT64, []), (TensorProto.BOOL, [])

    def info(name, form):
        return helper.make_tensor_value_info(name, *form)

    body = helper.make_graph(
        [node("Identity", ["on"], ["on_out"]),
         node("Add", ["total", "y"], ["total_out"])],
        "body",
        [info("i", number), info("on", truth), info("total", vector)],
        [info("on_out", truth), info("total_out", vector)])
    # The optimizer would remove the chain.
    def session(*model):
        return session_of(model_of(*model), threads, optimize=False)

    looping = session(
        [node("Loop", ["trips", "", "zero"], ["last"], body=body)],
        {"trips": number, "zero": vector, "y": vector}, {"last": vector})
    y, zero = np.ones(4, np.float32), np.zeros(4, np.float32)

    def run(trips):
        feed = {"trips": np.array(trips), "zero": zero, "y": y}
        return looping.run(None, feed)[0][0]

    def chain_of(count):
        chain = session(
            [node("Add", ["y" if i == 0 else f"t{i}", "y"], [f"t{i + 1}"])
             for i in range(count)], {"y": vector}, {f"t{count}": vector})
        return lambda: chain.run(None, {"y": y})

    return run, {count: chain_of(count) for count in worker.Loop.CHAINS}


ROWS = {}
worker.of_loops(ROWS, {"onnxruntime": loop})
