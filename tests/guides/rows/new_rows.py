"""Checks additions of follow_adding_an_op.sh in the package and in ONNX."""

import io

import numpy as np
import onnx
from onnx.helper import (
    make_graph,
    make_model,
    make_node,
    make_opsetid,
    make_tensor_value_info,
)

import sluice as sl

VALUES = np.asarray([1, 2, 5], "float32")
EXPECTED = {
    "l": np.log2(VALUES),
    "w": np.asarray([True, True, False]),
    "h": np.asarray([False, True, False]),
    "s": np.log(np.cosh(np.log2(VALUES))).sum(),
}


def check(got):
    """Compare with NumPy."""
    for a, b in zip(got, EXPECTED.values(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def values(names, element):
    """Outputs of a graph."""
    return [make_tensor_value_info(name, element, None) for name in names]


x = sl.data("x", [None])
y = sl.layers.log2(x)
fetches = [
    y,
    sl.layers.is_whole(y),
    sl.layers.half_of(y, x),
    sl.layers.reduce_log_cosh(y),
]
check(sl.Executor().run(feed={"x": VALUES}, fetch_list=fetches))

# Its row alone makes an op an activation where networks are shown.
with sl.program_guard(sl.Program(), sl.Program()):
    sl.layers.square_unit(sl.layers.fc(sl.data("x", [None, 4]), 3))
    shown = sl.default_main_program()
    assert "mul+add+square_unit 4 -> 3" in shown.summary()
    assert ">activation</text>" in shown.draw()

# log2 has no counterpart; ONNX's Log and a factor compute the same.
model = make_model(
    make_graph(
        [
            make_node("Log", ["x"], ["n"]),
            make_node("Div", ["n", "ln2"], ["l"]),
            make_node("IsWhole", ["l"], ["w"]),
            make_node("HalfOf", ["l", "x"], ["h"]),
            make_node("ReduceLogCosh", ["l"], ["s"], keepdims=0),
        ],
        "rows",
        [make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n"])],
        values("l", onnx.TensorProto.FLOAT)
        + values("wh", onnx.TensorProto.BOOL)
        + values("s", onnx.TensorProto.FLOAT),
        [onnx.numpy_helper.from_array(np.float32(np.log(2)), "ln2")],
    ),
    opset_imports=[make_opsetid("", 21)],
)
loaded = sl.onnx.load(model.SerializeToString())
check(loaded.run({"x": VALUES}))
file = io.BytesIO()
loaded.save(file)
saved = onnx.load_from_string(file.getvalue())
assert {"IsWhole", "HalfOf", "ReduceLogCosh"} <= {
    node.op_type for node in saved.graph.node
}
check(sl.onnx.load(file.getvalue()).run({"x": VALUES}))
print("3 new rows in ONNX models")
