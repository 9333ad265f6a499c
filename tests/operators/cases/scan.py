"""Running sums and products, Fourier transforms and distances of rows."""

import numpy as np

from .case import Tensor, case, with_grads


def scans(make):
    for number, (dims, axis) in enumerate(
        [
            ([7], 0),
            ([5, 3], 1),
            ([2, 3, 5], 1),
            ([3, 5], -1),
            ([3, 5], 0),
            ([1, 1], -1),
            ([0, 5], 1),
            ([5, 0, 3], 1),
            ([3, 200], 1),
            ([2, 131, 67], 1),
            ([301, 203], 1),
        ]
    ):
        yield {
            "X": make.values(*dims),
            "axis": axis,
            "exclusive": number % 2 == 1,
            "reverse": number % 3 == 1,
        }
    yield {"X": make.values(3, 5), "flatten": True}


def factors(make):
    """Around 1, so that long products neither vanish nor overflow, with some
    zeros; small integers that wrap around in no dtype."""
    for example in list(scans(make)):
        x = example["X"].values
        if make.kind["float"]:
            zero = np.arange(x.size).reshape(x.shape) % 50 == 20
            near_one = np.where(x < 0, -1, 1) + x / 16
            yield example | {"X": Tensor(np.where(zero, 0, near_one))}
        else:
            yield example | {"X": make.integers("T", x.shape, -1, 1)}


def of_flat(grads):
    """Gradients of a flat Out have one dim."""

    def examples(make):
        for example in list(grads(make)):
            dims = example["X"].values.shape
            if "flatten" in example:
                dims = [int(np.prod(dims))]
            yield example | {"Out@GRAD": make.values(*dims)}

    return examples


def in_lines(x, axis, flatten, reverse):
    """The axis is the last, and its elements come in the order of the scan."""
    lines = x.ravel() if flatten else np.moveaxis(x, axis, -1)
    return lines[..., ::-1] if reverse else lines


def out_of_lines(lines, axis, flatten, reverse):
    lines = lines[..., ::-1] if reverse else lines
    return lines if flatten else np.moveaxis(lines, -1, axis)


def scan(ufunc, lines, exclusive):
    if exclusive:
        first = np.full((*lines.shape[:-1], 1), ufunc.identity)
        lines = np.concatenate([first, lines], -1)[..., : lines.shape[-1]]
    return ufunc.accumulate(lines, -1)


def scan_case(op, examples, ufunc):
    @case(op, examples, slack=8)
    def reference(x, axis, flatten, exclusive, reverse):
        how = axis, flatten, reverse
        return out_of_lines(scan(ufunc, in_lines(x, *how), exclusive), *how)


scan_case("cumsum", scans, np.add)
scan_case("cumprod", factors, np.multiply)


@case("cumsum_grad", of_flat(scans), slack=8)
def cumsum_grad(x, out_grad, axis, flatten, exclusive, reverse):
    how = axis, flatten, not reverse
    grad = scan(np.add, in_lines(out_grad, *how), exclusive)
    return {"X@GRAD": out_of_lines(grad, *how).reshape(x.shape)}


@case("cumprod_grad", of_flat(factors), slack=64)
def cumprod_grad(x, out_grad, axis, flatten, exclusive, reverse):
    """The gradient of a factor is the product of all others, from both sides."""
    how = axis, flatten, reverse
    lines, grads = in_lines(x, *how), in_lines(out_grad, *how)
    x_grad = np.zeros(lines.shape)
    for i in range(lines.shape[-1]):
        part = lines[..., : i if exclusive else i + 1]
        before = scan(np.multiply, part, True)
        after = scan(np.multiply, part[..., ::-1], True)[..., ::-1]
        x_grad[..., : part.shape[-1]] += grads[..., i : i + 1] * before * after
    return {"X@GRAD": out_of_lines(x_grad, *how).reshape(x.shape)}


