"""Layers of Fluid 1.8: its argument order, defaults and shapes.

A layer whose arguments a docstring does not describe has those of Fluid.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from .. import layers as sluice_layers
from ..initializer import Constant
from ..layer_helper import ParamAttr
from . import conditions, nested
from . import control_flow as control_flow_layers
from .conditions import *  # noqa: F403
from .control_flow import *  # noqa: F403
from .errors import wrong
from .framework import Variable, default_main_program
from .layer_helper import LayerHelper, answering, layer
from .left_out import left_out, left_out_layers
from .op_layers import LAYERS
from .op_layers.composed import COMPOSED
from .readers import PyReader
from .schedules import SCHEDULES

_MADE = {**LAYERS, **COMPOSED, **SCHEDULES}
globals().update(_MADE)

__all__ = [
    "auc", "create_global_var", "create_parameter",
    "create_py_reader_by_data", "create_tensor", "data", "inplace_abn",
    "py_func", "py_reader",
]  # fmt: skip
__all__ += [name for name in _MADE if name[0] != "_"]
__all__ += conditions.__all__
__all__ += control_flow_layers.__all__

# Fluid's modules of layers: all are this one.
MODULES = (
    "control_flow", "detection", "device", "io", "learning_rate_scheduler",
    "loss", "metric_op", "nn", "ops", "sequence_lod", "tensor",
)  # fmt: skip
globals().update(dict.fromkeys(MODULES, sys.modules[__name__]))
utils = nested


def data(
    name: str,
    shape: Sequence[int | None],
    append_batch_size: bool = True,
    dtype: Any = "float32",
    lod_level: int = 0,
    type: Any = None,
    stop_gradient: bool = True,
) -> Variable:
    """Declare a variable to feed.

    With ``append_batch_size`` a shape without -1 is that of one sample.
    """
    sizes = list(shape)
    if append_batch_size and not any(size in (-1, None) for size in sizes):
        sizes = [-1, *sizes]
    block = default_main_program().global_block()
    made = block.data(name, sizes, dtype, lod_level)
    made.stop_gradient = stop_gradient
    return made


@layer
def create_parameter(
    helper: LayerHelper, shape, dtype, name=None, attr=None, is_bias=False,
    default_initializer=None,
):  # fmt: skip
    """Create a parameter, or return that of its name."""
    attr = ParamAttr(name=name) if attr is None else attr
    return helper.create_parameter(
        attr, shape, dtype, is_bias, default_initializer
    )


@layer
def create_tensor(helper: LayerHelper, dtype, name=None, persistable=False):
    """A variable whose shape is that of what an op writes or a run feeds."""
    return helper.block.create_var(helper.name, [-1], dtype)


@layer
def create_global_var(
    helper: LayerHelper, shape, value, dtype, persistable=False,
    force_cpu=False, name=None,
):  # fmt: skip
    """A variable of the scope that begins full of one number."""
    start = Constant(value)
    return helper.create_persistable(helper.name, shape, dtype, start)


@layer
def auc(
    helper: LayerHelper, input, label, curve="ROC", num_thresholds=2**12 - 1,
    topk=1, slide_steps=1,
):  # fmt: skip
    """The area under a curve of all batches, that of the last ``slide_steps``
    batches, and the counts that both are computed from.
    """
    sizes = num_thresholds + 1
    shapes = {"batch": [max(slide_steps, 1), sizes], "all": [1, sizes]}
    areas, states = [], []
    for kind, shape in shapes.items():
        kept = [
            helper.create_persistable(
                f"{helper.name}.{kind}.{name}", shape, "int64", Constant(0)
            )
            for name in ("stat_pos", "stat_neg")
        ]
        area = f"{helper.name}.{kind}"
        helper.block.append_op(
            "auc",
            {
                "Predict": input,
                "Label": label,
                "StatPos": kept[0],
                "StatNeg": kept[1],
            },
            {"AUC": area, "StatPosOut": kept[0], "StatNegOut": kept[1]},
            {
                "curve": curve,
                "num_thresholds": num_thresholds,
                "slide_steps": slide_steps if kind == "batch" else 0,
            },
        )
        areas.append(helper.block.var(area))
        states += kept
    return areas[1], areas[0], states


@layer
def py_func(
    helper: LayerHelper, func, x, out, backward_func=None,
    skip_vars_in_backward_input=None,
):  # fmt: skip
    """Call a Python function with arrays in each run; see
    :func:`sluice.layers.py_func`.

    ``out`` is a variable, or a list, of ``block.create_var`` with its shape and
    dtype.
    """
    several = isinstance(out, (list, tuple))
    xs = list(x) if isinstance(x, (list, tuple)) else [x]
    outs = list(out) if several else [out]
    skipped = skip_vars_in_backward_input or ()
    skipped = skipped if isinstance(skipped, (list, tuple)) else [skipped]
    kinds = [each.declared for each in outs]
    if any(shape is None or dtype is None for shape, dtype in kinds):
        wrong(
            "py_func: out has no shape and dtype: make it by "
            "block.create_var(shape=..., dtype=...)",
            "fluid.py_func_out",
        )
    kinds = [([None if n == -1 else n for n in s], d) for s, d in kinds]

    def call(value: Any, step: Any) -> list[Any]:
        return sluice_layers.py_func(
            func,
            [value(each.name) for each in xs],
            kinds,
            backward_func,
            [value(each.name) for each in skipped],
        )

    region = control_flow_layers.Region("py_func", call)
    region.inputs["X"] = [each.name for each in xs]
    region.outputs["Out"] = [each.name for each in outs]
    helper.block.append_region(region)
    return out


@layer
def py_reader(
    helper: LayerHelper, capacity, shapes, dtypes, lod_levels=None, name=None,
    use_double_buffer=True,
):  # fmt: skip
    """A reader with variables of its own, which :func:`read_file` returns."""
    levels = lod_levels or [0] * len(shapes)
    inputs = [
        helper.block.data(f"{helper.name}.{i}", shape, dtype, level)
        for i, (shape, dtype, level) in enumerate(
            zip(shapes, dtypes, levels, strict=True)
        )
    ]
    return PyReader(inputs, iterable=False)


@layer
def create_py_reader_by_data(
    helper: LayerHelper, capacity, feed_list, name=None, use_double_buffer=True
):
    """A reader of these variables, which :func:`read_file` returns."""
    return PyReader(feed_list, iterable=False)


@layer
def inplace_abn(
    helper: LayerHelper, input, act=None, is_test=False, momentum=0.9,
    epsilon=1e-05, param_attr=None, bias_attr=None, data_layout="NCHW",
    name=None, moving_mean_name=None, moving_variance_name=None,
    do_model_average_for_mean_and_var=True, use_global_stats=False,
    act_alpha=1.0,
):  # fmt: skip
    """``batch_norm``, and one of its activations: elu, leaky_relu."""
    out = LAYERS["batch_norm"](
        input, None, is_test, momentum, epsilon, param_attr, bias_attr,
        data_layout, False, name, moving_mean_name, moving_variance_name,
        do_model_average_for_mean_and_var, use_global_stats,
    )  # fmt: skip
    if act in (None, "identity"):
        return out
    return helper.append(act, {"X": out}, {"alpha": act_alpha})


LEFT_OUT = left_out_layers(__all__)
# What other frameworks call a layer.
_CALLED = dict.fromkeys(("dense", "fully_connected", "linear"), "fc")
# These call functions of the user, whose errors are left alone.
_CALLING = {"case", "cond", "py_func", "switch_case", "while_loop"}
for _name in {*__all__} - _CALLING:
    if inspect.isfunction(globals()[_name]):
        globals()[_name] = answering(globals()[_name])


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in LEFT_OUT:
        return left_out("fluid.layers", name, LEFT_OUT[name])
    also = ""
    if hasattr(sluice_layers, name):
        also = f"; sl.layers.{name} is for programs of Sluice"
    near = get_close_matches(_CALLED.get(name, name), __all__, 1)
    if near:
        also = f"; did you mean {near[0]}?"
    raise AttributeError(f"fluid.layers.{name} is not there{also}")
