"""Losses."""

from __future__ import annotations

import numpy as np

from .case import Case, case, odd
from .case import functional as F


@case("softmax_with_cross_entropy", (2,), (3,))
def hard_labels(rng, rank):
    *rows, classes = odd(rng, rank)
    classes += 2
    label = rng.integers(0, classes, (*rows, 1))
    label.flat[-1] = 1  # ignored; with one row, the loss is 0

    def same(t):
        flat = t["Logits"].reshape(-1, classes)
        loss = F.cross_entropy(
            flat, t["Label"].reshape(-1), reduction="none", ignore_index=1
        )
        softmax = t["Logits"].softmax(-1)
        return {"Loss": loss.reshape(*rows, 1), "Softmax": softmax}

    return Case(
        {"Logits": rng.standard_normal((*rows, classes)), "Label": label},
        same,
        {"ignore_index": 1},
        ("Logits",),
    )


@case("softmax_with_cross_entropy")
def soft_labels(rng):
    n, classes = odd(rng, 2)
    label = rng.random((n, classes))
    label /= label.sum(1, keepdims=True)

    def same(t):
        loss = F.cross_entropy(t["Logits"], t["Label"], reduction="none")
        return {"Loss": loss[:, None], "Softmax": t["Logits"].softmax(-1)}

    return Case(
        {"Logits": rng.standard_normal((n, classes)), "Label": label},
        same,
        {"soft_label": True},
        ("Logits", "Label"),
    )


@case("softmax_with_cross_entropy", (False,), (True,))
def classes_in_the_middle(rng, soft):
    n, classes, d = odd(rng, 3)
    classes += 1
    logits = rng.standard_normal((n, classes, d))
    if soft:
        label = rng.dirichlet(np.ones(classes), (n, d)).swapaxes(1, 2)
    else:
        label = rng.integers(0, classes, (n, 1, d))

    def same(t):
        truth = t["Label"] if soft else t["Label"][:, 0]
        loss = F.cross_entropy(t["Logits"], truth, reduction="none")
        return {"Loss": loss[:, None], "Softmax": t["Logits"].softmax(1)}

    grads = ("Logits", "Label") if soft else ("Logits",)
    attrs = {"soft_label": soft, "axis": 1}
    return Case({"Logits": logits, "Label": label}, same, attrs, grads)


@case("nll_loss", (2, False), (2, True), (4, True))
def nll_loss(rng, rank, weighed):
    shape = odd(rng, rank, 5)
    shape[1] += 2
    label = rng.integers(0, shape[1], (shape[0], *shape[2:]))
    label.flat[-1] = 1  # ignored
    inputs = {"X": rng.standard_normal(shape), "Label": label}
    if weighed:
        inputs["Weight"] = rng.uniform(0.5, 2, shape[1])

    def same(t):
        weight = t.get("Weight")
        loss = F.nll_loss(
            t["X"], t["Label"], weight, reduction="none", ignore_index=1
        )
        counts = (t["Label"] != 1).to(t["X"].dtype)
        if weighed:
            counts = counts * weight[t["Label"]]
        return {"Loss": loss, "LabelWeight": counts}

    return Case(inputs, same, {"ignore_index": 1}, ("X",))


@case("warpctc", (0,), (2,))
def warpctc(rng, blank):
    batch, most = odd(rng, 2, 5)
    times, classes = 2 * most + 1, 4
    label = rng.integers(0, classes - 1, (batch, most))
    label += label >= blank

    def same(t):
        logs = t["Logits"].log_softmax(2)
        loss = F.ctc_loss(
            logs,
            t["Label"],
            t["LogitsLength"],
            t["LabelLength"],
            blank,
            reduction="none",
        )
        return {"Loss": loss[:, None]}

    inputs = {
        "Logits": rng.standard_normal((times, batch, classes)),
        "Label": label,
        "LogitsLength": rng.integers(2 * most, times + 1, batch),
        "LabelLength": rng.integers(0, most + 1, batch),
    }
    return Case(inputs, same, {"blank": blank}, ("Logits",))
