"""ONNX's small dtypes and quantised operators, compared with its reference."""

import numpy as np
import pytest

import sluice as sl
import sluice.onnxruntime as onnxruntime

onnx = pytest.importorskip("onnx")
ml_dtypes = pytest.importorskip("ml_dtypes")
import onnx_reference  # noqa: E402
from numpy.lib.stride_tricks import sliding_window_view  # noqa: E402
from onnx import TensorProto  # noqa: E402
from onnx_reference import floats, loaded, node, parsed, run  # noqa: E402

SMALL = {
    "int4": [-8, 7, -1],
    "uint4": [15, 0, 9],
    "int2": [-2, 1, -1, 0, 1],
    "uint2": [3, 0, 2, 1, 3],
    "float4_e2m1fn": [-6, 0.5, 3],
    "float8_e5m2": [-57344, 0.5, 3],
}


def model_of(op, arrays, constants=(), **attributes):
    return node(op, arrays, ["y"], 26, constants=constants, **attributes)


def compare(op, arrays, constants=(), **attributes):
    """The outputs of a node, which are exactly those of the reference."""
    model = model_of(op, arrays, constants, **attributes)
    feed = {k: v for k, v in arrays.items() if k not in constants}
    return onnx_reference.compare(model, feed, 0, 0)


def packed(dtype):
    """A model whose initialiser w has a small dtype."""
    array = np.array(SMALL[dtype]).astype(getattr(ml_dtypes, dtype))
    return model_of("Cast", {"w": array}, ["w"], to=TensorProto.FLOAT)


def saved_beside(model, folder):
    """The path of a model whose initialisers are in the file w.bin."""
    options = {"save_as_external_data": True, "size_threshold": 0}
    onnx.save_model(model, folder / "net.onnx", location="w.bin", **options)
    return folder / "net.onnx"


@pytest.mark.parametrize("dtype", SMALL)
@pytest.mark.parametrize("typed", [False, True])
def test_packed_initialisers_are_read(dtype, typed):
    model = packed(dtype)
    stored = model.graph.initializer[0]
    if typed:
        stored.int32_data.extend(stored.raw_data)
        stored.ClearField("raw_data")
    (result,) = sl.onnx.load(model).run({})
    np.testing.assert_array_equal(result, np.float32(SMALL[dtype]))


def test_packed_external_data_is_read(tmp_path):
    path = saved_beside(packed("int4"), tmp_path)
    assert (tmp_path / "w.bin").stat().st_size == 2
    (result,) = sl.onnx.load(path).run({})
    np.testing.assert_array_equal(result, np.float32(SMALL["int4"]))


def test_too_few_packed_bytes_are_refused():
    model = packed("int4")
    model.graph.initializer[0].raw_data = b"\x00"
    with pytest.raises(sl.DataLossError, match=r"w has 1 bytes.* takes 2"):
        sl.onnx.load(model)


def test_unsigned_initialisers_are_read_from_their_field():
    for dtype in ("uint32", "uint64"):
        array = np.array([2**31 + 5, 7], dtype)
        model = model_of("Identity", {"w": array}, ["w"])
        stored = model.graph.initializer[0]
        stored.ClearField("raw_data")
        stored.uint64_data.extend(array.tolist())
        (result,) = sl.onnx.load(model).run({})
        assert result.dtype == array.dtype
        np.testing.assert_array_equal(result, array)


@pytest.mark.parametrize(
    "dtype, name",
    [
        ("uint16", "uint16"),
        ("int4", "int4"),
        ("float8_e4m3fn", "float8e4m3fn"),
        ("float4_e2m1fn", "float4e2m1"),
    ],
)
def test_onnxruntimes_names_of_dtypes(dtype, name):
    array = np.ones(3).astype(sl.DType(dtype).dtype)
    session = onnxruntime.InferenceSession(
        model_of("Identity", {"x": array}).SerializeToString()
    )
    assert session.get_inputs()[0].type == f"tensor({name})"
    (result,) = session.run(None, {"x": array})
    assert result.tobytes() == array.tobytes()


