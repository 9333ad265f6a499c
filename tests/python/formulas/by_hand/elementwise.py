"""Ops that compute each element by itself."""

import ml_dtypes
import numpy as np

from .row import INF, INTEGERS, NAN, bfloat16, ends, row



def binary(test, op, x, y, out, dtype="float32", near=0.0):
    row(test, op, dtype, near, X=x, Y=y, Out=out)


def unary(test, op, x, out, dtype="float32"):
    row(test, op, dtype, X=x, Out=out)


ADD = "elementwise_add"
test = "ElementwiseAdd.IntegersWrapAround"
binary(test, ADD, [ends("int64")[1]], [1], [ends("int64")[0]], "int64")
binary(test, ADD, [127], [127], [-2], "int8")
# 2048 + 1 is half-way between two float16, and rounds to the even one.
test = "ElementwiseAdd.HalvesRoundToTheNearest"
binary(test, ADD, [1, 2048], [1, 1], np.float16([2, 2048]), "float16")
binary(test, ADD, [0.5], [0.5], bfloat16(1), "bfloat16")

test = "Arithmetic.DivisionsByZeroFollowIeee"
for op in "elementwise_div", "elementwise_floordiv":
    binary(test, op, [1, -1, 0], [0, 0, 0], [INF, -INF, NAN])
for op in "elementwise_mod", "elementwise_fmod":
    binary(test, op, [1], [0], [NAN])

test = "Arithmetic.RestsOfInfiniteDivisorsAreAsInNumpy"
binary(test, "elementwise_mod", [1, -1], [INF, INF], [1, INF])
binary(test, "elementwise_floordiv", [1, -1], [INF, INF], [0, -1])

# A quotient that rounds up to a whole number is not one.
test = "Arithmetic.QuotientAndRestBelongTogether"
binary(test, "elementwise_floordiv", [1], [0.1], [9], "float64")
binary(test, "elementwise_mod", [1], [0.1], [0.1], "float64", near=1e-14)

test = "Arithmetic.NanInEitherOperandStays"
x, y = [NAN, NAN, NAN, -2, 2, INF], [-2, 2, INF, NAN, NAN, NAN]
for op in (
    "add", "sub", "mul", "div", "max", "min", "pow", "mod", "fmod", "floordiv",
):
    binary(test, f"elementwise_{op}", x, y, [NAN] * 6)
binary(test, "atan2", x, y, [NAN] * 6)
binary(test, "prelu", [NAN, -2], [2, NAN], [NAN, NAN])

# As in IEEE 754 and every library.
test = "Arithmetic.PowersThatAreOneWhateverTheOtherNumber"
binary(test, "elementwise_pow", [NAN, 1], [0, NAN], [1, 1])

