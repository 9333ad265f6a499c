"""Trees of ai.onnx.ml: compared with formulas, and where it
computes the same with ONNX's own reference."""

import numpy as np
import pytest

import sluice as sl

onnx = pytest.importorskip("onnx")
from onnx import numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx_classical import (  # noqa: E402
    TRANSFORMS, check, ml, near, results, transformed,
)

either = pytest.mark.parametrize("known", [True, False], ids=["known", "late"])
NAN = np.nan

MODES = {
    "BRANCH_LEQ": np.less_equal,
    "BRANCH_LT": np.less,
    "BRANCH_GTE": np.greater_equal,
    "BRANCH_GT": np.greater,
    "BRANCH_EQ": np.equal,
    "BRANCH_NEQ": np.not_equal,
}


class Trees:
    """Random trees as the attributes of ONNX: each begins with its root, and its
    other nodes are in any order."""

    def __init__(self, rng, splits, features, targets, kind, low=-1):
        rows = []
        for tree, count in enumerate(splits):
            self._grow(rng, rows, tree, count, features, [0])
        order = rng.permutation(len(rows))
        order = sorted(order, key=lambda i: (rows[i][0], rows[i][1] != 0))
        rows = [rows[i] for i in order]
        tree, ids, mode, feature, value, yes, no, nan = zip(*rows, strict=True)
        self.nodes = {
            "nodes_treeids": tree, "nodes_nodeids": ids, "nodes_modes": mode,
            "nodes_featureids": feature, "nodes_values": value,
            "nodes_truenodeids": yes, "nodes_falsenodeids": no,
            "nodes_missing_value_tracks_true": nan,
        }  # fmt: skip
        weights = [
            (row[0], row[1], target, float(np.float32(rng.uniform(low, 1))))
            for row in rows
            if row[2] == "LEAF"
            for target in range(targets)
        ]
        rng.shuffle(weights)
        self.weights = dict(
            zip(
                [f"{kind}_{x}" for x in ("treeids", "nodeids", "ids", "weights")],
                zip(*weights, strict=True),
                strict=True,
            )
        )
        for name, numbers in self.weights.items():
            if name.endswith("ids"):
                self.weights[name] = [int(x) for x in numbers]
        self.rows = {(row[0], row[1]): row for row in rows}
        self.leaves = {}
        for tree, node, target, weight in weights:
            leaf = self.leaves.setdefault((tree, node), {})
            leaf[target] = weight
        self.trees, self.targets = len(splits), targets

    def _grow(self, rng, rows, tree, count, features, ids):
        own = ids[0]
        ids[0] += 1
        if count == 0:
            rows.append((tree, own, "LEAF", 0, 0.0, 0, 0, 0))
            return own
        at = len(rows)
        rows.append(())
        left = int(rng.integers(count))
        yes = self._grow(rng, rows, tree, left, features, ids)
        no = self._grow(rng, rows, tree, count - 1 - left, features, ids)
        rows[at] = (
            tree, own, str(rng.choice(list(MODES))), int(rng.integers(features)),
            float(rng.integers(-2, 3)), yes, no, int(rng.integers(2)),
        )  # fmt: skip
        return own

    @property
    def attributes(self):
        return self.nodes | self.weights

    def leaves_of(self, x):
        """For each row a dict for each tree: weights by target."""
        for row in x:
            found = []
            for tree in range(self.trees):
                at = self.rows[tree, 0]
                while at[2] != "LEAF":
                    value = row[at[3]]
                    goes = MODES[at[2]](value, at[4])
                    goes |= bool(at[7]) and np.isnan(value)
                    at = self.rows[tree, at[5] if goes else at[6]]
                found.append(self.leaves.get(at[:2], {}))
            yield found

    def scores(self, x, reduce=sum):
        out = np.zeros((len(x), self.targets))
        for row, leaves in zip(out, self.leaves_of(x), strict=True):
            for target in range(self.targets):
                row[target] = reduce([leaf[target] for leaf in leaves])
        return out


def some_rows(rng, count=40, features=4, dtype="float32"):
    x = rng.integers(-2, 3, (count, features)).astype(dtype)
    x[rng.random(x.shape) < 0.2] = NAN
    return x


