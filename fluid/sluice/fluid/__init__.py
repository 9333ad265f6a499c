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

from typing import Any

from .. import CPUPlace, metrics, unique_name
from ..layer_helper import ParamAttr
from . import (
    average,
    backward,
    clip,
    collective,  # noqa: F401
    contrib,
    core,
    distributions,
    dygraph,
    environment,
    executor,
    framework,
    initializer,
    io,
    layers,
    model_files,
    nets,
    optimizer,
    profiler,
    program_state,
    regularizer,
)
from . import compat as wrapped_decorator
from .backward import gradients
from .dygraph import Embedding, Linear, disable_dygraph, enable_dygraph
from .environment import *  # noqa: F403
from .executor import *  # noqa: F403
from .framework import *  # noqa: F403
from .io import DataFeeder
from .left_out import refusing
from .model_files import Model
from .places import CUDAPlace, is_compiled_with_cuda
from .program_state import load_program_state, save, set_program_state
from .scopes import Scope, fetch_var, global_scope, scope_guard

compiler = parallel_executor = executor
CUDAPinnedPlace = CPUPlace
LoDTensorArray = list
Tensor = executor.LoDTensor
enable_imperative, disable_imperative = enable_dygraph, disable_dygraph
assign, embedding, one_hot = layers.assign, layers._embedding, layers._one_hot

__all__ = [
    "CPUPlace", "CUDAPinnedPlace", "CUDAPlace", "DataFeeder", "Embedding",
    "Linear", "LoDTensorArray", "Model", "ParamAttr", "Scope", "Tensor",
    "assign", "average", "backward", "clip", "compiler", "contrib", "core",
    "data", "disable_dygraph", "dygraph", "embedding", "enable_dygraph",
    "global_scope", "gradients", "initializer", "io",
    "is_compiled_with_cuda", "layers", "load", "load_program_state",
    "metrics", "nets", "one_hot", "optimizer", "profiler", "regularizer",
    "save", "scope_guard", "set_program_state", "unique_name",
    "wrapped_decorator",
]  # fmt: skip
__all__ += environment.__all__
__all__ += executor.__all__
__all__ += framework.__all__


def data(
    name: str, shape: Any, dtype: Any = "float32", lod_level: int = 0
) -> Variable:  # noqa: F405
    """Declare a variable to feed, whose shape is whole; None is any size."""
    return layers.data(name, shape, False, dtype, lod_level)


def load(program: Any, *values: Any, **named: Any) -> Any:
    """``load(path)`` returns a model that was saved for inference, see
    :func:`sluice.fluid.model_files.load`.

    ``load(program, path, executor=None, var_list=None)``, Fluid's own, gives
    the stored variables of a program the values of a checkpoint, see
    :func:`sluice.fluid.program_state.restore`.
    """
    if isinstance(program, Program):  # noqa: F405
        return program_state.restore(program, *values, **named)
    return model_files.load(program, *values, **named)


# Fluid has these names in several of its modules.
for _name in environment.__all__:
    setattr(framework, _name, globals()[_name])
layers.core, layers.distributions = core, distributions
layers.__all__ += distributions.__all__
for _name in distributions.__all__:
    setattr(layers, _name, getattr(distributions, _name))
executor._fetch_var = fetch_var
# Files and variables of dygraph know programs, and not the other way round.
framework.Program.serialize_to_string = io.serialized
framework.Program.parse_from_string = staticmethod(io.parsed)
io.PyReader._to_variable = staticmethod(dygraph.to_variable)
for _name in ("global_scope", "scope_guard"):
    setattr(executor, _name, globals()[_name])
for _name in ("load", *program_state.__all__):
    if _name in globals():
        setattr(io, _name, globals()[_name])

__getattr__ = refusing(
    "fluid",
    {"WeightNormParamAttr": "write v, its l2_normalize and a factor"},
)
