"""Quantized and other operators of onnxruntime, compared with NumPy and with
onnxruntime."""

import numpy as np
import pytest

import sluice as sl

onnx = pytest.importorskip("onnx")
from onnx import helper  # noqa: E402
from onnx_fused import check, floats, fused, rng, run  # noqa: E402


def integers(dtype, *shape):
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


def last(x):
    """With channels last."""
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("columns", [(), (5,)])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (1, 4), (0, 4)])
def test_products_of_integers_become_floats(dtype, columns, shape):
    a, b = integers("uint8", *shape), integers(dtype, 4, 5) // 2
    values = {
        "a": a, "const_b": b, "as": np.float32(0.02),
        "bs": rng.uniform(0.01, 0.1, columns).astype("f4"),
        "az": np.uint8(131), "bz": np.full(columns, 3, dtype), "c": floats(5),
    }  # fmt: skip
    y = (a - 131.0) @ (b - 3.0) * (0.02 * values["bs"])
    peer = 0 not in shape
    names = list(values)
    check("MatMulIntegerToFloat", values, [y + values["c"]], peer=peer)
    del values["c"]
    check("MatMulIntegerToFloat", values, [y], peer=peer)
    del values["az"], values["bz"]
    y = a.astype("f4") @ b.astype("f4") * (0.02 * values["bs"])
    check("MatMulIntegerToFloat", values, [y], inputs=names[:4], peer=peer)


def test_products_of_integers_with_a_zero_point_for_each_column():
    values = {"a": integers("uint8", 2, 3), "b": integers("uint8", 3, 4),
              "as": np.ones(3, "f4"), "bs": np.float32(1)}  # fmt: skip
    with pytest.raises(sl.UnimplementedError, match="input 2 has 3 numbers"):
        fused("MatMulIntegerToFloat", values)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("columns", [(), (5,)])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (1, 1, 4)])
