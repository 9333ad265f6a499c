"""Losses over classes, and how many labels were found."""

import itertools

import numpy as np

from .case import Tensor, case


def accuracies(make):
    for indices, label in [
        ([7, 1], [7, 1]),
        ([1, 3], [1]),
        ([5, 0], [5]),
        ([40001, 2], [40001]),
    ]:
        yield {
            "Indices": make.integers("T", indices, 0, 4),
            "Label": make.integers("T", label, 0, 4),
        }


@case("accuracy", accuracies)
def accuracy(indices, label):
    found = (indices == label.reshape(-1, 1)).any(1)
    return {
        "Accuracy": found.mean(keepdims=True),
        "Correct": found.sum(keepdims=True),
        "Total": np.array([found.size]),
    }


def nlls(make):
    for dims in [
        [3, 5],
        [1, 1],
        [0, 4],
        [2, 3, 7],
        [3, 4, 0],
        [2, 5, 3, 2],
        [19001, 3, 2],
    ]:
        labels = [dims[0], *dims[2:]]
        example = {
            "X": make.values(*dims),
            "Label": make.integers("int64", labels, 0, dims[1] - 1),
        }
        if len(dims) != 3:
            example["Weight"] = make.values(dims[1])
        if dims[1] > 3:
            example["ignore_index"] = 2
        yield example
    yield {
        "X": make.values(2, 3, 4),
        "Label": make.integers("int64", [2, 3, 1], 0, 3),
        "axis": -1,
    }
    yield {
        "X": make.values(3, 4),
        "Label": make.integers("int64", [4], 0, 2),
        "axis": 0,
    }


def labelled(x, label, axis, ignore_index):
    """Indices of the labels along the axis, and whether each counts."""
    shape = list(x.shape)
    shape[axis] = 1
    label = label.reshape(shape)
    counts = label != ignore_index
    return np.where(counts, label, 0), counts


@case("nll_loss", nlls)
def nll_loss(x, label, weight, axis, ignore_index):
    index, counts = labelled(x, label, axis, ignore_index)
    weights = counts * (1.0 if weight is None else weight[index])
    loss = -weights * np.take_along_axis(x, index, axis)
    return {
        "Loss": loss.reshape(label.shape),
        "LabelWeight": weights.reshape(label.shape),
    }


def nll_grads(make):
    for example in list(nlls(make)):
        example.pop("Weight", None)
        dims = example["Label"].values.shape
        yield example | {
            "LabelWeight": make.values(*dims),
            "Loss@GRAD": make.values(*dims),
        }


@case("nll_loss_grad", nll_grads)
def nll_loss_grad(x, label, label_weight, loss_grad, axis, ignore_index):
    index, counts = labelled(x, label, axis, ignore_index)
    grad = np.zeros(x.shape)
    own = (-label_weight * loss_grad).reshape(index.shape)
    np.put_along_axis(grad, index, np.where(counts, own, 0), axis)
    return {"X@GRAD": grad}


def weights(make, dims):
    """Values in [0.25, 0.375] with an arbitrary sum."""
    return Tensor(0.25 + np.abs(np.tanh(make.values(*dims).values)) / 8)


def row_dims(dims, axis=-1):
    rows = list(dims)
    rows[axis] = 1
    return rows


def entropies(make):
    for dims in [
        [3, 5],
        [1, 1],
        [0, 4],
        [7],
        [2, 3, 19],
        [261, 131],
        [1999, 10],
    ]:
        labels = row_dims(dims), 0, dims[-1] - 1
        yield {
            "Logits": make.values(*dims),
            "Label": make.integers("int64", *labels),
            "ignore_index": 2 if dims[-1] > 4 else -100,
        }
        yield {
            "Logits": make.values(*dims),
            "Label": weights(make, dims),
            "soft_label": True,
        }
    for dims, axis in [
        ([3, 4], 0),
        ([2, 3, 5], -2),
        ([2, 3, 0], 1),
        ([7, 9, 130], 1),
    ]:
        labels = row_dims(dims, axis), 0, dims[axis] - 1
        yield {
            "Logits": make.values(*dims),
            "Label": make.integers("int64", *labels),
            "axis": axis,
        }
        yield {
            "Logits": make.values(*dims),
            "Label": weights(make, dims),
            "soft_label": True,
            "axis": axis,
        }


def class_weights(label, classes, axis, soft_label, ignore_index):
    """The weight of each class, for any kind of labels."""
    if soft_label:
        return label
    shape = [1] * label.ndim
    shape[axis] = classes
    chosen = label == np.arange(classes).reshape(shape)
    return (chosen & (label != ignore_index)).astype(float)


