"""Learning rates that change with the run, as variables for optimizers.

They count runs in the stored variable ``@LR_DECAY_COUNTER@``, from 0, and
``noam_decay`` from 1; the first schedule of a program decides. Clones for
testing do not have their ops.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ..initializer import Constant
from .errors import wrong
from .framework import Variable, default_main_program
from .layer_helper import LayerHelper, layer
from .op_layers import as_tensor
from .op_layers.composed import ops


@functools.partial(layer, stem="global_step_counter")
def autoincreased_step_counter(
    helper: LayerHelper, counter_name=None, begin=1, step=1
):
    """The number of the run, from ``begin`` on, of shape [1] and int64."""
    name = counter_name or "@STEP_COUNTER@"
    if helper.block.has_var(name):
        return helper.block.var(name)
    start = Constant(begin - step)
    counter = helper.create_persistable(name, [1], "int64", start)
    attrs = {"step": step}
    return helper.append("increment", {"X": counter}, attrs, into=counter)


def _step(begin: int = 0) -> Variable:
    """The number of the run that schedules count, of shape [1] and float32."""
    counter = autoincreased_step_counter("@LR_DECAY_COUNTER@", begin)
    return counter.astype("float32")


def _times(steps: float, staircase: bool = False) -> Variable:
    """How often so many steps have passed."""
    times = _step() / float(steps)
    return ops.floor(times) if staircase else times


def _number(value: Any) -> Variable:
    return as_tensor(value, "float32")


SCHEDULES: dict[str, Callable[..., Any]] = {
    "autoincreased_step_counter": autoincreased_step_counter,
    "_decay_step_counter": _step,
}


def _schedule(function: Callable[..., Variable]) -> Callable[..., Variable]:
    """Append what the function appends as ops of the optimizer."""

    @functools.wraps(function)
    def schedule(*values: Any, **named: Any) -> Variable:
        with default_main_program().optimizing():
            return function(*values, **named)

    SCHEDULES[function.__name__] = schedule
    return schedule


@_schedule
def noam_decay(d_model, warmup_steps, learning_rate=1.0):
    """rate / sqrt(d_model) * min(step ** -0.5, step / warmup_steps ** 1.5)."""
    step = _step(1)
    slope, rate = (
        float(warmup_steps) ** -1.5,
        learning_rate * float(d_model) ** -0.5,
    )
    return ops.elementwise_min(ops.rsqrt(step), step * slope) * rate


@_schedule
def exponential_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """rate * decay_rate ** times."""
    times = _times(decay_steps, staircase)
    return ops.exp(times * math.log(decay_rate)) * learning_rate


@_schedule
def natural_exp_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """rate * exp(-decay_rate * times)."""
    times = _times(decay_steps, staircase)
    return ops.exp(times * -decay_rate) * learning_rate


@_schedule
def inverse_time_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """rate / (1 + decay_rate * times)."""
    times = _times(decay_steps, staircase)
    return learning_rate / (times * decay_rate + 1.0)


@_schedule
def polynomial_decay(
    learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False
):
    """(rate - end) * (1 - times) ** power + end, where times ends at 1, or at
    the next whole number in a cycle.
    """
    times = _times(decay_steps)
    if cycle:
        part = times / ops.elementwise_max(ops.ceil(times), _number(1.0))
    else:
        part = ops.elementwise_min(times, _number(1.0))
    scale = learning_rate - end_learning_rate
    return ops.pow(1.0 - part, power) * scale + end_learning_rate


@_schedule
def piecewise_decay(boundaries: Any, values: Any) -> Variable:
    """values[i] before the step boundaries[i], and the last value after."""
    if len(values) != len(boundaries) + 1:
        wrong(
            f"piecewise_decay: {len(boundaries)} boundaries need one value "
            f"more, got {len(values)}",
            "fluid.piecewise_decay",
        )
    step, rate = _step(), _number(values[-1])
    for boundary, value in list(zip(boundaries, values, strict=False))[::-1]:
        rate = ops._where(step < float(boundary), _number(value), rate)
    used = default_main_program().global_block().has_var("learning_rate")
    helper = LayerHelper("learning_rate", None if used else "learning_rate")
    stored = helper.create_persistable(
        helper.name, [1], "float32", Constant(0.0)
    )
    return helper.append("assign", {"X": rate}, into=stored)


@_schedule
def cosine_decay(learning_rate, step_each_epoch, epochs):
    """rate / 2 * (cos(pi * epoch / epochs) + 1)."""
    epoch = _times(step_each_epoch, True)
    wave = ops.cos(epoch * (math.pi / epochs)) + 1.0
    return wave * (learning_rate * 0.5)


@_schedule
def linear_lr_warmup(learning_rate, warmup_steps, start_lr, end_lr):
    """From start_lr to end_lr in the first steps, then the rate."""
    step, steps = _step(), float(warmup_steps)
    rate = _number(learning_rate)
    slope = (float(end_lr) - float(start_lr)) / steps
    warm = step < steps
    return ops._where(warm, step * slope + float(start_lr), rate)
