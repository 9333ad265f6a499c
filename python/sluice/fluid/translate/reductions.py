"""Reductions, norms of tensors and sums along a dim."""

from __future__ import annotations

from typing import Any

from ...framework import Variable
from ...layers import ops
from ...layers.sequence import reduce_rows, reduces_rows
from .contraction import among
from .creation import dtype_of
from .table import REQUIRED, Many, Op, row, same


def ranked(op: Op, out: Variable) -> Variable:
    """Fluid has no tensors of rank 0: they are [1]."""
    return (
        op.append("reshape", {"X": out}, shape=[1]) if out.shape == () else out
    )


@row(
    *(
        f"reduce_{kind}"
        for kind in ("sum", "mean", "max", "min", "prod", "all", "any")
    )
)
def reduce(
    op,
    X,
    *,
    dim=(0,),
    keep_dim=False,
    reduce_all=False,
    in_dtype=-1,
    out_dtype=-1,
):
    """Over these dims, by default the first one."""
    dims = list(dim) if isinstance(dim, (list, tuple)) else [dim]
    if not dims:
        reduce_all = True
    if in_dtype not in (-1, None):
        X = op.cast(X, dtype_of(op, in_dtype))
    attrs = {"dim": [] if reduce_all else dims, "keep_dim": keep_dim}
    attrs["reduce_all"] = reduce_all
    if reduces_rows(op.type, X, attrs):
        return ranked(op, reduce_rows(op.type, X, attrs))
    out = ranked(op, op.append(op.type, {"X": X}, **attrs))
    if out_dtype not in (-1, None):
        out = op.cast(out, dtype_of(op, out_dtype))
    return out


@row("mean")
def mean(op, X):
    """Of all elements, [1]."""
    if reduces_rows("mean", X, {}):
        return ranked(op, reduce_rows("mean", X, {}))
    return ranked(op, op.append("mean", {"X": X}))


@row("l1_norm")
def l1_norm(op, X):
    """The sum of sizes, [1]."""
    return ranked(op, op.append("reduce_l1", {"X": X}, dim=[], reduce_all=True))


@row("squared_l2_norm")
def squared_l2_norm(op, X):
    """The sum of squares, [1]."""
    out = op.append("reduce_sum_square", {"X": X}, dim=[], reduce_all=True)
    return ranked(op, out)


@row("frobenius_norm")
def frobenius_norm(op, X, *, dim=(0,), keep_dim=False, reduce_all=False):
    """The root of the sum of squares."""
    dims = [] if reduce_all else list(dim)
    out = op.append(
        "reduce_l2",
        {"X": X},
        dim=dims,
        keep_dim=keep_dim,
        reduce_all=reduce_all,
    )
    return ranked(op, out)


@row("p_norm")
def p_norm(
    op, X, *, porder=2.0, axis=-1, epsilon=1e-12, keepdim=False, asvector=False
):
    """The p-norm along a dim, or of all elements."""
    attrs: dict[str, Any] = {"dim": [axis], "keep_dim": keepdim}
    if asvector:
        attrs.update(dim=[], reduce_all=True)
    size = op.append("abs", {"X": X})
    if porder in (1, 2):
        out = op.append(f"reduce_l{int(porder)}", {"X": X}, **attrs)
    elif porder == float("inf"):
        out = op.append("reduce_max", {"X": size}, **attrs)
    elif porder == float("-inf"):
        out = op.append("reduce_min", {"X": size}, **attrs)
    elif porder == 0:
        there = op.append("not_equal", {"X": X, "Y": op.constant(0, X.dtype)})
        count = op.append("cast", {"X": there}, dtype=X.dtype)
        out = op.append("reduce_sum", {"X": count}, **attrs)
    else:
        power = size ** op.constant(porder, X.dtype)
        out = op.append("reduce_sum", {"X": power}, **attrs)
        out = out ** op.constant(1.0 / porder, X.dtype)
    return ranked(op, out)


