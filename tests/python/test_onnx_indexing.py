"""Compares nodes that select and change elements by indices with ONNX's own
reference, beyond what its suite has."""

import numpy as np
import pytest

import sluice as sl

pytest.importorskip("onnx")
from onnx import helper, numpy_helper  # noqa: E402
from onnx_reference import (  # noqa: E402
    check,
    floats,
    loaded,
    named,
    node,
    parsed,
    run,
)

either = pytest.mark.parametrize("known", [True, False], ids=["known", "late"])
REDUCTIONS = ("add", "mul", "max", "min")


@either
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_elements(axis, known, rng):
    x = floats(rng, 4, 5, 6)
    shape = list(x.shape)
    shape[axis] = 7
    options = {"axis": axis, "known": known}
    check("GatherElements", [x, rng.integers(-4, 4, shape)], **options)
    index = rng.integers(-4, 4, (3, 4, 5))
    order = rng.permuted(np.broadcast_to(np.arange(3), (2, 3, 3)), axis=2)
    order = np.moveaxis(order, 2, axis)
    updates = floats(rng, *order.shape)
    check("ScatterElements", [x, order, updates], **options)
    for reduction in REDUCTIONS:
        inputs = [x, index, floats(rng, 3, 4, 5)]
        check("ScatterElements", inputs, reduction=reduction, **options)


@either
@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int32", "int64", "float64"]
)
def test_elements_of_every_dtype(dtype, known, rng):
    x = rng.integers(0, 5, (6, 3)).astype(dtype)
    index = rng.integers(-6, 6, (8, 3)).astype("int32")
    updates = rng.integers(0, 5, (8, 3)).astype(dtype)
    check("GatherElements", [x, index], known=known)
    for reduction in REDUCTIONS:
        inputs = [x, index, updates]
        check("ScatterElements", inputs, reduction=reduction, known=known)


@either
def test_slices(known, rng):
    x = floats(rng, 3, 4, 5)
    for size in (1, 2, 3):
        index = rng.integers(-3, 3, (2, 7, size))
        check("GatherND", [x, index], known=known)
        updates = floats(rng, 2, 7, *x.shape[size:])
        for reduction in REDUCTIONS:
            inputs = [x, index, updates]
            check("ScatterND", inputs, reduction=reduction, known=known)
    check("GatherND", [x, rng.integers(0, 4, (3, 2, 1))], batch_dims=1)
    check("GatherND", [x, rng.integers(0, 5, (3, 4, 1))], batch_dims=2)


@either
@pytest.mark.parametrize("depth", [np.int64(4), np.int32(4), np.float32(4)])
def test_hot_rows(depth, known, rng):
    index = rng.integers(-4, 4, (2, 3))
    values = np.float32([-1, 3])
    for axis in (-1, 0, 1):
        check("OneHot", [index, depth, values], axis=axis, known=known)
    check("OneHot", [index.astype("float32"), depth, values], known=known)


@either
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifted_bits(direction, known, rng):
    x = rng.integers(0, 200, (3, 4)).astype("uint8")
    places = rng.integers(0, 8, (4,)).astype("uint8")
    check("BitShift", [x, places], direction=direction, known=known)


@either
@pytest.mark.parametrize(
    "start, limit, delta",
    [(0, 7, 1), (3, 9, 3), (10, 3, -2), (5, 5, 1), (2, -4, 1), (-7, 2, 4)],
)
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_ranges(dtype, start, limit, delta, known):
    values = [np.array(v, dtype) for v in (start, limit, delta)]
    check("Range", values, known=known)
    if dtype.startswith("float"):
        check("Range", [v / np.array(3, dtype) for v in values], known=known)


def test_ranges_of_a_computed_limit_and_constant_floats():
    model = loaded(
        """(int64 size) => (y) <float start = {0.5}, float delta = {1.5}> {
            limit = Cast <to = 1> (size)
            y = Range (start, limit, delta)
        }"""
    )
    for size in (0, 4, 8):
        (y,) = model.run({"size": np.int64(size)})
        np.testing.assert_allclose(y, np.arange(0.5, size, 1.5))


