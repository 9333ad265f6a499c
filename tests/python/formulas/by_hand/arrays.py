"""Ops that move, pick, search and sum elements."""

import numpy as np

from .row import INF, NAN, bfloat16, ends, row

INT64 = ends("int64")


# Moves.
x = np.int32([[1, 2, 3], [4, 5, 6]])
for upper, k, out in [
    (True, INT64[0], x), (True, INT64[1], 0 * x), (False, INT64[0], 0 * x),
    (False, INT64[1], x),
]:
    row("Trilu.TakesAnyDiagonal", "trilu", X=x, upper=upper, k=k, Out=out)

row(*("LookupTable.KeepsALastDimensionOf1", "lookup_table"),
    **{"W": [[1, 2], [3, 4], [5, 6]], "Ids": [[2], [0]]},
    **{"drop_last_dim": False, "Out": [[[5, 6]], [[1, 2]]]})
row(*("Crop.TakesSizesAndOffsetsFromTensors", "crop"),
    **{"X": [[1, 2, 3], [4, 5, 6]], "Y": [[0, 0]], "Offsets": [1, 1]},
    **{"Out": [[5, 6]]})

# New tensors.
test = "FillConstant.IsZeroInFloat32WhenNothingElseIsAsked"
row(test, "fill_constant", shape=[2], Out=np.float32([0, 0]))
for test, dtype, value in [
    ("FillConstant.FloatsTakeNaNAndInfinity", "float32", INF),
    ("FillConstant.FloatsTakeNaNAndInfinity", "float64", NAN),
    ("FillConstant.FractionsAreOfTheDType", "float64", 0.1),
    ("FillConstant.TakesTheEndsOfTheRange", "int64", INT64[0]),
    ("FillConstant.TakesTheEndsOfTheRange", "uint8", 255),
]:
    how = {"shape": [1], "dtype": dtype, "value": float(value)}
    row(test, "fill_constant", Out=np.array([value], dtype), **how)

row("Pad.WritesAFraction", "pad", X=[1], pads=[1, 0], value=1.5, Out=[1.5, 1])
row("Range.IsInt64FromZeroByOne", "range", end=2.0, Out=np.int64([0, 1]))
test, out = "Range.FloatsAreRoundedOnce", np.float32(np.arange(10) * 0.1)
how = {"start": 0.0, "end": 0.95, "step": 0.1, "dtype": "float32"}
row(test, "range", Out=out, **how)
# 1 + 3 * 2^-11 is halfway between two float16: rounded to the even one.
out = np.array(
    [0x3C00, 0x3C02, 0x3C03, 0x3C04, 0x3C06, 0x3C08, 0x3C09], "uint16"
)
how = {"start": 1.0, "end": 1.01, "step": 3 * 2.0**-11, "dtype": "float16"}
row(test, "range", Out=out.view("float16"), **how)
how = {"start": 2.0**31 - 1, "end": 2.0**31, "dtype": "int32"}
row(
    "Range.CountsWholeNumbersExactly", "range", Out=np.int32([2**31 - 1]), **how
)

x = np.zeros((2, 1, 3), "f4")
for start, end, out in [
    (0, INT64[1], [2, 1, 3]), (-1, 3, [3]), (INT64[0], -1, [2, 1]), (2, 1, []),
    (INT64[1], INT64[0], []),
]:
    row("Shape.GivesTheSizesOfARange", "shape", X=x, start=start, end=end,
        Out=out)

# Elements that indices pick.
# Elements of 2 numbers and different numbers of rows.
larger = [[[1, 2], [1, 2], [1, 2]], [[5, 6], [7, 8], [9, 0]]]
smaller = [[[3, 3], [4, 4], [4, 4]], larger[1]]
empty = [larger[0], [[0, 0], [0, 0], [0, 0]]]
for array, x, i, out in [
    ([[[1, 2]], [[3, 4]]], larger[1], 1, larger),
    (larger, [[3, 3], [4, 4]], 0, smaller),
    (larger, np.zeros((0, 2), "f4"), 1, empty),
    # An array without rows gets its first ones.
    (np.zeros((2, 0, 2), "f4"), [[1, 2]], 1, [[[0, 0]], [[1, 2]]]),
]:
    test = "Array.GrowsToTheRowsOfTheLargestElement"
    how = {"capacity": 2, "grows": True}
    row(test, "array_write", Array=array, X=x, I=[i], Out=out, **how)
