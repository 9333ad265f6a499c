"""Compares nodes that are imported as several ops with ONNX's own reference,
beyond what its suite has."""

import numpy as np
import pytest

import sluice as sl

onnx = pytest.importorskip("onnx")
from onnx import TensorProto  # noqa: E402
from onnx_reference import (  # noqa: E402
    check,
    compare,
    floats,
    loaded,
    named,
    node,
    parsed,
    run,
)

either = pytest.mark.parametrize("known", [True, False], ids=["known", "late"])
unknown = pytest.mark.parametrize("known", [True, False, None])
INF = np.inf


def test_einsum_of_sizes_that_are_not_known(rng):
    for equation, shapes in [
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("abc,cde->abde", [(2, 3, 4), (4, 5, 6)]),
    ]:
        inputs = [floats(rng, *shape) for shape in shapes]
        check("Einsum", inputs, equation=equation, known=False)


def test_einsum_of_integers(rng):
    inputs = [rng.integers(-9, 9, s) for s in ((2, 3), (3, 4))]
    check("Einsum", inputs, equation="ij,jk->ki")


def test_a_window_of_float64():
    check("HannWindow", [np.int64(6)], output_datatype=TensorProto.DOUBLE)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("activation", ["none", "silu"])
def test_causal_convolution_with_state(size, activation, rng):
    inputs = [floats(rng, 2, 4, 5), floats(rng, 4, 1, size), floats(rng, 4)]
    for before in ([], [floats(rng, 2, 4, size - 1)]):
        options = {"opset": 27, "outputs": 2, "activation": activation}
        check("CausalConvWithState", inputs + before, **options)


# The reference leaves dims out.
@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 3, 4, 5, 6)])
@pytest.mark.parametrize("op, of", [("Average", np.mean), ("Max", np.max)])
def test_global_pools_of_any_rank(op, of, shape, rng):
    x = floats(rng, *shape)
    (result,) = run(f"Global{op}Pool", [x])
    expected = of(x, axis=tuple(range(2, len(shape))), keepdims=True)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=2e-5)


def test_dropout_that_drops_nothing_has_a_mask(rng):
    check("Dropout", [np.array([1, np.nan], "float32")], opset=13, outputs=2)


def test_selu_of_float64_has_the_defaults_of_onnx():
    (y,) = run("Selu", [np.array([1.0, -40.0])])
    scale, alpha = 1.0507010221481323, 1.6732631921768188
    np.testing.assert_allclose(y, [scale, -scale * alpha], rtol=1e-14)


def attention(q, k, v, allowed=True):
    """In float64, of two or more heads."""
    q, k, v = (x.astype("f8") for x in (q, k, v))
    scores = q @ k.swapaxes(2, 3) / np.sqrt(q.shape[-1])
    scores = np.where(allowed, scores, -INF)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize(
    "opset, window", [(24, ""), (25, ", left_window_size = 1")]
)
@pytest.mark.parametrize("past", ["float[1, 2, 2, 4]", "float[]"])
def test_past_keys_move_the_triangle(opset, window, past, rng):
    model = loaded(
        f"""(float[1, 2, 3, 4] q, float[1, 2, 3, 4] k, float[1, 2, 3, 4] v,
             {past} keys, {past} values) => (y) {{
            y = Attention <is_causal = 1{window}> (q, k, v, , keys, values)
        }}""",
        opset,
    )
    q, k, v = (floats(rng, 1, 2, 3, 4) for _ in range(3))
    keys, values = (floats(rng, 1, 2, 2, 4) for _ in range(2))
    feed = {"q": q, "k": k, "v": v, "keys": keys, "values": values}
    (y,) = model.run(feed)
    place, key = np.arange(3)[:, None] + 2, np.arange(5)
    allowed = key <= place
    if window:
        allowed &= key >= place - 1
    pairs = (keys, k), (values, v)
    want = attention(q, *(np.concatenate(pair, 2) for pair in pairs), allowed)
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("given", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "bool"])
@pytest.mark.parametrize("known", [True, False])
def test_keys_that_the_mask_lacks_are_left_out(known, dtype, given, rng):
    q, k, v = (floats(rng, 1, 1, rows, 4) for rows in (2, 3, 3))
    mask = np.full((2, given), dtype == "bool", dtype)
    scale = {} if known else {"scale": 0.5}
    (y,) = run("Attention", [q, k, v, mask], 24, known=known, **scale)
    want = attention(q, k[:, :, :given], v[:, :, :given])
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-6)


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
    assert np.abs(y.astype("f8") - attention(q, k, v)).max() < close


