"""Separates cells that touch: each pixel gets an embedding, and pixels of one
cell get similar ones.

A small network is trained by discriminative_loss, with the true masks as runs,
on drawn images of convex cells. On new images, pixels are grouped by their
embeddings alone, and the groups are compared with the cells. Prints the losses
and, if Matplotlib is installed, draws the embeddings before and after.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

import console
import numpy as np

import sluice as sl
from sluice.lab.arguments import count

SIZE = 48  # pixels of an image along x and y
CELLS = 12  # the maximum in one image
SMALLEST = 20  # minimum number of pixels of a group
FEATURES = 6
DELTA_V, DELTA_D = 0.5, 1.5


def draw_labels(random) -> np.ndarray:
    """The number of the cell of each pixel, [SIZE, SIZE]; 0 for none.

    Cells are the regions of a power diagram, cut to discs and stretched by a
    linear map. So they are convex.
    """
    count = int(random.integers(CELLS // 2, CELLS + 1))
    angle, stretch = random.uniform(0, math.pi), random.uniform(1, 1.5)
    turn = np.array(
        [
            [math.cos(angle), -math.sin(angle)],
            [math.sin(angle), math.cos(angle)],
        ]
    )
    turn = turn * [1, stretch]
    centers = random.uniform(4, SIZE - 4, (1, 2))
    for _ in range(200):
        one = random.uniform(4, SIZE - 4, 2)
        if np.hypot(*((centers - one) @ turn).T).min() > 9:
            centers = np.vstack([centers, one])
        if len(centers) == count:
            break
    radii = random.uniform(6, 10, len(centers))
    pixels = np.stack(np.mgrid[:SIZE, :SIZE], -1)[:, :, None]
    power = (((pixels - centers) @ turn) ** 2).sum(-1) - radii**2
    return np.where(power.min(-1) < 0, power.argmin(-1) + 1, 0)


def runs_of(labels: np.ndarray) -> np.ndarray:
    """The masks of an image as runs along y: [CELLS, SIZE, 2]."""
    masks = labels == np.arange(1, CELLS + 1)[:, None, None]
    start = masks.argmax(2)
    end = SIZE - masks[:, :, ::-1].argmax(2)
    runs = np.stack([start, end], -1) * masks.any(2)[..., None]
    return runs.astype(np.int32)


def draw_image(labels: np.ndarray, random) -> np.ndarray:
    """A noisy picture of cells: bright, with dark rims."""
    shades = random.uniform(0.5, 0.9, CELLS + 1)
    shades[0] = 0.1
    image = shades[labels]
    padded = np.pad(labels, 1, mode="edge")
    for dx, dy in ((0, 1), (1, 0), (2, 1), (1, 2)):
        beside = padded[dx : dx + SIZE, dy : dy + SIZE]
        image = np.where((labels > 0) & (beside != labels), 0.3, image)
    return image + random.normal(0, 0.05, image.shape)


def draw_cells(
    count: int, seed: int
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """A feed of images, with the coordinates of their pixels, masks, and which
    pixels are inside a cell; and the number of each pixel's cell."""
    random = np.random.default_rng(seed)
    labels = np.stack([draw_labels(random) for _ in range(count)])
    images = np.empty((count, 3, SIZE, SIZE), np.float32)
    images[:, 0] = [draw_image(one, random) for one in labels]
    images[:, 1:] = np.mgrid[:SIZE, :SIZE] / (SIZE - 1) * 2 - 1
    feed = {
        "image": images,
        "mask": np.stack([runs_of(one) for one in labels]),
        "inside": (labels > 0).astype(np.int64)[..., None],
    }
    return feed, labels


def network(image: sl.Variable) -> tuple[sl.Variable, sl.Variable]:
    """Embeddings [B, X, Y, FEATURES] and logits [B, X, Y, 2] of being inside.

    Its inputs are each pixel and, at half resolution, its neighbourhood.
    """

    def conv(x, filters, stride=1, dilation=1, size=3, act="relu"):
        return sl.layers.conv2d(
            x,
            filters,
            size,
            stride,
            padding=size // 2 * dilation,
            dilation=dilation,
            act=act,
        )

    fine = conv(image, 16)
    x = conv(fine, 32, stride=2)
    for dilation in (1, 2, 4, 1):
        x = x + conv(x, 32, dilation=dilation)
    x = sl.layers.resize(x, scales=[1, 1, 2, 2])
    x = conv(sl.layers.concat([x, fine, image], axis=1), 32)
    embedding, logits = (
        sl.layers.transpose(conv(x, each, size=1, act=None), axis=[0, 2, 3, 1])
        for each in (FEATURES, 2)
    )
    return embedding, logits


