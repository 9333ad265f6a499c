"""Ops that normalise."""

import numpy as np

from .case import Tensor, case

EPSILON = 0.25

# Whether consecutive examples have a scale, a bias, and both flat.
GIVEN = [
    (True, True, False),
    (True, True, True),
    (True, False, False),
    (False, True, True),
    (False, False, False),
]


def norms(attribute, *layouts, has_bias=True):
    def examples(make):
        for number, (dims, setting) in enumerate(layouts):
            scale, bias, flat = GIVEN[number % len(GIVEN)]
            from_axis = attribute == "begin_norm_axis"
            sizes = dims[setting:] if from_axis else [dims[1]]
            sizes = [int(np.prod(sizes))] if flat else sizes
            # Values that differ from the mean of their row: such a value times
            # an infinite scale is NaN or infinite, depending on rounding.
            x = make.values(*dims).values
            example = {"X": Tensor(x + x * x / 8), "epsilon": EPSILON}
            if attribute:
                example[attribute] = setting
            if scale:
                example["Scale"] = make.values(*sizes)
            if bias and has_bias:
                example["Bias"] = make.values(*sizes)
            yield example

    return examples


FROM_AXIS = [
    ([3, 5], 1),
    ([2, 3, 5], 1),
    ([2, 3, 5], -1),
    ([7], 0),
    ([2, 3, 4], 0),
    ([1, 1], 1),
    ([0, 4], 1),
    ([4, 0], 1),
    ([61, 67, 5], 1),
    ([33, 1025], -1),
]
EXAMPLES = {
    "layer_norm": norms("begin_norm_axis", *FROM_AXIS),
    "rms_norm": norms("begin_norm_axis", *FROM_AXIS, has_bias=False),
    "instance_norm": norms(
        None,
        ([2, 3, 5], None),
        ([1, 1], None),
        ([3, 2, 7], None),
        ([0, 3, 2], None),
        ([2, 3, 0], None),
        ([3, 2], None),
        ([2, 0, 3], None),
        ([2, 3, 3, 5], None),
        ([3, 5, 61, 67], None),
    ),
    "group_norm": norms(
        "groups",
        ([2, 6, 5], 3),
        ([2, 6, 5], 1),
        ([3, 4], 2),
        ([1, 1], 1),
        ([0, 4, 3], 2),
        ([2, 4, 0], 2),
        ([2, 4, 3, 5], 4),
        ([2, 150], 2),
        ([3, 12, 41, 37], 4),
    ),
}


class Rows:
    """The rows of an input, the dims of their means, and the shape with which
    scale and bias meet them."""

    def __init__(self, x, begin_norm_axis, groups, centered=True):
        if begin_norm_axis is not None:
            axis = range(x.ndim)[begin_norm_axis]
            size = int(np.prod(x.shape[axis:]))
            shape = int(np.prod(x.shape[:axis])), size
            self.dims, self.parameters = shape[:1], (1, size)
        else:
            groups = groups or x.shape[1]
            channels = x.shape[1] // max(groups, 1)
            self.dims, self.parameters = (x.shape[0], groups), (1, groups, channels, 1)
            shape = (*self.dims, channels, int(np.prod(x.shape[2:])))
        self.x = x.reshape(shape)
        self.axes = tuple(range(len(self.dims), self.x.ndim))
        self.count = np.prod(shape[len(self.dims) :])
        mean = self.x.mean(self.axes, keepdims=True)
        self.mean = mean if centered else np.zeros_like(mean)
        self.distance = self.x - self.mean
        self.variance = (self.distance**2).mean(self.axes, keepdims=True)
        self.deviation = np.sqrt(self.variance + EPSILON)

    def of_row(self, values):
        return 0 if values is None else values.reshape(self.mean.shape)

    def parameter(self, values, otherwise):
        return otherwise if values is None else values.reshape(self.parameters)

    def sums(self, values, like):
        """The sums for each parameter, with the dims of `like`."""
        axes = tuple(i for i, size in enumerate(self.parameters) if size == 1)
        return values.sum(axes).reshape(-1 if like is None else like.shape)


