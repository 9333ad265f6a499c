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
from ..errors import InvalidArgumentError
from ..framework import created
from ..initializer import Constant
from ..layer_helper import ParamAttr
from . import conditions, distributions, nested
from . import control_flow as control_flow_layers
from .conditions import *  # noqa: F403
from .control_flow import *  # noqa: F403
from .distributions import *  # noqa: F403
from .formula_layers import FORMULAS
from .framework import Variable, default_main_program
from .layer_helper import LayerHelper, answering, layer
from .left_out import LEFT_OUT, left_out
from .readers import PyReader
from .schedules import SCHEDULES
from .simple_layers import LAYERS

_MADE = {**LAYERS, **FORMULAS, **SCHEDULES}
globals().update(_MADE)

__all__ = [
    "auc", "create_global_var", "create_parameter",
    "create_py_reader_by_data", "create_tensor", "data", "inplace_abn",
    "py_func", "py_reader",
]  # fmt: skip
__all__ += [name for name in _MADE if name[0] != "_"]
__all__ += conditions.__all__
__all__ += control_flow_layers.__all__
__all__ += distributions.__all__

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


@layer(
    "shape, dtype, name=None, attr=None, is_bias=False, "
    "default_initializer=None"
)
def create_parameter(helper: LayerHelper, a: Any) -> Variable | None:
    """Create a parameter, or return that of its name."""
    attr = ParamAttr(name=a.name) if a.attr is None else a.attr
    start = a.default_initializer
    return helper.create_parameter(attr, a.shape, a.dtype, a.is_bias, start)


@layer("dtype, name=None, persistable=False")
def create_tensor(helper: LayerHelper, a: Any) -> Variable:
    """A variable whose shape is that of what an op writes or a run feeds."""
    return helper.block.create_var(helper.name, [-1], a.dtype)


@layer("shape, value, dtype, persistable=False, force_cpu=False, name=None")
def create_global_var(helper: LayerHelper, a: Any) -> Variable:
    """A variable of the scope that begins full of one number."""
    start = Constant(a.value)
    return helper.create_persistable(helper.name, a.shape, a.dtype, start)


@layer(
    "input, label, curve='ROC', num_thresholds=2 ** 12 - 1, topk=1, "
    "slide_steps=1"
)
def auc(helper: LayerHelper, a: Any) -> Any:
    """The area under a curve of all batches, that of the last ``slide_steps``
    batches, and the counts that both are computed from.
    """
    sizes = a.num_thresholds + 1
    shapes = {"batch": [max(a.slide_steps, 1), sizes], "all": [1, sizes]}
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
                "Predict": a.input,
                "Label": a.label,
                "StatPos": kept[0],
                "StatNeg": kept[1],
            },
            {"AUC": area, "StatPosOut": kept[0], "StatNegOut": kept[1]},
            {
                "curve": a.curve,
                "num_thresholds": a.num_thresholds,
                "slide_steps": a.slide_steps if kind == "batch" else 0,
            },
        )
        areas.append(helper.block.var(area))
        states += kept
    return areas[1], areas[0], states


@layer("func, x, out, backward_func=None, skip_vars_in_backward_input=None")
def py_func(helper: LayerHelper, a: Any) -> Any:
    """Call a Python function with arrays in each run; see
    :func:`sluice.layers.py_func`.

    ``out`` is a variable, or a list, of ``block.create_var`` with its shape and
    dtype.
    """
    several = isinstance(a.out, (list, tuple))
    xs = list(a.x) if isinstance(a.x, (list, tuple)) else [a.x]
    outs = list(a.out) if several else [a.out]
    skipped = a.skip_vars_in_backward_input or ()
    skipped = skipped if isinstance(skipped, (list, tuple)) else [skipped]
    kinds = [each.declared for each in outs]
    if any(shape is None or dtype is None for shape, dtype in kinds):
        raise InvalidArgumentError(
            f"py_func: out has no shape and dtype: make it by "
            f"block.create_var(shape=..., dtype=...){created()}",
            "fluid.py_func_out",
        )
    kinds = [([None if n == -1 else n for n in s], d) for s, d in kinds]

    def call(value: Any, step: Any) -> list[Any]:
        return sluice_layers.py_func(
            a.func,
            [value(each.name) for each in xs],
            kinds,
            a.backward_func,
            [value(each.name) for each in skipped],
        )

    region = control_flow_layers.Region("py_func", call)
    region.inputs["X"] = [each.name for each in xs]
    region.outputs["Out"] = [each.name for each in outs]
    helper.block.append_region(region)
    return a.out


@layer(
    "capacity, shapes, dtypes, lod_levels=None, name=None, "
    "use_double_buffer=True"
)
def py_reader(helper: LayerHelper, a: Any) -> PyReader:
    """A reader with variables of its own, which :func:`read_file` returns."""
    levels = a.lod_levels or [0] * len(a.shapes)
    inputs = [
        helper.block.data(f"{helper.name}.{i}", shape, dtype, level)
        for i, (shape, dtype, level) in enumerate(
            zip(a.shapes, a.dtypes, levels, strict=True)
        )
    ]
    return PyReader(inputs, iterable=False)


@layer("capacity, feed_list, name=None, use_double_buffer=True")
def create_py_reader_by_data(helper: LayerHelper, a: Any) -> PyReader:
    """A reader of these variables, which :func:`read_file` returns."""
    return PyReader(a.feed_list, iterable=False)


@layer(
    "input, act=None, is_test=False, momentum=0.9, epsilon=1e-05, "
    "param_attr=None, bias_attr=None, data_layout='NCHW', name=None, "
    "moving_mean_name=None, moving_variance_name=None, "
    "do_model_average_for_mean_and_var=True, use_global_stats=False, "
    "act_alpha=1.0"
)
def inplace_abn(helper: LayerHelper, a: Any) -> Variable:
    """``batch_norm``, and one of its activations: elu, leaky_relu."""
    given = dict(vars(a))
    act, alpha = given.pop("act"), given.pop("act_alpha")
    out, a.act = LAYERS["batch_norm"](**given), None
    if act in (None, "identity"):
        return out
    return helper.append(act, {"X": out}, {"alpha": alpha})


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