for dtype in INTEGERS:
    least, most = ends(dtype)
    test = "IntegerArithmetic.DivisionsByZeroGiveZero"
    for op in "elementwise_mod", "elementwise_fmod", "elementwise_floordiv":
        binary(test, op, [7, 0, least], [0, 0, 0], [0, 0, 0], dtype)
    test = "IntegerArithmetic.TakesTheLargestAndTheLeastNumbers"
    both = [least, most], [most, least]
    binary(test, "elementwise_max", *both, [most, most], dtype)
    binary(test, "elementwise_min", *both, [least, least], dtype)
    both = [most, most], [most, 2]
    binary(test, "elementwise_floordiv", *both, [1, most // 2], dtype)
    binary(test, "elementwise_mod", *both, [0, 1], dtype)
    test = "IntegerArithmetic.PowersAreProductsThatWrapAround"
    both = [3, 0, 0, 5, 3, 2], [4, 0, 3, 1, 20, 64]
    wrapped = int(np.array(3**20).astype(dtype))
    binary(test, "elementwise_pow", *both, [81, 1, 0, 5, wrapped, 0], dtype)
    test = "Comparison.TheLargestAndTheLeastIntegers"
    both = [least, most, most], [most, least, most]
    binary(test, "less_than", *both, [True, False, False], dtype)
    binary(test, "greater_equal", *both, [False, True, True], dtype)
    binary(test, "equal", *both, [False, False, True], dtype)

test = "Arithmetic.SignedIntegersRoundAsTheFloatsDo"
both = [7, -7, 7, -7, -6], [3, 3, -3, -3, 3]
binary(test, "elementwise_mod", *both, [1, 2, -2, -1, 0], "int32")
binary(test, "elementwise_fmod", *both, [1, -1, 1, -1, 0], "int32")
binary(test, "elementwise_floordiv", *both, [2, -3, -3, 2, -2], "int32")

test = "Arithmetic.TheLeastIntegerByMinusOneWrapsAround"
for dtype in "int8", "int32", "int64":
    least = ends(dtype)[0]
    binary(test, "elementwise_floordiv", [least], [-1], [least], dtype)
    binary(test, "elementwise_mod", [least], [-1], [0], dtype)
    binary(test, "elementwise_fmod", [least], [-1], [0], dtype)

binary("Arithmetic.NegativePowersOfIntegersHaveNoFractions",
       *("elementwise_pow", [1, -1, -1, 2, 0, -2], [-5, -5, -4, -1, -1, -3]),
       *([1, -1, 1, 0, 0, 0], "int64"))

test = "Arithmetic.SmallIntegersWrapAround"
binary(test, "elementwise_mul", [200], [200], [64], "uint8")
binary(test, "elementwise_mul", [-128], [-128], [0], "int8")
binary(test, "elementwise_sub", [1], [2], [255], "uint8")

test = "Arithmetic.HalvesAreComputedInFloat"
binary(test, "elementwise_pow", [3, 2], [2, 3], np.float16([9, 8]), "float16")
binary(test, "elementwise_max", [NAN, 2], [2, NAN], [NAN, NAN], "float16")

row(
    "ArithmeticGrad.PowersAtTheEndsOfTheirRange",
    "elementwise_pow_grad",
    near=1e-7,
    **{"X": [0, 0, -2, 3, 0], "Y": [0, 2, 2, 0, -1], "Out": [1, 0, 4, 1, INF]},
    Out_GRAD=[1] * 5,
    X_GRAD=[0, 0, -4, 0, -INF],
    Y_GRAD=[0, 0, NAN, np.log(3), -INF],  # a negative number has no logarithm
)

FLAGS = {  # what each says of X < Y, X == Y and X > Y, and of NaN
    "less_than": (True, False, False, False),
    "less_equal": (True, True, False, False),
    "greater_than": (False, False, True, False),
    "greater_equal": (False, True, True, False),
    "equal": (False, True, False, False),
    "not_equal": (True, False, True, True),
}
for op, (less, same, more, nan) in FLAGS.items():
    test = "Comparison.ValuesWrittenDownByHand"
    both = [1, 2, 3, -INF, NAN, NAN], [2, 2, 2, INF, 1, NAN]
    binary(test, op, *both, [less, same, more, less, nan, nan])
    test = "Comparison.OfBoolsFalseIsLessThanTrue"
    both = [False, False, True, True], [False, True, False, True]
    binary(test, op, *both, [same, less, more, same], "bool")
test = "Comparison.HalvesCompareAsNumbers"
both = [-0.0, -1, NAN], [0, 1, NAN]
binary(test, "equal", *both, [True, False, False], "float16")
binary(test, "less_than", *both, [False, True, False], "float16")

for op, out in [
    ("logical_and", [0, 0, 0, 1]), ("logical_or", [0, 1, 1, 1]),
    ("logical_xor", [0, 1, 1, 0]), ("elementwise_mul", [0, 0, 0, 1]),
    ("elementwise_min", [0, 0, 0, 1]), ("elementwise_add", [0, 1, 1, 1]),
    ("elementwise_max", [0, 1, 1, 1]),
]:
    test = "Logic.ValuesWrittenDownByHand"
    binary(test, op, [0, 0, 1, 1], [0, 1, 0, 1], np.array(out, bool), "bool")

test = "Bits.ShiftsByAnyCountAreDefined"
left, right = "bitwise_left_shift", "bitwise_right_shift"
least = ends("int32")[0]
both = [1, 1, 3, -3, 1, -1, 5], [4, 31, 31, 1, 32, 64, -1]
binary(test, left, *both, [16, least, least, -6, 0, 0, 0], "int32")
binary(test, right, *both, [0, 0, 0, -2, 0, -1, 0], "int32")
both = [255, 255, 255], [1, 8, 255]
binary(test, left, *both, [254, 0, 0], "uint8")
binary(test, right, *both, [127, 0, 0], "uint8")
most = ends("uint64")[1]
binary(test, right, [most, most, 1], [63, 64, 1], [1, 0, 0], "uint64")
both = [3, 3, 3, 3], [14, 15, 16, -1]
binary(test, left, *both, [-16384, -32768, 0, 0], "int16")
binary(test, right, [-3, -3], [1, 16], [-2, -1], "int16")

for op, x, out in [
    ("reciprocal", [-2, 0, 4], [-0.5, INF, 0.25]),
    ("sqrt", [4, 0, INF], [2, 0, INF]), ("rsqrt", [4, 0, INF], [0.5, INF, 0]),
    ("exp", [0, -INF, INF], [1, 0, INF]), ("log", [1, 0, INF], [0, -INF, INF]),
    ("sigmoid", [0, -INF, INF], [0.5, 0, 1]),
    ("softplus", [-INF, INF, 100], [0, INF, 100]),
    ("tanh", [0, -INF, INF], [0, -1, 1]), ("erf", [0, -INF, INF], [0, -1, 1]),
]:
    unary("Unary.ValuesAtTheEndsOfTheRange", op, x, out)
for op in "log", "log1p", "sqrt", "rsqrt":
    unary("Unary.NegativeNumbersHaveNoLogarithmAndNoRoot", op, [-2], [NAN])
test = "Unary.IntegersWrapAround"
unary(test, "abs", [-128, -3, 16], [-128, 3, 16], "int8")
unary(test, "neg", [-128, -3, 16], [-128, 3, -16], "int8")
unary(test, "sign", [-128, -3, 16], [-1, -1, 1], "int8")
unary(test, "square", [-128, -3, 16], [0, 9, 0], "int8")

for dtype in "float32", "float64", "float16", "bfloat16":
    half = "16" in dtype
    test = (
        "Predicate.TellsHalvesApart" if half else "Predicate.TellsFloatsApart"
    )
    info = np.finfo(dtype) if dtype != "bfloat16" else ml_dtypes.finfo(dtype)
    tiny = float(info.smallest_subnormal)
    x = [0, -float(info.max), tiny, INF, -INF, NAN, np.copysign(NAN, -1)]
    unary(test, "isnan", x, np.arange(7) > 4, dtype)
    unary(test, "isinf", x, np.isin(np.arange(7), [3, 4]), dtype)
    unary(test, "isfinite", x, np.arange(7) < 3, dtype)
test = "Predicate.TurnsBoolsAndBitsRound"
unary(test, "logical_not", [False, True], np.array([True, False]), "bool")
unary(test, "bitwise_not", [0, 0b1100], [255, 0b11110011], "uint8")
unary(test, "bitwise_not", [0, -8], [-1, 7], "int64")


def clip(test, x, out, dtype="float32", **bounds):
    row(test, "clip", dtype, X=x, Out=out, **bounds)


test = "Clip.CutsNothingByDefault"
clip(test, [-INF, -0.0, 3, INF], [-INF, 0, 3, INF])
least, most = ends("int64")
every = [least, least + 1, most - 1, most]
clip(test, every, every, "int64")
clip(test, [0, 255], [0, 255], "uint8")
for dtype in "float32", "float16":
    clip("Clip.NanStaysNan", [NAN], [NAN], dtype, min=0.0, max=1.0)
    clip("Clip.NanStaysNan", [NAN], [NAN], dtype, max=1.0)
test = "Clip.BoundsOfIntegersAreRoundedInwardsAndWithinTheirRange"
x = [-128, -2, 0, 2, 127]
clip(test, x, [-1, -1, 0, 1, 1], "int8", min=-1.5, max=1.5)
clip(test, x, x, "int8", min=-1e300, max=1e300)
clip(test, x, [127] * 5, "int8", min=300.0)
clip(test, [0, 7], [0, 0], "uint8", max=-3.0)
row(*("ClipGrad.IsThatOfOutWhereNothingWasCut", "clip_grad"),
    **{"X": [-2, -1, 0, 1, 2, NAN], "min": -1.0, "max": 1.0},
    Out_GRAD=[3, 4, 5, 6, 7, 8], X_GRAD=[0, 4, 5, 6, 0, 8])
row(*("Where.WhatIsNotTakenDoesNotMatter", "where"),
    **{"Condition": [True, False], "X": [1, NAN], "Y": [NAN, 2], "Out": [1, 2]})


def scale(test, x, out, scale, bias=0.0, after=True, dtype="float32"):
    how = {"scale": scale, "bias": bias, "bias_after_scale": after}
    row(test, "scale", dtype, X=x, Out=out, **how)


# 2049 * 1 - 1 = 2048; 2049 itself is no float16.
test = "Scale.HalvesRoundOnce"
scale(test, [2048], np.float16([2048]), 1.00048828125, -1.0, dtype="float16")
scale(test, [1], bfloat16(2), 3.0, -1.0, dtype="bfloat16")
test = "Scale.IntegersWrapAround"
scale(test, [ends("int32")[1]], [-2], 2.0, dtype="int32")

row("Sum.IntegersWrapAround", "sum", "int8", X=([127], [127]), Out=[-2])
# A float16 of this size keeps even numbers only.
halves = ([2048], [1], [1])
row("Sum.HalvesRoundOnce", "sum", "float16", X=halves, Out=np.float16([2050]))

row(*("GaussianRandom.WithoutDeviationAllAreTheMean", "gaussian_random"),
    **{"shape": [3], "mean": 2.5, "std": 0.0, "Out": [2.5, 2.5, 2.5]})
x, downgrade = [1, 2], {"dropout_implementation": "downgrade_in_infer"}
test = "Dropout.ProbabilitiesOf0And1"
row(test, "dropout", X=x, dropout_prob=0.0, Out=x)
row(test, "dropout", X=x, dropout_prob=1.0, Out=[0, 0])
grad = {"Mask": np.uint8([0, 0]), "Out_GRAD": x, "dropout_prob": 1.0}
row("Dropout.NothingKeptHasNoGradient", "dropout_grad", X_GRAD=[0, 0], **grad)
test = "Dropout.KeepsAllWhenTesting"
testing = {"is_test": True, "dropout_prob": 0.25}
row(test, "dropout", X=x, Out=x, **testing)
row(test, "dropout", X=x, Out=[0.75, 1.5], **testing, **downgrade)