def row_norm_cases(op, examples, centered):
    @case(op, examples, slack=16)
    def row_norm(x, scale, bias, begin_norm_axis, groups):
        rows = Rows(x, begin_norm_axis, groups, centered)
        y = rows.distance / rows.deviation * rows.parameter(scale, 1)
        return {
            "Y": (y + rows.parameter(bias, 0)).reshape(x.shape),
            "Mean": rows.mean.reshape(rows.dims),
            "Variance": rows.variance.reshape(rows.dims),
        }

    def with_grads(make):
        """Some gradients of outputs are omitted."""
        for number, example in enumerate(list(examples(make))):
            x = example["X"].values
            rows = Rows(x, example.get("begin_norm_axis"), example.get("groups"))
            if not centered or number % 4 != 3:
                example["Y@GRAD"] = make.values(*x.shape)
            if centered and number % 3 != 2:
                example["Mean@GRAD"] = make.values(*rows.dims)
                example["Variance@GRAD"] = make.values(*rows.dims)
            yield example

    @case(f"{op}_grad", with_grads, slack=32)
    def row_norm_grad(
        x, scale, bias, y_grad, mean_grad, variance_grad, begin_norm_axis, groups
    ):
        """Applies the chain rule through the mean and the variance of a row."""
        rows = Rows(x, begin_norm_axis, groups, centered)
        distance, deviation = rows.distance, rows.deviation
        grad = np.zeros(rows.x.shape)
        if y_grad is not None:
            grad = y_grad.reshape(rows.x.shape)
        own = grad * rows.parameter(scale, 1)
        total = [(own / deviation), own * distance / (2 * deviation**3)]
        total = [one.sum(rows.axes, keepdims=True) for one in total]
        x_grad = own / deviation
        variance_grad = rows.of_row(variance_grad) - total[1]
        x_grad += 2 * variance_grad * distance / rows.count
        if centered:
            x_grad += (rows.of_row(mean_grad) - total[0]) / rows.count
        return {
            "X@GRAD": x_grad.reshape(x.shape),
            "Scale@GRAD": rows.sums(grad * distance / deviation, scale),
            "Bias@GRAD": rows.sums(grad, bias),
        }


for op, examples in EXAMPLES.items():
    row_norm_cases(op, examples, centered=op != "rms_norm")


def above(low, make, size):
    """Values above `low`, distinct if make's are."""
    return Tensor(low + np.abs(make.values(size).values) / 4)


def batch_norms(make):
    for is_test in False, True:
        for data_format in "NCHW", "NHWC":
            for dims in [
                [3, 2, 5],
                [7, 3],
                [2, 2, 3, 3],
                [1, 1],
                [0, 3, 2],
                [2, 3, 0],
                [5, 19, 13, 17],
                [41, 37, 23],
            ]:
                channels = dims[1 if data_format == "NCHW" else -1]
                yield {
                    "X": make.values(*dims),
                    "Scale": make.values(channels),
                    "Bias": make.values(channels),
                    "Mean": make.values(channels),
                    "Variance": above(0.5, make, channels),
                    "data_format": data_format,
                    "is_test": is_test,
                    "momentum": 0.75,
                    "epsilon": EPSILON,
                }


def channels_last(x, data_format):
    return np.moveaxis(x, 1, -1) if data_format == "NCHW" else x


def channels_back(x, data_format):
    return np.moveaxis(x, -1, 1) if data_format == "NCHW" else x


def batch_norm(x, scale, bias, mean, variance, is_test, data_format):
    rows = channels_last(x, data_format)
    axes = tuple(range(x.ndim - 1))
    count = rows[..., :1].size
    out = {"MeanOut": mean, "VarianceOut": variance}
    if not is_test:
        own_mean = rows.sum(axes) / max(count, 1)
        own_variance = ((rows - own_mean) ** 2).sum(axes) / max(count, 1)
        if count:
            out["MeanOut"] = mean + 0.25 * (own_mean - mean)
            out["VarianceOut"] = variance + 0.25 * (own_variance - variance)
        mean, variance = own_mean, own_variance
    inverse = 1 / np.sqrt(variance + EPSILON)
    y = (rows - mean) * inverse * scale + bias
    return out | {
        "Y": channels_back(y, data_format),
        "SavedMean": mean,
        "SavedVariance": inverse,
    }


def batch_norms_with_grads(make):
    for number, example in enumerate(list(batch_norms(make))):
        dims, channels = example["X"].values.shape, example["Scale"].values.size
        del example["Bias"], example["Mean"], example["Variance"]
        example["SavedMean"] = make.values(channels)
        example["SavedVariance"] = above(0.25, make, channels)
        if number % 3 != 2:
            example["Y@GRAD"] = make.values(*dims)
        if number % 3 != 1:
            example["SavedMean@GRAD"] = make.values(channels)
            example["SavedVariance@GRAD"] = make.values(channels)
        yield example


def batch_norm_grad(
    x,
    scale,
    saved_mean,
    saved_variance,
    y_grad,
    saved_mean_grad,
    saved_variance_grad,
    is_test,
    data_format,
):
    """Every output depends on every x of the channel through the mean and the
    variance."""
    axes = tuple(range(x.ndim - 1))
    distance = channels_last(x, data_format) - saved_mean
    grad = np.zeros(distance.shape)
    if y_grad is not None:
        grad = channels_last(y_grad, data_format)
    zeros = np.zeros(scale.shape)
    mean_grad = zeros if saved_mean_grad is None else saved_mean_grad
    inverse_grad = zeros if saved_variance_grad is None else saved_variance_grad
    mean_grad = mean_grad - (grad * saved_variance * scale).sum(axes)
    inverse_grad = inverse_grad + (grad * distance * scale).sum(axes)
    x_grad = grad * saved_variance * scale
    if not is_test:
        count = distance[..., :1].size
        variance_grad = -inverse_grad * saved_variance**3 / 2
        x_grad = x_grad + (mean_grad + variance_grad * 2 * distance) / count
    return {
        "X@GRAD": channels_back(x_grad, data_format),
        "Scale@GRAD": (grad * distance * saved_variance).sum(axes),
        "Bias@GRAD": grad.sum(axes),
    }


