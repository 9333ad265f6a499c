"""``fluid.contrib``: what has a meaning here."""

from __future__ import annotations

import math
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from .framework import Program
from .left_out import left_out, refusing


def memory_usage(program: Program, batch_size: int) -> tuple[float, float, str]:
    """Between which sizes the variables of a program are, and the unit.

    It is 0.9 and 1.1 of their bytes, where plans let variables share memory:
    the report of sluice-lab shows what one takes.
    """
    total = 0.0
    for value in program.sluice.list_vars():
        sizes = [batch_size if n is None else n for n in value.shape or ()]
        total += math.prod(sizes) * np.dtype(value.dtype.name).itemsize
    units = "B", "KB", "MB", "GB"
    step = min(int(math.log(max(total, 1), 1024)), len(units) - 1)
    return total * 0.9 / 1024**step, total * 1.1 / 1024**step, units[step]


def _layer(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    reason = "it is none of fluid.layers; write it with them"
    return left_out("fluid.contrib.layers", name, reason)


layers = ModuleType("fluid.contrib.layers")
layers.__getattr__ = _layer  # type: ignore[method-assign]
# The reader itself: there is one trainer, see sl.distributed for more.
reader = SimpleNamespace(distributed_batch_reader=lambda each: each)

__getattr__ = refusing(
    "fluid.contrib",
    {
        "mixed_precision": "programs train in the dtype of their variables",
        "QuantizeTranspiler": "models that are quantised already run; see "
        "sl.onnx",
    },
)
