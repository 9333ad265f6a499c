"""Ops that store numbers in other dtypes, or in few bits."""

import re

import numpy as np

from .case import Tensor, case

HALVES = ["float16", "bfloat16"]
FLOATS = ["float32", "float64", *HALVES]
INTEGERS = ["int8", "uint8", "int32", "int64"]
SHORT_FLOATS = {
    # The bits of the exponent and of the fraction, and the bias.
    "float8_e4m3fn": (4, 3, 7),
    "float8_e4m3fnuz": (4, 3, 8),
    "float8_e5m2": (5, 2, 15),
    "float8_e5m2fnuz": (5, 2, 16),
    "float8_e8m0fnu": (8, 0, 127),
    "float4_e2m1fn": (2, 1, 1),
}
DTYPES = [
    *(FLOATS + INTEGERS + ["bool", "int16", "uint16", "uint32", "uint64"]),
    *SHORT_FLOATS,
    *("int4", "uint4", "int2", "uint2"),
]
SIZES = [[3, 7], [1, 0, 2], [], [37, 911]]


def of(dtype):
    return {"dtype": {"dtype": dtype}}


def bits(dtype):
    return 8 if dtype == "bool" else int(re.search(r"\d+", dtype)[0])


def least_and_count(dtype):
    """Of the numbers of an integer dtype."""
    count = 2.0 ** bits(dtype)
    return 0 if dtype.startswith("u") else -count / 2, count


