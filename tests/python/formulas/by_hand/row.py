"""What a row is."""

from typing import NamedTuple

import ml_dtypes
import numpy as np

INF, NAN = np.inf, np.nan
INTEGERS = (
    "int8", "uint8", "int32", "int64", "int16", "uint16", "uint32", "uint64",
)
ROWS = []


class Row(NamedTuple):
    """See `row` for the members."""

    test: str
    op: str
    of: str
    near: float
    close: float
    values: dict


def row(test, op, of="float32", near=0.0, close=0.0, **values):
    """Adds a row: a call of `op`, and what must come out.

    `values` are inputs, attributes and the outputs that are compared, by name:
    Out@GRAD is `Out_GRAD`, and a variadic input a tuple. Lists become arrays of
    the dtype that the schema says, and `of` this one where it allows several.
    Outputs are equal, or as near as `near` says, relatively, or `close`,
    absolutely; NaN equals NaN.
    """
    names = {name.replace("_GRAD", "@GRAD"): x for name, x in values.items()}
    ROWS.append(Row(test, op, of, near, close, names))


def bits(dtype, *codes):
    """The numbers of a dtype of 16 bits with these codes."""
    return np.array(codes, "uint16").view(np.dtype(dtype))


def bfloat16(*numbers):
    return np.array(numbers, ml_dtypes.bfloat16)


def ends(dtype):
    """The least integer and the largest."""
    return np.iinfo(dtype).min, np.iinfo(dtype).max
