"""ONNX Runtime: a convolution, batch norm and relu."""

import peer_timing

options = peer_timing.arguments()
import conv_bn_relu  # noqa: E402
import numpy as np  # noqa: E402
from onnx_session import floats, model_of, node, session_of  # noqa: E402

NAMES = ("filter", "scale", "shift", "mean", "variance")
images = floats(conv_bn_relu.IMAGES, conv_bn_relu.CHANNELS,
                conv_bn_relu.PIXELS, conv_bn_relu.PIXELS)
session = session_of(model_of(
    [node("Conv", ["x", "filter"], ["c"], pads=[1, 1, 1, 1]),
     node("BatchNormalization", ["c", *NAMES[1:]], ["n"], epsilon=1.0),
     node("Relu", ["n"], ["y"])],
    {"x": images}, {"y": images}, dict(zip(NAMES, conv_bn_relu.weights()))),
    options.threads)
feed = {"x": np.ascontiguousarray(conv_bn_relu.image().transpose(0, 3, 1, 2))}
conv_bn_relu.check("onnxruntime", session.run(None, feed)[0], options.mean)
seconds = peer_timing.median_seconds(lambda: session.run(None, feed),
                                     seconds=options.seconds)
peer_timing.report({f"infer/conv_bn_relu/f32/t{options.threads}":
                    {"onnxruntime": seconds * 1e3}})
