"""Ops that interpolate between elements."""

import numpy as np

from .case import Tensor, case, with_grads

COORDINATES = [
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
# (dims, sizes or None, scales or None)
SIZES = [
    ([2, 3, 4], [2, 5, 3], None),
    ([1, 5, 4], None, [1.0, 0.625, 2.375]),
    ([4, 3], [6, 5], [1.75, 1.5]),
    ([3, 1, 1], [1, 7, 1], None),
    ([], None, None),
    ([2, 0, 3], None, [1.0, 2.0, 2.0]),
]
ANTIALIASED = [
    ([2, 9, 4], [2, 4, 7], None),
    ([3, 23], None, [0.7, 0.125]),
    ([7, 1], [1, 1], None),
]
SCALED = [
    ([1, 2, 3, 5], [1.0, 1.0, 2.0, 2.0]),
    ([2, 3, 3], [1.0, 3.0, 3.0]),
    ([2, 17], [1.0, 4.0]),
    ([2, 1, 2, 3], [3.0, 2.0, 1.0, 1.0]),
    ([3, 5, 7], [1.0, 2.0, 1.0]),
    ([3, 37, 41], [1.0, 2.0, 2.0]),
    ([2, 61, 53, 3], [1.0, 0.5, 1.75, 1.0]),
    ([301], [3.25]),
]


def resized(make, dims, sizes, scales, **attributes):
    example = {"X": make.values(*dims)}
    if sizes:
        example["sizes"] = sizes
    if scales:
        example["scales"] = scales
    return example | attributes


def resizes(make):
    for mode in "nearest", "linear", "cubic":
        if mode != "nearest" and not make.kind["float"]:
            continue
        for number, coordinates in enumerate(COORDINATES):
            attributes = {
                "mode": mode,
                "coordinate_transformation_mode": coordinates,
                "nearest_mode": ROUNDINGS[number % 4],
                "exclude_outside": number % 2 == 1,
            }
            for how in SIZES:
                yield resized(make, *how, **attributes)
            for how in ANTIALIASED if mode != "nearest" else []:
                yield resized(make, *how, antialias=True, **attributes)
        for roi in [
            [0.0, -0.25, 0.25, 1.0, 0.75, 1.25],
            [0.0, 0.9, 1.5, 1.0, 0.2, -0.25],
        ]:
            if mode != "nearest":
                yield resized(
                    make,
                    [2, 5, 6],
                    [2, 7, 4],
                    None,
                    mode=mode,
                    coordinate_transformation_mode="tf_crop_and_resize",
                    roi=roi,
                    extrapolation_value=7.0,
                )
        for dims, scales in SCALED:
            yield resized(
                make,
                dims,
                None,
                scales,
                mode=mode,
                coordinate_transformation_mode="asymmetric",
                nearest_mode="floor",
                cubic_coeff_a=-0.5,
            )


class Axis:
    """How one axis of X is resized."""

    def __init__(self, axis, size, attributes):
        self.axis, self.size, self.attributes = axis, size, attributes
        sizes, scales = attributes.get("sizes"), attributes.get("scales")
        # Of Out, before it is rounded down.
        self.length = size * scales[axis] if scales else float(sizes[axis])
        self.out_size = sizes[axis] if sizes else int(self.length)
        self.scale = self.length / max(size, 1)
        self.mode = attributes.get("coordinate_transformation_mode")

    def positions(self):
        """Those of Out's elements in X, as ONNX defines them."""
        j = np.arange(self.out_size)
        part = j / (self.length - 1) if self.length != 1 else None
        if self.mode == "align_corners":
            return 0.0 * j if part is None else part * (self.size - 1)
        if self.mode == "asymmetric":
            return j / self.scale
        if self.mode == "tf_crop_and_resize":
            roi = np.reshape(self.attributes["roi"], (2, -1))[:, self.axis]
            part = 0.5 if part is None else part
            return (roi[0] + part * (roi[1] - roi[0])) * (self.size - 1)
        if self.mode == "pytorch_half_pixel" and self.out_size == 1:
            return 0.0 * j
        half = (j + 0.5) / self.scale - 0.5
        if self.mode == "half_pixel_symmetric" and self.length:
            half += self.size / 2 * (1 - self.out_size / self.length)
        return half

    def weights(self):
        """Those of X's elements for each element of Out: [out, in]."""
        x, size = self.positions(), self.size
        exclude = self.attributes["exclude_outside"]
        antialias = self.attributes["antialias"]
        if self.attributes["mode"] == "nearest":
            return one_hot(rounded(x, self.attributes["nearest_mode"]), size)
        near = min(1.0, self.scale) if antialias else 1.0
        margin = 0 if exclude else 99 if antialias else 9
        i = np.arange(-margin, size + margin)
        weights = weight((x[:, None] - i) * near, self.attributes)
        weights = weights @ one_hot(i, size)
        if exclude or near != 1:
            weights /= weights.sum(1, keepdims=True)
        if self.mode == "tf_crop_and_resize":
            weights[(x < 0) | (x > size - 1)] = 0
        return weights


def rounded(x, nearest_mode):
    return {
        "floor": np.floor(x),
        "ceil": np.ceil(x),
        "round_prefer_floor": np.ceil(x - 0.5),
        "round_prefer_ceil": np.floor(x + 0.5),
    }[nearest_mode]


def one_hot(i, size):
    """Those outside are the elements at the ends."""
    return (np.clip(i, 0, size - 1)[:, None] == np.arange(size)).astype(float)


def weight(distance, attributes):
    x, a = np.abs(distance), attributes["cubic_coeff_a"]
    if attributes["mode"] == "linear":
        return np.maximum(0, 1 - x)
    near = (a + 2) * x**3 - (a + 3) * x**2 + 1
    far = a * (x**3 - 5 * x**2 + 8 * x - 4)
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def applied(matrix, axis, x):
    return np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)


