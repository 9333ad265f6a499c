"""Operators of onnxruntime, compared with what they are made of."""

import numpy as np
import pytest

import sluice as sl

onnx = pytest.importorskip("onnx")
from onnx import helper  # noqa: E402
from onnx_fused import check, close, floats, fused, rng, run  # noqa: E402


def attention(q, k, v, bias):
    """Two heads, whose keys and values may come as [batch, 2, keys, size]."""

    def split(x):
        if x.ndim == 4:
            return x
        return x.reshape(*x.shape[:2], 2, -1).transpose(0, 2, 1, 3)

    q, k, v = split(q), split(k), split(v)
    e = np.exp(q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1]) + bias)
    y = (e / e.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3)
    return y.reshape(*y.shape[:2], -1)


X = floats(2, 3, 8)


def test_sums_are_activated_and_normalised():
    b = floats(8)
    for type_, kind, values in (
        ("BiasGelu", "none", {"x": X, "b": b}),
        ("Gelu", "none", {"x": X}),
        ("FastGelu", "tanh", {"x": X, "b": b}),
    ):
        gelu = helper.make_node("Gelu", ["x"], ["y"], approximate=kind)
        close(fused(type_, values), run([gelu], 20, x=sum(values.values())))
    values = {"x": X, "s": floats(2, 3, 8), "g": b, "b": b + 1, "m": b - 1}
    y, total = fused("SkipLayerNormalization", values, ["y", "", "", "t"])
    close(total, X + values["s"] + b - 1)
    spread = total.std(-1, keepdims=True)
    close(y, (total - total.mean(-1, keepdims=True)) / spread * b + b + 1)
    ids = np.array([[3, 1, 0], [2, 2, 1]], "int32")
    tables = {"w": floats(4, 8), "p": floats(5, 8), "t": floats(2, 8)}
    values = {"i": ids, "k": ids % 2, **tables, "g": b, "b": b, "m": ids % 3}
    _, counts, total = fused("EmbedLayerNormalization", values, ["y", "c", "s"])
    np.testing.assert_array_equal(counts, (ids % 3 == 1).sum(1))
    close(total, tables["w"][ids] + tables["p"][:3] + tables["t"][ids % 2])


@pytest.mark.parametrize("shape", [(2, 3, 8), (1, 1, 2), (0, 3, 4)])
def test_halves_that_are_multiplied_after_gelu(shape):
    x, b = floats(*shape), floats(shape[-1])
    (left, right) = np.split(x + b, 2, -1)
    (gelu,) = run([helper.make_node("Gelu", ["x"], ["y"])], 20, x=right)
    check("BiasSplitGelu", {"x": x, "b": b}, [left * gelu], peer=False)
    message = r"\[2, 3, 5\] has a last dim of 5; expected two halves"
    with pytest.raises(sl.InvalidArgumentError, match=message):
        check("BiasSplitGelu", {"x": floats(2, 3, 5), "b": floats(5)}, [0])


def test_a_product_with_gelu_and_without_a_bias():
    values = {"x": X, "w": floats(8, 5), "b": floats(5)}
    gelu = helper.make_node("Gelu", ["x"], ["y"], approximate="tanh")
    for count in (2, 3):
        given = dict(list(values.items())[:count])
        product = X @ values["w"] + (values["b"] if count == 3 else 0)
        expected = run([gelu], 20, x=product)
        check("GemmFastGelu", given, expected, peer=False)


@pytest.mark.parametrize("shape", [(2, 3, 8), (2, 8), (1, 1, 1), (0, 3, 8)])
@pytest.mark.parametrize("rms", [False, True])
def test_normalised_sums_have_moments(shape, rms):
    x, skip = floats(*shape), floats(*shape[-2:])
    g, b, more = floats(3, shape[-1])
    values = {"x": x, "s": skip, "g": g, "b": b, "m": more}
    if rms:
        del values["b"]
    total = x + skip + more
    mean = total.mean(-1, keepdims=True)
    apart = total if rms else total - mean
    inverse = 1 / np.sqrt((apart**2).mean(-1, keepdims=True) + 1e-3)
    y = apart * inverse * g + (0 if rms else b)
    type_ = f"Skip{'Simplified' if rms else ''}LayerNormalization"
    outputs = ["y", "" if rms else "mean", "inverse", "sum"]
    expected = [y, *([] if rms else [mean]), inverse, total]
    # onnxruntime leaves the divisor of the simplified form 0.
    more = {"epsilon": 1e-3, "peer": x.size > 0 and not rms}
    check(type_, values, expected, outputs, **more)
    check(type_, values, [y], ["y"], epsilon=1e-3, peer=x.size > 0)
    if rms:
        with pytest.raises(sl.UnimplementedError, match=r"output 1 \(a mean"):
            fused(type_, values, ["y", "mean"])


