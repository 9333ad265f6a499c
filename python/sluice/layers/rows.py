"""Layers of a single op, as rows of a table.

Names and defaults are Fluid's. A function is written from its row and the op's
schema when it is first used, as those of :mod:`sluice.layers.ops`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .. import _core
from ..variable import Variable
from .helpers import make
from .learning_rate_scheduler import schedule
from .sequence import require_ragged


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


def _append(
    op: str, inputs: Mapping[str, Any], attrs: Mapping[str, Any], name: Any
) -> Variable:
    row = ROWS[op]
    if not inputs:
        return schedule(op, attrs)
    if row.ragged:
        require_ragged(op, inputs[row.inputs[row.ragged]], row.ragged)
    return make(op, dict(inputs), name, **attrs)


def write(name: str) -> Any:
    """The function of a row."""
    from .generate import compiled

    space = {"Any": Any, "Sequence": Sequence, "Variable": Variable}
    space["_append"] = _append
    return compiled(_core._schema(name), "sluice.layers", space, ROWS[name])
