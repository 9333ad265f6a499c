"""Parts of models that were fitted by other libraries."""

import operator

import numpy as np

from .case import Tensor, case

COMPARE = [
    None, operator.le, operator.lt, operator.ge, operator.gt, operator.eq,
    operator.ne,
]  # fmt: skip
NAN_TO_YES = 8


def grow(make, nodes, weights, splits, size, targets):
    """Appends a tree with `size` splits; returns its first node."""
    at = len(nodes)
    if size == 0:
        begin = len(weights)
        # One leaf of four has no weight, others have one or several.
        weights += [make.integer(0, targets - 1) for _ in range(make.integer(0, 3))]
        nodes.append([0, 0, begin, len(weights)])
        return at
    mode = make.integer(1, 6) + make.integer(0, 1) * NAN_TO_YES
    nodes.append([mode, make.integer(0, splits.shape[1] - 1), 0, 0])
    left = make.integer(0, size - 1)
    for column, part in (2, left), (3, size - 1 - left):
        nodes[at][column] = grow(make, nodes, weights, splits, part, targets)
    return at


def forests(make):
    for number, (rows, features, sizes, targets) in enumerate(
        [
            (7, 3, [5, 0, 9], 3),
            (1, 1, [1], 1),
            (0, 3, [4], 2),
            (5, 2, [0], 1),
            (9, 5, [13, 2, 7, 1], 2),
            (3, 2, [], 2),
            (4001, 4, [15, 7, 3], 2),
        ]
    ):
        x = make.values(rows, features).values
        if rows > 1:
            x[:: 1 + rows // 3, 0] = np.nan
        nodes, weights = [], []
        roots = [
            grow(make, nodes, weights, x, size, targets) for size in sizes
        ]
        # Some of them are elements of X.
        splits = make.values(len(nodes)).values
        for at in range(0, len(nodes) if rows else 0, 2):
            value = x[at % rows, nodes[at][1]]
            splits[at] = 0 if np.isnan(value) else value
        yield {
            "X": Tensor(x),
            "Nodes": Tensor(np.reshape(nodes, (-1, 4)), "int32"),
            "Splits": Tensor(splits),
            "Roots": Tensor(np.array(roots, int), "int32"),
            "Targets": Tensor(np.array(weights, int), "int32"),
            "Weights": make.values(len(weights)),
            "num_targets": targets,
            "aggregate": ["sum", "average", "min", "max"][number % 4],
        }


@case("tree_ensemble", forests)
def tree_ensemble(x, nodes, splits, roots, targets, weights, attributes):
    def leaf_of(at, row):
        mode, feature, yes, no = nodes[at]
        if mode == 0:
            return slice(yes, no)
        value = row[feature]
        goes = COMPARE[mode % NAN_TO_YES](value, splits[at])
        goes |= mode >= NAN_TO_YES and np.isnan(value)
        return leaf_of(yes if goes else no, row)

    reduce = {"min": min, "max": max}.get(attributes["aggregate"], sum)
    out = np.zeros((len(x), attributes["num_targets"]))
    for row, results in zip(x, out):
        leaves = [leaf_of(root, row) for root in roots]
        for target in range(len(results)):
            found = [
                weight
                for leaf in leaves
                for weight, its in zip(weights[leaf], targets[leaf])
                if its == target
            ]
            results[target] = reduce(found) if found else 0
    if attributes["aggregate"] == "average":
        out /= max(len(roots), 1)
    return out


def shares(make):
    for rows, classes in (7, 3), (1, 2), (0, 4), (5, 5), (3001, 4):
        x = make.values(rows, classes * (classes - 1) // 2).values
        yield {
            "X": Tensor(0.5 + np.clip(x, -1.5, 1.5) * 0.3125),
            "classes": classes,
        }


@case("pairwise_coupling", shares, slack=16)
def pairwise_coupling(x, attributes):
    """Steps as of LIBSVM, of one row after the other."""
    classes = attributes["classes"]
    out = np.full((len(x), classes), 1 / classes)
    for row, p in zip(x, out):
        r = np.zeros((classes, classes))
        r[np.triu_indices(classes, 1)] = row
        r += np.tril(1 - r.T, -1)
        q = -r * r.T + np.diag((r**2).sum(0))
        for _ in range(100):
            change = q @ p
            if np.all(abs(change - p @ change) < 0.005 / classes):
                break
            for i in range(classes):
                p[i] += (p @ q @ p - q[i] @ p) / q[i, i]
                p /= p.sum()
    return out
