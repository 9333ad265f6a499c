"""Ops that make tensors of attributes and shapes."""

import numpy as np

from .case import case

SHAPES = [[3, 5], [], [1], [4, 0], [271, 301]]
OF_KERNEL = {"dtype": "T"}


def assigned(make):
    for shape in [3, 5], [], [1], [4, 0], [71, 301]:
        values = make.integers("T", shape, 0, 1).values.ravel()
        yield {
            "shape": shape,
            "dtype": OF_KERNEL,
            "values": values.astype(float).tolist(),
        }


@case("assign_value", assigned)
def assign_value(shape, values):
    return np.reshape(values, shape)


def filled(make):
    for shape in SHAPES:
        yield {"shape": shape, "dtype": OF_KERNEL, "value": 1.0}


@case("fill_constant", filled)
def fill_constant(shape, value):
    return np.full(shape, value)


def filled_like(make):
    for shape in SHAPES:
        x = make.integers("int32", shape, 0, 9)
        yield {"X": x, "dtype": OF_KERNEL, "value": 1.0}


@case("fill_any_like", filled_like)
def fill_any_like(x, value):
    return np.full(x.shape, value)


def ranges(make):
    for start, end, step in [
        (0.0, 5.0, 1.0),
        (7.0, -8.0, -4.0),
        (3.0, 4.0, 2.0),
        (2.0, 2.0, 1.0),
        (-100.0, 101.0, 1.0),
    ]:
        how = {"start": start, "end": end, "step": step}
        yield how | {"dtype": OF_KERNEL}


@case("range", ranges)
def range_(start, end, step):
    return np.arange(start, end, step)


def shapes(make):
    yield {"X": make.values(3, 1, 5)}
    yield {"X": make.values(3, 1, 5), "start": 1, "end": -1}
    yield {"X": make.values()}
    yield {"X": make.values(0, 7), "start": -9}


@case("shape", shapes)
def shape(x, start, end):
    return np.array(x.shape[start:end])