def test_products_of_floats_are_quantized(dtype, columns, shape):
    # Some machines add larger int8 with saturation in onnxruntime.
    a, b = floats(*shape), integers(dtype, 4, 5) // 2
    values = {
        "a": a, "const_b": b,
        "bs": rng.uniform(0.01, 0.1, columns).astype("f4"),
        "bz": np.full(columns, 7, dtype), "c": floats(5),
    }  # fmt: skip
    low, high = min(a.min(), 0), max(a.max(), 0)
    scale = np.float32((high - low) / 255)
    zero = np.rint(np.clip(-low / scale, 0, 255))
    codes = np.clip(np.rint(a / scale) + zero, 0, 255)
    y = (codes - zero) @ (b - 7.0) * (scale * values["bs"])
    check("DynamicQuantizeMatMul", values, [y + values["c"]], rtol=1e-3, atol=1e-3)
    del values["c"]
    check("DynamicQuantizeMatMul", values, [y], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("size, columns", [(16, 40), (32, 32), (16, 1), (64, 65)])
def test_weights_of_few_bits_with_floats_as_zero_points(bits, size, columns):
    rows, blocks = 3, -(-columns // size)
    codes = rng.integers(0, 2**bits, (rows, blocks, size))
    in_byte = 8 // bits
    parts = codes.reshape(rows, blocks, -1, in_byte)
    packed = (parts << (bits * np.arange(in_byte))).sum(-1).astype("uint8")
    scales, zeros = floats(2, rows, blocks)
    values = {"x": floats(2, 2, columns), "const_b": packed,
              "const_s": scales, "const_z": zeros, "c": floats(rows)}  # fmt: skip
    weights = (codes - zeros[..., None]) * scales[..., None]
    y = values["x"] @ weights.reshape(rows, -1)[:, :columns].T + values["c"]
    more = {"K": columns, "N": rows, "bits": bits, "block_size": size}
    check("MatMulNBits", values, [y],
          inputs=["x", "const_b", "const_s", "const_z", "", "c"],
          peer=bits < 8, rtol=1e-3, atol=1e-3, **more)  # fmt: skip


@pytest.mark.parametrize("given, message", [
    ({"bits": 3}, "attribute bits, 3; there are 2, 4 and 8"),
    ({"weight_prepacked": 1}, "attribute weight_prepacked, 1"),
])  # fmt: skip
def test_weights_that_are_refused(given, message):
    values = {"x": floats(2, 16), "const_b": integers("uint8", 2, 1, 8),
              "const_s": floats(2)}  # fmt: skip
    with pytest.raises(sl.UnimplementedError, match=message):
        fused("MatMulNBits", values, K=16, N=2, block_size=16, **given)


S, Z = np.float32(0.05), np.uint8(100)


def quantized(x, scale=S, zero=Z):
    return np.clip(np.rint(x / scale) + zero, 0, 255)


def test_quantized_means_and_choices():
    x, y = integers("uint8", 2, 3, 4, 5), integers("uint8", 2, 3, 4, 5)
    a, b = ((v - 100.0) * S for v in (x, y))
    values = {"x": x, "s": S, "z": Z, "t": np.float32(0.07), "u": np.uint8(90)}
    for axes, keep in (([1], 1), ([1, -1], 0), ([0, 1, 2, 3], 1)):
        mean = a.mean(tuple(axes), keepdims=bool(keep))
        expected = quantized(mean, values["t"], values["u"])
        check("QLinearReduceMean", values, [expected], axes=axes, keepdims=keep,
              peer=False)  # fmt: skip
    values = {"c": x > 99, "x": x, "s": S, "z": Z, "y": y,
              **{n: values[n] for n in "tu"}}  # fmt: skip
    b = (y - 90.0) * values["t"]
    expected = quantized(np.where(values["c"], a, b))
    check("QLinearWhere", values, [expected],
          inputs=["c", "x", "s", "z", "y", "t", "u", "s", "z"])  # fmt: skip


@pytest.mark.parametrize("shape", [(1, 3, 5, 5), (2, 1, 1, 7), (1, 2, 6)])
def test_pools_of_quantized_images_with_channels_last(shape):
    x = integers("uint8", *shape)
    values = {"x": last(x), "s": S, "z": Z, "t": np.float32(0.02), "u": Z}
    a = (x - 100.0) * S
    image = tuple(range(2, x.ndim))
    mean = quantized(a.mean(image, keepdims=True), values["t"])
    check("QLinearGlobalAveragePool", values, [last(mean)], channels_last=1)
    windows = {"kernel_shape": [1] * (x.ndim - 3) + [2], "strides": [1] * len(image),
               "pads": [0] * (2 * len(image) - 1) + [1]}  # fmt: skip
    node = helper.make_node("AveragePool", ["a"], ["y"], **windows)
    (mean,) = run([node], a=a.astype("f4"))
    mean = quantized(mean, values["t"])
    check("QLinearAveragePool", values, [last(mean)], channels_last=1, **windows)
    node = helper.make_node("MaxPool", ["a"], ["y"], **windows)
    (most,) = run([node], a=x.astype("f4"))
    check("NhwcMaxPool", {"x": last(x)}, [last(most)], **windows)


@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions_with_channels_last(groups):
    x = integers("uint8", 2, 4, 5, 6)
    w = integers("int8", 6, 4 // groups, 3, 2) // 2
    more = {"strides": [2, 1], "pads": [1, 0, 0, 1], "group": groups}
    node = helper.make_node("Conv", ["x", "const_w"], ["y"], **more)
    (sums,) = run([node], x=x - np.float32(100), const_w=w.astype("f4"))
    values = {"x": last(x), "s": S, "z": Z, "const_w": w, "ws": np.float32(0.01),
              "wz": np.int8(0), "t": np.float32(0.9), "u": np.uint8(120),
              "b": np.arange(6, dtype="int32") * 99}  # fmt: skip
    sums = sums + values["b"].reshape(-1, 1, 1)
    expected = quantized(sums * (S * 0.01), values["t"], values["u"])
    check("QLinearConv", values, [last(expected)], channels_last=1, **more)
    values = {"x": last(floats(2, 4, 5, 6)), "const_w": w.astype("f4"), "b": floats(6)}
    node = helper.make_node("Conv", ["x", "const_w", "b"], ["y"], **more)
    (y,) = run([node], **values | {"x": np.moveaxis(values["x"], -1, 1)})
    check("NhwcConv", values, [last(y)], peer=False, **more)


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (1, 1), (2, 2, 1, 1),
                                   (0, 2, 2), (5, 40, 40)])  # fmt: skip
def test_inverse_matrices(shape):
    x = floats(*shape) + 3 * np.eye(shape[-1], dtype="f4")
    expected = np.linalg.inv(x.astype("f8"))
    check("Inverse", {"x": x}, [expected], peer=x.size > 0, rtol=1e-3, atol=1e-4)


def test_inverse_of_a_matrix_whose_determinant_is_no_float64():
    x = (floats(300, 300) + 30 * np.eye(300, dtype="f4")) * 1e3
    expected = np.linalg.inv(x.astype("f8"))
    check("Inverse", {"x": x}, [expected], rtol=1e-3, atol=1e-9)


def crops_of(x, rois, images, size, mode, outside):
    result = np.full((len(rois), x.shape[1], *size), outside, "f4")
    for r, (roi, image) in enumerate(zip(rois, images, strict=True)):
        places = []
        for axis in (0, 1):
            begin, end, top = roi[axis], roi[axis + 2], x.shape[2 + axis] - 1
            count = size[axis]
            share = np.arange(count) / max(count - 1, 1)
            places.append(
                ((begin + (end - begin) * share) if count > 1
                 else np.array([(begin + end) / 2])) * top
            )  # fmt: skip
        for i, v in enumerate(places[0]):
            for k, u in enumerate(places[1]):
                if not (0 <= v <= x.shape[2] - 1 and 0 <= u <= x.shape[3] - 1):
                    continue
                if mode == "nearest":
                    at = x[image, :, int(v + 0.5), int(u + 0.5)]
                else:
                    y0, x0 = int(v), int(u)
                    y1, x1 = int(np.ceil(v)), int(np.ceil(u))
                    upper = x[image, :, y0, x0] * (1 - u + x0) + x[
                        image, :, y0, x1] * (u - x0)  # fmt: skip
                    lower = x[image, :, y1, x0] * (1 - u + x0) + x[
                        image, :, y1, x1] * (u - x0)  # fmt: skip
                    at = upper * (1 - v + y0) + lower * (v - y0)
                result[r, :, i, k] = at
    return result


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("size", [(3, 4), (1, 2), (2, 1), (1, 1)])
@pytest.mark.parametrize("shape", [(2, 3, 5, 4), (2, 1, 1, 6)])
def test_crops_are_resized(mode, size, shape):
    x = floats(*shape)
    rois = np.array([[0.13, 0.07, 0.81, 0.93], [0.9, 0.2, 0.1, 0.7],
                     [-0.2, 0.3, 0.6, 1.3]], "f4")  # fmt: skip
    images = np.array([1, 0, 1], "int32")
    values = {"x": x, "rois": rois, "images": images,
              "const_size": np.array(size, "int32")}  # fmt: skip
    for outside in (0.0, 2.5):
        expected = crops_of(x, rois, images, size, mode, outside)
        check("CropAndResize", values, [expected], mode=mode,
              extrapolation_value=outside)  # fmt: skip
    values["late"] = values.pop("const_size")
    check("CropAndResize", values, [expected], mode=mode, extrapolation_value=2.5)
    none = {**values, "rois": rois[:0], "images": images[:0]}
    check("CropAndResize", none, [expected[:0]], mode=mode, peer=False)
    with pytest.raises(sl.InvalidArgumentError, match="mode is cubic"):
        fused("CropAndResize", values, mode="cubic")


def test_old_forms_of_operators_of_onnx():
    x = floats(2, 3, 4)
    check("ExpandDims", {"x": x, "const_axis": np.array(1, "int32")}, [x[:, None]])
    check("ExpandDims", {"x": x, "const_axis": np.array(-1, "int32")}, [x[..., None]])
    for k in (-1, 0, 2):
        values = {"x": x, "k": np.array(k, "int64")}
        check("Trilu", values, [np.triu(x, k)])
        check("Trilu", values, [np.tril(x, k)], upper=0)
    index = np.array([[0, 1], [1, 2]], "int64")
    check("GatherND", {"x": x, "i": index}, [x[[0, 1], [1, 2]]], peer=False)
    pads = np.array([[0, 1, 0, 1, 0, 2]], "int64")
    wide = np.pad(x, [(0, 1), (1, 0), (0, 2)], constant_values=1.5)
    values = {"x": x, "const_p": pads, "v": np.array([1.5], "f4")}
    check("Pad", values, [wide], sizes=[True])
    values = {"x": x, "p": pads[0]}
    edge = np.pad(x, [(0, 1), (1, 0), (0, 2)], "edge")
    check("Pad", values, [edge], mode="edge", sizes=[True])


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32", "float64"])
def test_ranges_whose_step_may_be_omitted(dtype):
    start, limit, step = (np.array(n, dtype) for n in (1, 9, 3))
    values = {"start": start, "limit": limit}
    check("Range", values, [np.arange(1, 9, dtype=dtype)])
    check("Range", {**values, "step": step}, [np.arange(1, 9, 3, dtype=dtype)])
    check("Range", {"start": limit, "limit": start}, [np.arange(0, dtype=dtype)])


def test_unique_elements_in_their_order():
    x = np.array([2, 1, 1, 3, 4, 3], "f4")
    check("Unique", {"x": x}, [np.array([2, 1, 3, 4], "f4"),
          np.array([0, 1, 1, 2, 3, 2]), np.array([1, 2, 2, 1])],
          ["y", "places", "counts"], sizes=[True])  # fmt: skip


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grids_are_sampled(mode, padding):
    values = {"x": floats(1, 2, 4, 5), "grid": rng.uniform(-1.2, 1.2, (1, 3, 3, 2))}
    values["grid"] = values["grid"].astype("f4")
    more = {"mode": mode, "padding_mode": padding, "align_corners": 1}
    node = helper.make_node("GridSample", ["x", "grid"], ["y"], **more)
    # onnxruntime moves the places inside, instead of the pixels around them.
    peer = (mode, padding) != ("bicubic", "border")
    check("GridSample", values, run([node], **values), peer=peer, **more)


@pytest.mark.parametrize("shape", [(2, 6, 3, 4), (1, 6, 1, 1), (2, 6, 1, 5)])
@pytest.mark.parametrize("channels_last", [0, 1])
@pytest.mark.parametrize("skip", [None, "image", "vector"])
def test_norms_of_groups_of_channels(shape, channels_last, skip):
    values = {"x": floats(*shape), "g": floats(6), "b": floats(6)}
    total, outputs, type_ = values["x"], ["y"], "GroupNorm"
    if skip is not None:
        values["s"] = floats(*(shape if skip == "image" else shape[:2]))
        values["more"] = floats(6)
        wide = values["s"].reshape(*values["s"].shape, 1, 1)
        total = total + (values["s"] if skip == "image" else wide)
        total = total + values["more"].reshape(-1, 1, 1)
        outputs, type_ = ["y", "total"], "SkipGroupNorm"
    rows = total.reshape(shape[0], 3, -1)
    rows = rows - rows.mean(-1, keepdims=True)
    rows = rows / np.sqrt((rows**2).mean(-1, keepdims=True) + 1e-3)
    y = rows.reshape(shape) * values["g"].reshape(-1, 1, 1)
    y = y + values["b"].reshape(-1, 1, 1)
    y = y / (1 + np.exp(-y))
    expected = [y, total][: len(outputs)]
    if channels_last:
        values = {n: last(v) if v.ndim == 4 else v for n, v in values.items()}
        expected = [last(v) for v in expected]
    check(type_, values, expected, outputs, peer=False, groups=3, activation=1,
          epsilon=1e-3, channels_last=channels_last)  # fmt: skip


def test_sums_with_a_bias_and_an_image():
    values = {"x": floats(2, 3, 4), "b": floats(4), "s": floats(2, 3, 4)}
    check("BiasAdd", values, [sum(values.values())], peer=False)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_quantized_embeddings(dtype):
    ids = np.array([[3, 1, 0], [2, 2, 1]], "int32")
    shapes = {"w": (4, 8), "p": (3, 8), "t": (2, 8), "g": (8,), "b": (8,)}
    values = {"i": ids, "k": ids % 2}
    values |= {f"const_{n}": integers(dtype, *s) for n, s in shapes.items()}
    values["m"] = (ids > 0).astype("int32")
    scales = {n: np.float32(0.01 + 0.01 * i) for i, n in enumerate(shapes)}
    zeros = {n: integers(dtype)[()] for n in shapes}
    values |= {f"const_{n}s": scales[n] for n in shapes}
    values |= {f"const_{n}z": zeros[n] for n in shapes}
    w, p, t, g, b = (
        (values[f"const_{n}"] - np.float32(zeros[n])) * scales[n] for n in shapes
    )
    total = w[ids] + p + t[ids % 2]
    apart = total - total.mean(-1, keepdims=True)
    y = apart / np.sqrt((apart**2).mean(-1, keepdims=True) + 1e-12) * g + b
    check("QEmbedLayerNormalization", values, [y, np.array([2, 3], "int32")],
          ["y", "counts"])  # fmt: skip


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("places", [(3,), (2, 2), ()])
def test_rows_of_tables_of_few_bits(bits, zeros, places):
    rows, blocks, size, in_byte = 5, 3, 16, 8 // bits

    def packed(x):
        x = np.pad(x, [(0, 0), (0, -x.shape[-1] % in_byte)])
        x = x.reshape(len(x), -1, in_byte)
        return (x << (bits * np.arange(in_byte))).sum(-1).astype("uint8")

    codes = rng.integers(0, 2**bits, (rows, blocks * size))
    scales = floats(rows, blocks)
    offsets = codes[:, :blocks] if zeros else 2 ** (bits - 1)
    values = {"const_t": packed(codes), "i": rng.integers(0, rows, places),
              "const_s": scales}  # fmt: skip
    if zeros:
        values["const_z"] = packed(offsets)
    offsets = np.broadcast_to(offsets, (rows, blocks))
    table = (codes - offsets.repeat(size, 1)) * scales.repeat(size, 1)
    check("GatherBlockQuantized", values, [table[values["i"]]], bits=bits,
          block_size=size)  # fmt: skip
    with pytest.raises(sl.UnimplementedError, match="gather_axis = 1"):
        fused("GatherBlockQuantized", values, bits=bits, gather_axis=1)