@pytest.mark.parametrize("axes", ["", ", none"])
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
    model = loaded(
        f"""(float[2, 3] x) => (y) <int64[0] none = {{}}> {{
            y = Reduce{op} <noop_with_empty_axes = 1> (x{axes})
        }}"""
    )
    (y,) = model.run({"x": x})
    np.testing.assert_allclose(y, element(x), rtol=1e-6)


def integers(dtype, shape, rng):
    """Integers, some beyond float32 and, for 64 bits, float64."""
    limits = np.iinfo(dtype)
    most = min(limits.max, 2**62 + 1) if limits.bits == 64 else 2**30
    least = 0 if limits.min == 0 else -most
    return rng.integers(least, most, shape, dtype=dtype)


@unknown
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


@unknown
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_means_of_integers_are_rounded_towards_zero(dtype, known, rng):
    x = rng.integers(0, 2**31 - 1, (3, 5), dtype=dtype)
    if dtype == "uint64":
        x[0, 0] = 2**63 + 2**62  # a sum that no int64 is
    if not dtype.startswith("u"):
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


@unknown
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


@unknown
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
        (np.int64(3), np.float32(39), np.int64(3**39)),
        (np.int64(2**53 + 1), np.float64(1), np.int64(2**53 + 1)),
        (np.uint64(2**63 + 1), np.float32(1), np.uint64(2**63 + 1)),
        (np.int64(2**40), np.float32(0.5), np.int64(2**20)),
        (np.int64(2), np.float32(-1), np.int64(0)),
    ],
)
def test_powers_of_two_dtypes_are_not_rounded(base, exponent, expected, known):
    (y,) = run("Pow", [[base], [exponent]], 15, known=known)
    assert y.dtype == expected.dtype and y[0] == expected


@pytest.mark.parametrize("exponent", [1, 2, 3])
def test_a_constant_exponent_of_more_dims_repeats_the_base(exponent):
    exponents = np.full((1, 1, 1), exponent, "float32")
    model = loaded("(float[2] x) => (y) { y = Pow (x, e) }", e=exponents)
    (y,) = model.run({"x": np.float32([2, 3])})
    np.testing.assert_array_equal(y, np.float32([[[2, 3]]]) ** exponent)


@unknown
@pytest.mark.parametrize("op, count", [("Sum", 1), ("Mean", 2)])
def test_unknown_sizes_may_be_repeated(op, count, known, rng):
    x, y = floats(rng, 3, 1), floats(rng, 1, 4)
    (z,) = run(op, [x, y], 13, known=known)
    np.testing.assert_allclose(z, (x + y) / count, rtol=1e-6)


@unknown
@pytest.mark.parametrize("dtype, large", [("float16", 6e4), ("float32", 3e38), ("float64", 1e308)])
def test_a_mean_does_not_overflow(dtype, large, known):
    x = np.full((2, 3), large, dtype)
    for others in ([x], [x[:1], x]):
        (y,) = run("Mean", [x, *others], 13, known=known)
        np.testing.assert_allclose(y, x, rtol=2e-3)


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
        arrays = {"x": x, "low": bounds[0], "high": bounds[1]}
        model = sl.onnx.load(node("Clip", arrays, constants=["low", "high"]))
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
    assert y.dtype == x.dtype
    assert y.tolist() == [5, 1700000000000000001, 2**62 + 1]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_large_integers_are_padded_exactly(dtype, known):
    x, value = np.array([[1, 2]], dtype), np.array(2**53 + 1, dtype)
    arrays = {"x": x, "pads": np.array([0, 1, 0, 1]), "value": value}
    constants = ["pads", "value"] if known else ["pads"]
    model = sl.onnx.load(node("Pad", arrays, constants=constants))
    (y,) = model.run({n: a for n, a in arrays.items() if n not in constants})
    assert y.dtype == x.dtype and y.tolist() == [[2**53 + 1, 1, 2, 2**53 + 1]]


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


CAP = """score_mod = cap (TYPE[b, h, l, s] a) => (TYPE[b, h, l, s] c)
    <TYPE two = {2}> { d = Div (a, two) t = Tanh (d) c = Mul (t, two) }"""
HALF = """prob_mod = half (TYPE[b, h, l, s] a) => (TYPE[b, h, l, s] c)
    <TYPE half = {0.5}> { c = Mul (a, half) }"""


