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

from ..errors import InvalidArgumentError
from ..framework import created
from ..initializer import Constant
from .formula_layers import formulas
from .framework import Variable, default_main_program
from .layer_helper import LayerHelper, layer
from .simple_layers import LAYERS, _tensor

_TEXT = """
noam_decay(d_model, warmup_steps, learning_rate=1.0) = _noam(step(1),
    float(warmup_steps) ** -1.5, learning_rate * float(d_model) ** -0.5)
_noam(step, slope, rate) = elementwise_min(rsqrt(step), step * slope) * rate
exponential_decay(learning_rate, decay_steps, decay_rate, staircase=False) =
    exp(times(decay_steps, staircase) * log(decay_rate)) * learning_rate
natural_exp_decay(learning_rate, decay_steps, decay_rate, staircase=False) =
    exp(times(decay_steps, staircase) * -decay_rate) * learning_rate
inverse_time_decay(learning_rate, decay_steps, decay_rate, staircase=False) =
    learning_rate / (times(decay_steps, staircase) * decay_rate + 1.0)
polynomial_decay(learning_rate, decay_steps, end_learning_rate=0.0001,
    power=1.0, cycle=False) = _curve(times(decay_steps), power, cycle) *
    (learning_rate - end_learning_rate) + end_learning_rate
_curve(times, power, cycle) = pow(1.0 - (times / elementwise_max(ceil(times),
    number(1.0)) if cycle else elementwise_min(times, number(1.0))), power)
piecewise_decay(boundaries, values) = pieces(step(), boundaries, values)
cosine_decay(learning_rate, step_each_epoch, epochs) =
    (cos(times(step_each_epoch, True) * (pi / epochs)) + 1.0) *
    (learning_rate * 0.5)
linear_lr_warmup(learning_rate, warmup_steps, start_lr, end_lr) =
    _warmed(step(), float(warmup_steps), float(start_lr), float(end_lr),
    number(learning_rate))
_warmed(step, steps, start, end, rate) =
    _where(step < steps, step * ((end - start) / steps) + start, rate)
"""


@layer("counter_name=None, begin=1, step=1", "global_step_counter")
def autoincreased_step_counter(helper: LayerHelper, a: Any) -> Variable:
    """The number of the run, from ``begin`` on, of shape [1] and int64."""
    name = a.counter_name or "@STEP_COUNTER@"
    if helper.block.has_var(name):
        return helper.block.var(name)
    start = Constant(a.begin - a.step)
    counter = helper.create_persistable(name, [1], "int64", start)
    attrs = {"step": a.step}
    return helper.append("increment", {"X": counter}, attrs, into=counter)


def _step(begin: int = 0) -> Variable:
    """The number of the run that schedules count, of shape [1] and float32."""
    counter = autoincreased_step_counter("@LR_DECAY_COUNTER@", begin)
    return counter.astype("float32")


def _times(steps: float, staircase: bool = False) -> Variable:
    """How often so many steps have passed."""
    times = _step() / float(steps)
    return LAYERS["floor"](times) if staircase else times


def _number(value: Any) -> Variable:
    return _tensor(value, "float32")


def _pieces(step: Variable, boundaries: Any, values: Any) -> Variable:
    """values[i] before the step boundaries[i], and the last value after."""
    if len(values) != len(boundaries) + 1:
        raise InvalidArgumentError(
            f"piecewise_decay: {len(boundaries)} boundaries need one value "
            f"more, got {len(values)}{created()}",
            "fluid.piecewise_decay",
        )
    rate = _number(values[-1])
    for boundary, value in list(zip(boundaries, values, strict=False))[::-1]:
        rate = LAYERS["_where"](step < float(boundary), _number(value), rate)
    used = default_main_program().global_block().has_var("learning_rate")
    helper = LayerHelper("learning_rate", None if used else "learning_rate")
    stored = helper.create_persistable(
        helper.name, [1], "float32", Constant(0.0)
    )
    return helper.append("assign", {"X": rate}, into=stored)


def _schedule(function: Callable[..., Variable]) -> Callable[..., Variable]:
    """Append what the formula appends as ops of the optimizer."""

    @functools.wraps(function)
    def schedule(*values: Any, **named: Any) -> Variable:
        with default_main_program().optimizing():
            return function(*values, **named)

    return schedule


_NAMES = {
    **LAYERS,
    "log": math.log,
    "number": _number,
    "pi": math.pi,
    "pieces": _pieces,
    "step": _step,
    "times": _times,
}
SCHEDULES: dict[str, Callable[..., Any]] = {
    name: _schedule(each) for name, each in formulas(_TEXT, _NAMES).items()
}
SCHEDULES["autoincreased_step_counter"] = autoincreased_step_counter
SCHEDULES["_decay_step_counter"] = _step
