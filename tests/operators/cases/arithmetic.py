"""Sums, means, scaled, cut and chosen numbers."""

import numpy as np

from .case import case, summed_like, with_grads
from .movement import SIZES


def terms(make):
    for dims in [3, 5], [], [1], [4, 0], [271, 301]:
        tensors = []
        for _ in range(3):
            tensors.append(make.values(*dims))
            yield {"X": list(tensors)}


@case("sum", terms)
def sum_(*x):
    return sum(x)


@case("mean", SIZES)
def mean(x):
    return x.mean()


@case("mean_grad", with_grads(SIZES, mean))
def mean_grad(x, out_grad):
    return {"X@GRAD": np.full(x.shape, out_grad / max(x.size, 1))}


def biases(make):
    for data_format in "NCHW", "NHWC":
        for dims in [
            [2, 3, 5, 7],
            [3, 1],
            [0, 4, 2],
            [2, 5, 0],
            [1, 1, 3, 1, 2],
            [17, 9, 31, 29],
        ]:
            channels = dims[1 if data_format == "NCHW" else -1]
            yield {
                "X": make.values(*dims),
                "Bias": make.values(channels),
                "data_format": data_format,
            }


def channel_axis(data_format):
    return 1 if data_format == "NCHW" else -1


@case("bias_add", biases)
def bias_add(x, bias, data_format):
    axis = channel_axis(data_format)
    return np.moveaxis(np.moveaxis(x, axis, -1) + bias, -1, axis)


def bias_grads(make):
    for example in list(biases(make)):
        dims = example["X"].values.shape
        yield {
            "Out@GRAD": make.values(*dims),
            "data_format": example["data_format"],
        }


@case("bias_add_grad", bias_grads, slack=4)
def bias_add_grad(out_grad, data_format):
    rows = np.moveaxis(out_grad, channel_axis(data_format), -1)
    sums = rows.sum(tuple(range(rows.ndim - 1)))
    return {"X@GRAD": out_grad, "Bias@GRAD": sums}


def scales(make):
    factor = -0.75 if make.kind["float"] else -3.0
    for dims, after in [
        ([3, 7], True),
        ([3, 7], False),
        ([1], True),
        ([], True),
        ([5, 0], True),
        ([131, 521], True),
        ([131, 521], False),
    ]:
        yield {
            "X": make.values(*dims),
            "scale": factor,
            "bias": 2.0,
            "bias_after_scale": after,
        }


@case("scale", scales)
def scale(x, scale, bias, bias_after_scale):
    return scale * x + (bias if bias_after_scale else scale * bias)


def printed(make):
    for example in SIZES(make):
        yield example | {"first_n": 1, "summarize": 1}


@case("print", printed)
def print_(x):
    return x


def cuts(make):
    # Between the float64 numbers of examples, which are multiples of 4e-4.
    aside = 4e-4 / 2
    for dims in [3, 7], [], [1], [5, 0], [2, 131, 521]:
        bounds = {"min": -0.5 + aside, "max": 0.75 + aside}
        yield {"X": make.values(*dims)} | bounds
    yield {"X": make.values(5)}


def clip(x, attributes):
    low = attributes.get("min", -np.inf)
    high = attributes.get("max", np.inf)
    if x.dtype.kind in "iu":
        low, high = np.ceil(low), np.floor(high)
    return np.minimum(high, np.maximum(low, x.astype(float)))


def clip_grad(x, out_grad, attributes):
    cut = (x < attributes["min"]) | (attributes["max"] < x)
    return {"X@GRAD": np.where(cut, 0, out_grad)}


case("clip", cuts)(clip)
case("clip_grad", with_grads(cuts, clip))(clip_grad)


def choices(make):
    for condition, x, y in [
        ([3, 5], [3, 5], [3, 5]),
        ([3, 1], [5], []),
        ([5], [2, 3, 5], [3, 1]),
        ([2, 1, 5], [3, 1], [2, 3, 1]),
        ([], [], []),
        ([], [1, 7], [3, 1]),
        ([0, 3], [3], [1, 1]),
        ([2, 1], [1, 0], []),
        ([251, 263], [251, 263], [263]),
        ([251, 1], [251, 263], []),
    ]:
        yield {
            "Condition": make.integers("bool", condition, 0, 1),
            "X": make.values(*x),
            "Y": make.values(*y),
        }


@case("where", choices)
def where(condition, x, y):
    return np.where(condition, x, y)


@case("where_grad", with_grads(choices, where), slack=4)
def where_grad(condition, x, y, out_grad):
    return {
        "X@GRAD": summed_like(np.where(condition, out_grad, 0), x),
        "Y@GRAD": summed_like(np.where(condition, 0, out_grad), y),
    }
