"""Images whose channels are the last dim, or dim 1."""

from __future__ import annotations

from ...framework import Variable
from .table import Op


def is_last(op: Op, layout: str) -> bool:
    """Whether the channels are the last dim."""
    if layout not in ("NCHW", "NCDHW", "NHWC", "NDHWC", "AnyLayout"):
        op.wrong(f"the layout is {layout!r}; expected NCHW or NHWC")
    return layout in ("NHWC", "NDHWC")


def channels_second(op: Op, x: Variable) -> Variable:
    """Images whose channels are the last dim, with the channels as dim 1."""
    rank = op.rank(x)
    axis = [0, rank - 1, *range(1, rank - 1)]
    return op.transpose(x, axis=axis)


def channels_last(op: Op, x: Variable) -> Variable:
    """The other way round."""
    axis = [0, *range(2, op.rank(x)), 1]
    return op.transpose(x, axis=axis)
