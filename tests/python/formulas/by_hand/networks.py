"""Norms, pools, losses, metrics and recurrent layers."""

import numpy as np

from .row import INF, NAN, row

LOG2 = np.log(2)

# Norms.
x = [[[0], [-INF], [0]]]
test = "Softmax.MinusInfinityHasNoPart"
row(test, "softmax", X=x, axis=1, Out=[[[0.5], [0], [0.5]]])
# Softmax would be 0 here, with a logarithm of -inf.
for x, out in [
    ([1000, 0], [0, -1000]),
    ([1e30, -1e30], [0, -2e30]),
    ([0, -INF], [0, -INF]),
    ([5, 5], [-LOG2, -LOG2]),
]:
    test = "LogSoftmax.KeepsWhatSoftmaxRoundsTo0"
    row(test, "log_softmax", near=1e-6, X=x, axis=0, Out=out)
for bad in NAN, INF:
    for size in 2, 17, 40:
        x = [1, bad, *[1] * (size - 2)]
        test = "LogSoftmax.NanAndInfinityMakeAllNan"
        row(test, "log_softmax", X=x, axis=0, Out=[NAN] * size)

# The choice of a kernel must not decide whether a NaN is seen.
for dtype in "float32", "float64", "float16", "bfloat16":
    for dims in (2, 3), (64, 1000):
        for bad in NAN, INF:
            test = "Softmax.EveryKernelKeepsNanAndInfinityAtEverySize"
            x, out = np.zeros(dims), np.full(dims, 1 / dims[1])
            x[1, 2], out[1] = bad, NAN
            row(test, "softmax", dtype, near=1e-2, X=x.tolist(),
                Out=out.tolist())

# k = 0, alpha = n and beta = 1: each element by the squares around it.
x = np.reshape([1.0, 2, 4, 8], (1, 4, 1, 1))
for n, squares in [
    (1, [1, 4, 16, 64]),
    (3, [5, 21, 84, 80]),
    (2, [5, 20, 80, 64]),  # this channel and the next
    (1000, [85, 85, 85, 85]),
]:
    how = {"n": n, "k": 0.0, "alpha": float(n), "beta": 1.0}
    out = x / np.reshape(squares, x.shape)
    row("Lrn.SumsTheSquaresOfTheWindow", "lrn", near=1e-15, X=x, Out=out, **how)
how = {"n": 1 << 62, "k": 0.0, "alpha": float(1 << 62), "beta": 1.0}
row("Lrn.SumsTheSquaresOfTheWindow", "lrn", near=1e-15, X=x, Out=out, **how)

x = [[[1, 1], [3, 3]], [[5, 9], [5, 9]]]
out = [[[0, 0], [6, 8]], [[0, 4], [0, 8]]]
for scale in [1, 2, 3, 4], [[1, 2], [3, 4]]:
    test = "LayerNorm.ScaleAndBiasMayHaveTheDimsOfARow"
    how = {"Scale": scale, "Bias": scale, "epsilon": 0.0}
    row(test, "layer_norm", X=x, Y=out, **how)
x, out = np.ones((3, 37), "f4"), np.full((3, 37), NAN)
x[0, 0], x[1, 5], x[2, 7] = 2, NAN, INF
out[0] = (x[0] - x[0].mean()) / np.sqrt(x[0].var() + 1e-5)
test, out = "LayerNorm.ANanStaysInItsRow", out.tolist()
row(test, "layer_norm", near=1e-4, X=x, Y=out)


# Sums of floats would keep three digits here, and so would a mean that is
# rounded to a float.
def around(mean, *dims):
    """Numbers in float32, and their distances from the mean of each column in
    standard deviations."""
    x = np.random.default_rng(0).normal(mean, 1, dims).astype("f4")
    exact = x.astype(float)
    out = (exact - exact.mean(0)) / exact.std(0)
    return x, out.astype("f4")


x, out = around(1e4, 3001, 5)
test, x, out = "LayerNorm.LargeMeansCostNoDigits", x.T.copy(), out.T.copy()
row(test, "layer_norm", close=1.5e-6, X=x, Y=out, epsilon=0.0)
x, out = around(1e4, 64 * 32 * 32, 8)
test = "BatchNorm.ALargeBatchAroundALargeMeanIsRightToTheLastDigits"
how = {"X": x.reshape(64, 32, 32, 8), "epsilon": 0.0, "data_format": "NHWC"}
how |= {"Scale": [1] * 8, "Bias": [0] * 8, "Mean": [0] * 8, "Variance": [1] * 8}
row(test, "batch_norm", close=1.5e-6, Y=out.reshape(64, 32, 32, 8), **how)

