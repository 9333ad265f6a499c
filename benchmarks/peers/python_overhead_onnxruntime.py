"""ONNX Runtime: a model of one op with one small feed and one fetch."""

import peer_timing

options = peer_timing.arguments()
import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

FLOAT = TensorProto.FLOAT
graph = helper.make_graph(
    [helper.make_node("Mul", ["x", "two"], ["y"])], "scale",
    [helper.make_tensor_value_info("x", FLOAT, [None, 4])],
    [helper.make_tensor_value_info("y", FLOAT, [None, 4])],
    [helper.make_tensor("two", FLOAT, [], [2.0])])
model = helper.make_model(graph, ir_version=8,
                          opset_imports=[helper.make_opsetid("", 17)])
settings = onnxruntime.SessionOptions()
settings.intra_op_num_threads = options.threads
session = onnxruntime.InferenceSession(model.SerializeToString(), settings)
feed, names = {"x": np.ones((2, 4), np.float32)}, ["y"]
np.testing.assert_array_equal(session.run(names, feed)[0], feed["x"] * 2)
seconds = peer_timing.median_of_many(lambda: session.run(names, feed),
                                     options.seconds)
peer_timing.report({"python/run_us": {"onnxruntime": seconds * 1e6}})