QUANTISED = ["int8", "uint8", "int16", "uint16", "int4", "uint4", "uint2"]


@pytest.mark.parametrize("dtype", [*QUANTISED, "float8_e4m3fn"])
@pytest.mark.parametrize(
    "shape, attributes",
    [
        ((), {}),
        ((5,), {"axis": 1}),
        ((4,), {"axis": -2}),
        ((4, 3), {"axis": 1, "block_size": 2}),
    ],
)
def test_quantising_and_back(dtype, shape, attributes, rng):
    dtype = sl.DType(dtype).dtype
    x = rng.normal(0, 9, (4, 5)).astype("f4")
    scale = rng.uniform(0.1, 2, shape).astype("f4")
    zero = np.zeros(shape) if "float" in dtype.name else np.ones(shape)
    arrays = {"x": x, "scale": scale, "zero": zero.astype(dtype)}
    (coded,) = compare("QuantizeLinear", arrays, ["scale"], **attributes)
    assert coded.dtype == dtype
    compare("DequantizeLinear", {**arrays, "x": coded}, **attributes)


def test_quantising_without_a_zero_point_has_a_dtype(rng):
    arrays = {
        "x": rng.normal(0, 9, (4, 5)).astype("f2"),
        "scale": np.array(0.5, "f2"),
    }
    assert compare("QuantizeLinear", arrays)[0].dtype == "uint8"
    to = TensorProto.INT16
    assert compare("QuantizeLinear", arrays, output_dtype=to)[0].dtype == "i2"


@pytest.mark.parametrize("rows", [(), (3,)])
@pytest.mark.parametrize("columns", [(), (2,)])
def test_products_of_integers(rows, columns, rng):
    arrays = {
        "a": rng.integers(0, 256, (3, 70), np.uint8),
        "b": rng.integers(-128, 128, (70, 2), np.int8),
        "a_zero": rng.integers(0, 256, rows, np.uint8),
        "b_zero": rng.integers(-128, 128, columns, np.int8),
    }
    (got,) = sl.onnx.load(model_of("MatMulInteger", arrays)).run(arrays)
    a = arrays["a"].astype("i4") - arrays["a_zero"].reshape(-1, 1)
    b = arrays["b"].astype("i4") - arrays["b_zero"]
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got, a @ b)


@pytest.mark.parametrize("depth", [128, 171, 172, 300])
@pytest.mark.parametrize("zero", [None, 0, 255])
def test_sums_of_constant_integers_are_exact_in_float32_or_float64(
    depth, zero, rng
):
    arrays = {
        "a": rng.choice(np.array([0, 255], "uint8"), (5, depth)),
        "b": np.full((depth, 3), 0 if zero == 255 else 255, "uint8"),
        "a_zero": np.array(1, "uint8"),
    }
    if zero is not None:
        arrays["b_zero"] = np.array(zero, "uint8")
    constants = arrays.keys() & {"b", "b_zero"}
    compare("MatMulInteger", arrays, constants)
    model = sl.onnx.load(model_of("MatMulInteger", arrays, constants))
    assert ("float64" in str(model.program)) == (depth > 171)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_quantised_matmul(dtype, rng):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max + 1
    arrays = {
        "a": rng.integers(low, high, (2, 3, 7), dtype),
        "a_scale": np.float32(0.03),
        "a_zero": dtype(5),
        "b": rng.integers(low, high, (7, 4), dtype),
        "b_scale": np.float32([0.01, 0.02, 0.005, 0.1]),
        "b_zero": np.array([1, 2, 3, 4], dtype),
        "y_scale": np.float32(0.11),
        "y_zero": dtype(7),
    }
    arrays = {k: np.asarray(v) for k, v in arrays.items()}
    compare("QLinearMatMul", arrays)