@either
@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("function", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_regressors_of_trees(function, targets, dtype, known, rng):
    trees = Trees(rng, [9, 0, 5, 12], 4, targets, "target")
    base = [0.5, -1, 2][:targets]
    x = some_rows(rng, dtype=dtype)
    (y,) = results(
        "TreeEnsembleRegressor", [x], known=known, n_targets=targets,
        aggregate_function=function, base_values=base, **trees.attributes,
    )  # fmt: skip
    reduce = {"AVERAGE": np.mean, "SUM": sum, "MIN": min, "MAX": max}[function]
    assert y.dtype == np.float32
    near(y, trees.scores(x, reduce) + base)


def test_trees_as_the_reference_walks_them(rng):
    trees = Trees(rng, [9, 1, 5], 4, 2, "target")
    # Of NaN and != it takes the other side.
    x = rng.integers(-2, 3, (20, 4)).astype("float32")
    check("TreeEnsembleRegressor", [x], n_targets=2, **trees.attributes)


def test_trees_of_double_tensors(rng):
    x = np.array([[0.1], [0.1 + 1e-12], [0.2]])
    (y,) = results(
        "TreeEnsembleRegressor", [x], n_targets=1, nodes_treeids=[0, 0, 0],
        nodes_nodeids=[0, 1, 2], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
        nodes_featureids=[0] * 3, nodes_truenodeids=[1, 0, 0],
        nodes_falsenodeids=[2, 0, 0],
        nodes_values_as_tensor=numpy_helper.from_array(np.array([0.1, 0, 0])),
        # One target: the second weight of node 2 is without an effect.
        target_treeids=[0] * 3, target_nodeids=[1, 2, 2], target_ids=[0] * 3,
        target_weights_as_tensor=numpy_helper.from_array(np.array([1.0, 2, 5])),
    )  # fmt: skip
    np.testing.assert_array_equal(y, [[1], [2], [2]])


def test_trees_of_integers_and_of_one_row(rng):
    trees = Trees(rng, [9, 4], 4, 1, "target")
    for x in rng.integers(-2, 3, (6, 4)), rng.integers(-2, 3, 4):
        (y,) = results(
            "TreeEnsembleRegressor", [x], n_targets=1, **trees.attributes
        )
        near(y, trees.scores(np.atleast_2d(x)))


@either
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_classifiers_of_trees(transform, known, rng):
    trees = Trees(rng, [9, 6, 5], 4, 3, "class", low=0.01)
    if transform == "PROBIT":
        trees.weights["class_weights"] = [
            w / 4 for w in trees.weights["class_weights"]
        ]
    x = some_rows(rng)
    labels, scores = results(
        "TreeEnsembleClassifier", [x], 2, known, classlabels_int64s=[7, -2, 5],
        post_transform=transform, **trees.attributes,
    )  # fmt: skip
    want = trees.scores(x) / (4 if transform == "PROBIT" else 1)
    np.testing.assert_array_equal(labels, np.array([7, -2, 5])[want.argmax(1)])
    assert labels.dtype == np.int64 and scores.dtype == np.float32
    near(scores, transformed(want, transform), 1e-3, 1e-5)


def test_the_reference_classifies_alike(rng):
    trees = Trees(rng, [9, 6, 5], 4, 3, "class")
    x = rng.integers(-2, 3, (20, 4)).astype("float32")
    for transform in "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO":
        check(
            "TreeEnsembleClassifier", [x], 2, classlabels_int64s=[0, 1, 2],
            base_values=[0.5, 0.1, 0.2], post_transform=transform,
            **trees.attributes,
        )  # fmt: skip


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("low", [-1, 0])
@pytest.mark.parametrize("base", [[], [0.25]])
def test_two_classes_by_weights_of_one(base, low, transform, rng):
    """As onnxruntime does; ONNX does not say it."""
    trees = Trees(rng, [9, 6], 4, 1, "class", low)
    trees.weights["class_weights"] = [w / 2 for w in trees.weights["class_weights"]]
    x = some_rows(rng)
    labels, scores = results(
        "TreeEnsembleClassifier", [x], 2, classlabels_int64s=[3, 8],
        post_transform=transform, **trees.attributes,
        **({"base_values": base} if base else {}),
    )  # fmt: skip
    s = trees.scores(x) / 2 + sum(base)
    positive = (s > (0 if low else 0.5)).ravel()
    np.testing.assert_array_equal(labels, np.where(positive, 8, 3))
    want = np.hstack([-s if low else 1 - s, s])
    if transform == "LOGISTIC":
        want = transformed(np.hstack([-s, s]), transform)
    near(scores, want)


def ensemble(rng, splits, features, targets, dtype="float32", members=False):
    """Attributes of TreeEnsemble, version 5."""
    array = lambda x, t=dtype: numpy_helper.from_array(np.array(x, t))  # noqa: E731
    modes, feature, split, yes, no, yes_leaf, no_leaf = ([] for _ in range(7))
    targets_of, weights, sets, roots = [], [], [], []

    def grow(count):
        if count == 0:
            targets_of.append(int(rng.integers(targets)))
            weights.append(rng.uniform(-1, 1))
            return len(weights) - 1, 1
        at = len(modes)
        mode = int(rng.integers(7 if members else 6))
        modes.append(mode)
        if mode == 6:
            # Without 0, which ends a set in the reference.
            sets.extend([*rng.choice([-2, -1, 1, 2], 1 + count % 3, False), NAN])
        feature.append(int(rng.integers(features)))
        split.append(float(rng.integers(-2, 3)))
        for made in (yes, no, yes_leaf, no_leaf):
            made.append(0)
        left = int(rng.integers(count))
        yes[at], yes_leaf[at] = grow(left)
        no[at], no_leaf[at] = grow(count - 1 - left)
        return at, 0

    for count in splits:
        roots.append(grow(count)[0])
    given = {
        "nodes_modes": array(modes, "uint8"), "nodes_featureids": feature,
        "nodes_splits": array(split), "nodes_truenodeids": yes,
        "nodes_falsenodeids": no, "nodes_trueleafs": yes_leaf,
        "nodes_falseleafs": no_leaf, "leaf_targetids": targets_of,
        "leaf_weights": array(weights), "tree_roots": roots,
        "n_targets": targets,
        "nodes_missing_value_tracks_true": rng.integers(0, 2, len(modes)).tolist(),
    }  # fmt: skip
    return given | ({"membership_values": array(sets)} if members else {})


@either
@pytest.mark.parametrize("members", [False, True])
@pytest.mark.parametrize("function", range(4))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tree_ensembles(dtype, function, members, known, rng):
    # The reference leaves numbers as they are where no leaf has the target.
    attributes = ensemble(rng, [9, 5, 7], 4, 1, dtype, members)
    x = some_rows(rng, dtype=dtype)
    model, feed = ml(
        "TreeEnsemble", [x], 1, known, 5, aggregate_function=function,
        **attributes,
    )  # fmt: skip
    (y,) = sl.onnx.load(model).run(feed)
    (want,) = ReferenceEvaluator(model).run(None, feed)
    assert y.dtype == dtype
    near(y, want)


def test_a_million_nodes():
    count = 2**20 - 1
    inner = np.arange(count // 2)
    modes = np.full(count, "LEAF", object)
    modes[: count // 2] = "BRANCH_LEQ"
    depth = np.log2(np.arange(count) + 1).astype(int)
    leaves = np.arange(count // 2, count)
    yes, no = np.zeros((2, count), int)
    yes[: count // 2], no[: count // 2] = 2 * inner + 1, 2 * inner + 2
    (y,) = results(
        "TreeEnsembleRegressor", [np.eye(20, dtype="f4")[:, :19]], n_targets=1,
        nodes_treeids=np.zeros(count, int), nodes_nodeids=np.arange(count),
        nodes_modes=modes.tolist(), nodes_featureids=np.minimum(depth, 18),
        nodes_values=np.full(count, 0.5), nodes_truenodeids=yes,
        nodes_falsenodeids=no, target_treeids=np.zeros(leaves.size, int),
        target_nodeids=leaves, target_ids=np.zeros(leaves.size, int),
        target_weights=(leaves - leaves[0]).astype(float),
    )  # fmt: skip
    np.testing.assert_array_equal(y[:, 0], [*(2.0 ** np.arange(19))[::-1], 0])
