"""Convolutions of images and volumes, their gradients, and patches."""

import numpy as np

from .case import Tensor, case, compute, moves


class Windows:
    """The places of a filter in an image, in any number of dims.

    Args:
        sizes: of the image.
        counts: of the windows, dim by dim; default: all that fit.
    """

    def __init__(self, sizes, kernel, strides, paddings, dilations, counts=None):
        rank = len(sizes)
        if len(paddings) == rank:
            paddings = np.repeat(paddings, 2)
        self.pads = list(zip(paddings[::2], paddings[1::2]))
        self.sizes, self.kernel, self.strides = sizes, kernel, strides
        self.dilations = dilations
        self.counts = counts or [
            max((size + sum(pad) - dilation * (k - 1) - 1) // stride + 1, 0)
            for size, pad, k, stride, dilation in zip(
                sizes, self.pads, kernel, strides, dilations
            )
        ]

    def taps(self):
        """(tap, windows, pixels): a place in the filter, the windows in which it
        is inside of the image, and the pixels there. Slices, dim by dim."""
        for tap in np.ndindex(*self.kernel):
            windows, pixels = [], []
            for i, at in enumerate(tap):
                stride = self.strides[i]
                offset = at * self.dilations[i] - self.pads[i][0]
                first = max(0, -(offset // stride))
                end = min(self.counts[i], (self.sizes[i] - 1 - offset) // stride + 1)
                end = max(first, end)
                windows.append(slice(first, end))
                begin = first * stride + offset
                past = (end - 1) * stride + offset + 1 if end > first else begin
                pixels.append(slice(begin, past, stride))
            if all(w.stop > w.start for w in windows):
                yield (..., *tap), (..., *windows), (..., *pixels)


def windows_of(attributes, sizes, filter, counts=None):
    """Those of a filter with the attributes of a convolution."""
    names = "strides", "paddings", "dilations"
    settings = [attributes[name] for name in names]
    return Windows(sizes, filter.shape[2:], *settings, counts)


def flat(image):
    """Of an image in groups: [batch, group, channel, pixel]."""
    return image.reshape(*image.shape[:3], int(np.prod(image.shape[3:])))


def product(formula, *images):
    """The einsum of images in groups, whose pixels are p, and filters."""
    dims = [i.shape[3:] for i in images if i.ndim > 3]
    out = np.einsum(formula, *(flat(i) if i.ndim > 3 else i for i in images))
    return out.reshape(*out.shape[:-1], *dims[0]) if formula.endswith("p") else out


def grouped(array, groups, channels, axis):
    """Splits an axis of channels into groups of so many."""
    shape = array.shape
    return array.reshape(*shape[:axis], groups, channels, *shape[axis + 1 :])


def convolved(x, filter, windows, groups):
    """A convolution of x, channels first."""
    of_group = filter.shape[0] // groups
    x = grouped(x, groups, filter.shape[1], 1)
    filter = grouped(filter, groups, of_group, 0)
    out = np.zeros((len(x), groups, of_group, *windows.counts))
    for tap, at, pixels in windows.taps():
        out[at] += product("ngcp,goc->ngop", x[pixels], filter[tap])
    return out.reshape(len(x), groups * of_group, *windows.counts)


def spread(y, filter, windows, groups):
    """The transpose of the convolution."""
    channels = filter.shape[1]
    y = grouped(y, groups, filter.shape[0] // groups, 1)
    filter = grouped(filter, groups, filter.shape[0] // groups, 0)
    out = np.zeros((len(y), groups, channels, *windows.sizes))
    for tap, at, pixels in windows.taps():
        out[pixels] += product("ngop,goc->ngcp", y[at], filter[tap])
    return out.reshape(len(y), groups * channels, *windows.sizes)


def filter_grad(x, grad, filter, windows, groups):
    of_group = filter.shape[0] // groups
    x = grouped(x, groups, filter.shape[1], 1)
    grad = grouped(grad, groups, of_group, 1)
    out = np.zeros((groups, of_group, *filter.shape[1:]))
    for tap, at, pixels in windows.taps():
        out[tap] += product("ngop,ngcp->goc", grad[at], x[pixels])
    return out.reshape(filter.shape)


def channels_first(x, data_format):
    return np.moveaxis(x, -1, 1) if data_format == "NHWC" else x


def channels_back(x, data_format):
    return np.moveaxis(x, 1, -1) if data_format == "NHWC" else x


def with_bias(out, bias):
    if bias is None:
        return out
    return out + bias.reshape(1, -1, *(1 for _ in out.shape[2:]))


def examples_of(rows, formats=("NCHW",), transposed=False):
    """Examples of (input, filter, attributes, whether there is a bias)."""

    def examples(make):
        for x, filter, attributes, bias in rows:
            for data_format in formats:
                last = data_format == "NHWC"
                dims = [x[0], *x[2:], x[1]] if last else x
                example = {"Input": make.values(*dims), "Filter": make.values(*filter)}
                if bias:
                    groups = attributes.get("groups", 1)
                    outputs = filter[1] * groups if transposed else filter[0]
                    example["Bias"] = make.values(outputs)
                if len(formats) > 1:
                    example["data_format"] = data_format
                yield example | attributes

    return examples


def with_output_grads(examples):
    def grads(make):
        for example in list(examples(make)):
            x, filter = example["Input"].values, example["Filter"].values
            data_format = example.get("data_format", "")
            x = channels_first(x, data_format)
            ones = dict.fromkeys(("strides", "dilations"), [1] * (x.ndim - 2))
            attributes = ones | {"paddings": [0] * (x.ndim - 2)} | example
            windows = windows_of(attributes, x.shape[2:], filter)
            out = np.zeros((len(x), len(filter), *windows.counts))
            out = channels_back(out, data_format)
            example.pop("Bias", None)
            yield example | {"Output@GRAD": make.values(*out.shape)}

    return grads


def convolutions(dims, forward, grads, slack, filter_slack):
    """The cases of a convolution and its gradients."""

    def prepared(input, filter, attributes):
        """The image, channels first, and its windows; if padding counts, that
        is in the image."""
        x = channels_first(input, attributes.get("data_format"))
        windows = windows_of(attributes, x.shape[2:], filter)
        if attributes.get("padding_counts"):
            x = np.pad(x, [(0, 0), (0, 0), *windows.pads])
            attributes = attributes | {"paddings": [0] * dims}
            windows = windows_of(attributes, x.shape[2:], filter)
        return x, windows

    def conv(input, filter, bias, groups, attributes, data_format=None):
        x, windows = prepared(input, filter, attributes)
        out = with_bias(convolved(x, filter, windows, groups), bias)
        return {"Output": channels_back(out, data_format)}

    def grad_input(
        input, filter, output_grad, groups, attributes, data_format=None
    ):
        _, windows = prepared(input, filter, attributes)
        grad = channels_first(output_grad, data_format)
        out = spread(grad, filter, windows, groups)
        return {"Input@GRAD": channels_back(out, data_format)}

    def grad_filter(
        input, filter, output_grad, groups, attributes, data_format=None
    ):
        x, windows = prepared(input, filter, attributes)
        grad = channels_first(output_grad, data_format)
        return {
            "Filter@GRAD": filter_grad(x, grad, filter, windows, groups),
            "Bias@GRAD": np.moveaxis(grad, 1, 0).sum(tuple(range(1, grad.ndim))),
        }

    def padded(reference):
        """The product of a NaN and padding may or may not count; in bfloat16 an
        infinite element of a filter may be a NaN."""

        def alternative(inputs, attributes, dtypes):
            filter = inputs["Filter"]
            if reference is conv and dtypes["Filter"] == "bfloat16":
                filter = np.where(np.isinf(filter), np.nan, filter)
            return compute(
                reference,
                inputs | {"Filter": filter},
                attributes | {"padding_counts": True},
            )

        return alternative if dims == 2 else None

    op = f"conv{dims}d"
    # Errors of winograd_4x4 are relative to numbers larger than the result
    # (operators/conv/conv2d_winograd.h).
    more = {"winograd_4x4": 16} if dims == 2 else None
    case(op, forward, slack, padded(conv), more)(conv)
    case(f"{op}_grad_input", grads, slack)(grad_input)
    case(f"{op}_grad_filter", grads, filter_slack, padded(grad_filter))(grad_filter)


def transposed(op, examples, slack):
    @case(op, examples, slack)
    def conv_transpose(
        input, filter, bias, groups, attributes, data_format=None
    ):
        x = channels_first(input, data_format)
        windows = windows_of(attributes, x.shape[2:], filter)
        sizes = [
            (size - 1) * stride + dilation * (k - 1) + 1 + more - sum(pad)
            for size, stride, dilation, k, more, pad in zip(
                x.shape[2:],
                windows.strides,
                windows.dilations,
                windows.kernel,
                attributes["output_padding"],
                windows.pads,
            )
        ]
        windows = windows_of(attributes, sizes, filter, x.shape[2:])
        out = with_bias(spread(x, filter, windows, groups), bias)
        return {"Output": channels_back(out, data_format)}


# Small ones are first, because they are also compared with differences.
OF_IMAGES = [
    ([2, 3, 5, 4], [4, 3, 3, 2], {}, True),
    ([1, 2, 5, 6], [3, 2, 2, 3], {"strides": [2, 3]}, False),
    ([1, 1, 4, 3], [2, 1, 3, 3], {"paddings": [1, 2], "strides": [2, 1]}, True),
    ([1, 2, 6, 5], [1, 2, 2, 2], {"dilations": [3, 2]}, False),
    ([1, 1, 3, 4], [1, 1, 2, 3], {"paddings": [2, 0, 1, 3]}, False),
    ([2, 4, 4, 3], [6, 2, 2, 2], {"groups": 2, "paddings": [1, 1]}, True),
    (
        [1, 3, 4, 5],
        [6, 1, 3, 3],
        {"groups": 3, "paddings": [2, 2], "dilations": [2, 2]},
        False,
    ),
    ([2, 3, 3, 3], [2, 3, 1, 1], {}, True),
    ([2, 4, 2, 3], [4, 2, 1, 1], {"groups": 2}, False),
    ([1, 2, 5, 5], [3, 2, 1, 1], {"strides": [2, 2]}, False),
    ([1, 1, 1, 1], [1, 1, 1, 1], {}, False),
    ([1, 1, 1, 1], [1, 1, 3, 3], {"paddings": [1, 1]}, True),
    ([0, 2, 4, 4], [3, 2, 2, 2], {}, True),
    ([2, 0, 3, 3], [3, 0, 2, 2], {}, True),
    ([2, 0, 9, 70], [3, 0, 2, 2], {}, True),
    ([2, 2, 3, 3], [0, 2, 2, 2], {}, False),
    ([1, 2, 0, 3], [2, 2, 2, 2], {"paddings": [1, 1]}, True),
    ([5, 1, 28, 28], [20, 1, 5, 5], {}, True),
    ([5, 20, 12, 12], [26, 20, 5, 5], {}, True),
    ([3, 17, 29, 11], [19, 17, 3, 3], {"paddings": [1, 1]}, True),
    ([3, 33, 13, 11], [33, 1, 3, 3], {"groups": 33, "paddings": [1, 1]}, False),
    (
        [2, 69, 6, 7],
        [69, 1, 3, 2],
        {
            "groups": 69,
            "strides": [2, 1],
            "dilations": [1, 2],
            "paddings": [1, 0, 2, 1],
        },
        True,
    ),
    ([2, 35, 17, 19], [37, 35, 1, 1], {}, False),
    ([1, 2, 3, 700], [3, 2, 2, 3], {"paddings": [1, 1]}, False),
    (
        [2, 3, 9, 69],
        [7, 3, 3, 2],
        {"strides": [2, 3], "dilations": [1, 2], "paddings": [1, 0, 2, 4]},
        True,
    ),
    ([1, 6, 5, 37], [8, 3, 3, 3], {"groups": 2, "paddings": [1, 1]}, False),
    ([1, 2, 32, 32], [1, 2, 3, 3], {}, False),
    ([1, 67, 21, 35], [13, 67, 3, 3], {"paddings": [1, 1]}, True),
]
IMAGES = examples_of(OF_IMAGES, ("NCHW", "NHWC"))
convolutions(2, IMAGES, with_output_grads(IMAGES), slack=8, filter_slack=8)

VOLUMES = examples_of(
    [
        ([1, 2, 3, 4, 5], [3, 2, 2, 2, 3], {}, True),
        (
            [2, 4, 5, 4, 6],
            [6, 2, 2, 3, 2],
            {
                "groups": 2,
                "strides": [2, 1, 3],
                "dilations": [2, 1, 2],
                "paddings": [1, 0, 2, 1, 0, 2],
            },
            False,
        ),
        ([1, 1, 1, 1, 1], [1, 1, 1, 1, 1], {}, True),
        ([1, 2, 2, 3, 3], [0, 2, 1, 2, 2], {}, True),
        (
            [2, 2, 4, 2, 5],
            [4, 1, 2, 1, 2],
            {
                "groups": 2,
                "strides": [2, 1, 3],
                "dilations": [1, 1, 2],
                "paddings": [1, 1, 0, 1, 2, 0],
            },
            False,
        ),
        ([0, 2, 3, 3, 3], [1, 2, 2, 2, 2], {}, True),
        ([1, 0, 3, 3, 3], [2, 0, 2, 2, 2], {}, False),
        ([1, 3, 9, 17, 19], [5, 3, 3, 3, 3], {"paddings": [1, 1, 1]}, True),
    ]
)
convolutions(3, VOLUMES, with_output_grads(VOLUMES), slack=16, filter_slack=64)

OF_TRANSPOSED_IMAGES = [
    ([2, 3, 3, 4], [3, 2, 3, 2], {}, True),
    ([1, 2, 3, 3], [2, 3, 2, 2], {"strides": [2, 2]}, True),
    ([1, 2, 3, 9], [2, 1, 2, 2], {"strides": [2, 2]}, False),
    ([1, 2, 2, 17], [2, 1, 1, 3], {"strides": [1, 3]}, True),
    ([2, 1, 2, 19], [1, 2, 2, 4], {"strides": [2, 4]}, True),
    ([1, 1, 2, 18], [1, 2, 3, 1], {"strides": [3, 1]}, True),
    (
        [1, 1, 3, 3],
        [1, 1, 3, 3],
        {"strides": [2, 2], "paddings": [1, 1], "output_padding": [1, 1]},
        True,
    ),
    ([1, 1, 3, 4], [1, 2, 2, 3], {"paddings": [1, 0, 1, 2]}, False),
    (
        [1, 2, 3, 3],
        [2, 1, 3, 2],
        {"strides": [2, 1], "dilations": [2, 3], "output_padding": [1, 0]},
        False,
    ),
    ([2, 4, 3, 2], [4, 3, 2, 2], {"groups": 2, "paddings": [1, 1]}, True),
    ([1, 3, 3, 4], [3, 2, 2, 2], {"groups": 3, "strides": [2, 2]}, True),
    ([2, 3, 3, 3], [3, 2, 1, 1], {}, True),
    ([1, 4, 2, 3], [4, 2, 1, 1], {"groups": 2}, True),
    ([1, 2, 3, 2], [2, 1, 1, 1], {"strides": [2, 2]}, False),
    (
        [1, 2, 2, 2],
        [2, 2, 2, 1],
        {"strides": [3, 2], "output_padding": [1, 1]},
        True,
    ),
    ([1, 1, 1, 1], [1, 1, 1, 1], {}, False),
    ([1, 1, 1, 1], [1, 1, 3, 3], {"paddings": [1, 1]}, True),
    ([0, 2, 3, 3], [2, 3, 2, 2], {"strides": [2, 2]}, True),
    ([2, 0, 3, 3], [0, 3, 2, 2], {"strides": [2, 2]}, True),
    ([2, 0, 3, 3], [0, 3, 3, 2], {}, True),
    ([2, 2, 3, 3], [2, 0, 2, 2], {}, False),
    ([1, 24, 33, 37], [24, 13, 2, 2], {"strides": [2, 2]}, True),
    (
        [3, 17, 15, 11],
        [17, 19, 3, 3],
        {"strides": [2, 2], "paddings": [1, 1], "output_padding": [1, 1]},
        True,
    ),
    (
        [1, 40, 11, 9],
        [40, 36, 4, 4],
        {"strides": [2, 2], "paddings": [1, 1]},
        False,
    ),
    ([70, 2, 5, 6], [2, 3, 2, 2], {"strides": [2, 2]}, True),
    ([1, 5, 3, 700], [5, 3, 2, 5], {"strides": [2, 5]}, False),
]
transposed(
    "conv2d_transpose",
    examples_of(OF_TRANSPOSED_IMAGES, ("NCHW", "NHWC"), transposed=True),
    slack=8,
)
transposed(
    "conv3d_transpose",
    examples_of(
        [
            ([1, 2, 2, 3, 2], [2, 3, 2, 2, 3], {}, True),
            (
                [2, 4, 3, 2, 3],
                [4, 3, 2, 3, 2],
                {
                    "groups": 2,
                    "strides": [2, 1, 3],
                    "dilations": [2, 1, 2],
                    "output_padding": [1, 0, 2],
                    "paddings": [1, 0, 2, 0, 0, 1],
                },
                False,
            ),
            ([1, 1, 1, 1, 1], [1, 1, 1, 1, 1], {}, True),
            ([0, 2, 3, 3, 3], [2, 1, 2, 2, 2], {}, False),
            ([1, 3, 5, 9, 11], [3, 5, 3, 3, 3], {"paddings": [1, 1, 1]}, True),
        ],
        transposed=True,
    ),
    slack=16,
)


def patches(make):
    for x, *sizes in [
        ([2, 3, 5, 4], [2, 3], [1, 1], [0, 0], [1, 1]),
        ([1, 2, 7, 5], [3, 2], [2, 3], [1, 2], [2, 1]),
        ([1, 1, 3, 3], [2, 2], [3, 1], [1, 0, 2, 3], [1, 3]),
        ([2, 1, 1, 1], [1, 1], [1, 1], [0, 0], [1, 1]),
        ([1, 1, 2, 2], [2, 2], [5, 5], [4, 4], [3, 3]),
        ([1, 1, 1, 3], [1, 3], [4, 1], [4, 5], [1, 1]),
        ([0, 2, 3, 3], [2, 2], [1, 1], [0, 0], [1, 1]),
        ([1, 1, 0, 3], [2, 2], [1, 1], [1, 1], [1, 1]),
        ([3, 5, 31, 29], [3, 3], [1, 2], [1, 1], [1, 1]),
    ]:
        names = ["kernel_sizes", "strides", "paddings", "dilations"]
        yield {"X": make.values(*x), **dict(zip(names, sizes))}


@moves("unfold", patches, slack=4)
def unfold(x, kernel_sizes, strides, paddings, dilations):
    windows = Windows(x.shape[2:], kernel_sizes, strides, paddings, dilations)
    out = np.zeros((*x.shape[:2], *windows.counts, *kernel_sizes), x.dtype)
    for tap, at, pixels in windows.taps():
        out[tap][at] = x[pixels]
    out = np.moveaxis(out, (2, 3), (-2, -1))
    rows = x.shape[1] * int(np.prod(kernel_sizes))
    return out.reshape(len(x), rows, int(np.prod(windows.counts)))


# (image, filter, attributes, whether there are a bias and a mask)
DEFORMED = [
    ([2, 3, 5, 6], [2, 3, 3, 2], {}, True),
    ([1, 4, 6, 5], [6, 2, 2, 3], {"groups": 2, "deformable_groups": 2}, False),
    (
        [1, 2, 7, 5],
        [1, 2, 3, 3],
        {"paddings": [1, 0, 2, 1], "strides": [2, 1], "dilations": [1, 2]},
        True,
    ),
    ([1, 1, 1, 1], [1, 1, 1, 1], {}, False),
    ([0, 1, 3, 3], [1, 1, 2, 2], {}, False),
    ([1, 8, 40, 37], [4, 8, 3, 3], {"deformable_groups": 4}, True),
]


def deformed(make):
    for x, filter, attributes, more in DEFORMED:
        settings = {
            "strides": [1, 1],
            "paddings": [0, 0],
            "dilations": [1, 1],
            "groups": 1,
            "deformable_groups": 1,
        } | attributes
        names = "strides", "paddings", "dilations"
        counts = Windows(x[2:], filter[2:], *(settings[n] for n in names)).counts
        taps = settings["deformable_groups"] * filter[2] * filter[3]
        moves = make.integers("T", [x[0], 2 * taps, *counts], -20, 20).values
        example = {
            "Input": make.values(*x),
            "Offset": Tensor(moves / 8),
            "Filter": make.values(*filter),
        }
        if more:
            example["Bias"] = make.values(filter[0])
            example["Mask"] = make.values(x[0], taps, *counts)
        yield example | settings


def moved_pixels(image, down, right):
    """Pixels [channel, ...] at the places `down` and `right`, by bilinear
    interpolation; 0 outside, and for pixels of weight 0."""
    height, width = image.shape[1:]
    top, left = np.floor(down).astype(int), np.floor(right).astype(int)
    found = np.zeros((len(image), *down.shape))
    for i in 0, 1:
        for k in 0, 1:
            y, x = top + i, left + k
            weight = (1 - abs(down - y)) * (1 - abs(right - x))
            inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
            weight = np.where(inside, weight, 0)
            pixels = image[:, y.clip(0, height - 1), x.clip(0, width - 1)]
            with np.errstate(invalid="ignore"):
                found += np.where(weight == 0, 0, weight * pixels)
    return found


@case("deformable_conv", deformed, slack=8)
def deformable_conv(input, offset, filter, bias, mask, attributes):
    names = "strides", "paddings", "dilations"
    windows = Windows(
        input.shape[2:], filter.shape[2:], *(attributes[n] for n in names)
    )
    groups, parts = attributes["groups"], attributes["deformable_groups"]
    images, channels = input.shape[:2]
    counts, kernel = windows.counts, filter.shape[2:]
    # Places of each element of each window, [axis, element..., window...].
    places = np.zeros((2, *kernel, *counts))
    for axis in 0, 1:
        element = np.arange(kernel[axis]) * windows.dilations[axis]
        window = np.arange(counts[axis]) * windows.strides[axis]
        sums = element[:, None] + window - windows.pads[axis][0]
        shape = [1, 1, 1, 1]
        shape[axis], shape[axis + 2] = sums.shape
        places[axis] = sums.reshape(shape)
    out = np.zeros((images, len(filter), *counts))
    for n in range(images):
        moves = offset[n].reshape(parts, *kernel, 2, *counts)
        pixels = np.concatenate(
            [
                moved_pixels(
                    part, places[0] + move[:, :, 0], places[1] + move[:, :, 1]
                )
                for part, move in zip(np.split(input[n], parts), moves)
            ]
        )
        if mask is not None:
            factors = mask[n].reshape(parts, *kernel, *counts)
            pixels = pixels * np.repeat(factors, channels // parts, 0)
        for group, (part, weights) in enumerate(
            zip(np.split(pixels, groups), np.split(filter, groups))
        ):
            size = len(weights)
            out[n, group * size : (group + 1) * size] = np.einsum(
                "cijyx,mcij->myx", part, weights
            )
    if bias is not None:
        out += bias[:, None, None]
    return {"Output": out}
