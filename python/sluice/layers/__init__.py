"""Layers with parameters, and a function for every op.

Hand-written layers (``fc``, ``conv2d``, ...) use :class:`sluice.LayerHelper`.
All others come from the schemas of the registered ops, see
:mod:`sluice.layers.ops`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..elsewhere import checked
from . import ops
from .control_flow import (
    cond,
    scan,
    while_loop,
)
from .conv import (
    conv2d,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
    pool2d,
    pool3d,
)
from .crf import (
    crf_decoding,
    linear_chain_crf,
)
from .host import (
    Print,
    py_func,
)
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
from .loss import (
    bce_loss,
    cross_entropy,
    dice_loss,
    hinge_loss,
    huber_loss,
    kldiv_loss,
    label_smooth,
    log_loss,
    margin_rank_loss,
    mse_loss,
    nll_loss,
    npair_loss,
    rank_loss,
    sigmoid_cross_entropy_with_logits,
    smooth_l1,
    smooth_l1_loss,
    softmax_with_cross_entropy,
    square_error_cost,
    warpctc,
)
from .metric import (
    auc,
    chunk_eval,
    edit_distance,
)
from .nn import (
    bilinear_tensor_product,
    dropout,
    embedding,
    fc,
    maxout,
    prelu,
)
from .normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
)
from .recurrent import (
    gru,
    gru_unit,
    lstm,
    lstm_unit,
    simple_rnn,
)
from .sequence import (
    im2sequence,
    lod_reset,
    row_conv,
    sequence_concat,
    sequence_conv,
    sequence_enumerate,
    sequence_erase,
    sequence_expand,
    sequence_expand_as,
    sequence_first_step,
    sequence_last_step,
    sequence_mask,
    sequence_pad,
    sequence_pool,
    sequence_reshape,
    sequence_reverse,
    sequence_scatter,
    sequence_slice,
    sequence_softmax,
    sequence_unpad,
)
from .simple import (
    accuracy,
    einsum,
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
    "Print",
    "accuracy",
    "argsort",
    "auc",
    "batch_norm",
    "bce_loss",
    "bilinear_tensor_product",
    "chunk_eval",
    "cond",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "cos_sim",
    "cosine_decay",
    "crf_decoding",
    "cross",
    "cross_entropy",
    "diag",
    "diagonal",
    "dice_loss",
    "dot",
    "dropout",
    "edit_distance",
    "einsum",
    "embedding",
    "expand_as",
    "exponential_decay",
    "eye",
    "fc",
    "full_like",
    "group_norm",
    "gru",
    "gru_unit",
    "hinge_loss",
    "huber_loss",
    "im2sequence",
    "instance_norm",
    "inverse_time_decay",
    "kldiv_loss",
    "kron",
    "label_smooth",
    "layer_norm",
    "linear_chain_crf",
    "linear_lr_warmup",
    "linspace",
    "lod_reset",
    "log_loss",
    "lstm",
    "lstm_unit",
    "margin_rank_loss",
    "maxout",
    "meshgrid",
    "mse_loss",
    "natural_exp_decay",
    "nll_loss",
    "noam_decay",
    "norm",
    "npair_loss",
    "ones_like",
    "ops",
    "piecewise_decay",
    "pixel_shuffle",
    "polynomial_decay",
    "pool2d",
    "pool3d",
    "prelu",
    "py_func",
    "randint",
    "randperm",
    "rank_loss",
    "roll",
    "row_conv",
    "scan",
    "sequence_concat",
    "sequence_conv",
    "sequence_enumerate",
    "sequence_erase",
    "sequence_expand",
    "sequence_expand_as",
    "sequence_first_step",
    "sequence_last_step",
    "sequence_mask",
    "sequence_pad",
    "sequence_pool",
    "sequence_reshape",
    "sequence_reverse",
    "sequence_scatter",
    "sequence_slice",
    "sequence_softmax",
    "sequence_unpad",
    "sigmoid_cross_entropy_with_logits",
    "simple_rnn",
    "size",
    "smooth_l1",
    "smooth_l1_loss",
    "softmax_with_cross_entropy",
    "space_to_depth",
    "split",
    "square_error_cost",
    "stack",
    "topk",
    "trace",
    "unbind",
    "unfold",
    "unstack",
    "warpctc",
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
