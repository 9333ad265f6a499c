"""Losses. Each is an op, or a few ops in a form that loses no digits.

Names and arguments are Fluid's, formulas PyTorch's. Where Fluid differs the
layer says so.
"""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from ..errors import argument_error
from ..feed_values import number
from ..layer_helper import make, one_shape, where
from ..program import Variable, require_variable

__all__ = [
    "bce_loss", "bpr_loss", "cross_entropy", "dice_loss", "hinge_loss",
    "huber_loss", "kldiv_loss", "label_smooth", "log_loss", "logistic_loss",
    "margin_rank_loss", "mse_loss", "nll_loss", "npair_loss", "rank_loss",
    "sigmoid_cross_entropy_with_logits", "smooth_l1", "smooth_l1_loss",
    "softmax_with_cross_entropy", "square_error_cost", "warpctc",
]

IGNORED = -100
# Logarithms in bce_loss are at least this, as in PyTorch.
_LEAST_LOG = -100.0
_STEEPEST = 1e12
_REDUCTIONS = ("none", "mean", "sum", "batchmean")


def _above_0(what: str, value: Any) -> float:
    result = number(what, value)
    if not 0 < result < math.inf:
        raise argument_error(
            f"{what}: expected a finite number above 0, got "
            f"{_core._shown(value)}",
            "python.loss_above_0",
        )
    return result


def _sum(x: Variable, dims: list[int] | None = None, **attrs: Any) -> Variable:
    if dims is None:
        return make("reduce_sum", x, reduce_all=True)
    return make("reduce_sum", x, dim=dims, **attrs)


def _one_hot(label: Variable, like: Variable) -> Variable:
    """1 where a class of ``like`` [..., classes] is the label [..., 1]."""
    flat = make("squeeze", label, axes=[-1])
    values = {"shape": [2], "values": [0.0, 1.0], "dtype": like.dtype}
    values = like.program.append_op("assign_value", attrs=values)["Out"]
    depth = (like.shape or (None,))[-1]
    return flat._append("one_hot", {"X": flat, "Values": values}, depth=depth)


def _label_of_each_row(layer: str, input: Variable, label: Variable) -> None:
    rows = None if input.shape is None else [*input.shape[:-1], 1]
    one_shape(layer, **{"one class for each row of input": rows}, label=label)


def _row_sums(x: Variable) -> Variable:
    """The sum of each row over all dims but the first, [N, 1]."""
    flat = make("flatten", x, axis=1)
    return _sum(flat, [1], keep_dim=True)


def _reduced(layer: str, loss: Variable, reduction: str) -> Variable:
    if reduction not in _REDUCTIONS:
        raise argument_error(
            f"{layer}: reduction: expected one of {', '.join(_REDUCTIONS)}, "
            f"got {_core._shown(reduction)}",
            "python.reduction",
        )
    if reduction == "mean":
        return make("mean", loss)
    if reduction == "sum":
        return _sum(loss)
    return make("mean", _row_sums(loss)) if reduction != "none" else loss


def softmax_with_cross_entropy(
    logits: Variable,
    label: Variable,
    soft_label: bool = False,
    ignore_index: int = IGNORED,
    return_softmax: bool = False,
    axis: int = -1,
) -> Any:
    """Cross entropy of the softmax of logits, computed by one op.

    It is exact for logits of any size. Soft labels get a gradient, too, which
    Fluid does not give them, unless their ``stop_gradient`` is set.

    Args:
        logits: [N, classes], or any shape with the classes along ``axis``.
        label: [N, 1] int64, or [N, classes] of weights.
        soft_label: whether labels are weights, such as probabilities.
        ignore_index: rows with this label have loss 0 and no gradient.
        return_softmax: also return the softmax.
        axis: the dim of the classes.

    Returns:
        The loss [N, 1]; with ``return_softmax`` (loss, softmax).

    Raises:
        OutOfRangeError: at run time, for a label that is not a class.
    """
    outputs = logits.program.append_op(
        "softmax_with_cross_entropy",
        {"Logits": logits, "Label": label},
        attrs={
            "soft_label": soft_label,
            "ignore_index": ignore_index,
            "axis": axis,
        },
    )
    if return_softmax:
        return outputs["Loss"], outputs["Softmax"]
    return outputs["Loss"]


