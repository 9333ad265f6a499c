"""Dtypes that are only stored, moved and converted, as in ml_dtypes."""

import numpy as np
import pytest

import sluice as sl
from sluice import _core

ml_dtypes = pytest.importorskip("ml_dtypes")

INTEGERS = ["int16", "uint16", "uint32", "uint64"]
BYTES = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"]
FLOATS = [*BYTES, "float4_e2m1fn"]
SMALL_INTEGERS = ["int4", "uint4", "int2", "uint2"]
NEW = [*INTEGERS, *FLOATS, "float8_e8m0fnu", *SMALL_INTEGERS]


def numpy_dtype(name):
    return sl.DType(name).dtype


def cast(array, dtype, **attributes):
    """The result of op cast for an array that is fed."""
    with sl.program_guard(sl.Program()):
        x = sl.data("x", list(array.shape), array.dtype.name)
        y = sl.layers.cast(x, dtype, **attributes)
        (result,) = sl.Executor().run(feed={"x": array}, fetch_list=[y])
    assert result.dtype == numpy_dtype(dtype)
    return result


def codes(dtype):
    """Every code of a dtype of 8 bits or less."""
    dtype = numpy_dtype(dtype)
    info = ml_dtypes.iinfo if "int" in dtype.name else ml_dtypes.finfo
    return np.arange(1 << info(dtype).bits, dtype=np.uint8).view(dtype)


def all_halves():
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def assert_same_codes(got, want):
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got.view(np.uint8), want.view(np.uint8))


def test_every_dtype_is_a_name_of_the_package():
    dtypes = {n for n, v in vars(_core).items() if isinstance(v, sl.DType)}
    assert {"float32", "uint2", *NEW} <= dtypes <= set(sl.__all__)


def test_every_dtype_has_the_name_of_onnx():
    onnx = pytest.importorskip("onnx")
    dtypes = [v for v in vars(_core).values() if isinstance(v, sl.DType)]
    names = {dtype.onnx_name.upper() for dtype in dtypes}
    assert len(names) == len(dtypes)
    assert names < set(onnx.TensorProto.DataType.keys())
    assert sl.float8_e8m0fnu.onnx_name == "float8e8m0"


@pytest.mark.parametrize("dtype", NEW)
def test_numpy_and_back_keeps_it(dtype):
    array = np.array([[0, 1, 1], [1, 0, 1]]).astype(numpy_dtype(dtype))
    tensor = sl.Tensor(array)
    assert tensor.dtype == dtype
    assert tensor.shape == (2, 3)
    assert tensor.dtype == getattr(sl, dtype)
    for back in (np.asarray(tensor), tensor.numpy()):
        assert back.dtype == array.dtype
        assert back.tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", NEW)
def test_movement_keeps_every_bit(dtype):
    rng = np.random.default_rng(0)
    width = numpy_dtype(dtype).itemsize
    bits = rng.integers(0, 256, (3, 5, width), np.uint8)
    if dtype in [*SMALL_INTEGERS, "float4_e2m1fn"]:
        bits &= len(codes(dtype)) - 1
    array = bits.view(numpy_dtype(dtype)).reshape(3, 5)
    x = sl.data("x", [3, 5], dtype)
    turned = sl.layers.transpose(x, [1, 0])
    wide = sl.layers.concat([turned, turned], axis=1)
    part = sl.layers.slice(wide, starts=[4], ends=[0], axes=[0], steps=[-2])
    (result,) = sl.Executor().run(feed={"x": array}, fetch_list=[part])
    want = np.concatenate([array.T, array.T], 1)[4:0:-2]
    assert result.dtype == array.dtype
    assert result.tobytes() == np.ascontiguousarray(want).tobytes()


@pytest.mark.parametrize("dtype", [*FLOATS, "float8_e8m0fnu", *SMALL_INTEGERS])
def test_every_code_is_the_number_of_ml_dtypes(dtype):
    array = codes(dtype)
    np.testing.assert_array_equal(
        cast(array, "float32"), array.astype(np.float32)
    )
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(
            cast(array, "float16"), array.astype(np.float16)
        )
    if "int" in dtype:
        np.testing.assert_array_equal(
            cast(array, "int64"), array.astype(np.int64)
        )
        assert_same_codes(cast(array.astype(np.int64), dtype), array)


