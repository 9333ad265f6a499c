"""ONNX Runtime: a convolution, batch norm and relu."""

import peer_timing

options = peer_timing.arguments()
import conv_bn_relu  # noqa: E402
import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

NAMES = ("filter", "scale", "shift", "mean", "variance")
shape = [conv_bn_relu.IMAGES, conv_bn_relu.CHANNELS, conv_bn_relu.PIXELS,
         conv_bn_relu.PIXELS]
graph = helper.make_graph(
    [helper.make_node("Conv", ["x", "filter"], ["c"], pads=[1, 1, 1, 1]),
     helper.make_node("BatchNormalization", ["c", *NAMES[1:]], ["n"],
                      epsilon=1.0),
     helper.make_node("Relu", ["n"], ["y"])],
    "conv_bn_relu",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    [numpy_helper.from_array(value, name)
     for name, value in zip(NAMES, conv_bn_relu.weights())])
model = helper.make_model(graph, ir_version=8,
                          opset_imports=[helper.make_opsetid("", 17)])
settings = onnxruntime.SessionOptions()
settings.intra_op_num_threads = options.threads
session = onnxruntime.InferenceSession(model.SerializeToString(), settings)
feed = {"x": np.ascontiguousarray(conv_bn_relu.image().transpose(0, 3, 1, 2))}
conv_bn_relu.check("onnxruntime", session.run(None, feed)[0], options.mean)
seconds = peer_timing.median_seconds(lambda: session.run(None, feed),
                                     seconds=options.seconds)
peer_timing.report({f"infer/conv_bn_relu/f32/t{options.threads}":
                    {"onnxruntime": seconds * 1e3}})