def cross_entropy(
    input: Variable,
    label: Variable,
    soft_label: bool = False,
    ignore_index: int = IGNORED,
) -> Variable:
    """Cross entropy of probabilities: ``-log input[label]``.

    For logits use :func:`softmax_with_cross_entropy`, which is faster and
    exact. (PyTorch's function of this name takes logits.)

    Args:
        input: [..., classes], probabilities.
        label: [..., 1] int64, or [..., classes] of weights.
        soft_label: whether labels are weights, such as probabilities.
        ignore_index: rows with this label have loss 0 and no gradient.

    Returns:
        The loss [..., 1].

    Raises:
        OutOfRangeError: at run time, for a label that is not a class.
    """
    if soft_label:
        one_shape("cross_entropy", input=input, label=label)
        terms = label._append("xlogy", {"X": label, "Y": input})
        return -_sum(terms, [-1], keep_dim=True)
    picked, weight = _nll(input, label, None, ignore_index, -1)
    # 1 for ignored rows.
    return -make("log", (1.0 - weight) - picked)


def _nll(
    input: Variable,
    label: Variable,
    weight: Variable | None,
    ignore_index: int,
    axis: int,
) -> tuple[Variable, Variable]:
    outputs = input.program.append_op(
        "nll_loss",
        {"X": input, "Label": label, "Weight": weight},
        attrs={"ignore_index": ignore_index, "axis": axis},
    )
    return outputs["Loss"], outputs["LabelWeight"]


def nll_loss(
    input: Variable,
    label: Variable,
    weight: Variable | None = None,
    ignore_index: int = IGNORED,
    reduction: str = "mean",
) -> Variable:
    """Negative log-likelihood of logarithms of probabilities.

    Args:
        input: [N, classes, ...], such as the result of ``log_softmax``.
        label: [N, ...] or [N, 1, ...] int64.
        weight: [classes]; the weight of each class, 1 if None.
        ignore_index: labels that do not count.
        reduction: ``"mean"`` (weighted by the labels' weights), ``"sum"`` or
            ``"none"``.

    Returns:
        A variable of one element, or for ``"none"`` of the label's shape.

    Raises:
        OutOfRangeError: at run time, for a label that is not a class.
    """
    loss, weights = _nll(input, label, weight, ignore_index, 1)
    if reduction == "mean":
        return _sum(loss) / _sum(weights)
    return _reduced("nll_loss", loss, reduction)


def square_error_cost(input: Variable, label: Variable) -> Variable:
    """``(input - label) ** 2``, by element, of one shape."""
    one_shape("square_error_cost", input=input, label=label)
    return make("square", input - label)


def mse_loss(
    input: Variable, label: Variable, reduction: str = "mean"
) -> Variable:
    """The mean of :func:`square_error_cost`; or its sum, or itself (none)."""
    one_shape("mse_loss", input=input, label=label)
    return _reduced("mse_loss", square_error_cost(input, label), reduction)


def logistic_loss(x: Variable, y: Variable) -> Variable:
    """``-y * log sigmoid(x) - (1 - y) * log(1 - sigmoid(x))``, by element, of
    labels y, 0 to 1, in the shape of x."""
    one_shape("logistic_loss", x=x, y=y)
    return x._append("logistic_loss", {"X": x, "Y": y})


def sigmoid_cross_entropy_with_logits(
    x: Variable,
    label: Variable,
    ignore_index: int = IGNORED,
    normalize: bool = False,
) -> Variable:
    """Cross entropy of label and sigmoid(x), by element.

    It is PyTorch's ``binary_cross_entropy_with_logits``, without a reduction.

    Args:
        x: logits of any shape.
        label: probabilities in the same shape.
        ignore_index: labels of this value have loss 0 and no gradient.
        normalize: divide by the number of labels that are not ignored.

    Returns:
        A variable of the shape of x.
    """
    one_shape("sigmoid_cross_entropy_with_logits", x=x, label=label)
    counts = label != float(ignore_index)
    loss = where(counts, logistic_loss(x, label), 0.0)
    if not normalize:
        return loss
    count = _sum(make("cast", counts, dtype=loss.dtype))
    return loss / make("clip", count, min=1.0)


