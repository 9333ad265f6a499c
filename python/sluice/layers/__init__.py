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
from .learning_rate_scheduler import (
    cosine_decay,
    exponential_decay,
    inverse_time_decay,
    linear_lr_warmup,
    natural_exp_decay,
    noam_decay,
    piecewise_decay,
    polynomial_decay,
)
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

if TYPE_CHECKING:
    from .ops import *  # noqa: F403

__all__ = [
    "accuracy",
    "batch_norm",
    "cond",
    "conv2d",
    "conv3d",
    "cosine_decay",
    "crf_decoding",
    "cross_entropy",
    "dropout",
    "einsum",
    "embedding",
    "exponential_decay",
    "fc",
    "inverse_time_decay",
    "linear_chain_crf",
    "linear_lr_warmup",
    "natural_exp_decay",
    "noam_decay",
    "ops",
    "piecewise_decay",
    "polynomial_decay",
    "pool2d",
    "pool3d",
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