@case("resize", resizes, slack=8)
def resize(x, attributes):
    for axis, size in enumerate(x.shape):
        weights = Axis(axis, size, attributes).weights()
        x = applied(weights, axis, x)
        outside = ~weights.any(1)
        np.moveaxis(x, axis, 0)[outside] = attributes["extrapolation_value"]
    return x


def resize_grads(make):
    for example in list(resizes(make)):
        sizes = enumerate(example["X"].values.shape)
        out = [Axis(axis, size, example).out_size for axis, size in sizes]
        yield example | {"Out@GRAD": make.values(*out)}


@case("resize_grad", resize_grads, slack=8)
def resize_grad(x, out_grad, attributes):
    for axis, size in enumerate(x.shape):
        weights = Axis(axis, size, attributes).weights()
        out_grad = applied(weights.T, axis, out_grad)
    return {"X@GRAD": out_grad}


def samples(make):
    number = 0
    for x, grid in [
        ([2, 3, 4, 5], [2, 3, 2, 2]),
        ([1, 2, 3, 2, 4], [1, 2, 3, 2, 3]),
        ([1, 1, 1, 1], [1, 1, 1, 2]),
        ([2, 0, 3, 3], [2, 2, 2, 2]),
        ([1, 1, 3, 3], [1, 0, 2, 2]),
        ([2, 2, 9, 7], [2, 31, 17, 2]),
    ]:
        for mode in "linear", "nearest", "cubic":
            for padding in "zeros", "border", "reflection":
                # Positions in eighths, some of them outside.
                positions = make.integers("T", grid, -13, 13).values
                # Small ones for cubic, so that differences are exact to 1e-7.
                elements = make.values(*x).values
                number += 1
                yield {
                    "X": Tensor(elements / (32 if mode == "cubic" else 1)),
                    "Grid": Tensor(positions / 8 + 1 / 64),
                    "mode": mode,
                    "padding_mode": padding,
                    "align_corners": number % 2 == 1,
                }


def mirrored(x, low, high):
    """Step by step, with the sign of the derivative."""
    sign = np.ones(x.shape)
    if low == high:
        return np.full(x.shape, low), sign
    while ((x < low) | (x > high)).any():
        sign = np.where((x < low) | (x > high), -sign, sign)
        x = np.where(x < low, 2 * low - x, np.where(x > high, 2 * high - x, x))
    return x, sign


def kernel(t, mode):
    """The places of elements around a position, their weights and the
    derivatives of these."""
    ones = np.ones(t.shape)
    if mode == "nearest":
        return [0], [ones], [0 * ones]
    if mode == "linear":
        return [0, 1], [1 - t, t], [-ones, ones]
    # The four polynomials of a cubic convolution with a = -3/4.
    factors = np.array(
        [
            [0, -0.75, 1.5, -0.75],
            [1, 0, -2.25, 1.25],
            [0, 0.75, 1.5, -1.25],
            [0, 0, -0.75, 0.75],
        ]
    )
    slopes = factors[:, 1:] * [1, 2, 3]
    powers = t ** np.arange(4)[:, None]
    return [-1, 0, 1, 2], factors @ powers, slopes @ powers[:3]