# Sums of up to 131 terms.
@case("softmax_with_cross_entropy", entropies, slack=64)
def softmax_with_cross_entropy(logits, label, axis, soft_label, ignore_index):
    softmax = np.exp(logits) / np.exp(logits).sum(axis, keepdims=True)
    parts = class_weights(
        label, logits.shape[axis], axis, soft_label, ignore_index
    )
    loss = -(parts * np.log(softmax)).sum(axis, keepdims=True)
    return {"Softmax": softmax, "Loss": loss}


def entropy_grads(make):
    for number, example in enumerate(list(entropies(make))):
        dims = example.pop("Logits").values.shape
        example["Softmax"] = weights(make, dims)
        if number % 3 != 0:
            example["Softmax@GRAD"] = make.values(*dims)
        if number % 3 != 1:
            loss = row_dims(dims, example.get("axis", -1))
            example["Loss@GRAD"] = make.values(*loss)
        yield example


@case("softmax_with_cross_entropy_grad", entropy_grads, slack=64)
def softmax_with_cross_entropy_grad(
    label, softmax, softmax_grad, loss_grad, axis, soft_label, ignore_index
):
    """The Jacobians times the gradients. No sum is taken for 1."""
    grad = np.zeros(softmax.shape)
    if softmax_grad is not None:
        sums = (softmax_grad * softmax).sum(axis, keepdims=True)
        grad += softmax * (softmax_grad - sums)
    if loss_grad is not None:
        parts = class_weights(
            label, softmax.shape[axis], axis, soft_label, ignore_index
        )
        sums = parts.sum(axis, keepdims=True)
        grad += loss_grad * (softmax * sums - parts)
    return {"Logits@GRAD": grad}


def label_grads(make):
    for example in list(entropies(make)):
        if "soft_label" in example:
            dims = example["Logits"].values.shape
            loss = row_dims(dims, example.get("axis", -1))
            yield example | {"Loss@GRAD": make.values(*loss)}


@case("softmax_with_cross_entropy_grad_label", label_grads, slack=64)
def softmax_with_cross_entropy_grad_label(logits, loss_grad, axis):
    sums = np.log(np.exp(logits).sum(axis, keepdims=True))
    return {"Label@GRAD": (sums - logits) * loss_grad}


def ctcs(make):
    """Each sequence has enough times for any label."""
    for (times, batch, classes), labels in [
        ([4, 2, 3], 2),
        ([3, 3, 2], 1),
        ([1, 1, 2], 1),
        ([5, 2, 4], 3),
        ([3, 0, 3], 1),
        ([3, 2, 3], 0),
        ([4, 61, 3], 2),
    ]:
        blank = classes - 1 if times == 4 else 0
        low, high = (0, classes - 2) if blank else (1, classes - 1)
        least = max(2 * labels - 1, 0)
        yield {
            "Logits": make.values(times, batch, classes),
            "Label": make.integers("int64", [batch, labels], low, high),
            "LogitsLength": make.integers("int64", [batch], least, times),
            "LabelLength": make.integers("int64", [batch], 0, labels),
            "blank": blank,
        }


def ctc_paths(logits, label, logits_length, label_length, blank):
    """For each sequence the probabilities of the classes at each time, the sum
    over all paths that show its label, and those through each class."""
    for b, times in enumerate(logits_length):
        softmax = np.exp(logits[:times, b])
        softmax /= softmax.sum(1, keepdims=True)
        through = np.zeros(softmax.shape)
        total, steps = np.float64(0), np.arange(times)
        for path in itertools.product(range(logits.shape[2]), repeat=times):
            shown = [c for c, _ in itertools.groupby(path) if c != blank]
            if shown == label[b, : label_length[b]].tolist():
                probability = softmax[steps, path].prod()
                total += probability
                through[steps, path] += probability
        yield softmax, total, through


@case("warpctc", ctcs, slack=8)
def warpctc(logits, label, logits_length, label_length, blank):
    paths = ctc_paths(logits, label, logits_length, label_length, blank)
    losses = [-np.log(total) for _, total, _ in paths]
    return {"Loss": np.reshape(losses, (len(losses), 1))}


def ctc_grads(make):
    for example in list(ctcs(make)):
        batch = example["Logits"].values.shape[1]
        example["Loss@GRAD"] = make.values(batch, 1)
        # Lengths of 0 are not divided by.
        yield example | ({"norm_by_times": True} if batch == 2 else {})


@case("warpctc_grad", ctc_grads, slack=8)
def warpctc_grad(
    logits,
    label,
    logits_length,
    label_length,
    loss_grad,
    blank,
    norm_by_times,
):
    grad = np.zeros(logits.shape)
    paths = ctc_paths(logits, label, logits_length, label_length, blank)
    for b, (softmax, total, through) in enumerate(paths):
        times = logits_length[b]
        scale = loss_grad[b, 0] / (times if norm_by_times else 1)
        grad[:times, b] = scale * (softmax - through / total)
    return {"Logits@GRAD": grad}
