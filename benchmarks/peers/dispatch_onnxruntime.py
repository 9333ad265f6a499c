"""ONNX Runtime: a chain of 1,000 Add of 4x4 float32; ns per op."""

import peer_timing

options = peer_timing.arguments()
import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

OPS = 1000


def chain():
    """A model whose every op adds its input x to the sum so far."""
    nodes = [helper.make_node("Add", ["x" if i == 0 else f"t{i - 1}", "x"],
                              [f"t{i}"]) for i in range(OPS)]
    shape = [4, 4]
    graph = helper.make_graph(
        nodes, "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(f"t{OPS - 1}", TensorProto.FLOAT,
                                       shape)])
    return helper.make_model(graph, ir_version=8,
                             opset_imports=[helper.make_opsetid("", 17)])


settings = onnxruntime.SessionOptions()
settings.intra_op_num_threads = 1
# Otherwise the chain would be optimised away.
settings.graph_optimization_level = (
    onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
session = onnxruntime.InferenceSession(chain().SerializeToString(), settings)
x = np.full((4, 4), 1e-3, np.float32)
(result,) = session.run(None, {"x": x})
np.testing.assert_allclose(result, 1e-3 * (OPS + 1), rtol=1e-4)
seconds = peer_timing.median_seconds(lambda: session.run(None, {"x": x}))
peer_timing.report({"dispatch/chain1000": {"onnxruntime": seconds / OPS * 1e9}})
