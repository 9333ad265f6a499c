"""Normalizations, dropout and softmax."""

from __future__ import annotations

from ...framework import Variable
from .declaration import FluidOp
from .layouts import is_last
from .table import row


def _parameters_of_dropout(layer, seed):
    layer.attrs["fix_seed"] = seed is not None
    layer.attrs["seed"] = seed or 0
    layer.into["Mask"] = None


@FluidOp(
    parameters=_parameters_of_dropout,
    more="Mask",
    defaults={"dropout_prob": 0.5, "seed": 0},
)
def dropout(
    op, x, dropout_prob: float, is_test=False, seed: int | None = None,
    name=None, dropout_implementation="downgrade_in_infer", *, Seed=None,
    fix_seed=False,
):  # fmt: skip
    """Elements drawn and set to 0; by default the rest is not scaled in
    training, but multiplied by 1 - dropout_prob in tests.
    """
    if is_test and dropout_implementation == "upscale_in_train":
        return {"Out": x}
    wide = op.cast(x, "float32") if x.dtype == "float16" else x
    attrs = {"dropout_prob": dropout_prob, "is_test": is_test}
    attrs["dropout_implementation"] = dropout_implementation
    attrs["seed"] = seed if fix_seed else 0
    made = op.append_all("dropout", {"X": wide}, **attrs)
    return {"Out": op.cast(made["Out"], x.dtype), "Mask": made["Mask"]}


@row(
    "batch_norm",
    "sync_batch_norm",
    outputs="Y MeanOut VarianceOut SavedMean SavedVariance",
)
def batch_norm(
    op, X, Scale, Bias, Mean, Variance, MomentumTensor=None, *, momentum=0.9,
    epsilon=1e-05, is_test=False, data_layout="NCHW", use_global_stats=False,
):  # fmt: skip
    """Normalized by the batch, in tests by the moving averages."""
    if MomentumTensor is not None:
        op.refuse("MomentumTensor; the momentum must be an attribute")
    frozen = is_test or use_global_stats
    into = {}
    for slot, average in (("MeanOut", Mean), ("VarianceOut", Variance)):
        if average.persistable:
            into[slot] = average.name
    inputs = {
        "X": X, "Scale": Scale, "Bias": Bias, "Mean": Mean,
        "Variance": Variance,
    }  # fmt: skip
    made = op.append_all(
        op.type,
        inputs,
        {} if frozen else into,
        momentum=momentum,
        epsilon=epsilon,
        is_test=frozen,
        data_format="NHWC" if is_last(op, data_layout) else "NCHW",
    )
    if frozen:
        made["MeanOut"], made["VarianceOut"] = Mean, Variance
    return made


@FluidOp(defaults={"k": 2.0})
def lrn(
    op, input, n=5, k=1.0, alpha=1e-4, beta=0.75, name=None, data_format="NCHW"
):
    """Divided by the squares of n channels; their sum is not divided by n."""
    last = is_last(op, data_format)
    attrs = {"n": n, "k": k, "alpha": alpha * n, "beta": beta}
    layout = "NHWC" if last else "NCHW"
    return op.lrn(input, **attrs, data_format=layout)


@FluidOp()
def affine_channel(
    op, x, scale: Variable = None, bias: Variable = None, data_layout="NCHW",
    name=None, act=None,
):  # fmt: skip
    """A factor and a bias for each channel."""
    axis = op.rank(x) - 1 if is_last(op, data_layout) else 1
    scaled = op.elementwise_mul(x, scale, axis=axis)
    return op.elementwise_add(scaled, bias, axis=axis)


def _parameters_of_l2_normalize(layer, x, axis):
    if axis is None or len(x.shape) == 1:
        layer.attrs["axis"] = 0 if len(x.shape) == 1 else 1


@FluidOp(
    "norm",
    parameters=_parameters_of_l2_normalize,
    more="Norm",
    defaults={"epsilon": 1e-10},
)
def l2_normalize(op, x, axis: int, epsilon=1e-12, name=None, *, is_test=False):
    """Divided by the square root of the sum of squares and epsilon."""
    size = op.reduce_l2(x, dim=[axis], keep_dim=True)
    # Not a square and epsilon, which may overflow.
    rest = op.constant_like(size, epsilon**0.5)
    both = op.concat([size, rest], axis=axis)
    length = op.reduce_l2(both, dim=[axis], keep_dim=True)
    return {"Out": x / length, "Norm": length}


@row("data_norm", outputs="Y Means Scales")
def data_norm(
    op, X, BatchSize, BatchSum, BatchSquareSum, *, epsilon=0.0001,
    data_layout="NCHW", slot_dim=-1, summary_decay_rate=0.9999999,
    sync_stats=False, enable_scale_and_shift=False,
):  # fmt: skip
    """Normalized by sums over all that was seen."""
    op.only(slot_dim=(slot_dim, -1), sync_stats=(sync_stats, False))
    means = BatchSum / BatchSize
    scales = op.sqrt(BatchSize / BatchSquareSum)
    return {"Y": (X - means) * scales, "Means": means, "Scales": scales}