@pytest.mark.parametrize("dtype", FLOATS)
def test_every_float16_is_rounded_as_by_ml_dtypes(dtype):
    array = all_halves()
    want = array.astype(numpy_dtype(dtype))
    assert_same_codes(cast(array, dtype, saturate=False), want)
    ends = ml_dtypes.finfo(numpy_dtype(dtype))
    clipped = np.clip(
        array.astype(np.float32), float(ends.min), float(ends.max)
    )
    assert_same_codes(cast(array, dtype), clipped.astype(numpy_dtype(dtype)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_middles_of_two_codes_and_their_neighbours(dtype):
    numbers = np.sort(codes(dtype).astype(np.float32))
    numbers = numbers[np.isfinite(numbers)]
    middles = (numbers[1:] + numbers[:-1]) / 2
    near = [np.nextafter(middles, np.float32(s)) for s in (-np.inf, np.inf)]
    array = np.concatenate([numbers, middles, *near])
    want = array.astype(numpy_dtype(dtype))
    assert_same_codes(cast(array, dtype, saturate=False), want)
    assert_same_codes(cast(array.astype("f8"), dtype, saturate=False), want)


@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
@pytest.mark.parametrize("source", ["float16", "float32"])
def test_powers_of_two_are_rounded_as_onnx_says(mode, source):
    helper = pytest.importorskip("onnx.numpy_helper")
    array = np.abs(all_halves())
    if source == "float32":  # the upper half of each number
        bits = np.arange(1 << 15, dtype=np.uint32) << 16
        array = (bits | 1).view(np.float32)
        array = array[array >= np.finfo(np.float32).tiny]
    # For infinities Cast's text says the largest number, the function NaN.
    array = array[np.isfinite(array) & (array > 0)]
    want = helper.to_float8e8m0(array, True, mode)
    assert_same_codes(cast(array, "float8_e8m0fnu", round_mode=mode), want)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_converted_as_by_numpy(dtype):
    array = np.array([-(2**63), -40000, -1, 0, 1, 70000, 2**63 - 1])
    np.testing.assert_array_equal(cast(array, dtype), array.astype(dtype))
    back = array.astype(dtype)
    np.testing.assert_array_equal(cast(back, "int64"), back.astype(np.int64))
    np.testing.assert_array_equal(cast(back, "float32"), back.astype("f4"))


@pytest.mark.parametrize(
    "value, dtype, want",
    [
        ([1, 300], "uint16", [1, 300]),
        ([2**64 - 1, 2**63], "uint64", [2**64 - 1, 2**63]),
        ([0.3, 100], "float8_e4m3fn", [0.3125, 96]),
        ([-8, 7], "int4", [-8, 7]),
    ],
)
def test_a_list_is_fed_as_the_variables_dtype(value, dtype, want):
    x = sl.data("x", [2], dtype)
    y = sl.layers.assign(x)
    (result,) = sl.Executor().run(feed={"x": value}, fetch_list=[y])
    assert result.dtype == numpy_dtype(dtype)
    np.testing.assert_array_equal(
        result if dtype in INTEGERS else result.astype("f4"), want
    )


@pytest.mark.parametrize(
    "value, dtype",
    [([8], "int4"), ([-1], "uint2"), ([1e4], "float8_e4m3fn")],
)
def test_a_list_that_does_not_fit_is_refused(value, dtype):
    x = sl.data("x", [1], dtype)
    y = sl.layers.assign(x)
    with pytest.raises(sl.InvalidArgumentError, match=dtype):
        sl.Executor().run(feed={"x": value}, fetch_list=[y])


def test_parameters_of_every_dtype_are_saved_and_loaded(tmp_path):
    program = sl.default_main_program()
    scope = sl.global_scope()
    values = {}
    for dtype in NEW:
        program.persistable(dtype, [3], dtype)
        values[dtype] = np.array([0, 1, 1]).astype(numpy_dtype(dtype))
        scope.set(dtype, values[dtype])
    path = tmp_path / "all.safetensors"
    sl.io.save_params(path, program)
    with sl.scope_guard(sl.Scope()):
        sl.io.load_params(path, program)
        for dtype, value in values.items():
            loaded = sl.global_scope()[dtype].numpy()
            assert loaded.dtype == value.dtype
            assert loaded.tobytes() == value.tobytes()