@pytest.mark.parametrize(
    "start, limit, step",
    [
        (2**53 + 1, 2**53 + 8, 3),
        (-(2**60) - 1, -(2**60) - 7, -2),
        (2**62, 2**62, 1),
        (7, -(2**53) * 3, -(2**53) - 1),
    ],
)
def test_ranges_of_large_integers(start, limit, step):
    numbers = {"a": np.int64(start), "b": np.int64(limit), "c": np.int64(step)}
    (y,) = loaded("() => (y) { y = Range (a, b, c) }", **numbers).run({})
    assert y.dtype == np.int64 and y.tolist() == list(range(start, limit, step))


def test_ranges_of_int16():
    (y,) = run("Range", [np.int16(v) for v in (3, -4, -2)], 18)
    assert y.dtype == np.int16 and y.tolist() == [3, 1, -1, -3]


def test_a_split_has_as_many_parts_as_it_says():
    x = np.arange(5, dtype="float32")
    (y,) = run("Split", [x], 18, ("a",), num_outputs=2)
    np.testing.assert_array_equal(y, x[:3])
    first, last = run("Split", [x], 18, ("a", "", "b"), num_outputs=3)
    np.testing.assert_array_equal(first, x[:2])
    np.testing.assert_array_equal(last, x[4:])


def sparse_constant(values, indices, dims):
    values = numpy_helper.from_array(np.array(values, "float32"), "values")
    indices = numpy_helper.from_array(np.array(indices, "int64"), "indices")
    model = parsed("(float x) => (y) { c = Constant () y = Add (x, c) }")
    sparse = helper.make_sparse_tensor(values, indices, dims)
    attribute = helper.make_attribute("sparse_value", sparse)
    model.graph.node[0].attribute.append(attribute)
    return sl.onnx.load(model)


@pytest.mark.parametrize("indices", [[1, 5], [[0, 1], [1, 2]]])
def test_constants_that_are_sparse(indices):
    (y,) = sparse_constant([3, 4], indices, [2, 3]).run({"x": np.float32(1)})
    np.testing.assert_array_equal(y, [[1, 4, 1], [1, 1, 5]])


def test_sparse_constants_that_cannot_be():
    for indices, dims, message in [
        ([1, 6], [2, 3], "index 6; expected 0 to 5"),
        ([[0, 1], [1, -1]], [2, 3], "index -1; expected 0 to 2"),
        ([1], [2, 3], r"values \[2\] and indices \[1\]"),
        ([1, 2], [2**40, 2**10], "attribute sparse_value"),
    ]:
        with pytest.raises(sl.SluiceError, match=message):
            sparse_constant([3, 4], indices, dims)


@pytest.mark.parametrize("constants", [("x0", "x1", "x2"), ("x1", "x2")])
@pytest.mark.parametrize(
    "start, end, step, expected",
    [
        (-(2**62), 2**63 - 1, 2**62, [-(2**62), 0, 2**62]),
        (-(2**63), 2**63 - 1, 2**63 - 1, [-(2**63), -1, 2**63 - 2]),
        (2**63 - 1, -(2**63), -(2**63), [2**63 - 1, -1]),
        (0, -(2**63), -(2**63), [0]),
        (1, -(2**63), 2**62, []),
        (2**53 + 1, 2**53 + 4, 2, [2**53 + 1, 2**53 + 3]),
        (-(2**63), 2**63 - 1, 1, "elements, expected at most 2\\^40"),
        (2**62, 2**63 - 1, 0, "step is 0"),
    ],
)
def test_ranges_of_large_numbers(start, end, step, expected, constants):
    inputs = named([np.int64(start), np.int64(end), np.int64(step)])
    proto = node("Range", inputs, ("y",), 18, True, constants)
    feed = {n: v for n, v in inputs.items() if n not in constants}
    if isinstance(expected, str):
        with pytest.raises(sl.InvalidArgumentError, match=expected):
            sl.onnx.load(proto).run(feed)
        return
    assert sl.onnx.load(proto).run(feed)[0].tolist() == expected