def line_weights(position, size, mode, padding_mode, align_corners):
    """The weights of a line's elements at each position, and their derivatives
    by it: two of [position, element]."""
    low, last = 0.0 if align_corners else -0.5, size - 1
    slope = np.full(position.shape, (last - 2 * low) / 2)
    x = (position + 1) * slope + low
    if mode == "nearest":
        x = np.rint(x)
    if padding_mode == "border":
        outside = (x < low) | (x > last - low)
        slope[outside] = 0
        x[outside] = np.clip(x, 0, last)[outside]
    if padding_mode == "reflection":
        x, sign = mirrored(x, low, last - low)
        slope = slope * sign
    taps, *factors = kernel(x - np.floor(x), mode)
    at = np.floor(x) + np.array(taps)[:, None]
    inside = (at >= 0) & (at <= last)
    if padding_mode == "reflection":
        at = mirrored(at, low, last - low)[0]
    if padding_mode != "zeros":
        inside[:] = True
    taken = np.clip(at, 0, last)[..., None] == np.arange(size)
    taken &= inside[..., None]
    weights, slopes = (
        (np.array(one)[..., None] * taken).sum(0) for one in factors
    )
    return weights, slope[:, None] * slopes


def lines(x, grid, attributes):
    """(image, its points, weights and slopes of each axis) for each image."""
    names = "mode", "padding_mode", "align_corners"
    how = [attributes[name] for name in names]
    for number, (image, points) in enumerate(zip(x, grid)):
        # The last axis is the first coordinate.
        positions = points.reshape(-1, points.shape[-1]).T[::-1]
        found = [
            line_weights(position, size, *how)
            for position, size in zip(positions, image.shape[1:])
        ]
        yield number, image, *zip(*found)


def sampled(image, weights):
    """[point, channel]."""
    out = np.broadcast_to(image, (len(weights[0]), *image.shape))
    for of_axis in weights:
        out = np.einsum("pi,pci...->pc...", of_axis, out)
    return out


@case("grid_sample", samples, slack=4)
def grid_sample(x, grid, attributes):
    out = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for number, image, weights, _ in lines(x, grid, attributes):
        out[number] = sampled(image, weights).T.reshape(out.shape[1:])
    return out


@case("grid_sample_grad", with_grads(samples, grid_sample), slack=64)
def grid_sample_grad(x, grid, out_grad, attributes):
    x_grad, grid_grad = np.zeros(x.shape), np.zeros(grid.shape)
    for number, image, weights, slopes in lines(x, grid, attributes):
        grad = out_grad[number].reshape(len(image), len(weights[0])).T
        spread = grad
        for of_axis in weights:
            spread = np.einsum("p...,pi->p...i", spread, of_axis)
        x_grad[number] = spread.sum(0)
        for axis, of_axis in enumerate(slopes):
            changed = [*weights[:axis], of_axis, *weights[axis + 1 :]]
            sums = (grad * sampled(image, changed)).sum(1)
            coordinate = grid_grad[number, ..., len(weights) - 1 - axis]
            coordinate[:] = sums.reshape(coordinate.shape)
    return {"X@GRAD": x_grad, "Grid@GRAD": grid_grad}


AFFINE = [
    [2, 1, 3, 4],
    [1, 2, 2, 3, 4],
    [1, 1, 1, 1],
    [0, 1, 2, 2],
    [2, 1, 0, 3],
    [2, 1, 90, 41],
]


def affine_grids(make):
    for size in AFFINE:
        rank = len(size) - 2
        for align_corners in False, True:
            yield {
                "Theta": make.values(size[0], rank, rank + 1),
                "size": size,
                "align_corners": align_corners,
            }


def points(sizes, align_corners):
    """The coordinates of pixels, from the last dim on, and 1."""
    axes = []
    for size in sizes:
        axis = (np.arange(size) + 0.5) * 2 / size - 1
        if align_corners:
            axis = np.linspace(-1, 1, size) if size > 1 else np.zeros(size)
        axes.append(axis)
    mesh = np.meshgrid(*axes, indexing="ij")
    return np.stack([*mesh[::-1], np.ones(sizes)], -1)


