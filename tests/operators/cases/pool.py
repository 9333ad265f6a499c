"""Maxima and means of windows, and of channels."""

import numpy as np

from .case import Tensor, case, outputs_of, with_grads
from .conv import channels_back, channels_first


def windows_of(size, kernel, stride, before, after, dilation, ceil_mode):
    """(elements, their number with those in the padding) along one axis."""
    reach, found = (kernel - 1) * dilation, []
    for at in range(-before, size, stride):
        if at + reach >= size + after and not ceil_mode:
            break
        taps = at + dilation * np.arange(kernel)
        inside = taps[(taps >= 0) & (taps < size)]
        found.append((inside, (taps < size + after).sum()))
        if at + reach >= size + after - 1:
            break
    return found


class Pool:
    """The windows of an image or a volume, channels first."""

    def __init__(self, x, attributes):
        sizes = x.shape[2:]
        rank = len(sizes)
        if attributes.get("global_pooling"):
            axes = [[(np.arange(size), size)] for size in sizes]
        else:
            pads = attributes["paddings"]
            pads = pads if len(pads) == 2 * rank else np.repeat(pads, 2)
            axes = [
                windows_of(*numbers, attributes["ceil_mode"])
                for numbers in zip(
                    sizes,
                    attributes["ksize"],
                    attributes["strides"],
                    pads[::2],
                    pads[1::2],
                    attributes.get("dilations", [1] * rank),
                )
            ]
        self.axes, self.dims = axes, [len(axis) for axis in axes]
        self.exclusive = attributes["exclusive"]
        self.is_max = attributes["pooling_type"] == "max"

    def __iter__(self):
        """(window, its pixels, the divisor of its mean): two indices."""
        for index in np.ndindex(*self.dims):
            taps = [axis[i] for axis, i in zip(self.axes, index)]
            pixels = (..., *np.ix_(*(inside for inside, _ in taps)))
            count = [len(inside) if self.exclusive else n for inside, n in taps]
            yield (..., *index), pixels, np.prod(count)


def in_rows(window):
    """The pixels of each channel's window in a row."""
    return window.reshape(*window.shape[:2], int(np.prod(window.shape[2:])))


def pooled(x, attributes):
    pool = Pool(x, attributes)
    out = np.zeros((*x.shape[:2], *pool.dims))
    mask = np.full(out.shape, -1)
    places = np.arange(x.size).reshape(x.shape)
    for window, pixels, count in pool:
        rows = in_rows(x[pixels])
        if not pool.is_max:
            out[window] = rows.sum(-1) / count
        elif rows.size:
            best = rows.argmax(-1)[..., None]
            out[window] = np.take_along_axis(rows, best, -1)[..., 0]
            mask[window] = np.take_along_axis(in_rows(places[pixels]), best, -1)[..., 0]
    return {"Out": out, "Mask": mask}


def pooled_grad(x, grad, attributes):
    """A maximum's gradient goes to the first of equal elements."""
    pool = Pool(x, attributes)
    if pool.is_max:
        places = pooled(x, attributes)["Mask"].ravel()
        return np.bincount(places, grad.ravel(), x.size).reshape(x.shape)
    x_grad = np.zeros(x.shape)
    for window, pixels, count in pool:
        spread = grad[window].reshape(*x.shape[:2], *(1 for _ in pool.dims))
        x_grad[pixels] += spread / count
    return x_grad


TYPES = [("max", True), ("avg", True), ("avg", False)]


def images(make):
    pairs = {"ksize": [2, 2], "strides": [2, 2]}
    for (n, c, h, w), attributes in [
        ([2, 3, 4, 6], pairs),
        ([1, 5, 7, 9], pairs),
        ([2, 2, 5, 6], {"ksize": [3, 2], "strides": [2, 1]}),
        ([1, 3, 5, 4], {"ksize": [3, 3], "strides": [2, 2], "paddings": [1, 1]}),
        ([1, 2, 4, 5], {"ksize": [2, 3], "paddings": [1, 0, 2, 1]}),
        ([2, 1, 6, 8], {"ksize": [3, 2], "strides": [4, 3], "ceil_mode": True}),
        (
            [1, 2, 5, 5],
            {
                "ksize": [3, 3],
                "strides": [3, 3],
                "paddings": [1, 2],
                "ceil_mode": True,
            },
        ),
        ([2, 3, 3, 5], {"global_pooling": True}),
        ([1, 1, 1, 1], {"ksize": [1, 1]}),
        ([0, 3, 4, 4], pairs),
        ([2, 0, 4, 4], pairs),
        ([3, 19, 30, 30], pairs),
        ([2, 131, 15, 9], pairs),
        ([1, 2, 3, 301], {"ksize": [2, 2], "paddings": [1, 1]}),
    ]:
        for data_format, dims in ("NCHW", [n, c, h, w]), ("NHWC", [n, h, w, c]):
            for pooling_type, exclusive in TYPES:
                yield {
                    "X": make.values(*dims),
                    "data_format": data_format,
                    "pooling_type": pooling_type,
                    "exclusive": exclusive,
                    **attributes,
                }