@dataclass
class Programs:
    """Programs that train, test and initialise, and their fetches."""

    train: sl.Program
    test: sl.Program
    startup: sl.Program
    outputs: list[sl.Variable]
    losses: list[sl.Variable]


def build() -> Programs:
    """The network with its two losses: of embeddings and of being inside."""
    train, startup = sl.Program(), sl.Program()
    with sl.program_guard(train, startup):
        image = sl.data("image", [None, 3, SIZE, SIZE])
        mask = sl.data("mask", [None, CELLS, SIZE, 2], "int32")
        inside = sl.data("inside", [None, SIZE, SIZE, 1], "int64")
        embedding, logits = network(image)
        losses = [
            sl.layers.mean(
                sl.layers.discriminative_loss(
                    embedding, mask, delta_v=DELTA_V, delta_d=DELTA_D
                )
            ),
            sl.layers.mean(
                sl.layers.softmax_with_cross_entropy(logits, inside)
            ),
        ]
        test = train.clone(for_test=True)
        sl.optimizer.Adam(sl.data("rate", [1])).minimize(sum(losses))
    return Programs(train, test, startup, [embedding, logits], losses)


def learn(built: Programs, exe, scope, steps: int, batch: int) -> None:
    """Train on new images in each step, and print the losses."""
    with console.progress("training", steps) as bar:
        for step in range(1, steps + 1):
            feed, _ = draw_cells(batch, seed=999 + step)
            rate = 3e-3 * (1 + math.cos(math.pi * (step - 1) / steps)) / 2
            feed["rate"] = np.array([rate], np.float32)
            apart, found = exe.run(built.train, feed, built.losses, scope)
            bar.set_postfix_str(f"loss {float(apart):.3f}", refresh=False)
            bar.update()
            if step == 1 or step % 100 == 0 or step == steps:
                bar.write(
                    f"step {step} of {steps}: loss {float(apart):.3f} of "
                    f"embeddings, {float(found):.3f} of inside and outside"
                )


