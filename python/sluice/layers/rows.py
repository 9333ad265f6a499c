"""Layers of a single op, as rows of a table.

Names and defaults are Fluid's. A function is written from its row and the op's
schema when it is first used, by :mod:`sluice.layers.ops`.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """The properties of a layer that the schema of its op does not have."""

    inputs: dict[str, str]
    """The inputs of the op, by the name of the argument."""
    ragged: str = ""
    """The argument whose rows must be sequences."""
    unused: str = ""
    """An argument of Fluid's that has no effect."""
    about: str = ""
    """More sentences of its description."""
    raises: str = ""


_STEP = "Step is the number of the run, from 0, for all schedules of a program."
_RATE = Row(
    {},
    about=_STEP,
    raises="InvalidArgumentError: a number is not finite, or a count not "
    "above 0.",
)
_RATES = (
    "cosine_decay", "exponential_decay", "inverse_time_decay",
    "natural_exp_decay", "noam_decay", "polynomial_decay",
)
ROWS = {
    **dict.fromkeys(_RATES, _RATE),
    "expand_as": Row({"x": "X", "target_tensor": "Y"}),
    "piecewise_decay": Row(
        {},
        about=_STEP,
        raises="InvalidArgumentError: the numbers do not match, or the "
        "boundaries are not ascending.",
    ),
    "sequence_enumerate": Row({"input": "X"}, "input"),
    "sequence_erase": Row({"input": "X"}, "input"),
    "sequence_expand_as": Row({"x": "X", "y": "Y"}, "y"),
    "sequence_reshape": Row({"input": "X"}, "input"),
    "sequence_reverse": Row({"x": "X"}, "x"),
    "sequence_scatter": Row(
        {"input": "X", "index": "Ids", "updates": "Updates"},
        "index",
        raises="OutOfRangeError: at run time, for a column that is none.",
    ),
    "sequence_slice": Row(
        {"input": "X", "offset": "Offset", "length": "Length"},
        "input",
        raises="OutOfRangeError: at run time, for rows that a sequence does "
        "not have.",
    ),
    "sequence_softmax": Row({"input": "X"}, "input", "use_cudnn: bool = False"),
    "sequence_unpad": Row(
        {"x": "X", "length": "Length"},
        raises="OutOfRangeError: at run time, for a length beyond T.",
    ),
}
