"""``fluid.nets``: small networks."""

from __future__ import annotations

from . import layers
from .errors import wrong
from .framework import Variable

__all__ = [
    "glu", "img_conv_group", "scaled_dot_product_attention",
    "sequence_conv_pool", "simple_img_conv_pool",
]  # fmt: skip


def simple_img_conv_pool(
    input, num_filters, filter_size, pool_size, pool_stride, pool_padding=0,
    pool_type="max", global_pooling=False, conv_stride=1, conv_padding=0,
    conv_dilation=1, conv_groups=1, param_attr=None, bias_attr=None, act=None,
    use_cudnn=True,
):  # fmt: skip
    """A convolution and a pooling."""
    x = layers.conv2d(
        input, num_filters, filter_size, conv_stride, conv_padding,
        conv_dilation, conv_groups, param_attr, bias_attr, act=act,
    )  # fmt: skip
    return layers.pool2d(
        x, pool_size, pool_type, pool_stride, pool_padding, global_pooling
    )


def sequence_conv_pool(
    input, num_filters, filter_size, param_attr=None, act="sigmoid",
    pool_type="max", bias_attr=None,
):  # fmt: skip
    """A convolution over sequences, and one row for each."""
    x = layers.sequence_conv(
        input, num_filters, filter_size, param_attr=param_attr,
        bias_attr=bias_attr, act=act,
    )  # fmt: skip
    return layers.sequence_pool(x, pool_type)


def glu(input: Variable, dim: int = -1) -> Variable:
    """One half of the input times the sigmoid of the other."""
    x, gate = layers.split(input, 2, dim)
    return x * layers.sigmoid(gate)


def img_conv_group(
    input, conv_num_filter, pool_size, conv_padding=1, conv_filter_size=3,
    conv_act=None, param_attr=None, conv_with_batchnorm=False,
    conv_batchnorm_drop_rate=0.0, pool_stride=1, pool_type="max",
    use_cudnn=True,
):  # fmt: skip
    """Convolutions, perhaps with normalization and dropout, and a pooling.

    An argument of the convolutions is one for all, or a list.
    """
    lists = [
        given
        if isinstance(given, (list, tuple))
        else [given] * len(conv_num_filter)
        for given in (conv_padding, conv_filter_size, param_attr,
                      conv_with_batchnorm, conv_batchnorm_drop_rate)
    ]  # fmt: skip
    x = input
    for filters, padding, size, attr, normal, rate in zip(
        conv_num_filter, *lists, strict=True
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
    queries, keys, values, num_heads=1, dropout_rate=0.0
):
    """softmax(q k / sqrt(d)) v of [batch, length, size]; several heads have
    projections.

    Raises:
        InvalidArgumentError: a rank is not 3, or sizes do not fit.
    """
    given = [queries, keys, values]
    sizes = [each.shape[-1] for each in given]
    if (
        any(len(each.shape) != 3 for each in given)
        or sizes[0] != sizes[1]
        or any(size % num_heads for size in sizes)
    ):
        wrong(
            "scaled_dot_product_attention: expected [batch, length, size], "
            f"queries and keys of one size, and sizes that {num_heads} divides,"
            f" got {given}",
            "fluid.attention",
        )

    def heads(x: Variable) -> Variable:
        if num_heads == 1:
            return x
        x = layers.fc(x, x.shape[-1], 2)
        x = layers.reshape(x, [0, 0, num_heads, x.shape[-1] // num_heads])
        return layers.transpose(x, [0, 2, 1, 3])

    q, k, v = (heads(each) for each in given)
    q = layers.scale(q, float(sizes[0] // num_heads) ** -0.5)
    weights = layers.softmax(layers.matmul(q, k, transpose_y=True))
    if dropout_rate:
        weights = layers.dropout(weights, dropout_rate)
    out = layers.matmul(weights, v)
    if num_heads == 1:
        return out
    return layers.reshape(layers.transpose(out, [0, 2, 1, 3]), [0, 0, sizes[2]])
