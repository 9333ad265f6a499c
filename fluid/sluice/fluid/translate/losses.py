"""Losses. Where Fluid has a second output for the gradient, it is left out
unless something else reads it.
"""

from __future__ import annotations

from ... import layers
from ...framework import Variable
from .contraction import among
from .table import Op, row

_MOST = 1e20  # what stands for an infinite loss


def _last(op: Op, x: Variable) -> Variable:
    return op.unsqueeze(x, axes=[op.rank(x)])


def _nll(
    op: Op, x: Variable, label: Variable, ignored: int, axis: int, weight=None
) -> dict[str, Variable]:
    inputs = {"X": x, "Label": label, "Weight": weight}
    return op.append_all("nll_loss", inputs, ignore_index=ignored, axis=axis)


@row("softmax_with_cross_entropy", outputs="Loss Softmax")
def softmax_with_cross_entropy(
    op,
    Logits,
    Label,
    *,
    soft_label=False,
    ignore_index=-100,
    axis=-1,
    use_softmax=True,
):
    """The cross entropy of the softmax, and the softmax."""
    if not use_softmax:
        return _of_probabilities(op, Logits, Label, soft_label, ignore_index,
                                 axis)  # fmt: skip
    inputs = {"Logits": Logits, "Label": Label}
    attrs = {"soft_label": soft_label, "ignore_index": ignore_index}
    made = op.append_all(op.type, inputs, **attrs, axis=axis)
    return {"Loss": made["Loss"], "Softmax": made["Softmax"]}


def _of_probabilities(
    op: Op, X: Variable, Label: Variable, soft: bool, ignored: int, axis: int
) -> dict[str, Variable]:
    """The cross entropy of what is a softmax already."""
    if soft:
        terms = op.xlogy(Label, X)
        loss = op.reduce_sum(terms, dim=[axis], keep_dim=True) * -1.0
        return {"Loss": loss, "Softmax": X}
    loss = _nll(op, op.log(X), Label, ignored, axis)["Loss"]
    return {"Loss": loss, "Softmax": X}


@row("cross_entropy", outputs="Y")
def cross_entropy(op, X, Label, *, soft_label=False, ignore_index=-100):
    """-log of the label's probability."""
    short = not soft_label and op.rank(Label) < op.rank(X)
    label = _last(op, Label) if short else Label
    out = layers.cross_entropy(X, label, soft_label, ignore_index)
    if str(out.dtype) != "float16":  # Fluid's -log 0
        out = op.clip(out, min=-_MOST, max=_MOST)
    return op.squeeze(out, axes=[-1]) if short else out


@row("cross_entropy2", outputs="Y MatchX")
def cross_entropy2(op, X, Label, *, ignore_index=-100):
    """-log of the label's probability, and the probability."""
    label = _last(op, Label) if op.rank(Label) < op.rank(X) else Label
    made = _nll(op, X, label, ignore_index, -1)
    picked = made["Loss"] * -1.0
    loss = op.log((made["LabelWeight"] * -1.0 + 1.0) + picked) * -1.0
    if label is not Label:
        loss = op.squeeze(loss, axes=[-1])
    return {"Y": loss, "MatchX": picked}


@row("smooth_l1_loss", outputs="Out Diff")
def smooth_l1_loss(
    op, X, Y, InsideWeight=None, OutsideWeight=None, *, sigma=1.0
):
    """The smooth L1 loss of each row."""
    difference = X - Y
    if InsideWeight is not None:
        difference = difference * InsideWeight
    out = layers.smooth_l1(X, Y, InsideWeight, OutsideWeight, sigma)
    return {"Out": out, "Diff": difference}


@row("huber_loss", outputs="Out Residual")
def huber_loss(op, X, Y, *, delta):
    """Squares near 0, straight beyond delta."""
    return {"Out": layers.huber_loss(X, Y, delta), "Residual": Y - X}


@row("modified_huber_loss", outputs="Out IntermediateVal")
def modified_huber_loss(op, X, Y):
    """Of x * (2 y - 1) = z: -4 z below -1, (1 - z) ** 2 below 1, else 0."""
    z = X * (op.cast(Y, X.dtype) * 2.0 + -1.0)
    gap = op.relu(z * -1.0 + 1.0)
    steep = z < -1.0
    square = op.square(gap)
    given = {"Condition": steep, "X": z * -4.0, "Y": square}
    return {"Out": op.append("where", given), "IntermediateVal": z}


@row("rank_loss")
def rank_loss(op, Left, Right, Label):
    """The cross entropy of which one is ranked higher."""
    shape = [0 if size is None else size for size in op.shape(Label)]
    Left, Right = (op.reshape(x, *shape) for x in (Left, Right))
    return layers.rank_loss(Label, Left, Right)


@row("margin_rank_loss", outputs="Out Activated")
def margin_rank_loss(op, X1, X2, Label, *, margin=0.0):
    """max(0, -label * (x1 - x2) + margin)."""
    out = layers.margin_rank_loss(Label, X1, X2, margin)
    return {"Out": out, "Activated": op.cast(out > 0, X1.dtype)}


