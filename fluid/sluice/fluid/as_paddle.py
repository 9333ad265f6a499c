"""Makes ``paddle`` and ``paddle.fluid`` mean Sluice in imports that follow.

>>> import sluice.fluid.as_paddle  # doctest: +SKIP
>>> import paddle.fluid as fluid  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from difflib import get_close_matches
from typing import Any

from ..errors import FailedPreconditionError
from . import contrib
from .environment import VERSION
from .layers import MODULES as LAYER_MODULES
from .left_out import modules, refusing, stand_in

# Modules of PaddlePaddle, and the modules that replace them.
_SAME = (
    "average", "backward", "clip", "contrib", "core", "dygraph", "executor",
    "framework", "initializer", "io", "layer_helper", "layers", "nets",
    "optimizer", "profiler", "regularizer",
)  # fmt: skip
_MODULES = {
    "paddle.fluid": "sluice.fluid",
    **{f"paddle.fluid.{name}": f"sluice.fluid.{name}" for name in _SAME},
    **dict.fromkeys(
        [f"paddle.fluid.layers.{name}" for name in LAYER_MODULES],
        "sluice.fluid.layers",
    ),
    "paddle.fluid.layers.utils": "sluice.fluid.nested",
    "paddle.compat": "sluice.fluid.compat",
    "paddle.fluid.wrapped_decorator": "sluice.fluid.compat",
    "paddle.fluid.dygraph.base": "sluice.fluid.dygraph",
    "paddle.fluid.dygraph.layers": "sluice.fluid.dygraph",
    "paddle.fluid.dygraph.nn": "sluice.fluid.dygraph",
    "paddle.fluid.core_avx": "sluice.fluid.core",
    "paddle.fluid.core_noavx": "sluice.fluid.core",
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
        return refusing("", {})(name)

    @staticmethod
    def enable_static() -> None:
        """Nothing: programs are written before they run."""


class _Missing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a stand-in for a module of PaddlePaddle 1.8."""

    def find_spec(self, name: str, *_: Any) -> Any:
        if not name.startswith("paddle."):
            return None
        if name in modules():
            return importlib.machinery.ModuleSpec(name, self)
        near = get_close_matches(name, [*modules(), *_MODULES], 1)
        also = f"; did you mean {near[0]}?" if near else ""
        raise ModuleNotFoundError(
            f"PaddlePaddle 1.8 has no module {name}{also}; Sluice stands in "
            "for that release, see the page 'Coming from Fluid'",
            name=name,
        )

    def create_module(self, spec: Any) -> Any:
        return stand_in(spec.name)

    def exec_module(self, module: Any) -> None:
        pass


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
        if not hasattr(module, "__path__"):
            module.__path__ = []  # stand-ins are imported from it
        if "__getattr__" not in vars(module):
            module.__getattr__ = refusing(name.removeprefix("paddle."), {})
        parent, _, leaf = name.rpartition(".")
        vars(sys.modules[parent]).setdefault(leaf, module)
    sys.modules["paddle.fluid.contrib.layers"] = contrib.layers
    sys.meta_path.append(_Missing())
    paddle.batch = sys.modules["paddle.reader"].batch
    version = sys.modules["paddle.version"] = types.ModuleType("paddle.version")
    version.full_version, numbers = VERSION, VERSION.split(".")
    version.major, version.minor, version.patch = numbers
    paddle.version = version
    paddle.device = types.SimpleNamespace(is_compiled_with_rocm=lambda: False)


install()