@pytest.mark.parametrize("axis", [-1, 1, 0])
@pytest.mark.parametrize("domain", ["", "com.microsoft"])
def test_simplified_normalisation_has_its_divisor(axis, domain):
    g = floats(*X.shape[axis:])
    row = tuple(range(axis, 0)) or tuple(range(axis, 3))
    inverse = 1 / np.sqrt((X**2).mean(row, keepdims=True) + 1e-5)
    values = {"x": X, "g": g}
    check("SimplifiedLayerNormalization", values, [X * inverse * g, inverse],
          ["y", "inverse"], axis=axis, domain=domain, peer=domain == "",
          sizes=[True])  # fmt: skip


def test_words_without_a_mask_are_not_counted():
    ids = np.array([[3, 1, 0], [2, 2, 1]], "int32")
    w, p, g, b = floats(4, 8), floats(5, 8), floats(8), floats(8)
    total = w[ids] + p[np.array([[2, 1, 0], [0, 4, 4]])]
    places = np.array([[2, 1, 0], [0, 4, 4]], "int32")
    values = {"i": ids, "w": w, "p": p, "g": g, "b": b, "places": places}
    inputs = ["i", "", "w", "p", "", "g", "b", "", "places"]
    expected = [None, np.zeros(2, "int32"), total]
    check("EmbedLayerNormalization", values, expected, ["y", "c", "s"], inputs)


@pytest.mark.parametrize("mask", ["none", "counts", "keys", "pairs", "causal"])
def test_attention_of_one_product(mask):
    values = {"x": X, "const_w": floats(8, 24), "b": floats(24)}
    counts = np.array([3, 2], "int32")
    keys = (np.arange(3) < counts[:, None]).astype("int32")
    given = {"counts": counts, "keys": keys,
             "pairs": np.repeat(keys[:, None], 3, 1)}  # fmt: skip
    bias = 0.0
    if mask in given:
        values["m"] = given[mask]
        bias = -10000.0 * (1 - keys[:, None, None])
    if mask == "causal":
        bias = np.where(np.tri(3, dtype=bool), 0, -np.inf)
    (y,) = fused(
        "Attention", values, num_heads=2, unidirectional=int(mask == "causal")
    )
    parts = np.split(X @ values["const_w"] + values["b"], 3, -1)
    close(y, attention(*parts, bias))


def test_attention_goes_on_after_past_keys():
    b, past_k, past_v = floats(24), floats(2, 2, 4, 4), floats(2, 2, 4, 4)
    values = {"q": X, "k": X, "v": X, "b": b, "pk": past_k, "pv": past_v}
    y, all_k, all_v = fused(
        "MultiHeadAttention", values, ["y", "present_k", "present_v"],
        ["q", "k", "v", "b", "", "", "pk", "pv"], num_heads=2, unidirectional=1,
    )  # fmt: skip
    np.testing.assert_array_equal(all_k[:, :, :4], past_k)
    bias = np.where(np.tri(3, 7, 4, dtype=bool), 0, -np.inf)
    close(y, attention(X + b[:8], all_k, all_v, bias))


