"""ONNX Runtime: inference of the suite `train`."""

import peer_timing

options = peer_timing.arguments()
import networks  # noqa: E402
from onnx_session import floats, model_of, node, session_of  # noqa: E402


def make_forward(case, batch):
    nodes, last, parameters = [], "image", case.parameters

    def add(op, *inputs, **attributes):
        nonlocal last
        out = f"v{len(nodes)}"
        nodes.append(node(op, [last, *inputs], [out], **attributes))
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
    session = session_of(model_of(
        nodes, {"image": floats(batch, *case.image.shape[1:])},
        {last: floats(batch, 10)},
        {f"p{i}": p for i, p in enumerate(parameters)}), options.threads)
    feed = {"image": case.image[:batch]}
    return lambda: session.run(None, feed)[0]


networks.run_peer(
    __file__, options, "onnxruntime", forwards={"onnxruntime": make_forward})
