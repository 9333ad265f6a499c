"""Values of single nodes and small models that were wrong once, or refused."""

import numpy as np
import pytest

import sluice as sl

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx_reference import check, floats, run  # noqa: E402

either = pytest.mark.parametrize("known", [True, False, None])
INF = np.inf


def model_of(nodes, inputs, outputs, constants=(), opset=18):
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


# Attention


@pytest.mark.parametrize("window", [{}, {"left_window_size": 1}])
@pytest.mark.parametrize("known", [True, None])
def test_past_keys_move_the_triangle(window, known, rng):
    q, k, v = (floats(rng, 1, 2, 3, 4) for _ in range(3))
    past = [floats(rng, 1, 2, 2, 4) for _ in range(2)]
    opset = 25 if window else 24
    values = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, x.shape)
        for n, x in (("q", q), ("k", k), ("v", v))
    ]
    values += [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, known and x.shape)
        for n, x in zip(("past_key", "past_value"), past)
    ]
    names = ["q", "k", "v", "", "past_key", "past_value"]
    graph = helper.make_graph(
        [helper.make_node("Attention", names, ["y"], is_causal=1, **window)],
        "one",
        values,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    proto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=11
    )
    feed = dict(
        zip(["q", "k", "v", "past_key", "past_value"], [q, k, v, *past])
    )
    (y,) = sl.onnx.load(proto.SerializeToString()).run(feed)
    keys, all_values = (
        np.concatenate(pair, 2).astype("f8")
        for pair in ((past[0], k), (past[1], v))
    )
    scores = q.astype("f8") @ keys.swapaxes(2, 3) / 2
    place, key = np.arange(3)[:, None] + 2, np.arange(5)
    allowed = key <= place
    if window:
        allowed &= key >= place - 1
    weights = np.exp(np.where(allowed, scores, -INF))
    weights /= weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(y, weights @ all_values, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("given", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "bool"])
@pytest.mark.parametrize("known", [True, False])
def test_keys_that_the_mask_lacks_are_left_out(known, dtype, given, rng):
    q, k, v = (
        floats(rng, 1, 1, 2, 4),
        floats(rng, 1, 1, 3, 4),
        floats(rng, 1, 1, 3, 4),
    )
    mask = np.zeros((2, given), "float32")
    if dtype == "bool":
        mask = np.ones((2, given), bool)
    scale = {} if known else {"scale": 0.5}
    inputs = [q, k, v, mask]
    (y,) = run("Attention", inputs, opset=24, known=known, **scale)
    scores = (q @ k.swapaxes(2, 3) / 2)[..., :given]
    weights = np.exp(scores)
    weights /= weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(
        y, weights @ v[:, :, :given], rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize(
    "dtype, close", [("float16", 0.004), ("bfloat16", 0.04)]
)
def test_scores_of_halves_are_not_rounded(dtype, close, rng):
    dtype = np.dtype(getattr(pytest.importorskip("ml_dtypes"), dtype, dtype))
    q, k, v = (
        rng.normal(0, 4, (2, 4, 16, 64)).astype("f4").astype(dtype)
        for _ in range(3)
    )
    (y,) = run("Attention", [q, k, v], opset=24)
    assert y.dtype == dtype
    q, k, v = (x.astype("f8") for x in (q, k, v))
    scores = q @ k.swapaxes(2, 3) / 8
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    assert np.abs(y.astype("f8") - weights @ v).max() < close


# Reductions


@pytest.mark.parametrize("axes", [None, []])
@pytest.mark.parametrize(
    "op, element",
    [
        ("L1", np.abs),
        ("L2", np.abs),
        ("LogSum", np.log),
        ("LogSumExp", np.copy),
        ("Max", np.copy),
        ("Mean", np.copy),
        ("Min", np.copy),
        ("Prod", np.copy),
        ("Sum", np.copy),
        ("SumSquare", np.square),
    ],
)
def test_a_reduction_of_no_dims_computes_elements(op, element, axes, rng):
    x = floats(rng, 2, 3)
    if op == "LogSum":
        x = np.abs(x)
    model = model_of(
        [
            helper.make_node(
                f"Reduce{op}",
                ["x"] if axes is None else ["x", "axes"],
                ["y"],
                noop_with_empty_axes=1,
            )
        ],
        {"x": (TensorProto.FLOAT, [2, 3])},
        ["y"],
        {} if axes is None else {"axes": np.array([], "int64")},
    )
    (y,) = model.run({"x": x})
    np.testing.assert_allclose(y, element(x), rtol=1e-6)


def integers(dtype, shape, rng):
    """Some beyond what float32, and for 64 bits float64, holds."""
    limits = np.iinfo(dtype)
    most = min(limits.max, 2**62 + 1) if limits.bits == 64 else 2**30
    least = 0 if limits.min == 0 else -most
    return rng.integers(least, most, shape, dtype=dtype)


@either
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
@pytest.mark.parametrize("op", ["Sum", "SumSquare", "L1", "Max", "Min"])
def test_reductions_of_integers_are_exact(op, dtype, keepdims, known, rng):
    x = integers(dtype, (3, 4, 2), rng)
    terms = {"SumSquare": x * x, "L1": np.abs(x)}.get(op, x)
    if op in ("Max", "Min"):
        x.flat[5] = np.iinfo(dtype).max
        x.flat[6] = np.iinfo(dtype).min
    of = {"Max": np.max, "Min": np.min}.get(op, np.sum)
    expected = of(terms, axis=1, keepdims=bool(keepdims))
    (y,) = run(f"Reduce{op}", [x], 11, known=known, axes=[1], keepdims=keepdims)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, expected.astype(dtype))