@pytest.mark.parametrize("batch", [(2,), (2, 3), (1,), (0,)])
@pytest.mark.parametrize("inside", [(1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("turned", [(0, 0), (1, 0), (1, 1)])
def test_products_of_factors_with_batches_inside(batch, inside, turned):
    factors = [floats(*batch, 4, 3), floats(*batch, 3, 5)]
    values, flags = {}, {"alpha": 0.5}
    for name, x, is_inside, is_turned in zip(
        "AB", factors, inside, turned, strict=True
    ):
        if is_turned:
            x = x.swapaxes(-1, -2)
        if is_inside:
            x = np.moveaxis(x, -2, 0)
        values[name] = np.ascontiguousarray(x)
        flags |= {f"transBatch{name}": is_inside, f"trans{name}": is_turned}
    expected = [0.5 * factors[0] @ factors[1]]
    check("FusedMatMul", values, expected, peer=0 not in batch, **flags)
    relu = {"activation": "LeakyRelu", "activation_alpha": 0.25, "peer": False}
    expected = [np.where(expected[0] < 0, expected[0] / 4, expected[0])]
    check("FusedMatMulActivation", values, expected, **flags, **relu)


def test_vectors_are_not_transposed():
    a, v = floats(2, 4, 3), floats(3)
    check("FusedMatMul", {"a": a, "v": v}, [a @ v], transB=1)


def test_products_and_convolutions_with_more():
    a, b = floats(2, 4, 3), floats(2, 5, 4)
    (y,) = fused("FusedMatMul", {"a": a, "b": b}, alpha=0.5, transA=1, transB=1)
    close(y, 0.5 * a.transpose(0, 2, 1) @ b.transpose(0, 2, 1))
    values = {"x": floats(1, 2, 5, 5), "const_w": floats(3, 2, 3, 3),
              "b": floats(3), "z": floats(1, 3, 3, 3)}  # fmt: skip
    plain = helper.make_node("Conv", ["x", "const_w", "b"], ["h"])
    (h,) = run([plain, helper.make_node("Add", ["h", "z"], ["y"])], **values)
    for name, params, expected in (
        ("Relu", {}, np.maximum(h, 0)),
        ("LeakyRelu", {"activation_params": [0.25]}, np.where(h < 0, h / 4, h)),
        ("Clip", {"activation_params": [-0.5, 1.0]}, h.clip(-0.5, 1)),
        ("HardSwish", {}, h * (h / 6 + 0.5).clip(0, 1)),
    ):
        check("FusedConv", values, [expected], activation=name, **params)
        turned = {n: v.transpose(0, 2, 3, 1) if n in "xz" else v
                  for n, v in values.items()}  # fmt: skip
        check(
            "NhwcFusedConv", turned, [expected.transpose(0, 2, 3, 1)],
            activation=name, peer=False, **params,
        )  # fmt: skip


@pytest.mark.parametrize(
    "name, numbers, expected",
    [
        ("Relu", {}, lambda y: np.maximum(y, 0)),
        ("LeakyRelu", {"alpha": 0.25}, lambda y: np.where(y < 0, y / 4, y)),
        ("HardSigmoid", {"alpha": 0.25, "beta": 0.75},
         lambda y: (y / 4 + 0.75).clip(0, 1)),
        ("Selu", {"alpha": 0.5, "gamma": 2.0},
         lambda y: 2 * np.where(y < 0, 0.5 * np.expm1(y), y)),
        ("ThresholdedRelu", {"alpha": 0.5}, lambda y: np.where(y > 0.5, y, 0)),
    ],
)  # fmt: skip
def test_products_with_activations(name, numbers, expected):
    values = {"a": floats(4, 3), "b": floats(5, 4), "c": floats(5)}
    (y,) = fused(
        "FusedGemm", values, alpha=0.5, beta=2.0, transA=1, transB=1,
        activation=name, **{f"activation_{k}": v for k, v in numbers.items()},
    )  # fmt: skip
    a, b, c = values.values()
    close(y, expected(0.5 * a.T @ b.T + 2 * c))


@pytest.mark.parametrize("opset, axis, dims", [
    (11, None, -1), (11, 2, 2), (11, 1, (1, 2)), (13, None, -1), (13, 1, 1),
])  # fmt: skip
def test_quantized_softmax_of_old_and_new_rows(opset, axis, dims):
    x = rng.integers(0, 255, (2, 3, 4)).astype("uint8")
    values = {"const_x": x, "s": np.float32(0.02), "z": np.uint8(99),
              "t": np.float32(1 / 256), "u": np.uint8(0)}  # fmt: skip
    given = {} if axis is None else {"axis": axis}
    (y,) = fused("QLinearSoftmax", values, opset=opset, **given)
    e = np.exp((x - 99.0) * 0.02)
    quantized = e / e.sum(dims, keepdims=True) * 256
    assert np.abs(y - quantized.clip(0, 255)).max() <= 1


def quantized_weights(name, terms, dtype, per_row):
    """Weights, scale and zero point of two directions, and as floats."""
    info = np.iinfo(dtype)
    shape = (2, 8) if per_row else (2,)
    weights = rng.integers(info.min, info.max, (2, terms, 8)).astype(dtype)
    scale = rng.uniform(0.002, 0.01, shape).astype("float32")
    zero = rng.integers(info.min, info.max, shape).astype(dtype)
    apart = weights - zero.reshape(2, 1, -1).astype("float32")
    plain = (apart * scale.reshape(2, 1, -1)).transpose(0, 2, 1)
    values = {f"const_{name}": weights, f"const_{name}s": scale,
              f"const_{name}z": zero}  # fmt: skip
    return values, plain


LSTM = ["const_w", "const_r", "b", "", "h", "c", "p"]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("per_row", [False, True])
def test_quantized_lstm_is_that_of_its_floats(dtype, per_row):
    w, plain_w = quantized_weights("w", 5, dtype, per_row)
    r, plain_r = quantized_weights("r", 2, dtype, per_row)
    values = {"x": floats(3, 1, 5), "b": floats(2, 16), "h": floats(2, 1, 2),
              "c": floats(2, 1, 2), "p": floats(2, 6)}  # fmt: skip
    outputs = ["y", "last_h", "last_c"]
    more = {"hidden_size": 2, "direction": "bidirectional", "clip": 3.0}
    node = helper.make_node("LSTM", ["x", *LSTM], outputs, **more)
    expected = run([node], **values, const_w=plain_w, const_r=plain_r)
    names = ["x", *LSTM, *list(w)[1:], *list(r)[1:]]
    values |= w | r
    for result, plain in zip(
        fused("DynamicQuantizeLSTM", values, outputs, names, **more), expected,
        strict=True,
    ):  # fmt: skip
        close(result, plain)
    values["w"] = values.pop("const_w")
    with pytest.raises(sl.UnimplementedError, match=r"input 1 is not a const"):
        fused(
            "DynamicQuantizeLSTM", values, outputs,
            ["x", "w", *names[2:]], **more,
        )  # fmt: skip


def test_quantized_operators_are_those_of_floats():
    values = {"s": np.float32(0.1), "z": np.uint8(100)}
    for name in "xy":
        values[name] = rng.integers(0, 255, (1, 3, 4, 4)).astype("uint8")
    a, b = ((values[n].astype("f4") - 100) * values["s"] for n in "xy")
    pair = ["x", "s", "z", "y", "s", "z"]
    windows = {"kernel_shape": [2, 2], "strides": [2, 2]}
    blocks = a.reshape(1, 3, 2, 2, 2, 2)
    for type_, inputs, expected, attributes in (
        ("Add", [*pair, "s", "z"], a + b, {}),
        ("Mul", [*pair, "s", "z"], a * b, {}),
        ("GlobalAveragePool", [*pair[:3], "s", "z"],
         a.mean((2, 3), keepdims=True), {}),
        ("AveragePool", [*pair[:3], "s", "z"], blocks.mean((3, 5)), windows),
        ("Concat", ["s", "z", *pair], np.concatenate([a, b], 1), {"axis": 1}),
    ):  # fmt: skip
        used = {n: v for n, v in values.items() if n in inputs}
        (y,) = fused("QLinear" + type_, used, inputs=inputs, **attributes)
        quantized = (np.rint(expected / values["s"]) + 100).clip(0, 255)
        assert np.abs(y.astype("f4") - quantized).max() <= 1, type_
    x = values["x"].reshape(3, 16)
    w = rng.integers(-128, 127, (5, 16)).astype("int8")
    c = rng.integers(-99, 99, 5).astype("int32")
    values = {"x": x, "s": values["s"], "z": values["z"], "const_w": w,
              "t": np.float32(0.02), "n": np.int8(0), "c": c}  # fmt: skip
    (y,) = fused("QGemm", values, transB=1)
    close(y, ((x.astype("i4") - 100) @ w.T.astype("i4") + c) * 0.1 * 0.02)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zeros", [False, True])
def test_weights_of_few_bits(bits, zeros):
    rows, blocks, size, columns = 3, 3, 16, 40
    codes = rng.integers(0, 2**bits, (rows, blocks, size))
    scales, offsets = floats(rows, blocks), codes[..., 0]

    def packed(x):
        in_byte = 8 // bits
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -x.shape[-1] % in_byte)])
        x = x.reshape(*x.shape[:-1], -1, in_byte)
        return (x << (bits * np.arange(in_byte))).sum(-1).astype("uint8")

    values = {"x": floats(2, columns), "const_b": packed(codes),
              "const_s": scales.reshape(-1)}  # fmt: skip
    if zeros:
        values["const_z"] = packed(offsets)
    (y,) = fused(
        "MatMulNBits", values, K=columns, N=rows, bits=bits, block_size=size
    )
    middle = offsets[..., None] if zeros else 2 ** (bits - 1)
    weights = ((codes - middle) * scales[..., None]).reshape(rows, -1)
    close(y, values["x"] @ weights[:, :columns].T)


@pytest.mark.parametrize("type_", ["Conv", "BatchNormalization", "LSTM"])
def test_16_bit_floats_are_computed_in_float32(type_):
    values = {
        "Conv": {"x": floats(1, 2, 5, 5), "const_w": floats(3, 2, 3, 3)},
        "BatchNormalization": {"x": floats(2, 3, 4)}
        | {f"const_{i}": np.abs(floats(3)) + 1 for i in range(4)},
        "LSTM": {"x": floats(4, 1, 3), "const_w": floats(1, 8, 3),
                 "const_r": floats(1, 8, 2)},
    }[type_]  # fmt: skip
    values = {n: v.astype("float16") for n, v in values.items()}
    wide = {n: v.astype("float32") for n, v in values.items()}
    attributes = {"hidden_size": 2} if type_ == "LSTM" else {}
    node = helper.make_node(type_, list(values), ["y"], **attributes)
    (y,), (expected,) = run([node], **values), run([node], **wide)
    np.testing.assert_array_equal(y, expected.astype("float16"))
    assert y.dtype == np.float16
