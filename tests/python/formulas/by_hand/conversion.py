"""Ops that store numbers in other dtypes, or in few bits."""

import ml_dtypes
import numpy as np

from .row import INF, NAN, bfloat16, ends, row

SMALL = "float8_e4m3fn"


def stored(dtype, *numbers):
    return np.array(numbers, getattr(ml_dtypes, dtype))


def cast(test, x, out, of="float32", **how):
    row(test, "cast", of, X=x, Out=out, dtype=str(out.dtype), **how)


test = "CastTest.PastTheRangeOfSmallFloatsFollowsTheAttributes"
cast(test, [1e6, 1.5], stored("float8_e5m2", 57344, 1.5))
cast(test, [1e6, 1.5], stored("float8_e5m2", INF, 1.5), saturate=False)
for mode, power in ("up", 2), ("down", 1), ("nearest", 2):
    cast(test, [1.5], stored("float8_e8m0fnu", power), round_mode=mode)

test = "CastTest.LargeUnsignedNumbersAreRoundedOnce"
tie, most = 257 << 55, ends("uint64")[1]
x = [tie, tie + 1, most]
cast(test, x, bfloat16(2.0**63, 2.0**63 * (1 + 2**-7), 2.0**64), "uint64")
cast(test, x, np.int16([0, 1, -1]), "uint64")
cast(test, [1e30, -1, 2.0**63], np.uint64([most, 0, 2**63]), "float64")

row(*("Bitcast.KeepsTheBits", "bitcast"),
    **{"X": [1.0, -0.0], "dtype": "uint32"},
    Out=np.uint32([0x3F800000, 0x80000000]))
row(*("Bitcast.MakesBoolsOfBytes", "bitcast", "uint8"),
    **{"X": [0, 1, 0x80], "dtype": "bool", "Out": [False, True, True]})


def squeezed(test, x, out, of="float32", **how):
    row(test, "quantize_and_dequantize", of, X=x, Out=out, **how)


for dtype in np.float32, np.float64:
    name = dtype.__name__
    test = "QuantizeTest.BoundsStayAndTheOutsideIsClipped"
    squeezed(test, [-5, 0, 1, 7], [0, 0, 1, 1], name, min=0.0, max=1.0)
squeezed("Quantize.NearestLevelsAreFoundWhereASumWithAHalfIsRounded",
         np.float32([8388607.5, 8388609, 12345677, 16777215, 0.49999997, 0.5]),
         [8388608, 8388609, 12345677, 16777215, 0, 1],
         **{"min": 0.0, "max": 16777215.0, "num_bits": 24})
unit = {"min": 0.0, "max": 1.0}
x = [0, 0.4, 0.6, 1]
squeezed("Quantize.OneBitHasTwoLevels", x, [0, 0, 1, 1], **unit, num_bits=1)
test, double = "Quantize.Halves", {"min": 0.0, "max": 2.0}
out = np.array([0x3C04, 0x4000], "uint16").view("float16")
squeezed(test, [1, 4], out, "float16", **double)
squeezed(test, [4], bfloat16(2), "bfloat16", **double)
x, out = np.full(40, 0.5), np.full(40, 128 / 255)
x[[3, 5, 6, 39]] = NAN, INF, -INF, NAN
out[[3, 5, 6, 39]] = NAN, 1, 0, NAN
test = "Quantize.NaNStaysNaNAndInfinityIsClipped"
squeezed(test, x.tolist(), out.tolist(), near=1e-6, **unit)
test, one_bit = "Quantize.EmptyAndLarge", {"range_given": False, "num_bits": 1}
squeezed(test, np.zeros((0, 2), "f4"), np.zeros((0, 2), "f4"), **unit)
squeezed(
    test, np.zeros((0, 2), "f4"), np.zeros((0, 2), "f4"), range_given=False
)
x = np.full(100003, 0.5, "f4")
x[[7, 70000]] = -1, 1
squeezed(
    test, x, np.where(np.arange(100003) == 7, -1, 1).astype("f4"), **one_bit
)
x, test = np.float64([3e38]), "Quantize.WideTypesAllowWiderRanges"
squeezed(test, x, x, near=1e-15, min=-3e38, max=3e38)


def quantize(test, x, scale, out, **how):
    how |= {"dtype": str(out.dtype)}
    row(test, "quantize_linear", X=x, Scale=scale, Out=out, **how)


def dequantize(test, x, scale, out, **how):
    row(test, "dequantize_linear", X=x, Scale=scale, Out=np.float32(out), **how)


test = "QuantizeLinear.RoundsToEvenAndSaturates"
x = [1, 3, -1, -3, 1e9, -INF, NAN]
quantize(test, x, 2, np.int8([0, 2, 0, -2, 127, -128, 0]))
quantize(test, x, 2, np.uint16([0, 2, 0, 0, 65535, 0, 0]))
quantize(test, x, 2, stored("int4", 0, 2, 0, -2, 7, -8, 0))
quantize(test, x, 2, stored("uint2", 0, 2, 0, 0, 3, 0, 0))

# 0.35 / 0.1 is 3.5 in float32.
test, x, tenth = "QuantizeLinear.DividesInThePrecision", [0.35], np.float32(0.1)
quantize(test, x, tenth, np.int8([4]))
exact = np.rint(np.float64(np.float32(0.35)) / np.float64(tenth))
quantize(test, x, tenth, np.int8([exact]), precision="float64")
quantize(test, [2.51], 1, np.int8([3]))
quantize(test, [2.501], 1, np.int8([2]), precision="bfloat16")  # 2.5

test, x = "QuantizeLinear.FloatsKeepTheirZerosAndEnds", [-0.0, 1000, 1.0625]
quantize(test, x, 1, stored(SMALL, -0.0, 448, 1))
quantize(test, x, 1, stored(SMALL, -0.0, NAN, 1), saturate=False)

for name, codes in [
    ("int4", 16), ("uint2", 4), ("float4_e2m1fn", 16), ("float8_e5m2fnuz", 256),
]:
    every = np.arange(codes, dtype="uint8").view(getattr(ml_dtypes, name))
    every = every[np.isfinite(every.astype("f4"))]
    values = every.astype("f4") / 4
    test = "DequantizeLinear.IsTheInverseForEveryCode"
    quantize(test, values, np.float32(0.25), every)
    dequantize(test, every, np.float32(0.25), values)

# Lanes have the numbers of the formula for every dtype that they take, in full
# and partial vectors; ties and zero points at both ends of the range included.
for dtype in "int8", "uint8", "int16", "uint16":
    for scales in 1, 261:
        test, i = "QuantizeLinear.LanesComputeTheFormula", np.arange(2 * 261)
        least, most = ends(dtype)
        x = np.float32((i - 261) * 0.5 * np.where(i % 7 == 0, 300, 1))
        x, i = x.reshape(2, 261), np.arange(scales)
        scale = np.where(i % 3 == 0, 1, 0.3 + 0.01 * i).astype("f4")
        zero = np.select([i % 4 == 0, i % 4 == 1], [most, least], i % 100)
        codes = np.clip(np.rint(x / scale) + zero, least, most)
        back = np.float32((codes - zero) * scale.astype(float))
        codes, zero = codes.astype(dtype), zero.astype(dtype)
        quantize(test, x, scale, codes, ZeroPoint=zero)
        dequantize(test, codes, scale, back, ZeroPoint=zero)