def group(embedding: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """A number for each pixel, 0 outside. Means of groups are found where
    embeddings are dense; each pixel belongs to the nearest mean."""

    def distances(a, b):
        squares = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T
        return np.sqrt(np.maximum(squares, 0))

    points, means = embedding[inside], []
    near = distances(points, points) < DELTA_D
    left = np.ones(len(points), bool)
    while left.any():
        neighbours = near[:, left].sum(1)
        members = left & near[np.where(left, neighbours, 0).argmax()]
        if members.sum() < SMALLEST:
            break
        for _ in range(5):
            mean = points[members].mean(0, keepdims=True)
            members = left & (distances(points, mean)[:, 0] < DELTA_D)
        means.append(mean)
        left &= ~members
    groups = np.zeros(inside.shape, int)
    if means:
        groups[inside] = 1 + distances(points, np.vstack(means)).argmin(1)
    return groups


def overlaps(labels: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Intersection over union of each cell with each group."""
    cells = labels == np.arange(1, labels.max() + 1)[:, None, None]
    found = groups == np.arange(1, groups.max() + 2)[:, None, None]
    both = np.einsum("cxy,gxy->cg", cells.astype(int), found.astype(int))
    sizes = cells.sum((1, 2))[:, None] + found.sum((1, 2))
    return both / (sizes - both)


def separate(built: Programs, exe, scope, feed, labels):
    """Embeddings of all images, the groups found, and the mean over all cells
    of the best overlap with a group."""
    embedding, logits = exe.run(built.test, feed, built.outputs, scope)
    inside = logits[..., 1] > logits[..., 0]
    groups, best = [], []
    with console.progress("grouping pixels of new images", len(labels)) as bar:
        for one, *pixels in zip(labels, embedding, inside, strict=True):
            groups.append(group(*pixels))
            best.append(overlaps(one, groups[-1]).max(1))
            bar.update()
    return embedding, groups, float(np.concatenate(best).mean())


def report(when: str, labels, groups, overlap: float) -> None:
    """Print how well groups match cells."""
    print(
        f"{when} training: {sum(one.max() for one in groups)} groups for "
        f"{sum(one.max() for one in labels)} cells, mean overlap {overlap:.2f}"
    )


def colours_of(embedding: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """The three directions in which embeddings differ most, as red, green and
    blue; black outside."""
    points = embedding[inside] - embedding[inside].mean(0)
    axes = np.linalg.svd(points, full_matrices=False)[2][:3]
    points = points @ axes.T
    low, high = np.percentile(points, [2, 98], axis=0)
    colours = np.zeros((*inside.shape, 3))
    colours[inside] = np.clip((points - low) / (high - low), 0.1, 1)
    return colours


def draw(path: Path, images, labels, before, after, groups) -> bool:
    """One row for each image; False without Matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("agg")
    from matplotlib import pyplot

    palette = np.vstack([[0, 0, 0], pyplot.get_cmap("tab20").colors])
    palette = np.vstack([palette[: CELLS + 1], [0.6, 0.6, 0.6]])
    titles = (
        "image",
        "cells",
        "embeddings before",
        "embeddings after",
        "groups found (grey: no cell's best)",
    )
    rows = min(4, len(groups))
    figure, axes = pyplot.subplots(
        rows, len(titles), figsize=(13, 2.7 * rows), squeeze=False
    )
    for i in range(rows):
        colour_of = np.full(groups[i].max() + 1, CELLS + 1)
        colour_of[0] = 0
        best = overlaps(labels[i], groups[i]).argmax(1)
        colour_of[best + 1] = np.arange(1, labels[i].max() + 1)
        pictures = (
            images[i, 0],
            palette[labels[i]],
            colours_of(before[i], labels[i] > 0),
            colours_of(after[i], labels[i] > 0),
            palette[colour_of[groups[i]]],
        )
        for axis, title, picture in zip(axes[i], titles, pictures, strict=True):
            # Swaps axes, so that x is horizontal and y vertical.
            axis.imshow(np.swapaxes(picture, 0, 1), cmap="gray")
            axis.set_axis_off()
            if i == 0:
                axis.set_title(title, fontsize=10)
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
    return True


def main() -> None:
    """Train on drawn cells, and separate others before and after it."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument(
        "--steps", type=count, default=600, help="of training, a batch each"
    )
    parser.add_argument(
        "--batch", type=count, default=8, help="images in a training step"
    )
    parser.add_argument(
        "--images", type=count, default=20, help="images that test it"
    )
    parser.add_argument(
        "--bound",
        type=float,
        default=0.9,
        help="mean overlap after training below which the program fails",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("build/demo"),
        help="folder for cells.png, or a file (*.png, *.svg or *.pdf)",
    )
    options = parser.parse_args()
    path = options.output
    if path.suffix not in (".png", ".svg", ".pdf"):
        path /= "cells.png"
    path.parent.mkdir(parents=True, exist_ok=True)

    print(
        f"A network learns to separate cells, {options.steps} steps: about "
        f"{math.ceil(options.steps * options.batch / 2400)} minutes on 2 cores;"
        "\n--steps 60 --bound 0.6 for a look. Overlap is intersection over "
        "union."
    )
    built = build()
    exe, scope = sl.Executor(sl.CPUPlace()), sl.Scope()
    exe.run(built.startup, scope=scope)
    unseen, labels = draw_cells(options.images, seed=1)
    before, groups, overlap = separate(built, exe, scope, unseen, labels)
    report("before", labels, groups, overlap)
    learn(built, exe, scope, options.steps, options.batch)
    after, groups, overlap = separate(built, exe, scope, unseen, labels)
    report("after", labels, groups, overlap)
    with console.progress("drawing"):
        drawn = draw(path, unseen["image"], labels, before, after, groups)
    if not drawn:
        print("no picture: it needs Matplotlib, pip install matplotlib")
    files = {path: "embeddings and groups of four images"} if drawn else {}
    console.finish(files, "./dev demo lab, which explains each kernel's time")
    if overlap < options.bound:
        raise SystemExit(
            f"separate_cells: expected a mean overlap of {options.bound}"
        )


if __name__ == "__main__":
    main()
