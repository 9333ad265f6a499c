"""What sequence layers compute, in NumPy, over lists of sequences."""

import math

import numpy as np


def pool(sequences, kind, pad_value=0.0):
    """One row for each sequence."""

    def one(rows):
        if len(rows) == 0:
            return np.full(rows.shape[1:], pad_value)
        return {
            "sum": lambda: rows.sum(0),
            "average": lambda: rows.mean(0),
            "sqrt": lambda: rows.sum(0) / math.sqrt(len(rows)),
            "max": lambda: rows.max(0),
            "first": lambda: rows[0],
            "last": lambda: rows[-1],
        }[kind]()

    return np.array([one(rows) for rows in sequences])


def softmax(sequences):
    """The softmax over each sequence."""

    def one(rows):
        shifted = np.exp(rows - rows.max(0)) if len(rows) else rows
        return shifted / shifted.sum(0)

    return [one(rows) for rows in sequences]


def windows(sequences, start, length):
    """For each row the rows around it, zeros past the ends."""
    result = []
    for rows in sequences:
        width = rows.shape[1]
        out = np.zeros((len(rows), length * width), rows.dtype)
        for t in range(len(rows)):
            for k in range(length):
                if 0 <= t + start + k < len(rows):
                    part = slice(k * width, (k + 1) * width)
                    out[t, part] = rows[t + start + k]
        result.append(out)
    return result


def convolve(sequences, weight, start, length):
    """A convolution along each sequence."""
    return [rows @ weight for rows in windows(sequences, start, length)]


def look_ahead(sequences, weight):
    """Row t is the sum of rows t + k times row k of the filter."""
    result = []
    for rows in sequences:
        out = np.zeros_like(rows)
        for t in range(len(rows)):
            for k in range(min(len(weight), len(rows) - t)):
                out[t] += rows[t + k] * weight[k]
        result.append(out)
    return result


def enumerate_windows(sequences, size, pad_value):
    """The elements from each one on."""
    return [
        np.array(
            [
                [
                    rows[t + k] if t + k < len(rows) else pad_value
                    for k in range(size)
                ]
                for t in range(len(rows))
            ],
            rows.dtype,
        ).reshape(len(rows), size)
        for rows in (each.ravel() for each in sequences)
    ]


def pad(sequences, length, value):
    """A dense array of all sequences."""
    out = np.empty((len(sequences), length, *sequences[0].shape[1:]))
    out[:] = value
    for b, rows in enumerate(sequences):
        out[b, : len(rows)] = rows
    return out


def image_windows(images, kernel, stride, pads):
    """The windows of each image as rows."""
    up, left, down, right = pads
    images = np.pad(images, ((0, 0), (0, 0), (up, down), (left, right)))
    height, width = images.shape[2:]
    return [
        np.array(
            [
                image[:, i : i + kernel[0], j : j + kernel[1]].ravel()
                for i in range(0, height - kernel[0] + 1, stride[0])
                for j in range(0, width - kernel[1] + 1, stride[1])
            ]
        )
        for image in images
    ]
