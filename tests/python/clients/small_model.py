"""A small model for the tests of onnxruntime's interface."""

import numpy as np
from onnx_reference import parsed

WEIGHTS = np.arange(6, dtype="float32").reshape(3, 2) - 2
X = np.array([[1, 2, 3], [-1, 0, 2]], "float32")
Y = np.maximum(X @ WEIGHTS, 0)


def small_model():
    """y = relu(x @ w), x [batch, 3]; and z = x."""
    return parsed(
        """<ir_version: 8, opset_import: ["": 13], producer_name: "tests",
            metadata_props: ["character": "abc"]>
        small (float[batch, 3] x) => (float[batch, 2] y, float[batch, 3] z) {
            [product] h = MatMul (x, w)
            y = Relu (h)
            z = Identity (x)
        }""",
        w=WEIGHTS,
    )
