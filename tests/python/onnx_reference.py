"""Builds small models, and compares single nodes with ONNX's own reference."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import sluice as sl


def shape_of(name, value, known):
    """The shape of a fed value; without sizes (False) or any (None)."""
    if known is None:
        return None
    return [
        size if known else f"{name}{i}" for i, size in enumerate(value.shape)
    ]


def node(op, inputs, outputs, opset, known, **attributes):
    """A model with one node. The sizes of its inputs are known, unknown, or
    with None their ranks are unknown, too. An input that is None is omitted."""
    given = {name: value for name, value in inputs.items() if value is not None}
    values = [
        helper.make_tensor_value_info(
            name,
            helper.np_dtype_to_tensor_dtype(value.dtype),
            shape_of(name, value, known),
        )
        for name, value in given.items()
    ]
    names = [name if name in given else "" for name in inputs]
    graph = helper.make_graph(
        [helper.make_node(op, names, outputs, **attributes)],
        "one",
        values,
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
            for name in outputs
        ],
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8
    )


def small_model(nodes, inputs, outputs, constants=(), opset=18):
    """A loaded model; inputs are dtypes and shapes by name, constants arrays."""
    graph = helper.make_graph(
        nodes,
        "model",
        [
            helper.make_tensor_value_info(name, dtype, shape)
            for name, (dtype, shape) in inputs.items()
        ],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [
            numpy_helper.from_array(x, name)
            for name, x in dict(constants).items()
        ],
    )
    proto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8
    )
    return sl.onnx.load(proto.SerializeToString())


def run(op, inputs, opset=18, outputs=("y",), known=True, **attributes):
    """The outputs of a node; an output "" is omitted."""
    inputs = {
        f"x{i}": x if x is None else np.asarray(x) for i, x in enumerate(inputs)
    }
    proto = node(op, inputs, list(outputs), opset, known, **attributes)
    del proto.graph.output[:]
    proto.graph.output.extend(
        helper.make_empty_tensor_value_info(name) for name in outputs if name
    )
    feed = {name: x for name, x in inputs.items() if x is not None}
    return sl.onnx.load(proto.SerializeToString()).run(feed)


def check(op, inputs, opset=18, outputs=1, known=True, **attributes):
    names = [f"y{i}" for i in range(outputs)]
    inputs = {f"x{i}": np.asarray(x) for i, x in enumerate(inputs)}
    proto = node(op, inputs, names, opset, known, **attributes)
    expected = ReferenceEvaluator(proto).run(None, inputs)
    results = sl.onnx.load(proto.SerializeToString()).run(inputs)
    assert len(results) == len(expected)
    for got, want in zip(results, expected):
        assert got.dtype == np.asarray(want).dtype
        assert got.shape == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6)


def floats(rng, *shape):
    return rng.uniform(-2, 2, shape).astype("float32")
