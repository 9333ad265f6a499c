"""Losses. Where Fluid has a second output for the gradient, it is left out
unless something else reads it.
"""

from __future__ import annotations

from ... import layers
from ...framework import Variable
from .contraction import among
from .declaration import FluidOp
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
    op, Logits, Label, *, soft_label=False, ignore_index=-100, axis=-1,
    use_softmax=True,
):  # fmt: skip
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


@FluidOp(outputs="Y")
def cross_entropy(op, input, label, soft_label=False, ignore_index=-100):
    """-log of the label's probability."""
    short = not soft_label and op.rank(label) < op.rank(input)
    labels = _last(op, label) if short else label
    out = layers.cross_entropy(input, labels, soft_label, ignore_index)
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


@FluidOp(
    "smooth_l1_loss",
    more="Diff",
    defaults={"sigma": 1.0},
    inside_weight="InsideWeight",
    outside_weight="OutsideWeight",
)
def smooth_l1(
    op, x, y, inside_weight=None, outside_weight=None,
    sigma: float | None = None,
):  # fmt: skip
    """The smooth L1 loss of each row."""
    difference = x - y
    if inside_weight is not None:
        difference = difference * inside_weight
    out = layers.smooth_l1(x, y, inside_weight, outside_weight, sigma)
    return {"Out": out, "Diff": difference}


@FluidOp(more="Residual", label="Y")
def huber_loss(op, input, label, delta: float):
    """Squares near 0, straight beyond delta."""
    return {
        "Out": layers.huber_loss(input, label, delta),
        "Residual": label - input,
    }


@row("modified_huber_loss", outputs="Out IntermediateVal")
def modified_huber_loss(op, X, Y):
    """Of x * (2 y - 1) = z: -4 z below -1, (1 - z) ** 2 below 1, else 0."""
    z = X * (op.cast(Y, X.dtype) * 2.0 + -1.0)
    square = op.square(op.relu(z * -1.0 + 1.0))
    out = op.where(Condition=z < -1.0, X=z * -4.0, Y=square)
    return {"Out": out, "IntermediateVal": z}


@FluidOp()
def rank_loss(op, label, left, right, name=None):
    """The cross entropy of which one is ranked higher."""
    shape = [0 if size is None else size for size in op.shape(label)]
    left, right = (op.reshape(x, *shape) for x in (left, right))
    return layers.rank_loss(label, left, right)


@FluidOp(more="Activated", defaults={"margin": 0.0}, left="X1", right="X2")
def margin_rank_loss(op, label, left, right, margin=0.1, name=None):
    """max(0, -label * (x1 - x2) + margin)."""
    out = layers.margin_rank_loss(label, left, right, margin)
    return {"Out": out, "Activated": op.cast(out > 0, left.dtype)}


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


@FluidOp(outputs="Y")
def teacher_student_sigmoid_loss(
    op, input, label, soft_max_up_bound=15.0, soft_max_lower_bound=-15.0
):
    """A cross entropy for the click, one more for the teacher's score.

    Labels are -2 and -1 without a score (no click, click), and the score, plus
    1 for a click, from 0 on.
    """

    label = op.cast(label, input.dtype)

    def below(limit: float) -> Variable:
        return op.cast(label < limit, input.dtype)

    no_score, negative = below(-1.0), below(0.0)
    low = below(1.0)
    score = (low * -1.0 + 1.0) * -1.0 + label  # without the click's 1
    clicked = (negative - no_score) + (low * -1.0 + 1.0)
    scored = negative * -1.0 + 1.0
    cost = layers.logistic_loss(input, clicked)
    return cost + scored * layers.logistic_loss(input, score)


@FluidOp(fg_num="FgNum")
def sigmoid_focal_loss(op, x, label, fg_num, gamma=2.0, alpha=0.25):
    """The focal loss of class c = label - 1, for each class; -1 is ignored."""
    above = label + 1  # from 0 on
    above = op.reshape(among(op, above, op.size(x, 1) + 2), -1, 1)
    classes = op.range(end=float(op.size(x, 1)), dtype=above.dtype)
    mine = above - 2.0 == classes
    positive = op.cast(mine, x.dtype)
    negative = op.cast(~(mine | (above == 0)), x.dtype)
    log_p = op.logsigmoid(x)
    log_q = op.logsigmoid(x * -1.0)
    count = op.cast(op.clip(fg_num, min=1), x.dtype)

    def power(log: Variable) -> Variable:  # with a gradient at 0, too
        return op.exp(log * gamma)

    on = positive * power(log_q) * log_p * (-alpha)
    off = negative * power(log_p) * log_q * (alpha - 1.0)
    return (on + off) / count


@FluidOp(
    outputs="Loss",
    input="Logits",
    input_length="LogitsLength",
    label_length="LabelLength",
)
def warpctc(
    op, input, label, blank=0, norm_by_times=False, input_length=None,
    label_length=None,
):  # fmt: skip
    """Connectionist temporal classification, over padded or ragged steps."""
    if input.lod_level:
        input, input_length = op.dense(input)
        input = op.transpose(input, axis=[1, 0, 2])
        label, label_length = op.dense(label)
    elif input_length is None or label_length is None:
        op.wrong("LogitsLength or LabelLength is missing, without LoD")
    label = op.cast(label, "int64")
    loss = layers.warpctc(
        input, label, blank, norm_by_times, input_length, label_length
    )
    # Labels that do not fit into the steps cost nothing there.
    zero = op.constant(0.0, loss.dtype)
    return op.where(Condition=op.isinf(loss), X=zero, Y=loss)


@row(
    "center_loss", outputs="Loss SampleCenterDiff CentersOut", **{"lambda": 0.1}
)
def center_loss(
    op, X, Label, Centers, CenterUpdateRate, *, cluster_num, need_update=True,
    **_,
):  # fmt: skip
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
