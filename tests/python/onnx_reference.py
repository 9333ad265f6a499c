"""Models with one node, beside ONNX's own reference."""

import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import sluice as sl


def node(op, inputs, outputs, opset, known, **attributes):
    """A model with one node; sizes of its inputs are known or not."""
    values = [
        helper.make_tensor_value_info(
            name,
            helper.np_dtype_to_tensor_dtype(value.dtype),
            [
                size if known else f"{name}{i}"
                for i, size in enumerate(value.shape)
            ],
        )
        for name, value in inputs.items()
    ]
    graph = helper.make_graph(
        [helper.make_node(op, list(inputs), outputs, **attributes)],
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