def numbers(dtype):
    """The number of each code of a dtype of 8 bits or less."""
    if dtype == "float8_e8m0fnu":
        return np.append(2.0 ** np.arange(-127, 128), np.nan)
    if dtype not in SHORT_FLOATS:
        least, count = least_and_count(dtype)
        codes = np.arange(count)
        return codes - count * (codes >= least + count)
    exponent, fraction, bias = SHORT_FLOATS[dtype]
    codes, ones = np.arange(2 ** (exponent + fraction)), 2**fraction
    powers = 2.0 ** (np.maximum(codes // ones, 1) - bias - fraction)
    found = powers * (codes % ones + ones * (codes >= ones))
    if dtype == "float8_e5m2":
        found[-4:] = np.inf, np.nan, np.nan, np.nan
    elif dtype == "float8_e4m3fn":
        found[-1] = np.nan
    found = np.append(found, -found)
    if dtype.endswith("uz"):
        found[codes.size] = np.nan  # there is no -0
    return found


def nearest(x, dtype):
    """The nearest number of a float of 8 bits or less, from the middle that of
    the even code; the next larger power of two in float8_e8m0fnu."""
    found = numbers(dtype)
    if dtype == "float8_e8m0fnu":
        return np.where(x < 0, np.nan, found[np.searchsorted(found[:-1], x)])
    found = found[: found.size // 2]
    found = found[np.isfinite(found)]
    above = np.minimum(np.searchsorted(found, abs(x)), found.size - 1)
    below = np.maximum(above - 1, 0)
    rest = abs(x) - (found[below] + found[above]) / 2
    code = np.where((rest > 0) | ((rest == 0) & (above % 2 == 0)), above, below)
    return np.copysign(found[code], x)


def casts(make):
    low = -1000 if make.kind["signed"] else 0
    for to in DTYPES:
        yield {"X": make.values(3, 7)} | of(to)
        if bits(make.dtype) > 8:  # it has numbers beyond int8 and uint8
            yield {"X": make.integers("T", [65], low, 1000)} | of(to)
        yield {"X": make.values(1, 0, 2)} | of(to)
        yield {"X": make.values()} | of(to)
        if to in ("float32", "int32", "uint4"):
            yield {"X": make.values(37, 911)} | of(to)


@case("cast", casts)
def cast(x, dtype, dtypes):
    x = x.astype(float)
    if dtype in FLOATS:
        return x
    if dtype == "bool":
        return x != 0
    if dtype in SHORT_FLOATS:
        return nearest(x, dtype)
    (low, count), whole = least_and_count(dtype), np.trunc(x)
    if "float" in dtypes["X"] and bits(dtype) >= 8:
        return np.clip(whole, low, low + count - 1)
    return whole - count * np.floor((whole - low) / count)


def cast_grads(make):
    for dtype in FLOATS:
        for dims in SIZES:
            yield {
                "X": make.values(*dims),
                "Out@GRAD": make.integers(dtype, dims, -100, 100),
            }


@case("cast_grad", cast_grads)
def cast_grad(out_grad):
    return {"X@GRAD": out_grad}


def bitcasts(make):
    for to in DTYPES:
        if bits(to) == bits(make.dtype):
            for dims in SIZES:
                yield {"X": make.values(*dims)} | of(to)


@case("bitcast", bitcasts)
def bitcast(x, dtype, dtypes):
    return number_of(code_of(x, dtypes["X"]), dtype)


def code_of(x, dtype):
    if dtype == "bfloat16":
        return (x.astype("float32").view("uint32") >> 16).astype("uint16")
    if dtype == "bool" or bits(dtype) > 8:
        return x.astype(dtype).view(f"uint{bits(dtype)}")
    x, found = x[..., None].astype(float), numbers(dtype)
    same = (found == x) & (np.signbit(found) == np.signbit(x))
    return same.argmax(-1)


def number_of(code, dtype):
    if dtype == "bool":
        return code != 0
    if dtype == "bfloat16":
        return (code.astype("uint32") << 16).view("float32")
    if bits(dtype) > 8:
        return code.view(dtype)
    return numbers(dtype)[code]


# Where X and Scale are exact in every dtype, ties are ties everywhere.
SCALES = [
    # X, Scale, axis and block_size.
    ([3, 7], [], 1, 0),
    ([2, 5, 3], [5], 1, 0),
    ([2, 5, 3], [3], -1, 0),
    ([4, 7, 2], [4, 3, 2], 1, 3),
    ([4, 7], [2, 7], -2, 3),
    ([0, 3], [3], 1, 0),
    ([], [1], 0, 0),
    ([1], [], 0, 0),
    ([251, 263], [251], 0, 0),
    ([251, 263], [], 1, 0),
]


def scaled(make, zero, scale, dtype):
    """`zero` is the dtype of ZeroPoint; int32 has none."""
    for dims, scales, axis, block_size in SCALES:
        example = {"X": make.values(*dims)}
        exponents = make.integers(scale, scales, -2, 1)
        example["Scale"] = Tensor(2.0**exponents.values, scale)
        if zero != "int32":
            example["ZeroPoint"] = make.integers(zero, scales, 0, 1)
        yield example | of(dtype) | {"axis": axis, "block_size": block_size}


def quantized(make):
    own = "float32" if make.dtype == "int32" else "T"
    yield from scaled(make, "int8", "float8_e8m0fnu", "int8")
    for dtype in (
        *("uint16", "int4", "uint2"),
        *("float8_e4m3fn", "float8_e5m2fnuz", "float4_e2m1fn"),
    ):
        yield from scaled(make, dtype, own, dtype)


def spread(scale, x, axis, block_size):
    """The number of Scale, or of ZeroPoint, of each element of X."""
    if scale is None:
        return 0
    if block_size:
        return np.take(scale, np.arange(x.shape[axis]) // block_size, axis)
    if scale.size == 1:
        return scale.reshape(())
    dims = [1] * x.ndim
    dims[axis] = -1
    return scale.reshape(dims)


@case("quantize_linear", quantized)
def quantize_linear(x, scale, zero_point, axis, block_size, dtype):
    quotient = x.astype("float32") / spread(scale, x, axis, block_size)
    zero = spread(zero_point, x, axis, block_size)
    if dtype in SHORT_FLOATS:
        return nearest(quotient + zero, dtype)
    low, count = least_and_count(dtype)
    return np.clip(np.rint(quotient) + zero, low, low + count - 1)


def dequantized(make):
    yield from scaled(make, make.dtype, "float32", "float32")
    yield from scaled(make, make.dtype, "float8_e8m0fnu", "float16")


@case("dequantize_linear", dequantized)
def dequantize_linear(x, scale, zero_point, axis, block_size):
    rest = x.astype(float) - spread(zero_point, x, axis, block_size)
    return rest * spread(scale, x, axis, block_size)


def narrowed(make):
    """Multiples of 1/64: for steps of 1/5 and 1/3, numbers before rounding are
    exact in every dtype, so that ties are ties everywhere."""
    wide = {"min": -1.5, "max": 1.5, "num_bits": 4}
    narrow = {"min": -0.5, "max": 0.5, "num_bits": 2}

    def exact(*dims):
        return {"X": Tensor(make.integers("T", dims, -128, 128).values / 64)}

    yield exact(3, 7) | wide
    yield exact(1) | wide
    yield exact() | narrow
    yield exact(4, 0, 2) | wide
    yield exact(33, 5) | narrow
    ends = Tensor(np.array([0.25, -1.5, 1.0, 1.5, -0.125]))
    yield {"X": ends, "range_given": False, "num_bits": 4}
    yield exact(67, 509) | wide


@case("quantize_and_dequantize", narrowed)
def quantize_and_dequantize(x, range_given, num_bits, attributes):
    low, high = attributes["min"], attributes["max"]
    if not range_given:
        low, high = x.min(), x.max()
    step = (high - low) / (2**num_bits - 1)
    middles = low + (np.arange(2**num_bits - 1) + 0.5) * step
    return low + np.searchsorted(middles, x + 1e-12, "right") * step