@row("nll_loss", outputs="Out Total_weight")
def nll_loss(op, X, Label, Weight=None, *, ignore_index=-100, reduction="mean"):
    """Minus the label's logarithm, and the sum of the labels' weights."""
    made = _nll(op, X, Label, ignore_index, 1, Weight)
    loss = made["Loss"]
    sums = {"dim": [], "reduce_all": True}
    total, weight = (
        op.reshape(op.reduce_sum(x, **sums), 1)
        for x in (loss, made["LabelWeight"])
    )
    if reduction == "none":
        return {"Out": loss, "Total_weight": weight * 0.0}
    out = total / weight if reduction == "mean" else total
    return {"Out": out, "Total_weight": weight}


@row("squared_l2_distance", outputs="Out sub_result")
def squared_l2_distance(op, X, Y):
    """The squared distance of each two rows, or of all to one."""
    difference = X - Y
    flat = op.flatten(difference, axis=1)
    out = op.reduce_sum_square(flat, dim=[1], keep_dim=True)
    return {"Out": out, "sub_result": flat}


@row("teacher_student_sigmoid_loss", outputs="Y")
def teacher_student_sigmoid_loss(
    op, X, Label, *, soft_max_up_bound=15.0, soft_max_lower_bound=-15.0
):
    """A cross entropy for the click, one more for the teacher's score.

    Labels are -2 and -1 without a score (no click, click), and the score, plus
    1 for a click, from 0 on.
    """

    Label = op.cast(Label, X.dtype)

    def below(limit: float) -> Variable:
        return op.cast(Label < limit, X.dtype)

    no_score, negative = below(-1.0), below(0.0)
    low = below(1.0)
    score = (low * -1.0 + 1.0) * -1.0 + Label  # without the click's 1
    clicked = (negative - no_score) + (low * -1.0 + 1.0)
    scored = negative * -1.0 + 1.0
    cost = layers.logistic_loss(X, clicked)
    return cost + scored * layers.logistic_loss(X, score)


@row("sigmoid_focal_loss")
def sigmoid_focal_loss(op, X, Label, FgNum, *, gamma=2.0, alpha=0.25):
    """The focal loss of class c = label - 1, for each class; -1 is ignored."""
    above = Label + 1  # from 0 on
    above = op.reshape(among(op, above, op.size(X, 1) + 2), -1, 1)
    classes = op.range(end=float(op.size(X, 1)), dtype=above.dtype)
    mine = above - 2.0 == classes
    positive = op.cast(mine, X.dtype)
    negative = op.cast(~(mine | (above == 0)), X.dtype)
    log_p = op.logsigmoid(X)
    log_q = op.logsigmoid(X * -1.0)
    count = op.cast(op.clip(FgNum, min=1), X.dtype)

    def power(log: Variable) -> Variable:  # with a gradient at 0, too
        return op.exp(log * gamma)

    on = positive * power(log_q) * log_p * (-alpha)
    off = negative * power(log_p) * log_q * (alpha - 1.0)
    return (on + off) / count


@row("warpctc", outputs="Loss")
def warpctc(
    op,
    Logits,
    Label,
    LogitsLength=None,
    LabelLength=None,
    *,
    blank=0,
    norm_by_times=False,
):
    """Connectionist temporal classification, over padded or ragged steps."""
    if Logits.lod_level:
        Logits, LogitsLength = op.dense(Logits)
        Logits = op.transpose(Logits, axis=[1, 0, 2])
        Label, LabelLength = op.dense(Label)
    elif LogitsLength is None or LabelLength is None:
        op.wrong("LogitsLength or LabelLength is missing, without LoD")
    Label = op.cast(Label, "int64")
    loss = layers.warpctc(
        Logits, Label, blank, norm_by_times, LogitsLength, LabelLength
    )
    # Labels that do not fit into the steps cost nothing there.
    endless = op.isinf(loss)
    zero = op.constant(0.0, loss.dtype)
    return op.where(Condition=endless, X=zero, Y=loss)


@row(
    "center_loss", outputs="Loss SampleCenterDiff CentersOut", **{"lambda": 0.1}
)
def center_loss(
    op,
    X,
    Label,
    Centers,
    CenterUpdateRate,
    *,
    cluster_num,
    need_update=True,
    **_,
):
    """Half the squared distance of each row to its label's center, and the
    centers moved towards their rows.
    """
    label = op.reshape(Label, -1)
    mine = op.gather(Centers, Index=label, axis=0)
    away = X - mine
    loss = op.reduce_sum_square(away, dim=[1], keep_dim=True)
    made = {"Loss": loss * 0.5, "SampleCenterDiff": away}
    if not need_update:
        return {**made, "CentersOut": Centers}
    index = op.unsqueeze(label, axes=[1])
    zeros = op.fill_any_like(Centers, value=0.0, dtype=X.dtype)
    ones = op.fill_any_like(Label, value=1.0, dtype=X.dtype)
    first = op.constant(1.0, X.dtype, [op.size(Centers, 0)])
    sums, counts = (
        op.append("scatter_nd", {"Index": index, **both}, reduction="add")
        for both in (
            {"X": zeros, "Updates": away},
            {"X": first, "Updates": op.reshape(ones, -1)},
        )
    )
    steps = sums / op.unsqueeze(counts, axes=[1])
    return {**made, "CentersOut": Centers + steps * CenterUpdateRate}