@either
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
def test_means_of_integers_are_rounded_towards_zero(dtype, known, rng):
    x = rng.integers(0, 2**31 - 1, (3, 5), dtype=dtype)
    if dtype != "uint32":
        x[::2] *= -1
    sums = x.astype(object).sum(1)
    expected = [abs(total) // 5 * (1 if total > 0 else -1) for total in sums]
    (y,) = run("ReduceMean", [x], 11, known=known, axes=[1], keepdims=0)
    assert y.dtype == x.dtype and y.tolist() == expected
    (all_of_them,) = run("ReduceMean", [x], 11, known=known, keepdims=0)
    total = int(sums.sum())
    assert all_of_them == abs(total) // 15 * (1 if total > 0 else -1)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_norms_of_integers_lose_their_fraction(dtype):
    x = np.array([[3, 4], [1, 1], [30000, 40000]], dtype)
    (y,) = run("ReduceL2", [x], 11, axes=[1], keepdims=0)
    assert y.dtype == x.dtype and y.tolist() == [5, 1, 50000]


# Products


@either
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_products_of_integers_are_exact(dtype, known, rng):
    limits = np.iinfo(dtype)
    a, b = (
        rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
        for shape in ((2, 3, 5), (5, 4))
    )
    check("MatMul", [a, b], known=known)
    (y,) = run("MatMul", [a[0, 0], b], known=known)
    np.testing.assert_array_equal(y, a[0, 0] @ b)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_gemms_of_integers(dtype, known, rng):
    a, b, c = (
        rng.integers(-(2**30), 2**30, shape, dtype=dtype)
        for shape in ((5, 3), (4, 5), (4,))
    )
    options = {"transA": 1, "transB": 1}
    (y,) = run("Gemm", [a, b], 13, known=known, **options)
    np.testing.assert_array_equal(y, a.T @ b.T)
    options |= {"alpha": 3.0, "beta": -2.0}
    (y,) = run("Gemm", [a, b, c], 13, known=known, **options)
    expected = a.T @ b.T * a.dtype.type(3) - c * a.dtype.type(2)
    np.testing.assert_array_equal(y, expected)


# Element by element


@either
@pytest.mark.parametrize(
    "base, exponent, expected",
    [
        (np.int64(3), np.int32(39), np.int64(3**39)),
        (np.float32(-1), np.int64(16777217), np.float32(-1)),
        (np.float16(-1), np.int64(2049), np.float16(-1)),
        (np.float32(-1), np.float64(16777217), np.float32(-1)),
        (np.float16(-2), np.int8(-3), np.float16(-0.125)),
        (np.int32(3), np.int64(26), np.int64(3**26).astype("int32")),
        (np.uint32(3), np.uint64(25), np.uint32(3**25 % 2**32)),
        (np.int32(-1), np.uint64(2**64 - 1), np.int32(-1)),
        (np.int32(9), np.float32(0.5), np.int32(3)),
        (np.float64(2), np.int64(0.5 * 2**11), np.float64(np.inf)),
    ],
)
def test_powers_of_two_dtypes_are_not_rounded(base, exponent, expected, known):
    (y,) = run("Pow", [[base], [exponent]], 15, known=known)
    assert y.dtype == expected.dtype and y[0] == expected


@pytest.mark.parametrize("exponent", [1, 2, 3])
def test_a_constant_exponent_of_more_dims_repeats_the_base(exponent):
    model = model_of(
        [helper.make_node("Pow", ["x", "e"], ["y"])],
        {"x": (TensorProto.FLOAT, [2])},
        ["y"],
        {"e": np.full((1, 1, 1), exponent, "float32")},
    )
    (y,) = model.run({"x": np.float32([2, 3])})
    np.testing.assert_array_equal(y, np.float32([[[2, 3]]]) ** exponent)


@either
@pytest.mark.parametrize("op, count", [("Sum", 1), ("Mean", 2)])
def test_unknown_sizes_may_be_repeated(op, count, known, rng):
    x, y = floats(rng, 3, 1), floats(rng, 1, 4)
    (z,) = run(op, [x, y], 13, known=known)
    np.testing.assert_allclose(z, (x + y) / count, rtol=1e-6)


@pytest.mark.parametrize("known", [False, None])
def test_sums_of_three_unknown_shapes(known, rng):
    inputs = [floats(rng, 3, 4), floats(rng, 1, 1), floats(rng, 1, 4)]
    check("Sum", inputs, opset=13, known=known)


def test_bounds_that_old_models_omit_are_those_of_float32():
    most = np.finfo("float32").max
    x = np.float32([-INF, -1, INF, np.nan])
    (y,) = run("Clip", [x], 7)
    np.testing.assert_array_equal(y, np.float32([-most, -1, most, np.nan]))
    (y,) = run("Clip", [x], 10, min=0.0)
    np.testing.assert_array_equal(y, np.float32([0, 0, most, np.nan]))
    (y,) = run("Clip", [x], 11)
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
def test_a_minimum_above_the_maximum_gives_the_maximum(dtype, constant):
    x, bounds = np.array([-2, 1, 6], dtype), np.array([2, 1], dtype)
    if dtype == "float32" and not constant:
        x[0] = np.nan
    if constant:
        model = model_of(
            [helper.make_node("Clip", ["x", "low", "high"], ["y"])],
            {"x": (helper.np_dtype_to_tensor_dtype(x.dtype), [3])},
            ["y"],
            {"low": bounds[0], "high": bounds[1]},
        )
        (y,) = model.run({"x": x})
    else:
        (y,) = run("Clip", [x, bounds[0], bounds[1]], 13)
    np.testing.assert_array_equal(y[1:], [1, 1])
    assert y[0] == 1 or np.isnan(x[0])


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_large_integers_are_clipped_exactly(dtype):
    x = np.array([0, 1700000000000000001, 2**62 + 1], dtype)
    low, high = np.array(5, dtype), np.array(2**62 + 1, dtype)
    (y,) = run("Clip", [x, low, high], 13)
    assert y.dtype == x.dtype and y.tolist() == [
        5,
        1700000000000000001,
        2**62 + 1,
    ]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_rectifiers_of_integers(dtype):
    limits = np.iinfo(dtype)
    x = np.array([[limits.min, -1, 0, 1, limits.max]], dtype)
    check("Relu", [x], opset=14)
    (y,) = run("PRelu", [x, np.array([3], dtype)], 16)
    np.testing.assert_array_equal(y, np.where(x < 0, x * x.dtype.type(3), x))


@pytest.mark.parametrize(
    "dtype", ["uint8", "uint16", "uint32", "uint64", "int16"]
)
@pytest.mark.parametrize("op", ["Sign", "Abs"])
def test_signs_of_integers(op, dtype):
    limits = np.iinfo(dtype)
    check(op, [np.array([limits.min, 0, 1, limits.max], dtype)], opset=13)


def test_negatives_of_int16():
    check("Neg", [np.array([-3, 0, 300], "int16")], opset=13)


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
    model = model_of(
        [helper.make_node("Range", ["a", "b", "c"], ["y"])],
        {},
        ["y"],
        {"a": np.int64(start), "b": np.int64(limit), "c": np.int64(step)},
    )
    (y,) = model.run({})
    assert y.dtype == np.int64 and y.tolist() == list(range(start, limit, step))


def test_ranges_of_int16():
    (y,) = run("Range", [np.int16(v) for v in (3, -4, -2)], 18)
    assert y.dtype == np.int16 and y.tolist() == [3, 1, -1, -3]


# Quantised


@either
def test_zero_points_of_filters_go_along_channels(known, rng):
    x = rng.integers(0, 256, (1, 2, 4, 4), dtype="uint8")
    w = rng.integers(0, 256, (3, 2, 3, 3), dtype="uint8")
    x_zero, w_zero = np.array([7], "uint8"), np.array([1, 20, 200], "uint8")
    # Only the zero point has no shape: the filter must have one.
    names = ["x", "w", "x_zero", "w_zero"]
    model = model_of(
        [helper.make_node("ConvInteger", names, ["y"])],
        {
            "x": (TensorProto.UINT8, [1, 2, 4, 4]),
            "w": (TensorProto.UINT8, [3, 2, 3, 3]),
            "x_zero": (TensorProto.UINT8, None if known is None else [1]),
            "w_zero": (TensorProto.UINT8, None if known is None else [3]),
        },
        ["y"],
    )
    (y,) = model.run(dict(zip(names, [x, w, x_zero, w_zero])))
    a = x.astype("i8") - 7
    b = w.astype("i8") - w_zero.astype("i8")[:, None, None, None]
    expected = np.array(
        [
            [
                [(a[0, :, i : i + 3, j : j + 3] * b[o]).sum() for j in range(2)]
                for i in range(2)
            ]
            for o in range(3)
        ]
    )
    np.testing.assert_array_equal(y[0], expected)


@pytest.mark.parametrize("shapes", ["known", "unknown"])
def test_zero_points_of_rows(shapes, rng):
    a = rng.integers(0, 256, (3, 3), dtype="uint8")
    b = rng.integers(0, 256, (3, 3), dtype="uint8")
    zeros = np.array([3, 50, 255], "uint8"), np.array([0, 9, 100], "uint8")
    names = ["a", "b", "a_zero", "b_zero"]
    shape = [3] if shapes == "known" else None
    model = model_of(
        [helper.make_node("MatMulInteger", names, ["y"])],
        {
            "a": (TensorProto.UINT8, [3, 3]),
            "b": (TensorProto.UINT8, [3, 3]),
            "a_zero": (TensorProto.UINT8, shape),
            "b_zero": (TensorProto.UINT8, shape),
        },
        ["y"],
    )
    (y,) = model.run(dict(zip(names, [a, b, *zeros])))
    left = a.astype("i8") - zeros[0].astype("i8")[:, None]
    np.testing.assert_array_equal(y, left @ (b.astype("i8") - zeros[1]))


def test_scales_of_rows_beside_a_batch(rng):
    a = rng.integers(0, 256, (2, 3), dtype="uint8")
    b = rng.integers(0, 256, (2, 3, 4), dtype="uint8")
    scale, zero = np.float32([0.01, 0.1]), np.uint8([0, 0])
    one, none = np.float32(1), np.uint8(0)
    inputs = [a, scale, zero, b, np.float32(0.01), none, one, none]
    (y,) = run("QLinearMatMul", inputs, 10)
    exact = (a * scale[:, None].astype("f8")) @ (b * 0.01)
    assert np.abs(y - np.clip(exact, 0, 255)).max() <= 0.501


def test_dynamic_quantization_may_omit_outputs(rng):
    x = floats(rng, 6)
    everything = run("DynamicQuantizeLinear", [x], 11, ("y", "scale", "zero"))
    for outputs in (("y",), ("", "scale"), ("", "", "zero")):
        results = run("DynamicQuantizeLinear", [x], 11, outputs)
        np.testing.assert_array_equal(results[0], everything[len(outputs) - 1])


# Outputs that are omitted


def test_the_first_output_may_be_omitted(rng):
    x = floats(rng, 1, 1, 4, 4)
    everything = run("MaxPool", [x], 12, ("y", "i"), kernel_shape=[2, 2])
    (indices,) = run("MaxPool", [x], 12, ("", "i"), kernel_shape=[2, 2])
    np.testing.assert_array_equal(indices, everything[1])

    (mask,) = run("Dropout", [x], 13, ("", "mask"))
    assert mask.all() and mask.shape == x.shape

    scale = np.ones(4, "float32")
    _, mean = run("LayerNormalization", [x, scale], 17, ("y", "mean"))
    (alone,) = run("LayerNormalization", [x, scale], 17, ("", "mean"))
    np.testing.assert_array_equal(alone, mean)


def test_a_branch_may_omit_the_first_output(rng):
    def branch(*names):
        return helper.make_graph(
            [
                helper.make_node("Neg", ["x"], [names[0]]),
                helper.make_node("Abs", ["x"], [names[1]]),
            ],
            names[0],
            [],
            [
                helper.make_tensor_value_info(n, TensorProto.FLOAT, [3])
                for n in names
            ],
        )

    model = model_of(
        [
            helper.make_node(
                "If",
                ["yes"],
                ["", "y"],
                then_branch=branch("a", "b"),
                else_branch=branch("c", "d"),
            )
        ],
        {"x": (TensorProto.FLOAT, [3])},
        ["y"],
        {"yes": np.array(True)},
    )
    x = floats(rng, 3)
    np.testing.assert_array_equal(model.run({"x": x})[0], np.abs(x))


# Loops, branches and parts


def loop(condition, initialised=False):
    """Adds 1 to 3 in four iterations; the body's condition is false."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["carried", "one"], ["next"]),
            helper.make_node("Not", ["yes"], ["no"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("yes", TensorProto.BOOL, []),
            helper.make_tensor_value_info("carried", TensorProto.FLOAT, [1]),
        ],
        [
            helper.make_tensor_value_info("no", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, [1]),
        ],
        [numpy_helper.from_array(np.float32([1]), "one")],
    )
    if initialised:
        body.initializer.append(
            numpy_helper.from_array(np.float32([100]), "carried")
        )
    return model_of(
        [helper.make_node("Loop", ["trips", condition, "x"], ["y"], body=body)],
        {"x": (TensorProto.FLOAT, [1]), "start": (TensorProto.BOOL, [])},
        ["y"],
        {"trips": np.int64(4)},
    )


def test_a_loop_without_a_condition_ignores_that_of_its_body():
    feed = {"x": np.float32([3]), "start": np.array(True)}
    assert loop("").run(feed)[0] == 7
    assert loop("start").run(feed)[0] == 4


def test_what_a_body_gets_is_not_its_initialiser():
    feed = {"x": np.float32([3]), "start": np.array(True)}
    assert loop("", initialised=True).run(feed)[0] == 7


def test_an_inlined_branch_replaces_no_other_value():
    then_branch = helper.make_graph(
        [
            helper.make_node("Neg", ["x"], ["t"]),
            helper.make_node("Exp", ["t"], ["r"]),
        ],
        "then",
        [],
        [helper.make_tensor_value_info("r", TensorProto.FLOAT, None)],
    )
    else_branch = helper.make_graph(
        [helper.make_node("Exp", ["x"], ["s"])],
        "else",
        [],
        [helper.make_tensor_value_info("s", TensorProto.FLOAT, None)],
    )
    model = model_of(
        [
            helper.make_node("Relu", ["x"], ["o/t"]),
            helper.make_node("Size", ["x"], ["n"]),
            helper.make_node("Greater", ["n", "one"], ["many"]),
            helper.make_node(
                "If",
                ["many"],
                ["o"],
                then_branch=then_branch,
                else_branch=else_branch,
            ),
            helper.make_node("Add", ["o", "o/t"], ["y"]),
        ],
        {"x": (TensorProto.FLOAT, ["n"])},
        ["y"],
        {"one": np.int64(1)},
    )
    x = np.float32([1, -1])
    np.testing.assert_allclose(
        model.run({"x": x})[0], np.exp(-x) + np.maximum(x, 0), rtol=1e-6
    )


def test_a_split_has_as_many_parts_as_it_says():
    x = np.arange(5, dtype="float32")
    (y,) = run("Split", [x], 18, ("a",), num_outputs=2)
    np.testing.assert_array_equal(y, x[:3])
    first, last = run("Split", [x], 18, ("a", "", "b"), num_outputs=3)
    np.testing.assert_array_equal(first, x[:2])
    np.testing.assert_array_equal(last, x[4:])


def test_bools_of_external_data_are_true_or_false(tmp_path):
    graph = helper.make_graph(
        [helper.make_node("Not", ["b"], ["y"])],
        "one",
        [],
        [helper.make_tensor_value_info("y", TensorProto.BOOL, [3])],
        [numpy_helper.from_array(np.array([True, False, True]), "b")],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8
    )
    onnx.save_model(
        model,
        tmp_path / "net.onnx",
        save_as_external_data=True,
        size_threshold=0,
        location="net.data",
    )
    (tmp_path / "net.data").write_bytes(bytes([2, 0, 1]))
    (y,) = sl.onnx.load(tmp_path / "net.onnx").run({})
    assert y.view("uint8").tolist() == [0, 1, 0]


def test_an_opset_may_be_imported_twice():
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "one",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
    )
    opsets = [helper.make_opsetid(name, 13) for name in ("", "ai.onnx", "")]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    (y,) = sl.onnx.load(model.SerializeToString()).run(
        {"x": np.float32([-1, 2])}
    )
    assert y.tolist() == [0, 2]
    model.opset_import[2].version = 14
    with pytest.raises(sl.InvalidArgumentError, match="opsets 13 and 14"):
        sl.onnx.load(model.SerializeToString())