@case("affine_grid", affine_grids, slack=4)
def affine_grid(theta, size, align_corners):
    pixels = points(size[2:], align_corners)
    return np.einsum("nrk,...k->n...r", theta, pixels)


def affine_grid_grads(make):
    for dims in [
        [2, 3, 4, 2],
        [1, 2, 3, 4, 3],
        [1, 1, 1, 2],
        [0, 2, 2, 2],
        [2, 0, 3, 2],
        [2, 90, 41, 2],
    ]:
        for align_corners in False, True:
            grad = make.values(*dims)
            yield {"Out@GRAD": grad, "align_corners": align_corners}


@case("affine_grid_grad", affine_grid_grads, slack=64)
def affine_grid_grad(out_grad, align_corners):
    pixels = points(out_grad.shape[1:-1], align_corners)
    rank = out_grad.ndim - 2
    count = int(np.prod(out_grad.shape[1:-1]))
    grads = out_grad.reshape(len(out_grad), count, rank)
    pixels = pixels.reshape(count, rank + 1)
    return {"Theta@GRAD": np.einsum("npr,pk->nrk", grads, pixels)}


def regions(make):
    """Places are multiples of 1/8, so that they are exact."""
    number = 0
    for x, count in [
        ([2, 3, 6, 9], 3),
        ([1, 1, 1, 1], 1),
        ([1, 2, 5, 4], 0),
        ([3, 17, 20, 12], 11),
    ]:
        for mode in "avg", "max":
            for coordinates in "half_pixel", "output_half_pixel":
                number += 1
                corner = make.integers("T", [count, 2], -16, 40).values / 8
                size = make.integers("T", [count, 2], 2, 50).values / 8
                yield {
                    "X": make.values(*x),
                    "Rois": Tensor(np.concatenate([corner, corner + size], 1)),
                    "BatchIndices": make.integers("int64", [count], 0, x[0] - 1),
                    "mode": mode,
                    "coordinate_transformation_mode": coordinates,
                    "pooled_height": 4,
                    "pooled_width": 2,
                    "sampling_ratio": number % 3,
                    "spatial_scale": 0.5 if number % 2 else 1.0,
                }


def region_weights(begin, end, parts, ratio, size):
    """[point, pixel]: the weights of the two pixels around each point."""
    part = (end - begin) / parts
    count = ratio or int(np.ceil(part))
    places = begin + (np.arange(parts * count) + 0.5) * part / count
    near = (places >= -1) & (places <= size)
    places = np.clip(places, 0, size - 1)
    low = np.floor(places).astype(int)
    rows = np.arange(len(places))
    weights = np.zeros((2, len(places), size))
    weights[0, rows, low] = 1 - (places - low)
    weights[1, rows, np.minimum(low + 1, size - 1)] = places - low
    return weights * near[:, None]


def times(weights, axis, x):
    """The sums of weights [point, pixel] with pixels along an axis; those whose
    weight is 0 do not count."""
    taken = np.moveaxis(x, axis, -1)[..., None, :]
    with np.errstate(invalid="ignore"):
        terms = np.where(weights == 0, 0, weights * taken)
    return np.moveaxis(terms.sum(-1), -1, axis)


@case("roi_align", regions, slack=8)
def roi_align(x, rois, batch_indices, attributes):
    sizes = [attributes["pooled_height"], attributes["pooled_width"]]
    moved = attributes["coordinate_transformation_mode"] == "half_pixel"
    out = np.zeros((len(rois), x.shape[1], *sizes))
    for number, (roi, image) in enumerate(zip(rois, batch_indices)):
        roi = roi * attributes["spatial_scale"] - (0.5 if moved else 0)
        rows, columns = (
            region_weights(
                roi[at],
                roi[at + 2] if moved else max(roi[at + 2], roi[at] + 1),
                sizes[1 - at],
                attributes["sampling_ratio"],
                x.shape[3 - at],
            )
            for at in (1, 0)
        )
        # [2, 2, channel, point down, point to the right]: the four terms
        terms = np.array(
            [[times(c, 2, times(r, 1, x[image])) for c in columns] for r in rows]
        )
        parts = terms.reshape(
            4,
            x.shape[1],
            sizes[0],
            terms.shape[3] // sizes[0],
            sizes[1],
            terms.shape[4] // sizes[1],
        )
        if attributes["mode"] == "max":
            out[number] = parts.max((0, 3, 5))
        else:
            out[number] = parts.sum(0).mean((2, 4))
    return out
