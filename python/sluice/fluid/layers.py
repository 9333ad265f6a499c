"""Layers of Fluid 1.8: its argument order, defaults and shapes.

A layer whose arguments a docstring does not describe has those of Fluid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import layers as sluice_layers
from ..errors import NotFoundError, UnimplementedError
from ..framework import created
from ..initializer import Constant
from ..layer_helper import ParamAttr
from . import (
    composed_layers,
    control_flow,
    parameter_layers,
    recurrent_layers,
    schedules,
    writing,
)
from .composed_layers import *  # noqa: F403
from .control_flow import *  # noqa: F403
from .framework import Variable, default_main_program
from .layer_helper import LayerHelper, layer
from .left_out import LEFT_OUT
from .parameter_layers import *  # noqa: F403
from .recurrent_layers import *  # noqa: F403
from .schedules import *  # noqa: F403
from .simple_layers import LAYERS
from .writing import *  # noqa: F403

globals().update(LAYERS)

__all__ = [
    "accuracy", "auc", "create_global_var", "create_parameter",
    "create_tensor", "data", "dropout",
]  # fmt: skip
__all__ += sorted(LAYERS)
for _module in (
    composed_layers,
    control_flow,
    parameter_layers,
    recurrent_layers,
    schedules,
    writing,
):
    __all__ += _module.__all__


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
    """A variable that an op will write, which gives it dtype and shape."""
    return helper.block.create_var(helper.name)


@layer("shape, value, dtype, persistable=False, force_cpu=False, name=None")
def create_global_var(helper: LayerHelper, a: Any) -> Variable:
    """A variable of the scope that begins full of one number."""
    start = Constant(float(a.value))
    return helper.create_persistable(helper.name, a.shape, a.dtype, start)


@layer("input, label, k=1, correct=None, total=None")
def accuracy(helper: LayerHelper, a: Any) -> Variable:
    """The share of rows whose label is among the first k, of shape [1]."""
    _, indices = LAYERS["topk"](a.input, a.k)
    inputs = {"Indices": indices, "Label": a.label}
    names = {"Accuracy": f"{helper.name}.tmp"}
    given = {"Correct": a.correct, "Total": a.total}
    names |= {slot: var for slot, var in given.items() if var is not None}
    helper.block.append_op("accuracy", inputs, names)
    return helper.block.var(names["Accuracy"])


@layer(
    "input, label, curve='ROC', num_thresholds=2 ** 12 - 1, topk=1, "
    "slide_steps=1"
)
def auc(helper: LayerHelper, a: Any) -> Any:
    """The area under a curve of all batches, that of the last ``slide_steps``
    batches, and the counts that both are computed from.
    """
    sizes = a.num_thresholds + 1
    shapes = {"batch": [(1 + a.slide_steps) * sizes + 1], "all": [1, sizes]}
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


@layer(
    "x, dropout_prob, is_test=False, seed=None, name=None, "
    "dropout_implementation='downgrade_in_infer'"
)
def dropout(helper: LayerHelper, a: Any) -> Variable:
    """Elements drawn and set to 0."""
    attrs = {
        "dropout_prob": a.dropout_prob,
        "is_test": a.is_test,
        "fix_seed": a.seed is not None,
        "seed": a.seed or 0,
        "dropout_implementation": a.dropout_implementation,
    }
    return helper.append("dropout", {"X": a.x}, attrs)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in LEFT_OUT:
        raise UnimplementedError(
            f"fluid.layers.{name}: {LEFT_OUT[name]}{created()}",
            "fluid.left_out",
        )
    also = ""
    if hasattr(sluice_layers, name):
        also = f"; sl.layers.{name} is for programs of Sluice"
    raise NotFoundError(
        f"fluid.layers.{name} is not there{also}{created()}", "fluid.layer"
    )
