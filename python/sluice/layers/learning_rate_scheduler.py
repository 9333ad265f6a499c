"""Learning rates that change with the step, as ops.

Each function returns a float variable of shape [1] for an optimizer's
``learning_rate``. Steps are runs of the program, counted from 0 by the
persistable variable ``learning_rate_step_0``, which checkpoints save; all
schedules of a program share it, and another program has one of another number.
A clone for testing does not have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import _core, unique_name
from ..errors import argument_error
from ..feed_values import finite, positive
from ..initializer import Constant
from ..layer_helper import LayerHelper, where
from ..program import Variable

__all__ = ["linear_lr_warmup"]

_STEP = "learning_rate_step"


def _step(helper: LayerHelper) -> Variable:
    """The number of the run, from 0."""
    program = helper.main_program
    for known in program.list_vars():
        if known.persistable and known.name.startswith(_STEP):
            return known
    name = unique_name.generate(_STEP)
    step = helper.create_persistable(name, [1], "int64", Constant(-1))
    helper.append_op("scale", {"X": step}, {"Out": step}, {"bias": 1.0})
    return step


def schedule(op: str, attrs: Mapping[str, Any]) -> Variable:
    """Append the op of a schedule, after a check of its attributes."""
    helper, checked = LayerHelper(op), dict(attrs)
    for known in _core._schema(op)["attributes"]:
        name, type = known["name"], known["type"]
        what = f"{op}: {name}"
        if type == "int":
            checked[name] = positive(what, attrs[name])
        elif type == "float":
            checked[name] = finite(what, attrs[name])
        elif type == "floats":
            checked[name] = [finite(what, each) for each in attrs[name]]
    with helper.main_program._appending("optimize"):
        inputs = {"Step": _step(helper)}
        return helper.append_op(op, inputs, attrs=checked)["Out"]


def linear_lr_warmup(
    learning_rate: float | Variable,
    warmup_steps: int,
    start_lr: float,
    end_lr: float,
    dtype: Any = "float32",
) -> Variable:
    """From start_lr to end_lr in warmup_steps steps, then learning_rate.

    Args:
        learning_rate: a number, or another schedule, which counts the same
            steps.
        warmup_steps: how many steps the rate grows.
        start_lr: the rate at step 0.
        end_lr: what it grows to.
        dtype: float32 or float64.

    Returns:
        The rate of this run.

    Raises:
        InvalidArgumentError: warmup_steps is not above 0, or start_lr is not
            below end_lr.
    """
    op = "linear_lr_warmup"
    start = finite(f"{op}: start_lr", start_lr)
    end = finite(f"{op}: end_lr", end_lr)
    steps = positive(f"{op}: warmup_steps", warmup_steps)
    if not start < end:
        raise argument_error(
            f"{op}: start_lr must be below end_lr, got {start} and {end}",
            "python.warmup",
        )
    attrs = {"learning_rate": start, "decay_steps": steps, "power": 1.0}
    attrs |= {"end_learning_rate": end, "dtype": dtype}
    ramp = schedule("polynomial_decay", attrs)
    with ramp.program._appending("optimize"):
        if isinstance(learning_rate, Variable):
            rate = learning_rate._as(ramp.dtype)
        else:
            rate = ramp._constant(finite(f"{op}: learning_rate", learning_rate))
        step = _step(LayerHelper(op))
        return where(step < steps, ramp, rate)
