"""Convolutions, pooling and batch norm."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from .case import Case, case, distinct, odd, torch
from .case import functional as F


@dataclass
class Window:
    kernel: Any = (3, 3)
    stride: Any = (1, 1)
    padding: Any = (0, 0)
    dilation: Any = (1, 1)
    groups: int = 1
    bias: bool = True
    more: Any = (0, 0)  # output_padding

    def attributes(self, layout):
        return {
            "strides": list(self.stride),
            "paddings": list(self.padding),
            "dilations": list(self.dilation),
            "groups": self.groups,
            "data_format": layout,
        }

    def pad(self, x, value):
        """Pads by four numbers, which PyTorch's ops do not support."""
        if len(self.padding) == 2:
            return x, self.padding
        top, bottom, left, right = self.padding
        return F.pad(x, (left, right, top, bottom), value=value), (0, 0)


def laid_out(layout, image):
    return image if layout == "NCHW" else image.transpose(0, 2, 3, 1)


def from_layout(layout, t):
    return t if layout == "NCHW" else t.permute(0, 3, 1, 2)


def to_layout(layout, t):
    return t if layout == "NCHW" else t.permute(0, 2, 3, 1)


CONVOLUTIONS = (
    Window(),
    Window(kernel=(1, 1), bias=False),
    Window(kernel=(5, 3), padding=(2, 1)),
    Window(stride=(2, 3), padding=(1, 1)),
    Window(dilation=(2, 3), padding=(2, 3)),
    Window(groups=3, padding=(1, 1)),
    Window(kernel=(2, 3), stride=(3, 2), groups=3, dilation=(1, 2)),
    Window(padding=(2, 0, 1, 3), stride=(2, 1)),
    Window(kernel=(7, 7), padding=(3, 3), stride=(4, 4), bias=False),
)


@case("conv2d", *itertools.product(CONVOLUTIONS, ("NCHW", "NHWC")))
def conv2d(rng, window, layout):
    n, c, filters = odd(rng, 3, 5)
    h, w = (s + 8 for s in odd(rng, 2, 7))
    channels = c * window.groups
    inputs = {
        "Input": laid_out(layout, rng.standard_normal((n, channels, h, w))),
        "Filter": rng.standard_normal(
            (filters * window.groups, c, *window.kernel)
        ),
    }
    if window.bias:
        inputs["Bias"] = rng.standard_normal(filters * window.groups)

    def same(t):
        x, padding = window.pad(from_layout(layout, t["Input"]), 0.0)
        out = F.conv2d(
            x, t["Filter"], t.get("Bias"), window.stride, padding,
            window.dilation, window.groups,
        )
        return {"Output": to_layout(layout, out)}

    return Case(inputs, same, window.attributes(layout), tuple(inputs))


TRANSPOSED = (
    Window(),
    Window(kernel=(2, 2), stride=(2, 2)),
    Window(kernel=(1, 3), stride=(1, 3), bias=False),
    Window(kernel=(1, 1)),
    Window(stride=(2, 3), padding=(1, 0), more=(1, 2)),
    Window(kernel=(4, 3), stride=(2, 1), padding=(1, 1), groups=3),
    Window(kernel=(2, 2), stride=(2, 2), groups=2),
    Window(dilation=(2, 3), stride=(3, 2), more=(2, 1), bias=False),
)


@case("conv2d_transpose", *itertools.product(TRANSPOSED, ("NCHW", "NHWC")))
def conv2d_transpose(rng, window, layout):
    n, c, filters = odd(rng, 3, 5)
    h, w = (s + 1 for s in odd(rng, 2, 7))
    channels = c * window.groups
    inputs = {
        "Input": laid_out(layout, rng.standard_normal((n, channels, h, w))),
        "Filter": rng.standard_normal((channels, filters, *window.kernel)),
    }
    if window.bias:
        inputs["Bias"] = rng.standard_normal(filters * window.groups)

    def same(t):
        out = F.conv_transpose2d(
            from_layout(layout, t["Input"]), t["Filter"], t.get("Bias"),
            window.stride, window.padding, window.more, window.groups,
            window.dilation,
        )
        return {"Output": to_layout(layout, out)}

    attrs = window.attributes(layout) | {"output_padding": list(window.more)}
    return Case(inputs, same, attrs, tuple(inputs))


