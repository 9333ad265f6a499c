"""Layers with parameters, and a function for every op.

Hand-written layers (``fc``, ``conv2d``, ...) use :class:`sluice.LayerHelper`.
All others come from the schemas of the registered ops, see
:mod:`sluice.layers.ops`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..elsewhere import checked
from . import ops
from .control_flow import cond, scan, while_loop
from .crf import crf_decoding, linear_chain_crf
from .nn import (
    batch_norm,
    conv2d,
    conv3d,
    dropout,
    embedding,
    fc,
    pool2d,
    pool3d,
)
from .simple import (
    accuracy,
    cross_entropy,
    einsum,
    softmax_with_cross_entropy,
    topk,
)
from .tensor import (
    argsort,
    diag,
    diagonal,
    expand_as,
    full_like,
    meshgrid,
    ones_like,
    pixel_shuffle,
    roll,
    size,
    space_to_depth,
    split,
    stack,
    trace,
    unbind,
    unfold,
    unstack,
    zeros_like,
)
from .vectors import (
    cos_sim,
    cross,
    dot,
    eye,
    kron,
    linspace,
    norm,
    randint,
    randperm,
)

if TYPE_CHECKING:
    from .ops import *  # noqa: F403

__all__ = [
    "accuracy",
    "argsort",
    "batch_norm",
    "cond",
    "conv2d",
    "conv3d",
    "cos_sim",
    "crf_decoding",
    "cross",
    "cross_entropy",
    "diag",
    "diagonal",
    "dot",
    "dropout",
    "einsum",
    "embedding",
    "expand_as",
    "eye",
    "fc",
    "full_like",
    "kron",
    "linear_chain_crf",
    "linspace",
    "meshgrid",
    "norm",
    "ones_like",
    "ops",
    "pixel_shuffle",
    "pool2d",
    "pool3d",
    "randint",
    "randperm",
    "roll",
    "scan",
    "size",
    "softmax_with_cross_entropy",
    "space_to_depth",
    "split",
    "stack",
    "topk",
    "trace",
    "unbind",
    "unfold",
    "unstack",
    "while_loop",
    "zeros_like",
]


for _name in set(__all__) - {"ops"}:
    globals()[_name] = checked(globals()[_name])


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    function = getattr(ops, name)
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    return sorted({*__all__, *ops.names()})