@pytest.mark.parametrize(
    "attributes", [{}, {"pads": [1, 0, 2, 1]}, {"strides": [2, 1]}]
)
@pytest.mark.parametrize("group", [1, 2])
def test_convolutions_of_integers(attributes, group, rng):
    arrays = {
        "x": rng.integers(0, 256, (2, 4, 6, 5), np.uint8),
        "w": rng.integers(0, 256, (4, 4 // group, 3, 2), np.uint8),
        "x_zero": np.array(7, np.uint8),
        "w_zero": np.array(130, np.uint8),
    }
    compare("ConvInteger", arrays, group=group, **attributes)
    scales = {
        "x_scale": np.array(0.02, "f4"),
        "w_scale": np.float32([0.01, 0.03, 0.02, 0.005]),
        "y_scale": np.array(0.7, "f4"),
    }
    whole = {
        "x": arrays["x"],
        "x_scale": scales["x_scale"],
        "x_zero": arrays["x_zero"],
        "w": arrays["w"],
        "w_scale": scales["w_scale"],
        "w_zero": np.array([130, 1, 2, 99], np.uint8),
        "y_scale": scales["y_scale"],
        "y_zero": np.array(11, np.uint8),
        "bias": rng.integers(-5000, 5000, 4, np.int32),
    }
    compare("QLinearConv", whole, group=group, **attributes)


# Only the zero points have an unknown shape: the filter must not.
@pytest.mark.parametrize("one, three", [("[1]", "[3]"), ("[]", "[]")])
def test_zero_points_of_filters_go_along_channels(one, three, rng):
    x = rng.integers(0, 256, (1, 2, 4, 4), dtype="uint8")
    w = rng.integers(0, 256, (3, 2, 3, 3), dtype="uint8")
    x_zero, w_zero = np.array([7], "uint8"), np.array([1, 20, 200], "uint8")
    model = loaded(
        f"""(uint8[1, 2, 4, 4] x, uint8[3, 2, 3, 3] w, uint8{one} x_zero,
             uint8{three} w_zero) => (y) {{
            y = ConvInteger (x, w, x_zero, w_zero)
        }}"""
    )
    (y,) = model.run({"x": x, "w": w, "x_zero": x_zero, "w_zero": w_zero})
    windows = sliding_window_view(x.astype("i8") - 7, (3, 3), (2, 3))
    filters = w.astype("i8") - w_zero.astype("i8")[:, None, None, None]
    want = np.einsum("nchwij,ocij->nohw", windows, filters)
    np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize("shape", ["[3]", "[]"])
def test_zero_points_of_rows(shape, rng):
    a = rng.integers(0, 256, (3, 3), dtype="uint8")
    b = rng.integers(0, 256, (3, 3), dtype="uint8")
    a_zero, b_zero = np.uint8([3, 50, 255]), np.uint8([0, 9, 100])
    model = loaded(
        f"""(uint8[3, 3] a, uint8[3, 3] b, uint8{shape} a_zero,
             uint8{shape} b_zero) => (y) {{
            y = MatMulInteger (a, b, a_zero, b_zero)
        }}"""
    )
    (y,) = model.run({"a": a, "b": b, "a_zero": a_zero, "b_zero": b_zero})
    left = a.astype("i8") - a_zero.astype("i8")[:, None]
    np.testing.assert_array_equal(y, left @ (b.astype("i8") - b_zero))


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


def test_bools_of_external_data_are_true_or_false(tmp_path):
    model = node("Not", {"b": np.array([True, False, True])}, constants=["b"])
    path = saved_beside(model, tmp_path)
    (tmp_path / "w.bin").write_bytes(bytes([2, 0, 1]))
    (y,) = sl.onnx.load(path).run({})
    assert y.view("uint8").tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    "op",
    [
        "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear",
        "QLinearConv", "QLinearMatMul",
        'ai.onnx.preview.training.Gradient <xs = ["x"], y = "">',
    ],
)
def test_a_node_without_inputs_is_named(op):
    model = parsed(
        f"""<ir_version: 9,
             opset_import: ["": 21, "ai.onnx.preview.training": 1]>
        one (float[1] x) => (y) {{
            [node_7] y = {op} ()
        }}"""
    )
    name = model.graph.node[0].op_type
    with pytest.raises(sl.SluiceError, match=rf"node_7 \({name}\)"):
        sl.onnx.load(model)