# Modes of PyTorch, and their names here.
RESIZES = {
    "nearest": ("nearest", "asymmetric", "floor"),
    "nearest-exact": ("nearest", "half_pixel", "round_prefer_ceil"),
    "bilinear": ("linear", "half_pixel", "floor"),
    "bicubic": ("cubic", "half_pixel", "floor"),
}


@case("resize", *itertools.product(RESIZES, (False, True), (False, True)))
def resize(rng, mode, corners, by_scales):
    n, c, h, w = odd(rng, 4, 7)
    x = distinct(rng, (n, c, h + 2, w + 2))
    kind, coordinates, rounding = RESIZES[mode]
    corners = corners and kind != "nearest"
    by_scales = by_scales and not corners
    sizes = [int(size) + 1 for size in odd(rng, 2, 15)]
    scales = [2.0, 1.5]
    options = {"align_corners": corners} if kind != "nearest" else {}
    if by_scales:
        options |= {"scale_factor": scales, "recompute_scale_factor": False}
        attrs = {"scales": [1.0, 1.0, *scales]}
    else:
        options["size"] = sizes
        attrs = {"sizes": [n, c, *sizes]}
    attrs |= {
        "mode": kind,
        "nearest_mode": rounding,
        "coordinate_transformation_mode": (
            "align_corners" if corners else coordinates
        ),
    }
    return Case(
        {"X": x},
        lambda t: {"Out": F.interpolate(t["X"], mode=mode, **options)},
        attrs,
        ("X",),
    )


POOLS = (
    Window(kernel=(2, 2), stride=(2, 2)),
    Window(kernel=(3, 2), stride=(1, 3)),
    Window(kernel=(3, 3), stride=(2, 2), padding=(1, 1)),
    Window(kernel=(5, 3), stride=(3, 2), padding=(2, 1)),
)


@case("pool2d", *itertools.product(
    POOLS, ("NCHW", "NHWC"), (False, True), ("max", "avg", "avg_of_all")))
def pool2d(rng, window, layout, ceil, kind):
    n, c, h, w = odd(rng, 4, 7)
    x = laid_out(layout, distinct(rng, (n, c, h + 4, w + 4)))
    where = (window.kernel, window.stride, window.padding)

    def same(t):
        x = from_layout(layout, t["X"])
        if kind == "max":
            out = F.max_pool2d(x, *where, ceil_mode=ceil)
        else:
            out = F.avg_pool2d(x, *where, ceil, kind != "avg")
        return {"Out": to_layout(layout, out)}

    attrs = {
        "ksize": list(window.kernel),
        "strides": list(window.stride),
        "paddings": list(window.padding),
        "ceil_mode": ceil,
        "exclusive": kind == "avg",
        "pooling_type": kind[:3],
        "data_format": layout,
    }
    return Case({"X": x}, same, attrs, ("X",))


@case("batch_norm", *itertools.product(
    ("NCHW", "NHWC"), (False, True), (2, 4)))
def batch_norm(rng, layout, is_test, rank):
    c = odd(rng)[0]
    shape = [odd(rng)[0] + 4, c, *odd(rng, rank - 2)]
    x = rng.standard_normal(shape) * 2 + 1
    if layout == "NHWC":
        x = np.moveaxis(x, 1, -1)
    names = ("Scale", "Bias", "Mean")
    inputs = {"X": x} | {name: rng.standard_normal(c) for name in names}
    inputs["Variance"] = rng.uniform(0.5, 2, c)

    def same(t):
        x = t["X"] if layout == "NCHW" else t["X"].movedim(-1, 1)
        mean, variance = t["Mean"].clone(), t["Variance"].clone()
        y, saved_mean, saved_variance = torch.native_batch_norm(
            x, t["Scale"], t["Bias"], mean, variance, not is_test, 0.25, 1e-3
        )
        out = {"Y": y if layout == "NCHW" else y.movedim(1, -1)}
        out["MeanOut"] = mean
        if not is_test:
            out |= {"SavedMean": saved_mean, "SavedVariance": saved_variance}
            # PyTorch's running variance has Bessel's factor, n / (n - 1).
            axes = [i for i in range(rank) if i != 1]
            biased = x.var(axes, correction=0)
            out["VarianceOut"] = 0.75 * t["Variance"] + 0.25 * biased
        else:
            out["VarianceOut"] = variance
        return {k: v.detach() if k != "Y" else v for k, v in out.items()}

    attrs = {
        "momentum": 0.75,
        "epsilon": 1e-3,
        "is_test": is_test,
        "data_format": layout,
    }
    return Case(inputs, same, attrs, ("X", "Scale", "Bias"))


