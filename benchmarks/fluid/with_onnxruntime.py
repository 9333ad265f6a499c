"""ONNX Runtime's contestants of `./dev bench fluid`; see worker.py."""

import numpy as np
import onnxruntime
import worker
from onnx import TensorProto, helper

VERSION = onnxruntime.__version__
threads = 1


def set_threads(count):
    global threads
    threads = count


def session_of(nodes, inputs, outputs):
    """A session of a model; `inputs` and `outputs` have dtype and shape by
    name."""
    infos = [[helper.make_tensor_value_info(name, *form)
              for name, form in each.items()] for each in (inputs, outputs)]
    model = helper.make_model(
        helper.make_graph(nodes, "model", *infos), ir_version=8,
        opset_imports=[helper.make_opsetid("", 17)])
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.inter_op_num_threads = 1
    # Otherwise the chain would be optimised away.
    settings.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    return onnxruntime.InferenceSession(
        model.SerializeToString(), settings,
        providers=["CPUExecutionProvider"])


def loop():
    """One sum an iteration, and the Identity that Loop wants for its
    condition, which counts as its own."""
    vector = (TensorProto.FLOAT, [4])
    number, truth = (TensorProto.INT64, []), (TensorProto.BOOL, [])

    def info(name, form):
        return helper.make_tensor_value_info(name, *form)

    body = helper.make_graph(
        [helper.make_node("Identity", ["on"], ["on_out"]),
         helper.make_node("Add", ["total", "y"], ["total_out"])],
        "body",
        [info("i", number), info("on", truth), info("total", vector)],
        [info("on_out", truth), info("total_out", vector)])
    looping = session_of(
        [helper.make_node("Loop", ["trips", "", "zero"], ["last"], body=body)],
        {"trips": number, "zero": vector, "y": vector}, {"last": vector})
    y, zero = np.ones(4, np.float32), np.zeros(4, np.float32)

    def run(trips):
        feed = {"trips": np.array(trips), "zero": zero, "y": y}
        return looping.run(None, feed)[0][0]

    def chain_of(count):
        session = session_of(
            [helper.make_node("Add", ["y" if i == 0 else f"t{i}", "y"],
                              [f"t{i + 1}"]) for i in range(count)],
            {"y": vector}, {f"t{count}": vector})
        return lambda: session.run(None, {"y": y})

    return run, {count: chain_of(count) for count in worker.Loop.CHAINS}


ROWS = {}
worker.of_loops(ROWS, {"onnxruntime": loop})
