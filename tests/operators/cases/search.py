"""Ops that look for elements."""

import numpy as np

from .case import Tensor, case, moves


def best_of(make):
    for number, (dims, axis) in enumerate(
        [
            ([7], 0),
            ([5, 9], 1),
            ([2, 3, 11], 1),
            ([1, 1], -1),
            ([0, 5], 1),
            ([5, 0, 3], 0),
            ([3, 200], -1),
            ([131, 67], 0),
            ([401, 203], 1),
        ]
    ):
        yield {
            "X": make.values(*dims),
            "axis": axis,
            "keepdims": number % 2 == 1,
            "select_last_index": number % 3 == 2,
        }
    yield {"X": make.values(3, 5), "flatten": True}


def arg_best_cases(op, arg):
    @case(op, best_of)
    def arg_best(x, axis, flatten, keepdims, select_last_index):
        if flatten:
            x, axis = x.ravel(), 0
        if select_last_index:
            best = arg(np.flip(x, axis), axis, keepdims=keepdims)
            return x.shape[axis] - 1 - best
        return arg(x, axis, keepdims=keepdims)


arg_best_cases("arg_max", np.argmax)
arg_best_cases("arg_min", np.argmin)


def trees(make):
    for dims in [3, 2, 5], [1, 1, 1], [0, 2, 3], [4, 0, 3], [9, 71, 101]:
        yield {
            "Ids": make.integers("T", dims, -50, 50),
            "Parents": make.integers("T", dims, 0, dims[2] - 1),
        }


@case("gather_tree", trees)
def gather_tree(ids, parents):
    out = np.zeros(ids.shape)
    beams = np.broadcast_to(np.arange(ids.shape[2]), ids.shape[1:])
    for t in reversed(range(len(ids))):
        out[t] = np.take_along_axis(ids[t], beams, 1)
        beams = np.take_along_axis(parents[t], beams, 1)
    return out


def top_ks(make):
    for dims, k, largest in [
        ([7], 3, True),
        ([5, 9], 1, False),
        ([2, 3, 11], 4, True),
        ([1, 1], 1, False),
        ([0, 5], 2, True),
        ([2, 0, 3], 1, False),
        ([3, 33], 33, True),
        ([3, 40], 40, False),
        ([401, 203], 1, False),
        ([401, 203], 5, True),
    ]:
        yield {"X": make.values(*dims), "k": k, "largest": largest}


@case("top_k", top_ks)
def top_k(x, k, largest):
    keys = -x.astype(float) if largest else x
    order = np.argsort(keys, kind="stable")[..., :k]
    return {"Out": np.take_along_axis(x, order, -1), "Indices": order}


def searches(make):
    for number, (rows, dims) in enumerate(
        [
            ([7], [3, 5]),
            ([8], []),
            ([1], [1]),
            ([2, 3, 9], [2, 3, 4]),
            ([0], [3]),
            ([2, 5], [2, 0]),
            ([301], [9001]),
        ]
    ):
        sequence, values = make.values(*rows).values, make.values(*dims).values
        if make.kind["float"]:
            sequence[..., :2] = values.ravel()[:1] = np.nan
        yield {
            "SortedSequence": Tensor(np.sort(sequence)),  # NaN last
            "Values": Tensor(values),
            "right": number % 2 == 0,
            "dtype": {"dtype": "int32" if number % 3 == 0 else "int64"},
        }


@case("searchsorted", searches)
def searchsorted(sorted_sequence, values, right):
    out = np.zeros(values.shape, int)
    for row in np.ndindex(sorted_sequence.shape[:-1]):  # () of a vector
        out[row] = np.searchsorted(
            sorted_sequence[row], values[row], "right" if right else "left"
        )
    return out


def some(make):
    for dims in [7], [3, 5], [], [1, 1], [0, 3], [4, 3, 5]:
        yield {"X": make.values(*dims)}


@case("nonzero", some)
def nonzero(x):
    return np.argwhere(x).T


def compressions(make):
    for dims, flags, axis, flatten in [
        ([7], 7, 0, False),
        ([3, 5], 5, -1, False),
        ([3, 5, 2], 4, 1, False),
        ([3, 5], 11, 0, True),
        ([1], 1, 0, False),
        ([0, 3], 0, 0, False),
        ([2, 0], 2, 0, False),
    ]:
        yield {
            "X": make.values(*dims),
            "Condition": make.integers("bool", [flags], 0, 1),
            "axis": axis,
            "flatten": flatten,
        }


@moves("compress", compressions)
def compress(x, condition, axis, flatten):
    return np.compress(condition, x, None if flatten else axis)


def uniques(make):
    for number, dims in enumerate([[17], [3, 5], [], [1, 1], [0, 3]]):
        yield {"X": make.values(*dims), "sorted": number % 2 == 0}


@case("unique", uniques)
def unique(x, sorted):
    """The unique elements only; other tests cover slices."""
    out, index, inverse, counts = np.unique(
        x.ravel(), return_index=True, return_inverse=True, return_counts=True
    )
    order = np.arange(out.size) if sorted else np.argsort(index)
    return {
        "Out": out[order],
        "Index": index[order],
        "Inverse": np.argsort(order)[inverse],
        "Counts": counts[order],
    }


def suppressions(make):
    for images, classes, boxes, most in [
        (1, 1, 7, 3),
        (2, 3, 5, 9),
        (1, 1, 1, 1),
        (1, 2, 0, 3),
    ]:
        yield {
            "Boxes": make.values(images, boxes, 4),
            "Scores": make.values(images, classes, boxes),
            "max_output_boxes_per_class": most,
            "iou_threshold": 0.25,
        }


def overlap(box, other):
    """The common part of the areas of two boxes of two corners each."""
    low = np.minimum(box[:2], box[2:]), np.minimum(other[:2], other[2:])
    high = np.maximum(box[:2], box[2:]), np.maximum(other[:2], other[2:])
    common = np.prod(np.maximum(np.minimum(*high) - np.maximum(*low), 0))
    areas = np.prod(high[0] - low[0]) + np.prod(high[1] - low[1])
    return common / (areas - common) if common > 0 else 0


@case("non_max_suppression", suppressions)
def non_max_suppression(
    boxes, scores, max_output_boxes_per_class, iou_threshold
):
    """Compares each box with each chosen one, by the definition."""
    rows = []
    for n, c in np.ndindex(scores.shape[:2]):
        left = list(range(scores.shape[2]))
        for _ in range(max_output_boxes_per_class):
            if not left:
                break
            best = max(left, key=lambda i: scores[n, c, i])
            rows.append([n, c, best])
            left = [
                i
                for i in left
                if i != best
                and overlap(boxes[n, best], boxes[n, i]) <= iou_threshold
            ]
    return np.reshape(rows, (len(rows), 3))
