"""``fluid.clip``: the clips of Sluice, and one for all parameters."""

from __future__ import annotations

import dataclasses
from typing import Any

from .. import clip
from ..clip import *  # noqa: F403
from ..clip import (
    GradientClipByGlobalNorm,
    GradientClipByNorm,
    GradientClipByValue,
)
from ..layer_helper import ParamAttr
from .framework import Program, default_main_program

__all__ = [*clip.__all__, "append_gradient_clip_ops", "set_gradient_clip"]

ClipByValue, ClipByNorm = GradientClipByValue, GradientClipByNorm
ClipByGlobalNorm = GradientClipByGlobalNorm


def append_gradient_clip_ops(param_grads: Any) -> Any:
    """Return the pairs unchanged: ``apply_gradients`` clips them."""
    return param_grads


def set_gradient_clip(
    clip: Any, param_list: Any = None, program: Program | None = None
) -> None:
    """Clip the gradients of parameters; call it before ``minimize``.

    Args:
        clip: one of this module.
        param_list: parameters or names; all of the program if None.
        program: the default main program if None.
    """
    program = default_main_program() if program is None else program
    every = program.all_parameters() if param_list is None else param_list
    attrs = program.sluice._param_attrs
    for each in every:
        name = getattr(each, "name", each)
        program.global_block().var(name)
        attr = attrs.get(name) or ParamAttr(name=name)
        attrs[name] = dataclasses.replace(attr, gradient_clip=clip)