row(*("Array.DoesNotReadAnElementThatHadFewerRows", "array_read"),
    **{"Array": [[1, 2], [3, 4], [5, 6]], "Rows": [1, 2, 2], "I": [1]},
    **{"Out": [3, 4], "capacity": 3})

test = "Elements.MayBeThoseOfANumber"
row(test, "gather_elements", X=3, Index=-1, Out=3)
how = {"axis": -1, "reduction": "add"}
row(test, "scatter_elements", X=3, Index=-1, Updates=5, Out=8, **how)


def scatter(test, x, index, updates, reduction, out, of="float32", **how):
    how |= {"X": x, "Index": index, "Updates": updates, "reduction": reduction}
    row(test, "scatter_elements", of, Out=out, **how)


alone = {"include_self": False}
x = ([NAN, 2, 3, 4], [1, 1, 3, 0], [5, -6, 7, -8])
for reduction, at_one in (
    ("none", -6), ("add", -1), ("mul", -30), ("max", 5), ("min", -6),
):
    test = "ScatterElements.CombinesUpdatesAlone"
    scatter(test, *x, reduction, [-8, at_one, 3, 7], **alone)
scatter(test, [5], [0], [-128], "max", [-128], "int8", **alone)
for reduction in "max", "min":
    test = "ScatterElements.NanIsBothTheLargestAndTheSmallestNumber"
    scatter(test, [NAN, 1], [0, 1, 1], [5, NAN, 7], reduction, [NAN, NAN])
test, x = "ScatterElements.IntegersWrapAround", ([100, 100], [0, 1], [100, 3])
scatter(test, *x, "add", [-56, 103], "int8")
scatter(test, *x, "mul", [16, 44], "int8")
# 2,048 has no neighbour at a distance of 1 in float16.
test = "ScatterElements.HalvesAreSummedInFloat"
x = ([2048], [0] * 100, [1] * 100)
scatter(test, *x, "add", [2148], "float16")
test = "ScatterElements.ReplacesBools"
scatter(test, [True, False], [0], [False], "none", [False, False], "bool")

x, out = [-1, -4, 3, INT64[0]], [[-1, -1, 7], [-1] * 3, [-1] * 3, [-1] * 3]
test = "OneHot.CountsFromTheEndAndLeavesOutWhatIsOutside"
row(test, "one_hot", X=np.int64(x), Values=[-1, 7], depth=3, Out=out)

# Searches.
best, last = ("arg_max", "arg_min"), {"select_last_index": True}
for dims, axis in ([1, 100], 1), ([100, 3], 0):
    # Rows are searched in blocks, adjacent columns together.
    x = np.full(dims, 5.0)
    test = "ArgBest.TheFirstOfEqualElementsCountsOrTheLast"
    np.moveaxis(x, axis, 0)[[40, 41, 77], 0] = 8
    rest = [0] * (dims[1 - axis] - 1)
    more = [99] * (dims[1 - axis] - 1)
    row(test, "arg_max", X=x, axis=axis, Out=[40, *rest])
    row(test, "arg_min", X=x, axis=axis, Out=[0, *rest])
    row(test, "arg_max", X=x, axis=axis, Out=[77, *more], **last)
    row(test, "arg_min", X=x, axis=axis, Out=[99, *more], **last)
test, x = "ArgBest.NanComesBeforeEveryNumber", [1, NAN, INF, -INF, NAN, 2]
for op, out in zip(best, (2, 3)):
    row(test, op, X=x, Out=1)
    row(test, op, X=x, Out=4, **last)
    row(test, op, X=[-0.0, 0, INF, -INF], Out=out)
    row(test, op, X=[-0.0, 0], Out=0)
test = "ArgBest.TheLimitsOfIntegersAreNumbersLikeOthers"
for op, out in zip(best, (1, 2)):
    row(test, op, "int64", X=[0, INT64[1], INT64[0]], Out=out)
    row(test, op, "uint8", X=[7, 255, 0], Out=out)

