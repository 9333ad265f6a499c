"""Makes ``paddle`` and ``paddle.fluid`` mean Sluice in imports that follow.

>>> import sluice.fluid.as_paddle  # doctest: +SKIP
>>> import paddle.fluid as fluid  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
import importlib.abc
import sys
import types
from typing import Any

from ..errors import FailedPreconditionError, NotFoundError
from . import contrib
from .environment import VERSION
from .layers import MODULES as LAYER_MODULES

# Modules of PaddlePaddle, and the modules that replace them.
_SAME = (
    "backward", "clip", "contrib", "core", "executor", "framework",
    "initializer", "io", "layer_helper", "layers", "nets", "optimizer",
    "profiler", "regularizer", "wrapped_decorator",
)  # fmt: skip
_MODULES = {
    "paddle.fluid": "sluice.fluid",
    **{f"paddle.fluid.{name}": f"sluice.fluid.{name}" for name in _SAME},
    **dict.fromkeys(
        [f"paddle.fluid.layers.{name}" for name in LAYER_MODULES],
        "sluice.fluid.layers",
    ),
    "paddle.fluid.layers.utils": "sluice.fluid.nested",
    "paddle.fluid.compiler": "sluice.fluid.executor",
    "paddle.fluid.data_feeder": "sluice.fluid.readers",
    "paddle.fluid.parallel_executor": "sluice.fluid.executor",
    "paddle.fluid.metrics": "sluice.metrics",
    "paddle.fluid.param_attr": "sluice.layer_helper",
    "paddle.fluid.unique_name": "sluice.unique_name",
    "paddle.inference": "sluice.fluid.predictor",
    "paddle.reader": "sluice.reader.decorators",
}


class _Paddle(types.ModuleType):
    """The module ``paddle``."""

    __version__ = VERSION
    __path__: list[str] = []  # noqa: RUF012

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotFoundError(
            f"paddle.{name}: Sluice stands in for paddle.fluid and "
            "paddle.inference; see the page 'Coming from Fluid'",
            "fluid.paddle_name",
        )


class _Missing(importlib.abc.MetaPathFinder):
    """Says of a module of PaddlePaddle that is not there what there is."""

    def find_spec(self, name: str, *_: Any) -> None:
        if not name.startswith("paddle."):
            return
        data = ""
        if name.startswith("paddle.dataset"):
            data = "; its data is no more, give the reader data of your own"
        raise ModuleNotFoundError(
            f"{name}: Sluice stands in for paddle.fluid, paddle.inference, "
            f"paddle.reader and paddle.batch{data}; see the page 'Coming from "
            "Fluid'",
            name=name,
        )


def install() -> None:
    """Make the imports that follow find Sluice.

    Raises:
        FailedPreconditionError: PaddlePaddle itself is imported already.
    """
    real = sys.modules.get("paddle")
    if isinstance(real, _Paddle):
        return
    if real is not None:
        raise FailedPreconditionError(
            f"PaddlePaddle itself is imported, from {real.__file__}; import "
            "sluice.fluid.as_paddle before it, in a process of its own",
            "fluid.both_paddles",
        )
    paddle = sys.modules["paddle"] = _Paddle("paddle")
    for name, mine in _MODULES.items():
        module = sys.modules[name] = importlib.import_module(mine)
        parent, _, leaf = name.rpartition(".")
        vars(sys.modules[parent]).setdefault(leaf, module)
    sys.modules["paddle.fluid.contrib.layers"] = contrib.layers
    sys.meta_path.append(_Missing())
    paddle.batch = sys.modules["paddle.reader"].batch
    paddle.version = types.SimpleNamespace(full_version=VERSION)
    paddle.device = types.SimpleNamespace(is_compiled_with_rocm=lambda: False)


install()