@row("dist")
def dist(op, X, Y, *, p=2.0):
    """The p-norm of the difference."""
    difference = X - Y
    flat = op.append("reshape", {"X": difference}, shape=[-1])
    return p_norm(op, flat, porder=p)


@row("logsumexp")
def logsumexp(
    op,
    X,
    *,
    axis=(0,),
    dim=None,
    keepdim=False,
    keep_dim=False,
    reduce_all=False,
):
    """The logarithm of the sum of exponentials."""
    dims = list(axis if dim is None else dim)
    out = op.append(
        "reduce_log_sum_exp",
        {"X": X},
        dim=[] if reduce_all else dims,
        keep_dim=keepdim or keep_dim,
        reduce_all=reduce_all,
    )
    return ranked(op, out)


@row("clip_by_norm")
def clip_by_norm(op, X, *, max_norm):
    """Scaled to this norm if it is longer."""
    length = op.append("reduce_l2", {"X": X}, dim=[], reduce_all=True)
    limit = op.constant(max_norm, X.dtype)
    most = op.append("elementwise_max", {"X": length, "Y": limit})
    return X * (limit / most)


@row("allclose")
def allclose(
    op,
    Input,
    Other,
    Rtol=None,
    Atol=None,
    *,
    rtol="1e-5",
    atol="1e-8",
    equal_nan=False,
):
    """Whether all elements are near, [1]."""
    x, y = (op.cast(each, "float64") for each in (Input, Other))
    near = _limit(op, Atol, atol) + _limit(op, Rtol, rtol) * abs(y)
    fine = (abs(x - y) <= near) | (Input == Other)
    if equal_nan:
        one, other = (op.append("isnan", {"X": x}) for x in (Input, Other))
        fine = fine | (one & other)
    out = op.append("reduce_all", {"X": fine}, dim=[], reduce_all=True)
    return ranked(op, out)


def _limit(op: Op, tensor: Variable | None, value: Any) -> Variable:
    if tensor is not None:
        return op.cast(tensor, "float64")
    return op.constant(float(value), "float64")


@row("mean_iou", outputs="OutMeanIou OutWrong OutCorrect")
def mean_iou(
    op,
    Predictions,
    Labels,
    InWrongs: Many = None,
    InCorrects: Many = None,
    InMeanIou: Many = None,
    *,
    num_classes,
):
    """The mean over the classes of the share of right pixels of all that are,
    or are said to be, of the class.
    """
    classes = op.append("range", end=float(num_classes), dtype="float64")
    said, true = (
        op.cast(among(op, op.reshape(x, -1), num_classes) == classes, "int32")
        for x in (Predictions, Labels)
    )
    right = op.append("reduce_sum", {"X": said * true}, dim=[0])
    counts = [op.append("reduce_sum", {"X": x}, dim=[0]) for x in (said, true)]
    wrong = counts[0] + counts[1] - right * 2
    right = op.append("sum", {"X": [right, *(InCorrects or [])]})
    wrong = op.append("sum", {"X": [wrong, *(InWrongs or [])]})
    whole = op.cast(right + wrong, "float32")
    one = op.constant(1.0)
    most = op.append("elementwise_max", {"X": whole, "Y": one})
    share = op.cast(right, "float32") / most
    there = op.append("elementwise_min", {"X": whole, "Y": one})
    total = op.append("reduce_sum", {"X": share}, dim=[0])
    count = op.append("reduce_sum", {"X": there}, dim=[0])
    iou = op.append("reshape", {"X": total / count}, shape=[1])
    iou = op.append("sum", {"X": [iou, *(InMeanIou or [])]})
    return {"OutMeanIou": iou, "OutWrong": wrong, "OutCorrect": right}


# As in Sluice
same("cumsum", "cumsum", axis=-1, flatten=False, exclusive=False, reverse=False)
same("cumprod", lambda x, dim: ops.cumprod(x, axis=dim), dim=REQUIRED)