@pytest.mark.parametrize("sizes", ["1, 4, 3, 8", "b, 4, l, e", "b, h, l, e"])
@pytest.mark.parametrize(
    "dtype, precise, attributes",
    [
        ("float", "float", "scale = 0.3"),
        ("float", "float", CAP),
        ("double", "double", f"{CAP}, {HALF}"),
        ("float", "double", f"{CAP}, {HALF}, softmax_precision = 11"),
        ("double", "float", f"{HALF}, softmax_precision = 1"),
    ],
)
def test_flex_attention(dtype, precise, attributes, sizes, rng):
    attributes = attributes.replace("TYPE", precise)
    # Each head of keys is that of two queries.
    shared = sizes.replace("4", "2").replace("h", "k")
    proto = parsed(
        f"""<ir_version: 10, opset_import: ["": 23, "ai.onnx.preview": 1]>
        model ({dtype}[{sizes}] q, {dtype}[{shared}] k, {dtype}[{shared}] v)
        => ({dtype}[w, x, y, z] o) {{
            o = ai.onnx.preview.FlexAttention <{attributes}> (q, k, v)
        }}"""
    )
    kind = {"float": "f4", "double": "f8"}[dtype]
    shapes = {"q": (1, 4, 3, 8), "k": (1, 2, 3, 8), "v": (1, 2, 3, 8)}
    compare(proto, {n: floats(rng, *s).astype(kind) for n, s in shapes.items()})


@unknown
@pytest.mark.parametrize("constants", [(), ("x1", "x2")])
def test_dropout_in_training_drops_its_share(constants, known):
    x = np.full((100, 1000), 3, "float32")
    feed = {"x0": x, "x1": np.float32(0.25), "x2": np.bool_(True)}
    proto = node("Dropout", feed, ("y", "m"), 22, known, constants, seed=3)
    model = sl.onnx.load(proto)
    fed = {name: x for name, x in feed.items() if name not in constants}
    y, mask = model.run(fed)
    assert mask.dtype == bool
    assert abs(mask.mean() - 0.75) < 0.01
    np.testing.assert_array_equal(y, np.where(mask, np.float32(4), 0))
    assert (mask != model.run(fed)[1]).any()
    np.testing.assert_array_equal(mask, sl.onnx.load(proto).run(fed)[1])


@either
@pytest.mark.parametrize("dtype", ["f2", "f8"])
@pytest.mark.parametrize("ratio, training", [(0.0, True), (0.5, False)])
def test_dropout_that_drops_nothing(ratio, training, dtype, known):
    x = np.array([1, np.inf, np.nan], dtype)
    inputs = [x, np.array(ratio, dtype), np.bool_(training)]
    check("Dropout", inputs, 22, 2, known)


@pytest.mark.parametrize("constants", [(), tuple(f"x{i}" for i in range(5))])
@pytest.mark.parametrize(
    "bins, length, rate, low, high, dtype",
    [(8, 16, 8192, 0, 4096, 1), (40, 400, 16000, 20, 7600, 11),
     (5, 33, 8000, 100, 3000, 10), (30, 32, 8000, 0, 4000, 7)],
)  # fmt: skip
def test_mel_weights(bins, length, rate, low, high, dtype, constants):
    inputs = named(
        [np.int32(bins), np.int64(length), np.int32(rate),
         np.float64(low), np.float64(high)]
    )  # fmt: skip
    proto = node(
        "MelWeightMatrix", inputs, ("y",), 17, True, constants,
        output_datatype=dtype,
    )  # fmt: skip
    compare(proto, {n: x for n, x in inputs.items() if n not in constants})


@unknown
@pytest.mark.parametrize("axis", [1, -2, -1])
@pytest.mark.parametrize("scale", [(1,), (5,), (4, 1)])
def test_layer_normalization_of_any_sizes(scale, axis, known, rng):
    if axis == -1 and len(scale) == 2:
        return
    x = floats(rng, 3, 4, 5)
    inputs = [x, floats(rng, *scale), floats(rng, 5)]
    options = {"opset": 17, "axis": axis, "known": known}
    check("LayerNormalization", inputs, outputs=3, **options)
    if known is False:  # a scale of unknown size is that of a row
        return
    (alone,) = run("RMSNormalization", inputs[:2], 23, axis=axis, known=known)
    rows = (1, 2) if axis != -1 else (2,)
    norm = np.sqrt((x * x).mean(rows, keepdims=True) + 1e-5)
    np.testing.assert_allclose(alone, x / norm * inputs[1], rtol=1e-4)
