"""Learning rates that change with the step, as ops.

Each function returns a float variable of shape [1] for an optimizer's
``learning_rate``. Steps are runs of the program, counted from 0 by the
persistable variable ``learning_rate_step``, which checkpoints save; all
schedules of a program share it. A clone for testing does not have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from ..clip import _as
from ..errors import InvalidArgumentError
from ..feed_values import finite
from ..framework import Variable, created, positive
from ..initializer import Constant
from ..layer_helper import LayerHelper

__all__ = [
    "cosine_decay", "exponential_decay", "inverse_time_decay",
    "linear_lr_warmup", "natural_exp_decay", "noam_decay", "piecewise_decay",
    "polynomial_decay",
]

_STEP = "learning_rate_step"


def _step(helper: LayerHelper) -> Variable:
    """The number of the run, from 0."""
    program = helper.main_program
    if program.has_var(_STEP):
        return program.var(_STEP)
    step = helper.create_persistable(_STEP, [1], "int64", Constant(-1))
    helper.append_op("scale", {"X": step}, {"Out": step}, {"bias": 1.0})
    return step


def _schedule(op: str, dtype: Any, values: tuple[Any, ...]) -> Variable:
    """Append the op; values are its attributes in their order."""
    helper = LayerHelper(op)
    attrs: dict[str, Any] = {"dtype": dtype}
    for known, value in zip(
        _core._schema(op)["attributes"], values, strict=False
    ):
        what = f"{op}: {known['name']}"
        if known["type"] == "int":
            value = positive(what, value)
        elif known["type"] not in ("bool", "ints", "floats"):
            value = finite(what, value)
        attrs[known["name"]] = value
    with helper.main_program._appending("optimize"):
        inputs = {"Step": _step(helper)}
        return helper.append_op(op, inputs, attrs=attrs)["Out"]


def exponential_decay(
    learning_rate: float,
    decay_steps: int,
    decay_rate: float,
    staircase: bool = False,
    dtype: Any = "float32",
) -> Variable:
    """``learning_rate * decay_rate ** (step / decay_steps)``.

    Args:
        learning_rate: the rate at step 0.
        decay_steps: how many steps one decay takes.
        decay_rate: the factor of one decay.
        staircase: round the quotient down.
        dtype: float32 or float64.

    Returns:
        The rate of this run.

    Raises:
        InvalidArgumentError: decay_steps is not above 0, or a number is not
            finite.
    """
    values = learning_rate, decay_steps, decay_rate, staircase
    return _schedule("exponential_decay", dtype, values)


def natural_exp_decay(
    learning_rate: float,
    decay_steps: int,
    decay_rate: float,
    staircase: bool = False,
    dtype: Any = "float32",
) -> Variable:
    """``learning_rate * exp(-decay_rate * step / decay_steps)``.

    Arguments as for :func:`exponential_decay`.
    """
    values = learning_rate, decay_steps, decay_rate, staircase
    return _schedule("natural_exp_decay", dtype, values)


def inverse_time_decay(
    learning_rate: float,
    decay_steps: int,
    decay_rate: float,
    staircase: bool = False,
    dtype: Any = "float32",
) -> Variable:
    """``learning_rate / (1 + decay_rate * step / decay_steps)``.

    Arguments as for :func:`exponential_decay`.
    """
    values = learning_rate, decay_steps, decay_rate, staircase
    return _schedule("inverse_time_decay", dtype, values)


def polynomial_decay(
    learning_rate: float,
    decay_steps: int,
    end_learning_rate: float = 0.0001,
    power: float = 1.0,
    cycle: bool = False,
    dtype: Any = "float32",
) -> Variable:
    """From learning_rate to end_learning_rate, by a power of the time left.

    ``(learning_rate - end_learning_rate) * (1 - step / decay_steps) ** power +
    end_learning_rate``; later it stays there.

    Args:
        learning_rate: the rate at step 0.
        decay_steps: the step where it ends.
        end_learning_rate: the last rate.
        power: 1 is linear.
        cycle: instead of staying, go on with 2, 3, ... times decay_steps.
        dtype: float32 or float64.

    Returns:
        The rate of this run.

    Raises:
        InvalidArgumentError: decay_steps is not above 0, or a number is not
            finite.
    """
    values = learning_rate, decay_steps, end_learning_rate, power, cycle
    return _schedule("polynomial_decay", dtype, values)


def piecewise_decay(
    boundaries: Sequence[int],
    values: Sequence[float],
    dtype: Any = "float32",
) -> Variable:
    """``values[i]`` from step ``boundaries[i - 1]`` on.

    Args:
        boundaries: ascending steps.
        values: the rates, one more.
        dtype: float32 or float64.

    Returns:
        The rate of this run.

    Raises:
        InvalidArgumentError: the numbers do not match, or the boundaries are
            not ascending.
    """
    rates = [finite("piecewise_decay: values", v) for v in values]
    return _schedule("piecewise_decay", dtype, (list(boundaries), rates))


def noam_decay(
    d_model: int,
    warmup_steps: int,
    learning_rate: float = 1.0,
    dtype: Any = "float32",
) -> Variable:
    """The schedule of "Attention is all you need" (Vaswani et al., 2017).

    ``learning_rate * d_model ** -0.5 * min(n ** -0.5, n * warmup_steps **
    -1.5)``, where n is 1 in the first run.

    Args:
        d_model: the width of the model.
        warmup_steps: how many steps the rate grows.
        learning_rate: a factor.
        dtype: float32 or float64.

    Returns:
        The rate of this run.

    Raises:
        InvalidArgumentError: d_model or warmup_steps is not above 0.
    """
    values = d_model, warmup_steps, learning_rate
    return _schedule("noam_decay", dtype, values)


def cosine_decay(
    learning_rate: float,
    step_each_epoch: int,
    epochs: int,
    dtype: Any = "float32",
) -> Variable:
    """``learning_rate / 2 * (cos(pi * epoch / epochs) + 1)``.

    The epoch is step / step_each_epoch, rounded down.

    Args:
        learning_rate: the rate at step 0.
        step_each_epoch: how many steps an epoch has.
        epochs: after how many epochs the rate is 0.
        dtype: float32 or float64.

    Returns:
        The rate of this run.

    Raises:
        InvalidArgumentError: step_each_epoch or epochs is not above 0.
    """
    values = learning_rate, step_each_epoch, epochs
    return _schedule("cosine_decay", dtype, values)


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
        raise InvalidArgumentError(
            f"{op}: start_lr must be below end_lr, got {start} and "
            f"{end}{created()}",
            "python.warmup",
        )
    ramp = polynomial_decay(start, steps, end, dtype=dtype)
    with ramp.program._appending("optimize"):
        if isinstance(learning_rate, Variable):
            rate = _as(ramp.dtype, learning_rate)
        else:
            rate = ramp._constant(finite(f"{op}: learning_rate", learning_rate))
        step = ramp.program.var(_STEP)
        inputs = {"Condition": step < steps, "X": ramp, "Y": rate}
        return ramp.program.append_op("where", inputs)["Out"]
