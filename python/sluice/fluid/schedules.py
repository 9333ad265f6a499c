"""Learning rates that change with the run, as variables for optimizers.

They count runs in the stored variable ``@LR_DECAY_COUNTER@``, from 0, and
``noam_decay`` from 1; the first schedule of a program decides. Clones for
testing do not have their ops.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import InvalidArgumentError
from ..framework import created
from ..initializer import Constant
from .framework import Variable, default_main_program
from .layer_helper import LayerHelper, layer
from .simple_layers import LAYERS

__all__ = [
    "autoincreased_step_counter", "cosine_decay", "exponential_decay",
    "inverse_time_decay", "linear_lr_warmup", "natural_exp_decay",
    "noam_decay", "piecewise_decay", "polynomial_decay",
]  # fmt: skip


@layer("counter_name=None, begin=1, step=1", "global_step_counter")
def autoincreased_step_counter(helper: LayerHelper, a: Any) -> Variable:
    """The number of the run, from ``begin`` on, of shape [1] and int64."""
    name = a.counter_name or "@STEP_COUNTER@"
    if helper.block.has_var(name):
        return helper.block.var(name)
    start = Constant(a.begin - a.step)
    counter = helper.create_persistable(name, [1], "int64", start)
    attrs = {"step": float(a.step)}
    return helper.append("increment", {"X": counter}, attrs, into=counter)


def _schedule(function: Callable[..., Variable]) -> Callable[..., Variable]:
    """Append what a function of the step appends as ops of the optimizer."""

    @functools.wraps(function)
    def schedule(*values: Any, **named: Any) -> Variable:
        with default_main_program().optimizing():
            return function(*values, **named)

    return schedule


def _step(begin: int = 0) -> Variable:
    counter = autoincreased_step_counter("@LR_DECAY_COUNTER@", begin)
    return counter.astype("float32")


def _times(steps: int, staircase: bool) -> Variable:
    """How often ``steps`` steps have passed."""
    times = _step() / float(steps)
    return LAYERS["floor"](times) if staircase else times


def _chosen(condition: Variable, x: Any, y: Any) -> Variable:
    x, y = (
        each
        if isinstance(each, Variable)
        else LAYERS["fill_constant"]([1], "float32", each)
        for each in (x, y)
    )
    inputs = {"Condition": condition, "X": x, "Y": y}
    return LayerHelper("where").append("where", inputs)


@_schedule
def noam_decay(
    d_model: float, warmup_steps: float, learning_rate: float = 1.0
) -> Variable:
    """Grows for ``warmup_steps`` steps, then falls with the step's root."""
    step = _step(1)
    lower = LAYERS["elementwise_min"](
        LAYERS["rsqrt"](step), step * float(warmup_steps) ** -1.5
    )
    return lower * (learning_rate * float(d_model) ** -0.5)


@_schedule
def exponential_decay(
    learning_rate: float,
    decay_steps: int,
    decay_rate: float,
    staircase: bool = False,
) -> Variable:
    """learning_rate * decay_rate ** (step / decay_steps)."""
    exponent = _times(decay_steps, staircase) * math.log(decay_rate)
    return LAYERS["exp"](exponent) * learning_rate


@_schedule
def natural_exp_decay(
    learning_rate: float,
    decay_steps: int,
    decay_rate: float,
    staircase: bool = False,
) -> Variable:
    """learning_rate * exp(-decay_rate * step / decay_steps)."""
    exponent = _times(decay_steps, staircase) * -decay_rate
    return LAYERS["exp"](exponent) * learning_rate


@_schedule
def inverse_time_decay(
    learning_rate: float,
    decay_steps: int,
    decay_rate: float,
    staircase: bool = False,
) -> Variable:
    """learning_rate / (1 + decay_rate * step / decay_steps)."""
    return learning_rate / (_times(decay_steps, staircase) * decay_rate + 1.0)


@_schedule
def polynomial_decay(
    learning_rate: float,
    decay_steps: int,
    end_learning_rate: float = 0.0001,
    power: float = 1.0,
    cycle: bool = False,
) -> Variable:
    """From learning_rate to end_learning_rate in decay_steps steps; with
    ``cycle`` in the first multiple of them that is not past.
    """
    times = _step() / float(decay_steps)
    one = LAYERS["fill_constant"]([1], "float32", 1.0)
    if cycle:
        cycles = LAYERS["ceil"](times)
        part = times / LAYERS["elementwise_max"](cycles, one)
    else:
        part = LAYERS["elementwise_min"](times, one)
    curve = LAYERS["pow"](1.0 - part, power)
    return curve * (learning_rate - end_learning_rate) + end_learning_rate


@_schedule
def piecewise_decay(
    boundaries: Sequence[int], values: Sequence[float]
) -> Variable:
    """values[i] before the step boundaries[i], and the last value after."""
    if len(values) != len(boundaries) + 1:
        raise InvalidArgumentError(
            f"piecewise_decay: {len(boundaries)} boundaries need one value "
            f"more, got {len(values)}{created()}",
            "fluid.piecewise_decay",
        )
    step, rate = _step(), values[-1]
    for boundary, value in zip(
        reversed(boundaries), values[-2::-1], strict=True
    ):
        rate = _chosen(step < float(boundary), value, rate)
    return rate


@_schedule
def cosine_decay(
    learning_rate: float, step_each_epoch: int, epochs: int
) -> Variable:
    """learning_rate * (1 + cos(pi * epoch / epochs)) / 2."""
    epoch = _times(step_each_epoch, True)
    turned = LAYERS["cos"](epoch * (math.pi / epochs))
    return (turned + 1.0) * 0.5 * learning_rate


@_schedule
def linear_lr_warmup(
    learning_rate: float | Variable,
    warmup_steps: int,
    start_lr: float,
    end_lr: float,
) -> Variable:
    """From start_lr to end_lr in warmup_steps steps, then learning_rate, a
    number or another schedule.
    """
    step = _step()
    slope = (float(end_lr) - float(start_lr)) / float(warmup_steps)
    ramp = step * slope + float(start_lr)
    return _chosen(step < float(warmup_steps), ramp, learning_rate)