def signals(make):
    for dims, attributes in [
        ([2, 8, 2], {}),
        ([2, 7, 1], {}),
        ([3, 5, 2, 2], {"axis": 1}),
        ([2, 6, 1], {"dft_length": 9}),
        ([2, 6, 2], {"dft_length": 3, "axis": -2}),
        ([1, 1, 1], {"dft_length": 1}),
        ([0, 4, 2], {"dft_length": 4}),
        ([3, 2, 0, 2], {"axis": 0, "dft_length": 2}),
        ([70, 15, 13, 2], {"axis": 1}),
    ]:
        for inverse in False, True:
            for onesided in False, True:
                yield {
                    "X": make.values(*dims),
                    "inverse": inverse,
                    "onesided": onesided,
                } | attributes


def transform(size, dft_length, inverse, onesided):
    """(roots of unity [out, in], the weight of each number of X, and whether its
    imaginary part counts)."""
    real = inverse and onesided
    length = dft_length or (2 * size - 2 if real else size)
    half = length // 2 + 1
    j = np.arange(min(size, half if real else length))
    k = np.arange(half if onesided and not inverse else length)
    angles = 2 * np.pi * (np.outer(k, j) % length) / length
    # Numbers that stand for the conjugates of the other half, too.
    twin = (j > 0) & (2 * j != length)
    weights = np.where(real & twin, 2, 1) / (length if inverse else 1)
    return np.exp((1j if inverse else -1j) * angles), weights, twin | (not real)


def along_first(values, of_first):
    return values.reshape(-1, *[1] * (of_first.ndim - 1))


@case("dft", signals, slack=32)
def dft(x, inverse, onesided, axis=-2, dft_length=0):
    how = dft_length, inverse, onesided
    roots, weights, complex_ = transform(x.shape[axis], *how)
    x = np.moveaxis(x, axis, 0)[: len(weights)]
    values = x[..., 0].astype(complex)
    if x.shape[-1] == 2:
        values += 1j * x[..., 1] * along_first(complex_, values)
    out = np.tensordot(roots, values * along_first(weights, values), 1)
    parts = [out.real] if inverse and onesided else [out.real, out.imag]
    return np.moveaxis(np.stack(parts, -1), 0, axis)


@case("dft_grad", with_grads(signals, dft), slack=32)
def dft_grad(x, out_grad, inverse, onesided, axis, dft_length):
    """The real and the imaginary part of each number of Out, by those of each
    number of X, times their gradients."""
    how = dft_length, inverse, onesided
    roots, weights, complex_ = transform(x.shape[axis], *how)
    grad = np.moveaxis(out_grad, axis, 0)
    sums = grad[..., 0] + (1j * grad[..., 1] if grad.shape[-1] == 2 else 0)
    sums = np.tensordot(roots.conj().T, sums, 1)
    sums *= along_first(weights, sums)
    x_grad = np.zeros(np.moveaxis(x, axis, 0).shape)
    x_grad[: len(sums), ..., 0] = sums.real
    if x.shape[-1] == 2:
        x_grad[: len(sums), ..., 1] = sums.imag * along_first(complex_, sums)
    return {"X@GRAD": np.moveaxis(x_grad, 0, axis)}


def distances(make):
    for n, m, p in [
        (3, 5, 7),
        (1, 1, 1),
        (2, 3, 16),
        (5, 1, 9),
        (1, 6, 33),
        (4, 4, 0),
        (0, 3, 2),
        (3, 0, 2),
        (0, 0, 0),
        (17, 9, 1),
        (67, 71, 35),
    ]:
        yield {"X": make.values(n, p), "Y": make.values(m, p)}


# Sums of up to 71 numbers need a larger tolerance.
@case("manhattan_distance", distances, slack=4)
def manhattan_distance(x, y):
    return np.abs(x[:, None] - y).sum(2)


@case(
    "manhattan_distance_grad",
    with_grads(distances, manhattan_distance),
    slack=16,
)
def manhattan_distance_grad(x, y, out_grad):
    grad = np.sign(x[:, None] - y) * out_grad[..., None]
    return {"X@GRAD": grad.sum(1), "Y@GRAD": -grad.sum(0)}