test, smallest = "TopKTest.TakesTheSmallestByLowerIndex", {"largest": False}
row(test, "top_k", X=[2, 1, 1, 3], Out=[1], Indices=[1], **smallest)
test, none = "TopKTest.MayBeOfNoElementsOrOfANumber", np.zeros((2, 0), "f4")
row(test, "top_k", X=[[1], [2]], k=0, Out=none, Indices=none.tolist())
row(test, "top_k", X=3, k=1, Out=3, Indices=0)

parents = [[[-7, 99]], [[1, 0]]]
row(
    *("GatherTree.DoesNotReadParentsOfTheFirstStep", "gather_tree", "int64"),
    **{"Ids": [[[1, 2]], [[3, 4]]], "Parents": parents, "Out": [[[2, 1]], [[3, 4]]]},
)

# Scans. A float sum of ones stays at 2^24 forever.
test, x = "Scan.SumsOfFloatsAreMadeInDouble", [2**24, *[1] * 40]
row(test, "cumsum", X=x, Out=np.float32(2**24 + np.arange(41.0)))
test, x = "Scan.NanAndInfinityReachWhatFollows", [1, INF, -INF, 0]
row(test, "cumsum", X=x, Out=[1, INF, NAN, NAN])
row(test, "cumprod", X=x, Out=[1, INF, -INF, NAN])
test, (least, most) = "Scan.IntegersWrapAround", ends("int32")
row(test, "cumsum", "int32", X=[most, 2], Out=[most, least + 1])
row(test, "cumprod", "int32", X=[most, 2], Out=[most, -2])
# Quotients by elements of 0 would be NaN.
test, x = "Cumprod.ZerosHaveGradients", {"X": [2, 0, 5, 0], "Out_GRAD": [1] * 4}
row(test, "cumprod_grad", "float64", X_GRAD=[1, 12, 0, 0], **x)

# Sums and other reductions.
x = [[1, 2, 3], [4, 5, 6]]
test = "ReduceSum.AllDimsGoBeforeThoseNamed"
row(test, "reduce_sum", X=x, dim=[0], reduce_all=True, Out=21)
test = "ReduceSum.Halves"
row(test, "reduce_sum", "float16", X=[1] * 4096, Out=np.array(4096, "float16"))
row(test, "reduce_sum", "bfloat16", X=[1] * 4096,
    Out=bfloat16(4096)[0:1].reshape(()))
test, x = "Mean.AHalfsSumMayBeLargerThanAHalf", [32768] * 4
row(test, "mean", "float16", X=x, Out=np.array(32768, "float16"))

for op, dtype, out in [
    ("sum", "float32", 0), ("mean", "float32", NAN), ("max", "float32", -INF),
    ("min", "float32", INF), ("prod", "float32", 1), ("l2", "float32", 0),
    ("log_sum_exp", "float32", -INF), ("min", "uint8", 255),
    ("max", "int32", ends("int32")[0]), ("all", "bool", True),
    ("any", "bool", False), ("min", "bool", True), ("max", "bool", False),
]:
    row("Reduction.OfNothing", f"reduce_{op}", dtype, X=[], Out=out)
test, large = "Reduction.IntegersWrapAroundAndKeepTheirDigits", (1 << 62) + 1
row(test, "reduce_max", "int64", X=[large, large - 1], Out=large)
row(test, "reduce_prod", "int64", X=[large, 4], Out=4)
# The number of a NaN's neighbours decides which lane reads it, and when.
for op in "max", "min", "prod", "l1", "log_sum_exp":
    for size in 1, 7, 8, 9, 40, 3000:
        for at in {0, size // 2, size - 1}:
            x = np.where(np.arange(size) == at, NAN, 2).astype("f4")
            row("Reduction.NaNWinsWhereverItIs", f"reduce_{op}", X=x, Out=NAN)
for x, out, grad in [
    ([2, 3, 4], 24, [24, 16, 12]), ([2, 0, 4], 0, [0, 16, 0]),
    ([0, 0, 4], 0, [0, 0, 0]),
]:
    test = "Reduction.TheGradientOfAProductKnowsZeros"
    grads = {"Out_GRAD": 2, "X_GRAD": grad}
    row(test, "reduce_prod_grad", X=x, Out=np.array(out, "f4"), **grads)
