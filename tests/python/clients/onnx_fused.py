"""Runs single operators of onnxruntime, and compares them with NumPy and, where
it is installed, with onnxruntime itself."""

from importlib.util import find_spec

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx_reference import by_onnxruntime

import sluice as sl

rng = np.random.default_rng(1)


def floats(*shape):
    return rng.standard_normal(shape).astype("float32")


def close(x, y, rtol=1e-4, atol=1e-5):
    np.testing.assert_allclose(x, y, rtol, atol)


def model(nodes, opset, values, known=False):
    """A model and what it is fed. ``const_...`` are initialisers; of the others
    only the last size is known, or all. ``..._float`` are outputs of float32,
    which onnxruntime must be told for some."""
    values = {n: np.asarray(v) for n, v in values.items()}
    fed = {n: v for n, v in values.items() if not n.startswith("const")}

    def shape(value):
        return [None] * (value.ndim - 1) + list(value.shape[-1:])

    inputs = [
        helper.make_tensor_value_info(
            n,
            helper.np_dtype_to_tensor_dtype(v.dtype),
            v.shape if known else shape(v),
        )
        for n, v in fed.items()
    ]
    outputs = [onnx.ValueInfoProto(name=n) for n in nodes[-1].output if n]
    for output in outputs:
        if output.name.endswith("_float"):
            output.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    constants = [
        numpy_helper.from_array(v, n) for n, v in values.items() if n not in fed
    ]
    graph = helper.make_graph(nodes, "fused", inputs, outputs, constants)
    opsets = [
        helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)
    ]  # fmt: skip
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return proto.SerializeToString(), fed


def run(nodes, opset=17, **values):
    """What nodes compute of the values."""
    proto, fed = model(nodes, opset, values)
    return sl.onnx.load(proto).run(fed)


def fused_node(type_, values, outputs=("out",), inputs=None, **attributes):
    return helper.make_node(
        type_, inputs or list(values), outputs, **{"domain": "com.microsoft"}
        | attributes,
    )  # fmt: skip


def fused(type_, values, outputs=("out",), inputs=None, **attributes):
    node = fused_node(type_, values, outputs, inputs, **attributes)
    return run([node], **values)


def check(
    type_, values, expected, outputs=("out",), inputs=None, peer=True,
    sizes=(True, False), rtol=1e-4, atol=1e-5, **attributes,
):  # fmt: skip
    """Whether a node gives what is expected, with known and unknown sizes. None
    is not compared. Not a peer: onnxruntime has no kernel on the CPU."""
    node = fused_node(type_, values, outputs, inputs, **attributes)
    results = []
    for known in sizes:
        proto, fed = model([node], 17, values, known)
        results.append(sl.onnx.load(proto).run(fed))
    if peer and find_spec("onnxruntime") is not None:
        results.append(by_onnxruntime(proto, fed))
    for result in results:
        for got, want in zip(result, expected, strict=True):
            if want is None:
                continue
            assert got.shape == np.shape(want)
            if got.dtype.kind == "f":
                close(got, want, rtol, atol)
            elif got.dtype.itemsize == 1 and got.dtype != bool:
                # Quantized: halves may be rounded either way.
                assert np.abs(got.astype("f8") - want).max(initial=0) <= 1
            else:
                np.testing.assert_array_equal(got, want)
