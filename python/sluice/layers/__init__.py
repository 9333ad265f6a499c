"""Layers with parameters, and a function for every op.

Hand-written layers (``fc``, ``conv2d``, ...) use :class:`sluice.LayerHelper`.
All others come from the schemas of the registered ops, see
:mod:`sluice.layers.ops`. Where an op and a layer have one name, it is the
layer's: ``layer_norm`` makes its parameters, and ``ops.layer_norm`` takes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..elsewhere import checked
from . import ops
from .control_flow import cond, scan, while_loop
from .conv import (
    conv2d,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
    pool2d,
    pool3d,
)
from .crf import crf_decoding, linear_chain_crf
from .nn import (
    bilinear_tensor_product,
    dropout,
    embedding,
    fc,
    maxout,
    prelu,
)
from .normalization import batch_norm, group_norm, instance_norm, layer_norm
from .simple import (
    accuracy,
    cross_entropy,
    einsum,
    softmax_with_cross_entropy,
    topk,
)

if TYPE_CHECKING:
    from .ops import *  # noqa: F403

__all__ = [
    "accuracy",
    "batch_norm",
    "bilinear_tensor_product",
    "cond",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "crf_decoding",
    "cross_entropy",
    "dropout",
    "einsum",
    "embedding",
    "fc",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "linear_chain_crf",
    "maxout",
    "ops",
    "pool2d",
    "pool3d",
    "prelu",
    "scan",
    "softmax_with_cross_entropy",
    "topk",
    "while_loop",
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