def _bent(x: Variable, bend: float, scale: float = 1.0) -> Variable:
    """x * x / 2 up to abs(x) = bend, bend * (abs(x) - bend / 2) beyond; times
    ``scale``."""
    away = make("abs", x)
    near = make("clip", away, max=bend)
    return (scale * near) * (away - 0.5 * near)


def smooth_l1(
    x: Variable,
    y: Variable,
    inside_weight: Variable | None = None,
    outside_weight: Variable | None = None,
    sigma: float | None = None,
) -> Variable:
    """Fluid's form of the smooth L1 loss: a sum for each row.

    With d = (x - y) * inside_weight and a = abs(d), an element is
    ``0.5 * (sigma * d) ** 2`` up to a = 1 / sigma ** 2, and
    a - 0.5 / sigma ** 2 beyond, times outside_weight. PyTorch's is
    :func:`smooth_l1_loss`; its beta is 1 / sigma ** 2.

    Args:
        x: [N, ...].
        y: in the same shape.
        inside_weight: in the same shape; 1 if None.
        outside_weight: in the same shape; 1 if None.
        sigma: above 0; 1 if None.

    Returns:
        [N, 1].
    """
    scale = 1.0 if sigma is None else _above_0("smooth_l1: sigma", sigma)
    weights = {"inside_weight": inside_weight, "outside_weight": outside_weight}
    one_shape("smooth_l1", x=x, y=y, **weights)
    away = x - y
    if inside_weight is not None:
        away = away * inside_weight
    loss = _bent(away, scale**-2, scale**2)
    if outside_weight is not None:
        loss = loss * outside_weight
    return _row_sums(loss)


