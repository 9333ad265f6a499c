"""Builds small models, and compares single nodes with ONNX's own reference."""

import io

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator

import sluice as sl


def parsed(text, opset=18, **constants):
    """A model in ONNX's text form, whole or from its inputs on; types of outputs
    may be omitted. Constants are arrays, which become initialisers."""
    if not text.lstrip().startswith("<"):
        text = f'<ir_version: 8, opset_import: ["": {opset}]> model {text}'
    model = parser.parse_model(text)
    for name, array in constants.items():
        tensor = numpy_helper.from_array(np.asarray(array), name)
        model.graph.initializer.append(tensor)
    return model


def loaded(text, opset=18, **constants):
    """The same, loaded."""
    return sl.onnx.load(parsed(text, opset, **constants))


def saved(program, *arguments, **options):
    """The bytes of a model that `sl.onnx.save` writes."""
    file = io.BytesIO()
    sl.onnx.save(program, file, *arguments, **options)
    return file.getvalue()


def by_onnxruntime(model, feed):
    """The outputs of a model by onnxruntime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model, options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, feed)


def shape_of(name, value, known):
    """The shape of a fed value; without sizes (False) or any (None)."""
    if known is None:
        return None
    return [
        size if known else f"{name}{i}" for i, size in enumerate(value.shape)
    ]


def node(
    op, inputs, outputs=("y",), opset=18, known=True, constants=(), **attributes
):
    """A model with one node, the_node. Inputs are arrays by name, or None for
    an input that is omitted; those in `constants` are initialisers. The sizes
    of the others are known, unknown, or with None their ranks are unknown, too.
    An output "" is omitted."""
    given = {name: value for name, value in inputs.items() if value is not None}
    values = [
        helper.make_tensor_value_info(
            name,
            helper.np_dtype_to_tensor_dtype(value.dtype),
            shape_of(name, value, known),
        )
        for name, value in given.items()
        if name not in constants
    ]
    names = [name if name in given else "" for name in inputs]
    graph = helper.make_graph(
        [helper.make_node(op, names, outputs, "the_node", **attributes)],
        "one",
        values,
        [onnx.ValueInfoProto(name=name) for name in outputs if name],
        [numpy_helper.from_array(given[name], name) for name in constants],
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=11)


def named(inputs):
    return {
        f"x{i}": x if x is None else np.asarray(x) for i, x in enumerate(inputs)
    }


def run(op, inputs, opset=18, outputs=("y",), known=True, **attributes):
    """The outputs of a node."""
    inputs = named(inputs)
    proto = node(op, inputs, outputs, opset, known, **attributes)
    feed = {name: x for name, x in inputs.items() if x is not None}
    return sl.onnx.load(proto).run(feed)


def compare(proto, feed, rtol=2e-5, atol=1e-6):
    """The outputs of a model, which are those of the reference."""
    results = sl.onnx.load(proto).run(feed)
    expected = ReferenceEvaluator(proto).run(None, feed)
    for got, want in zip(results, map(np.asarray, expected), strict=True):
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        if got.dtype.kind == "f":
            np.testing.assert_allclose(got, want, rtol, atol)
        elif got.dtype.kind == "V":  # of ml_dtypes
            np.testing.assert_array_equal(got.astype("f8"), want.astype("f8"))
        else:
            np.testing.assert_array_equal(got, want)
    return results


def check(op, inputs, opset=18, outputs=1, known=True, **attributes):
    names = [f"y{i}" for i in range(outputs)]
    inputs = named(inputs)
    return compare(node(op, inputs, names, opset, known, **attributes), inputs)


def floats(rng, *shape):
    return rng.uniform(-2, 2, shape).astype("float32")