# With one rank the sync ops equal batch_norm's.
for op in "batch_norm", "sync_batch_norm":
    case(op, batch_norms, slack=16)(batch_norm)
    case(f"{op}_grad", batch_norms_with_grads, slack=16)(batch_norm_grad)


def softmaxes(make):
    for dims, axis in [
        ([3, 5], -1),
        ([1], 0),
        ([1, 1], 0),
        ([0, 4], 1),
        ([4, 0], 1),
        ([2, 3, 5], 1),
        ([7, 2, 3], 0),
        ([3, 4, 19], -2),
        ([61, 67, 5], 1),
        ([3, 9001], 0),
        ([257, 131], -1),
    ]:
        yield {"X": make.values(*dims), "axis": axis}


@case("softmax", softmaxes, slack=4)
def softmax(x, axis):
    return np.exp(x) / np.exp(x).sum(axis, keepdims=True)


@case("log_softmax", softmaxes, slack=8)
def log_softmax(x, axis):
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


def softmax_grads(make):
    """Results of softmax, none above 0.5 except single elements: for larger ones
    the gradients rely on a sum of 1 (tests/python/formulas has them)."""
    for example in list(softmaxes(make)):
        x, axis = example["X"].values, example["axis"]
        yield {
            "Out": Tensor(softmax(np.tanh(x) / 4, axis)),
            "Out@GRAD": make.values(*x.shape),
            "axis": axis,
        }


def log_softmax_grads(make):
    for example in softmax_grads(make):
        out = np.log(example["Out"].values)
        yield example | {"Out": Tensor(out)}


@case("softmax_grad", softmax_grads, slack=64)  # sums of up to 131 products
def softmax_grad(out, out_grad, axis):
    sums = (out_grad * out).sum(axis, keepdims=True)
    return {"X@GRAD": out * (out_grad - sums)}


# Sums of up to 131 gradients, times exp(Out) of up to 8.
@case("log_softmax_grad", log_softmax_grads, slack=64)
def log_softmax_grad(out, out_grad, axis):
    return {"X@GRAD": out_grad - np.exp(out) * out_grad.sum(axis, keepdims=True)}


def lrns(with_grad):
    def examples(make):
        for data_format in "NCHW", "NHWC":
            for dims, n, k, alpha, beta in [
                ([2, 7, 3, 1], 5, 1.0, 0.5, 0.75),
                ([1, 5, 1, 3], 4, 2.0, 1.0, 0.75),
                ([2, 3, 2, 3], 3, 1.5, 0.25, 0.5),
                ([1, 3, 5], 99, 1.0, 1.0, 1.25),
                ([2, 3], 1, 1.0, 1.0, 1.0),
                ([1, 0, 3, 3], 5, 1.0, 1.0, 0.75),
                ([3, 9, 31, 29], 5, 1.0, 0.5, 0.75),
            ]:
                example = {"X": make.values(*dims)}
                if with_grad:
                    example["Out@GRAD"] = make.values(*dims)
                yield example | {
                    "n": n,
                    "k": k,
                    "alpha": alpha,
                    "beta": beta,
                    "data_format": data_format,
                }

    return examples


def windows(x, n):
    """The channels around each, which come first."""
    for channel in range(x.shape[0]):
        yield slice(max(channel - (n - 1) // 2, 0), channel + n // 2 + 1)


def bases(x, n, k, alpha):
    sums = [(x[window] ** 2).sum(0) for window in windows(x, n)]
    return k + alpha / n * np.reshape(sums, x.shape)


def channel_axis(data_format):
    return 1 if data_format == "NCHW" else -1


@case("lrn", lrns(False), slack=2)
def lrn(x, n, k, alpha, beta, data_format):
    axis = channel_axis(data_format)
    x = np.moveaxis(x, axis, 0)
    return np.moveaxis(x * bases(x, n, k, alpha) ** -beta, 0, axis)


@case("lrn_grad", lrns(True), slack=8)
def lrn_grad(x, out_grad, n, k, alpha, beta, data_format):
    axis = channel_axis(data_format)
    x, grad = np.moveaxis(x, axis, 0), np.moveaxis(out_grad, axis, 0)
    base = bases(x, n, k, alpha)
    through = 2 * alpha / n * beta * grad * x * base ** (-beta - 1)
    x_grad = grad * base**-beta
    for channel, window in enumerate(windows(x, n)):
        x_grad[window] -= x[window] * through[channel]
    return {"X@GRAD": np.moveaxis(x_grad, 0, axis)}