def smooth_l1_loss(
    input: Variable,
    label: Variable,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Variable:
    """PyTorch's form: ``0.5 * d ** 2 / beta`` up to abs(d) = beta, and
    ``abs(d) - beta / 2`` beyond. Fluid's is :func:`smooth_l1`."""
    beta = _above_0("smooth_l1_loss: beta", beta)
    one_shape("smooth_l1_loss", input=input, label=label)
    loss = _bent(input - label, beta, 1.0 / beta)
    return _reduced("smooth_l1_loss", loss, reduction)


def huber_loss(
    input: Variable,
    label: Variable,
    delta: float = 1.0,
    reduction: str = "none",
) -> Variable:
    """``0.5 * d ** 2`` up to a = abs(d) = delta, then delta * (a - delta / 2).

    Fluid has no default for delta; PyTorch's default reduction is ``"mean"``.

    Args:
        input: a variable of any shape.
        label: in the same shape.
        delta: above 0.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
    """
    delta = _above_0("huber_loss: delta", delta)
    one_shape("huber_loss", input=input, label=label)
    loss = _bent(input - label, delta)
    return _reduced("huber_loss", loss, reduction)


def kldiv_loss(
    x: Variable, target: Variable, reduction: str = "mean"
) -> Variable:
    """``target * (log target - x)``, 0 where target is not above 0.

    It is PyTorch's ``kl_div``, which is NaN for a negative target.

    Args:
        x: logarithms of probabilities.
        target: probabilities, in the same shape.
        reduction: ``"mean"`` over all elements, ``"batchmean"`` (the sum over
            the number of rows), ``"sum"`` or ``"none"``.
    """
    one_shape("kldiv_loss", x=x, target=target)
    nothing = target <= 0.0
    logs = make("log", where(nothing, 1.0, target))
    loss = where(nothing, 0.0, target * (logs - x))
    return _reduced("kldiv_loss", loss, reduction)


def bce_loss(
    input: Variable,
    label: Variable,
    weight: Variable | None = None,
    reduction: str = "mean",
) -> Variable:
    """``-label * log input - (1 - label) * log(1 - input)``.

    Logarithms are at least -100, as in PyTorch; there, their slope is 1e12.
    For logits :func:`sigmoid_cross_entropy_with_logits` is exact.

    Args:
        input: probabilities; the loss of any other number is NaN.
        label: probabilities, in the same shape.
        weight: of the elements; 1 if None.
        reduction: ``"mean"``, ``"sum"`` or ``"none"`` (that of Fluid's op).
    """
    one_shape("bce_loss", input=input, label=label)
    none = make("abs", input) <= math.exp(_LEAST_LOG)
    all = input == 1.0
    constant = make("assign", input)
    constant.stop_gradient = True
    end = _STEEPEST * (input - constant)  # 0, for its gradient
    log = make("log", where(none, 1.0, input))
    log = where(none, end + _LEAST_LOG, log)
    rest = make("log1p", -where(all, 0.0, input))
    rest = where(all, _LEAST_LOG - end, rest)
    loss = -(label * log + (1.0 - label) * rest)
    if weight is not None:
        one_shape("bce_loss", input=input, weight=weight)
        loss = loss * weight
    return _reduced("bce_loss", loss, reduction)


def log_loss(
    input: Variable, label: Variable, epsilon: float = 1e-4
) -> Variable:
    """Fluid's form of the cross entropy of probabilities, by element:
    ``-label * log(input + epsilon) - (1 - label) * log(1 - input + epsilon)``.

    PyTorch's is :func:`bce_loss`, which has no epsilon.
    """
    epsilon = number("log_loss: epsilon", epsilon)
    one_shape("log_loss", input=input, label=label)
    # The logarithm of a number near 1 is log1p of its exact distance from 1.
    high = input > 0.5
    low = where(high, 0.5, input)
    left = 1.0 - where(high, input, 0.5)
    rest = 1.0 - label
    logs = where(
        high,
        label * make("log1p", epsilon - left)
        + rest._append("xlogy", {"X": rest, "Y": left + epsilon}),
        label._append("xlogy", {"X": label, "Y": low + epsilon})
        + rest * make("log1p", epsilon - low),
    )
    return -logs


def rank_loss(label: Variable, left: Variable, right: Variable) -> Variable:
    """RankNet's loss ``log(1 + exp(d)) - label * d`` for d = left - right.

    Label is 1 where left should be ranked higher, 0 where right should.
    """
    one_shape("rank_loss", left=left, right=right, label=label)
    return logistic_loss(left - right, label)


def margin_rank_loss(
    label: Variable, left: Variable, right: Variable, margin: float = 0.1
) -> Variable:
    """``max(0, margin - label * (left - right))``; label is 1 or -1.

    It is PyTorch's ``margin_ranking_loss``, whose default margin is 0.
    """
    margin = number("margin_rank_loss: margin", margin)
    one_shape("margin_rank_loss", left=left, right=right, label=label)
    return make("relu", margin - label * (left - right))


def hinge_loss(input: Variable, label: Variable) -> Variable:
    """``max(0, 1 - (2 * label - 1) * input)``; label is 0 or 1."""
    one_shape("hinge_loss", input=input, label=label)
    return make("relu", 1.0 - (2.0 * label - 1.0) * input)


def bpr_loss(input: Variable, label: Variable) -> Variable:
    """How little the score of the label exceeds the others, for ranking.

    ``log(1 + exp(other - labelled))``, a mean over the other classes: Bayesian
    personalized ranking (Rendle et al., 2009).

    Args:
        input: scores [N, classes] of at least two classes.
        label: [N, 1] int64; rows with -100 have loss 0.

    Returns:
        The loss [N, 1].

    Raises:
        OutOfRangeError: at run time, for a label that is not a class.
    """
    classes = (input.shape or (None,))[-1]
    if classes is None or classes < 2:
        raise argument_error(
            "bpr_loss: input: expected the scores of 2 classes or more, got "
            f"{input!r}",
            "python.bpr_loss_classes",
        )
    minus_score, counts = _nll(input, label, None, IGNORED, -1)
    _label_of_each_row("bpr_loss", input, label)
    ignored = counts == 0.0
    above = where(ignored, 0.0, input + minus_score)
    own = _one_hot(label, input) > 0.0
    others = where(own, 0.0, make("softplus", above))
    loss = _sum(others, [-1], keep_dim=True) / (classes - 1.0)
    return where(ignored, 0.0, loss)


def warpctc(
    input: Variable,
    label: Variable,
    blank: int = 0,
    norm_by_times: bool = False,
    input_length: Variable | None = None,
    label_length: Variable | None = None,
) -> Variable:
    """The CTC loss of padded sequences, in log space.

    It is PyTorch's ``ctc_loss`` of ``log_softmax(input)``, but that a loss
    which is infinite has gradient 0.

    Args:
        input: logits [time, batch, classes].
        label: classes [batch, most labels], int64, without blanks.
        blank: the class that stands for no label.
        norm_by_times: divide gradients, not losses, by the input's length.
        input_length: [batch], int64.
        label_length: [batch], int64.

    Returns:
        The loss of each sequence, [batch, 1].

    Raises:
        InvalidArgumentError: a length is missing.
        OutOfRangeError: at run time, for a length or a label that is too large.
    """
    inputs = {
        "Logits": input,
        "Label": label,
        "LogitsLength": require_variable("warpctc: input_length", input_length),
        "LabelLength": require_variable("warpctc: label_length", label_length),
    }
    attrs = {"blank": blank, "norm_by_times": norm_by_times}
    return input.program.append_op("warpctc", inputs, attrs=attrs)["Loss"]


def label_smooth(
    label: Variable, prior_dist: Variable | None = None, epsilon: float = 0.1
) -> Variable:
    """``(1 - epsilon) * label + epsilon * prior``.

    Args:
        label: [..., classes], such as one-hot vectors of floats.
        prior_dist: [1, classes]; the same share for each class if None.
        epsilon: from 0 to 1.
    """
    epsilon = number("label_smooth: epsilon", epsilon)
    if not 0 <= epsilon <= 1:
        raise argument_error(
            "label_smooth: epsilon: expected a number from 0 to 1, got "
            f"{epsilon}",
            "python.label_smooth",
        )
    if prior_dist is not None:
        return (1.0 - epsilon) * label + epsilon * prior_dist
    classes = (label.shape or (None,))[-1]
    if not classes:
        raise argument_error(
            f"label_smooth: the number of classes must be known, got {label!r}",
            "python.label_smooth_classes",
        )
    return make("scale", label, scale=1.0 - epsilon, bias=epsilon / classes)


def dice_loss(
    input: Variable, label: Variable, epsilon: float = 1e-5
) -> Variable:
    """One less twice the overlap over the sum of both, a mean over rows.

    Args:
        input: [N, ..., classes], probabilities.
        label: [N, ..., 1], int64; those that are -100 are left out.
        epsilon: added to the sum of both.

    Raises:
        OutOfRangeError: at run time, for a label that is not a class.
    """
    _label_of_each_row("dice_loss", input, label)
    minus_score, counts = _nll(input, label, None, IGNORED, -1)
    both = _row_sums(input) + _row_sums(counts)
    overlap = _row_sums(minus_score)
    return make("mean", 1.0 + 2.0 * overlap / (both + epsilon))


def npair_loss(
    anchor: Variable,
    positive: Variable,
    labels: Variable,
    l2_reg: float = 0.002,
) -> Variable:
    """The N-pair loss of embeddings (Sohn, 2016), with Fluid's L2 term.

    Args:
        anchor: [N, size].
        positive: [N, size]: row i belongs to row i of ``anchor``.
        labels: [N]; rows of the same label belong together.
        l2_reg: the weight of the rows' mean squares, times 0.25.
    """
    column = make("reshape", labels, shape=[-1, 1])
    row = make("reshape", labels, shape=[1, -1])
    same = make("cast", column == row, dtype=anchor.dtype)
    share = same / _sum(same, [1], keep_dim=True)
    squares = _row_sums(make("square", anchor))
    squares = squares + _row_sums(make("square", positive))
    like = anchor._append(
        "matmul", {"X": anchor, "Y": positive}, transpose_Y=True
    )
    loss = softmax_with_cross_entropy(like, share, soft_label=True)
    loss = make("mean", _sum(share * loss, [0]))
    return loss + 0.25 * l2_reg * make("mean", squares)
