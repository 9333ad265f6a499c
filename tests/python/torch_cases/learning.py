"""Losses, masks and metrics."""

from __future__ import annotations

import numpy as np

from .case import Case, case, odd, torch
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


def embeddings_and_masks(rng):
    """Embeddings and masks; one mask is empty, and the runs of some overlap."""
    b, m, x, n = (size + 1 for size in odd(rng, 4, 5))
    y = 7
    runs = np.sort(rng.integers(0, y + 1, (b, m, x, 2)))
    runs[0, -1] = 3
    return {"Embedding": rng.standard_normal((b, x, y, n)), "Mask": runs}


def weights_of_masks(t):
    """[B, M, X, Y] with 1 for pixels that are in a mask."""
    y = torch.arange(t["Embedding"].shape[2])
    start, end = t["Mask"].unsqueeze(-2).unbind(-1)
    return ((y >= start) & (y < end)).to(t["Embedding"].dtype)


def means_of_masks(t):
    weights = weights_of_masks(t)
    sums = torch.einsum("bmxy,bxyn->bmn", weights, t["Embedding"])
    return sums / weights.sum((2, 3)).clamp(min=1)[..., None]


@case("average_embedding_mask")
def average_embedding_mask(rng):
    def same(t):
        count = weights_of_masks(t).sum((2, 3)).long()
        return {"Out": means_of_masks(t), "Count": count}

    return Case(embeddings_and_masks(rng), same, {}, ("Embedding",))


@case("discriminative_loss", (0.5, 1.5), (0.0, 0.25))
def discriminative_loss(rng, delta_v, delta_d):
    def same(t):
        weights, means = weights_of_masks(t), means_of_masks(t)
        some = (weights.sum((2, 3)) > 0).to(means.dtype)
        share = some / some.sum(1, keepdim=True).clamp(min=1)
        away = t["Embedding"][:, None] - means[:, :, None, None]
        over = F.relu(away.norm(dim=-1) - delta_v) ** 2 * weights
        variance = over.sum((2, 3)) / weights.sum((2, 3)).clamp(min=1)
        apart = (means[:, :, None] - means[:, None]).norm(dim=-1)
        pairs = some[:, :, None] * some[:, None]
        pairs = pairs * (1 - torch.eye(pairs.shape[1], dtype=pairs.dtype))
        short = F.relu(2 * delta_d - apart) ** 2 * pairs
        distance = short.sum((1, 2)) / pairs.sum((1, 2)).clamp(min=1)
        norm = (means.norm(dim=-1) * share).sum(1)
        loss = 2 * (variance * share).sum(1) + 0.5 * distance + 0.25 * norm
        return {"Loss": loss}

    attrs = {
        "delta_v": delta_v,
        "delta_d": delta_d,
        "variance_weight": 2.0,
        "distance_weight": 0.5,
        "regularization_weight": 0.25,
    }
    return Case(embeddings_and_masks(rng), same, attrs, ("Embedding",))


@case("accuracy", (1,), (3,))
def accuracy(rng, k):
    n = odd(rng)[0]
    indices = rng.integers(0, 5, (n, k))
    label = rng.integers(0, 5, (n, 1))

    def same(t):
        right = (t["Indices"] == t["Label"]).any(1)
        return {
            "Accuracy": right.float().mean().reshape(1),
            "Correct": right.sum().int().reshape(1),
            "Total": torch.tensor([n], dtype=torch.int32),
        }

    return Case({"Indices": indices, "Label": label}, same)