@case("pool2d", images)
def pool2d(x, data_format, attributes):
    out = pooled(channels_first(x, data_format), attributes)["Out"]
    return channels_back(out, data_format)


# The defaults of pool2d, for the shapes and maxima of the gradient's examples.
DEFAULTS = {"strides": [1, 1], "paddings": [0, 0], "ceil_mode": False}


def images_with_grads(make):
    for example in list(images(make)):
        out = outputs_of(pool2d, DEFAULTS | example)["Out"]
        if example["pooling_type"] == "max":
            example["Out"] = Tensor(out)
        yield example | {"Out@GRAD": make.values(*out.shape)}


@case("pool2d_grad", images_with_grads, slack=4)
def pool2d_grad(x, out_grad, data_format, attributes):
    x = channels_first(x, data_format)
    grad = channels_first(out_grad, data_format)
    return {"X@GRAD": channels_back(pooled_grad(x, grad, attributes), data_format)}


def volumes(make):
    two = [2, 2, 2]
    for x, attributes in [
        ([1, 2, 4, 5, 6], {"ksize": two, "strides": two}),
        (
            [2, 1, 3, 4, 7],
            {
                "ksize": [1, 2, 3],
                "dilations": [1, 3, 2],
                "paddings": [0, 0, 1, 0, 2, 1],
            },
        ),
        ([1, 1, 5, 5, 5], {"ksize": two, "strides": [3, 3, 2], "ceil_mode": True}),
        ([1, 1, 1, 1, 1], {"ksize": [1, 1, 1]}),
        ([0, 3, 2, 2, 2], {"ksize": two}),
        ([3, 11, 9, 13, 21], {"ksize": two, "strides": two}),
    ]:
        for pooling_type, exclusive in TYPES:
            yield {
                "X": make.values(*x),
                "pooling_type": pooling_type,
                "exclusive": exclusive,
                **attributes,
            }


@case("pool3d", volumes)
def pool3d(x, attributes):
    return pooled(x, attributes)


def volumes_with_grads(make):
    defaults = {"strides": [1] * 3, "paddings": [0] * 3, "ceil_mode": False}
    for example in list(volumes(make)):
        out = outputs_of(pool3d, defaults | example)["Out"]
        yield example | {"Out@GRAD": make.values(*out.shape)}


@case("pool3d_grad", volumes_with_grads)
def pool3d_grad(x, out_grad, attributes):
    return {"X@GRAD": pooled_grad(x, out_grad, attributes)}


def channel_groups(make):
    for dims, groups in [
        ([2, 6, 3, 5], 3),
        ([1, 4, 1, 1], 4),
        ([3, 5, 2, 2], 1),
        ([1, 1, 1, 1], 1),
        ([0, 4, 3, 3], 2),
        ([2, 0, 3, 3], 2),
        ([2, 4, 0, 3], 2),
        ([2, 4, 3, 0], 2),
        ([5, 14, 31, 33], 2),
    ]:
        yield {"X": make.values(*dims), "groups": groups}


def split(x, groups):
    return x.reshape(len(x), x.shape[1] // groups, groups, *x.shape[2:])


@case("maxout", channel_groups)
def maxout(x, groups):
    return split(x, groups).max(2)


@case("maxout_grad", with_grads(channel_groups, maxout))
def maxout_grad(x, out_grad, groups):
    """The gradient goes to the first of equal channels."""
    x_grad = np.zeros(split(x, groups).shape)
    best = np.expand_dims(split(x, groups).argmax(2), 2)
    np.put_along_axis(x_grad, best, np.expand_dims(out_grad, 2), 2)
    return {"X@GRAD": x_grad.reshape(x.shape)}
