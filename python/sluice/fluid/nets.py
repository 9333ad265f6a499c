"""``fluid.nets``: small networks."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidArgumentError
from ..framework import created
from . import layers
from .formula_layers import formulas
from .framework import Variable

__all__ = ["img_conv_group", "scaled_dot_product_attention"]

_MADE = formulas(
    """
simple_img_conv_pool(input, num_filters, filter_size, pool_size, pool_stride,
    pool_padding=0, pool_type='max', global_pooling=False, conv_stride=1,
    conv_padding=0, conv_dilation=1, conv_groups=1, param_attr=None,
    bias_attr=None, act=None, use_cudnn=True) = pool2d(conv2d(input,
    num_filters, filter_size, conv_stride, conv_padding, conv_dilation,
    conv_groups, param_attr, bias_attr, act=act), pool_size, pool_type,
    pool_stride, pool_padding, global_pooling)
sequence_conv_pool(input, num_filters, filter_size, param_attr=None,
    act='sigmoid', pool_type='max', bias_attr=None) = sequence_pool(
    sequence_conv(input, num_filters, filter_size, param_attr=param_attr,
    bias_attr=bias_attr, act=act), pool_type)
glu(input, dim=-1) = _gated(*split(input, 2, dim))
_gated(x, gate) = x * sigmoid(gate)
""",
    vars(layers).copy(),
)
globals().update(_MADE)
__all__ += _MADE


def img_conv_group(
    input: Variable,
    conv_num_filter: Any,
    pool_size: Any,
    conv_padding: Any = 1,
    conv_filter_size: Any = 3,
    conv_act: str | None = None,
    param_attr: Any = None,
    conv_with_batchnorm: Any = False,
    conv_batchnorm_drop_rate: Any = 0.0,
    pool_stride: Any = 1,
    pool_type: str = "max",
    use_cudnn: bool = True,
) -> Variable:
    """Convolutions, perhaps with normalization and dropout, and a pooling.

    An argument of the convolutions is one for all, or a list.
    """
    columns = []
    for given in (
        conv_padding,
        conv_filter_size,
        param_attr,
        conv_with_batchnorm,
        conv_batchnorm_drop_rate,
    ):
        many = isinstance(given, (list, tuple))
        columns.append(given if many else [given] * len(conv_num_filter))
    x = input
    for filters, padding, size, attr, normal, rate in zip(
        conv_num_filter, *columns, strict=True
    ):
        act = None if normal else conv_act
        x = layers.conv2d(
            x, filters, size, padding=padding, param_attr=attr, act=act
        )
        if normal:
            x = layers.batch_norm(x, conv_act)
            x = layers.dropout(x, rate) if rate else x
    return layers.pool2d(x, pool_size, pool_type, pool_stride)


def scaled_dot_product_attention(
    queries: Variable,
    keys: Variable,
    values: Variable,
    num_heads: int = 1,
    dropout_rate: float = 0.0,
) -> Variable:
    """softmax(q k / sqrt(d)) v of [batch, length, size]; several heads have
    projections.

    Raises:
        InvalidArgumentError: a rank is not 3, or sizes do not fit.
    """
    given = {"queries": queries, "keys": keys, "values": values}
    sizes = [each.shape[-1] for each in given.values()]
    if (
        any(len(each.shape) != 3 for each in given.values())
        or sizes[0] != sizes[1]
        or any(size % num_heads for size in sizes)
    ):
        raise InvalidArgumentError(
            f"scaled_dot_product_attention: expected [batch, length, size], "
            f"queries and keys of one size, and sizes that {num_heads} divides,"
            f" got {list(given.values())}{created()}",
            "fluid.attention",
        )

    def heads(x: Variable) -> Variable:
        if num_heads == 1:
            return x
        x = layers.fc(x, x.shape[-1], 2)
        x = layers.reshape(x, [0, 0, num_heads, x.shape[-1] // num_heads])
        return layers.transpose(x, [0, 2, 1, 3])

    q, k, v = (heads(each) for each in given.values())
    q = layers.scale(q, float(sizes[0] // num_heads) ** -0.5)
    weights = layers.softmax(layers.matmul(q, k, transpose_y=True))
    if dropout_rate:
        weights = layers.dropout(weights, dropout_rate)
    out = layers.matmul(weights, v)
    if num_heads == 1:
        return out
    return layers.reshape(layers.transpose(out, [0, 2, 1, 3]), [0, 0, sizes[2]])
