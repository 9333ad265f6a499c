"""ONNX Runtime: inference of the suite `train`."""

import peer_timing

options = peer_timing.arguments()
import networks  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402


def model(case, batch):
    """The network as an ONNX model."""
    nodes, last, parameters = [], "image", case.parameters

    def add(op, *inputs, **attributes):
        nonlocal last
        out = f"v{len(nodes)}"
        nodes.append(helper.make_node(op, [last, *inputs], [out],
                                      **attributes))
        last = out

    for i in range(0, len(parameters), 2):
        if parameters[i].ndim == 4:
            add("Conv", f"p{i}", f"p{i + 1}")
            add("Relu")
            add("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
            continue
        add("Flatten")
        add("Gemm", f"p{i}", f"p{i + 1}")
        if i + 2 < len(parameters):
            add("Relu")
    graph = helper.make_graph(
        nodes, case.name,
        [helper.make_tensor_value_info("image", TensorProto.FLOAT,
                                       [batch, *case.image.shape[1:]])],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, [batch, 10])],
        [numpy_helper.from_array(p, f"p{i}")
         for i, p in enumerate(parameters)])
    return helper.make_model(graph, ir_version=8,
                             opset_imports=[helper.make_opsetid("", 17)])


def make_forward(case, batch):
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    session = onnxruntime.InferenceSession(
        model(case, batch).SerializeToString(), settings)
    feed = {"image": case.image[:batch]}
    return lambda: session.run(None, feed)[0]


networks.run_peer(
    __file__, options, "onnxruntime", forwards={"onnxruntime": make_forward})
