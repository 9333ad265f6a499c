"""Reductions, norms of tensors and sums along a dim."""

from __future__ import annotations

from typing import Any

from ... import layers
from ...framework import Variable
from ...layers.sequence import reduce_rows, reduces_rows
from .contraction import among
from .declaration import FluidOp
from .table import Op, row


@row(
    *(
        f"reduce_{kind}"
        for kind in ("sum", "mean", "max", "min", "prod", "all", "any")
    )
)
def reduce(
    op, X, *, dim=(0,), keep_dim=False, reduce_all=False, in_dtype=-1,
    out_dtype=-1,
):  # fmt: skip
    """Over these dims, by default the first one."""
    dims = list(dim) if isinstance(dim, (list, tuple)) else [dim]
    if not dims:
        reduce_all = True
    if in_dtype not in (-1, None):
        X = op.cast(X, in_dtype)
    attrs = {"keep_dim": keep_dim, "reduce_all": reduce_all}
    attrs["dim"] = [] if reduce_all else dims
    if reduces_rows(op.type, X, attrs):
        return op.one(reduce_rows(op.type, X, attrs))
    out = op.one(op.append(op.type, {"X": X}, **attrs))
    if out_dtype not in (-1, None):
        out = op.cast(out, out_dtype)
    return out


@row("p_norm")
def p_norm(
    op, X, *, porder=2.0, axis=-1, epsilon=1e-12, keepdim=False, asvector=False
):
    """The p-norm along a dim, or of all elements."""
    along = None if asvector else axis
    return op.one(layers.norm(X, porder, along, keepdim))


@FluidOp(defaults={"p": 2.0})
def dist(op, x, y, p=2):
    """The p-norm of the difference."""
    return op.one(layers.norm(x - y, p))


@FluidOp()
def clip_by_norm(op, x, max_norm: float, name=None):
    """Scaled to this norm if it is longer."""
    length = op.reduce_l2(x, dim=[], reduce_all=True)
    limit = op.constant(max_norm, x.dtype)
    most = op.elementwise_max(length, limit)
    return x * (limit / most)


@FluidOp(defaults={"rtol": "1e-5", "atol": "1e-8"}, input="Input")
def allclose(
    op, input, other, rtol=1e-05, atol=1e-08, equal_nan=False, name=None, *,
    Rtol=None, Atol=None,
):  # fmt: skip
    """Whether all elements are near, [1]."""
    x, y = (op.cast(each, "float64") for each in (input, other))
    near = _limit(op, Atol, atol) + _limit(op, Rtol, rtol) * abs(y)
    fine = (abs(x - y) <= near) | (input == other)
    if equal_nan:
        missing = [op.isnan(x) for x in (input, other)]
        fine = fine | (missing[0] & missing[1])
    out = op.reduce_all(fine, dim=[], reduce_all=True)
    return op.one(out)


def _limit(op: Op, tensor: Variable | None, value: Any) -> Variable:
    if tensor is not None:
        return op.cast(tensor, "float64")
    return op.constant(float(value), "float64")


@FluidOp(
    outputs="OutMeanIou OutWrong OutCorrect",
    input="Predictions",
    label="Labels",
)
def mean_iou(
    op, input, label, num_classes: int, *,
    InWrongs: list[Variable] | None = None,
    InCorrects: list[Variable] | None = None,
    InMeanIou: list[Variable] | None = None,
):  # fmt: skip
    """The mean over the classes of the share of right pixels of all that are,
    or are said to be, of the class.
    """
    classes = op.range(end=float(num_classes), dtype="float64")
    said, true = (
        op.cast(among(op, op.reshape(x, -1), num_classes) == classes, "int32")
        for x in (input, label)
    )
    right = op.reduce_sum(said * true, dim=[0])
    counts = [op.reduce_sum(x, dim=[0]) for x in (said, true)]
    wrong = counts[0] + counts[1] - right * 2
    right = op.sum([right, *(InCorrects or [])])
    wrong = op.sum([wrong, *(InWrongs or [])])
    whole = op.cast(right + wrong, "float32")
    one = op.constant(1.0)
    most = op.elementwise_max(whole, one)
    share = op.cast(right, "float32") / most
    there = op.elementwise_min(whole, one)
    total = op.reduce_sum(share, dim=[0])
    count = op.reduce_sum(there, dim=[0])
    iou = op.reshape(total / count, 1)
    iou = op.sum([iou, *(InMeanIou or [])])
    return {"OutMeanIou": iou, "OutWrong": wrong, "OutCorrect": right}