one = {"X": [[1]], "Scale": [2], "Bias": [10], "Variance": [4]}
test = "BatchNorm.AnInfiniteMeanStaysItWhenTesting"
row(test, "batch_norm", **one, Mean=[-INF], is_test=True, MeanOut=[-INF])
test = "BatchNorm.AnEmptyBatchLeavesTheRunningStatistics"
one = one | {"X": np.zeros((0, 1), "f4")}
row(test, "batch_norm", **one, Mean=[100], MeanOut=[100], VarianceOut=[4])

# Pools.
pair = {"ksize": [1, 2], "strides": [1, 2]}
x, test = [[[[1, 3, 2]]]], "Pool2d.CeilModeTakesWhatIsLeftOver"
how = pair | {"ceil_mode": True}
row(test, "pool2d", X=x, Out=[[[[3, 2]]]], **how)
how["pooling_type"] = "avg"
row(test, "pool2d", X=x, Out=[[[[2, 2]]]], **how)
# Padding counts, but not the elements beyond it.
how["exclusive"] = False
row(test, "pool2d", X=x, Out=[[[[2, 2]]]], **how)
row(test, "pool2d", X=x, Out=[[[[2, 1]]]], paddings=[0, 0, 0, 1], **how)
# There are no windows of only padding.
how = {
    "ksize": [2, 2], "strides": [3, 3], "paddings": [1, 0], "ceil_mode": True,
}
row(test, "pool2d", X=np.zeros((1, 1, 2, 4), "f4"), Out=[[[[0, 0]]]], **how)
# A sum must not lose precision because of its many terms.
lines = np.minimum(np.minimum(np.arange(95) + 1, 95 - np.arange(95)), 32)
grad = np.outer(lines, lines)[None, None] / 1024
for dtype, near in (
    ("float32", 1e-6), ("float64", 1e-10), ("float16", 2**-10),
    ("bfloat16", 2**-7),
):
    test, how = "Pool2d.LargeAveragesKeepTheirDigits", {"ksize": [1000, 1000]}
    x, how = np.full((1, 1, 1000, 1000), 0.1), how | {"pooling_type": "avg"}
    row(test, "pool2d", dtype, near=near, X=x.tolist(), Out=[[[[0.1]]]], **how)
    test = "Pool2dGrad.ManySmallGradientsAddUp"
    how = {"ksize": [32, 32], "pooling_type": "avg"}
    how |= {
        "X": [[[[0] * 95] * 95]], "Out_GRAD": [[[[1] * 64] * 64]],
        "X_GRAD": grad.tolist(),
    }
    row(test, "pool2d_grad", dtype, near=near / 2, **how)
test, x = "Pool2d.NanAndInfinityAreMaximaToo", [NAN, 1, 1, NAN, -INF, -INF]
row(test, "pool2d", X=[[[x]]], Out=[[[[NAN, NAN, -INF]]]], **pair)
x = [[[[1], [NAN]], [[NAN], [1]]]]
row(test, "pool2d", X=x, Out=[[[[NAN]], [[NAN]]]], ksize=[2, 1])
ones, x = [[[[1, 1]]]], [[[[1, 2, 3, NAN], [2, 2, NAN, 3]]]]
test = "Pool2dGrad.GoesToTheFirstMaximum"
how = {"ksize": [2, 2], "strides": [2, 2]}
out, grad = [[[[2, NAN]]]], [[[[0, 1, 0, 1], [0, 0, 0, 0]]]]
row(test, "pool2d_grad", X=x, Out=np.float32(out), Out_GRAD=ones, X_GRAD=grad,
    **how)
x = np.zeros((1, 3, 3, 1), "f4")
out = np.zeros((1, 3, 1, 1), "f4")
grad = [[[[1], [0], [0]]] * 3]
how = {"ksize": [2, 1], "strides": [2, 1]}
row(test, "pool2d_grad", X=x, Out=out, Out_GRAD=out + 1, X_GRAD=grad, **how)
test = "Pool2dGrad.NeedsOutOnlyForMaxima"
how = {"ksize": [1, 2], "pooling_type": "avg"}
row(test, "pool2d_grad", X=[[[[1, 2]]]], Out_GRAD=[[[[6]]]],
    X_GRAD=[[[[3, 3]]]], **how)

test = "Pool3d.WindowsOfNothingHaveNoMaximum"
how = {
    "ksize": [1, 1, 2], "dilations": [1, 1, 4], "paddings": [0, 0, 2],
    "X": [[[[[3]]]]],
}
row(test, "pool3d", Out=[[[[[-INF]]]]], **how)
row(test, "pool3d", Out=[[[[[NAN]]]]], pooling_type="avg", **how)
row(test, "pool3d", Out=[[[[[0]]]]], pooling_type="avg", exclusive=False, **how)
x = np.float32([1, 5, 5, 2, 5, 0, 7, NAN, 1, NAN, 0, 9]).reshape(1, 2, 1, 2, 3)
mask, how = np.reshape([1, 1, 7, 7], (1, 2, 1, 1, 2)), {"ksize": [1, 2, 2]}
row("Pool3d.MaskIsWhereTheFirstMaximumIs", "pool3d", X=x, Mask=mask, **how)