VOLUMES = (  # kernel, stride, padding, dilation, groups
    ((2, 3, 1), 1, 0, 1, 1),
    ((3, 2, 3), (2, 1, 3), (1, 0, 2), (1, 2, 2), 2),
)


def convolution(rng, sizes, filters, same, how, groups):
    """A case of a convolution of volumes with these sizes."""
    inputs = {"Input": rng.standard_normal((2, 2 * groups, *sizes))}
    inputs["Filter"] = rng.standard_normal(filters)
    inputs["Bias"] = rng.standard_normal(3 * groups)
    attrs = volume_attrs(*how, groups=groups)
    return Case(
        inputs, lambda t: {"Output": same(*t.values())}, attrs, tuple(inputs)
    )


@case("conv3d", *VOLUMES)
def conv3d(rng, kernel, *how_and_groups):
    *how, groups = how_and_groups

    def same(*tensors):
        return F.conv3d(*tensors, *how, groups)

    filters = (3 * groups, 2, *kernel)
    return convolution(rng, (6, 7, 8), filters, same, how, groups)


@case("conv3d_transpose", *VOLUMES)
def conv3d_transpose(rng, kernel, stride, padding, dilation, groups):
    def same(*tensors):
        how = stride, padding, 0, groups, dilation
        return F.conv_transpose3d(*tensors, *how)

    filters, how = (2 * groups, 3, *kernel), (stride, padding, dilation)
    return convolution(rng, (3, 4, 5), filters, same, how, groups)


def volume_attrs(stride, padding, dilation, **attrs):
    def three(number):
        return list(np.broadcast_to(number, 3).tolist())

    return {
        "strides": three(stride),
        "paddings": three(padding),
        "dilations": three(dilation),
        **attrs,
    }


@case("pool3d", *itertools.product(("max", "avg"), (False, True)))
def pool3d(rng, kind, ceil):
    stride, padding = (2, 3, 1), (1, 0, 1)
    dilation = (1, 2, 3) if kind == "max" else 1
    attrs = volume_attrs(
        stride, padding, dilation, ksize=[2, 3, 2], pooling_type=kind,
        ceil_mode=ceil, exclusive=False,
    )

    def same(t):
        window = ((2, 3, 2), stride, padding)
        if kind == "max":
            return {"Out": F.max_pool3d(t["X"], *window, dilation, ceil)}
        return {"Out": F.avg_pool3d(t["X"], *window, ceil)}

    x = distinct(rng, (2, 3, 7, 8, 9))
    return Case({"X": x}, same, attrs, ("X",))


@case("grid_sample", *itertools.product(
    ("linear", "nearest"), ("zeros", "border", "reflection"), (False, True)
))
def grid_sample(rng, mode, padding, corners):
    x = rng.standard_normal((2, 3, 5, 7))
    grid = rng.uniform(-2, 2, (2, 4, 6, 2))

    def same(t):
        theirs = "bilinear" if mode == "linear" else mode
        out = F.grid_sample(t["X"], t["Grid"], theirs, padding, corners)
        return {"Out": out}

    attrs = {
        "mode": mode, "padding_mode": padding, "align_corners": corners,
    }
    return Case({"X": x, "Grid": grid}, same, attrs, ("X", "Grid"))


@case("affine_grid", *itertools.product(
    ([2, 1, 3, 4], [2, 1, 3, 4, 5]), (False, True)
))
def affine_grid(rng, size, corners):
    theta = rng.standard_normal((2, len(size) - 2, len(size) - 1))

    def same(t):
        return {"Out": F.affine_grid(t["Theta"], size, corners)}

    attrs = {"size": size, "align_corners": corners}
    return Case({"Theta": theta}, same, attrs, ("Theta",))


@case("dft", *itertools.product((None, 6), (False, True)))
def dft(rng, length, inverse):
    x = rng.standard_normal((3, 9, 4, 2))

    def same(t):
        numbers = torch.view_as_complex(t["X"])
        transform = torch.fft.ifft if inverse else torch.fft.fft
        return {"Out": torch.view_as_real(transform(numbers, length, dim=1))}

    attrs = {"axis": 1, "inverse": inverse, "dft_length": length or 0}
    return Case({"X": x}, same, attrs, ("X",))
