"""PaddlePaddle's Fluid on Sluice: its ops, its saved models, its programs.

>>> import sluice.fluid as fluid
>>> x = fluid.layers.data("x", shape=[3])
>>> y = fluid.layers.fc(x, 2, act="relu")
>>> exe = fluid.Executor(fluid.CPUPlace())
>>> _ = exe.run(fluid.default_startup_program())
>>> (value,) = exe.run(feed={"x": [[1, 2, 3]]}, fetch_list=[y])

``fluid.load`` reads models that PaddlePaddle saved. ``python -m sluice.fluid
SCRIPT`` runs a script that imports ``paddle``, and ``import
sluice.fluid.as_paddle`` makes later imports of ``paddle`` mean Sluice.
"""

from __future__ import annotations

from .. import (
    CPUPlace,
    CUDAPlace,
    Scope,
    clip,
    initializer,
    metrics,
    unique_name,
)
from ..executor import global_scope, scope_guard
from ..layer_helper import ParamAttr
from . import core, executor, framework, io, layers, optimizer, regularizer
from .core import is_compiled_with_cuda
from .executor import *  # noqa: F403
from .framework import *  # noqa: F403
from .io import DataFeeder
from .model_files import Model, load

compiler = executor
Tensor = executor.LoDTensor

__all__ = [
    "CPUPlace",
    "CUDAPlace",
    "DataFeeder",
    "Model",
    "ParamAttr",
    "Scope",
    "Tensor",
    "clip",
    "compiler",
    "core",
    "global_scope",
    "initializer",
    "io",
    "is_compiled_with_cuda",
    "layers",
    "load",
    "metrics",
    "optimizer",
    "regularizer",
    "scope_guard",
    "unique_name",
]
__all__ += executor.__all__
__all__ += framework.__all__