# Positions of samples.
at = np.float32([[NAN, 0], [INF, 0], [-INF, 0], [3e38, 0]]).reshape(1, 1, 4, 2)
for mode in "linear", "nearest", "cubic":
    test = "GridSample.PositionsMayBeAnything"
    how = {"mode": mode, "align_corners": False}
    how |= {"X": [[[[10, 20, 40, 80]]]], "Grid": at}
    out = [[[[NAN, 0, 0, 0]]]], [[[[NAN, 80, 10, 80]]]]
    row(test, "grid_sample", padding_mode="zeros", Out=out[0], **how)
    row(test, "grid_sample", padding_mode="border", Out=out[1], **how)
    how["Grid"] = at[:, :, 1:2]
    row(test, "grid_sample", padding_mode="reflection", Out=[[[[NAN]]]], **how)


def resized(test, x, out, of="float64", near=0.0, **how):
    names = {
        "coordinates": "coordinate_transformation_mode",
        "rounding": "nearest_mode",
    }
    how = {names.get(name, name): value for name, value in how.items()}
    row(test, "resize", of, near, X=x, Out=out, **how)


# Element j is at j / 2 for any size.
test = "Resize.TakesSizesAndScalesTogether"
how = {"sizes": [4], "scales": [2.0]}
how |= {"coordinates": "asymmetric", "rounding": "floor"}
resized(test, [1, 2, 3], [1, 1, 2, 2], **how)
# Far outside of X the nearest element counts, and no sum of weights is 0.
how = {
    "sizes": [9], "scales": [1e-300], "mode": "cubic", "exclude_outside": True,
}
resized(test, [1, 2], [2] * 9, **how)
test = "Resize.TakesSizesFromATensor"
resized(test, [1, 2], [1, 1, 2, 2], "float32", Sizes=[4])
resized(test, [1, 2], [1, 1, 2], "float32", Scales=np.float32([1.5]))
# Weights 1, 3, 3 and 1, without that of the element outside of X.
test = "Resize.AFilterAgainstAliasingReadsAllElements"
how = {"mode": "linear", "antialias": True, "exclude_outside": True}
out = [(3 * 8 + 1 * 16) / 7, (1 * 8 + 3 * 16 + 3 * 24) / 7]
resized(test, [0, 8, 16, 24], out, near=1e-13, sizes=[2], **how)
# A scale that no element of Out uses takes no time.
resized(test, [3] * 4000, [3], near=1e-12, sizes=[1], scales=[1e-300], **how)

# Determinants.
test = "Determinant.TheProductOfPivotsStaysInTheRange"
for dtype, diagonal, out in [
    ("float64", [1e300, 1e300, 1e-300, 1e-300], 1),
    ("float32", [1e-30, 1e-30, 1e-30, 1e30], 0),
    ("float32", [1e30, 1e30, 1e-30, 1e-30], 1),
]:
    x = np.diag(diagonal).astype(dtype)
    row(test, "determinant", near=1e-6, X=x, Out=out)
for at in range(9):
    for others in 0.0, 1.0:
        x = np.where(np.arange(9) == at, NAN, others).reshape(3, 3)
        row("Determinant.NanIsKeptWhereverItIs", "determinant", X=x, Out=NAN)
for x, grad in [
    ([[1, 2], [2, 4]], [[4, -2], [-2, 1]]),
    ([[0, 0], [0, 3]], [[3, 0], [0, 0]]),
    ([[1, 1, 0], [1, 1, 0], [0, 0, 1]], [[1, -1, 0], [-1, 1, 0], [0, 0, 0]]),
    ([[0, 0, 0], [0, 5, 0], [0, 0, 0]], [[0] * 3] * 3), ([[0]], [[1]]),
]:
    test = "Determinant.SingularMatricesHaveGradients"
    how = {"Out_GRAD": 1, "X_GRAD": grad}
    row(test, "determinant_grad", "float64", X=x, **how)

# The last of 10,007 roots of unity, a prime: each sum has one term of it.
x, angle = np.zeros((1, 10007, 1)), 2 * np.pi * np.arange(10007) / 10007
x[0, -1], out = 1, np.stack([np.cos(angle), np.sin(angle)], -1)[None]
row("Dft.LongPrimeLengthsKeepTheirDigits", "dft", close=1e-13, X=x, Out=out)

x, y, out = [[1, 2]], [[0, 3]], [[2]]
for grad in {"X_GRAD": [[2, -2]]}, {"Y_GRAD": [[-2, 2]]}:
    test = "ManhattanDistanceGrad.OneGradientAlone"
    row(test, "manhattan_distance_grad", X=x, Y=y, Out_GRAD=out, **grad)
