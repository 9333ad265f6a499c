"""Linear models and support vector machines of
ai.onnx.ml: compared with formulas, and where it
computes the same with ONNX's own reference."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx_classical import TRANSFORMS, check, near, results  # noqa: E402
from onnx_reference import floats  # noqa: E402

either = pytest.mark.parametrize("known", [True, False], ids=["known", "late"])


@either
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_linear_classifiers(transform, known, rng):
    x = rng.uniform(0, 1, (7, 3)).astype("f4")
    check(
        "LinearClassifier", [x], 2, known, classlabels_ints=[4, 2, 9],
        coefficients=rng.uniform(0, 0.3, 9), intercepts=[0.01, 0.02, 0.03],
        post_transform=transform,
    )  # fmt: skip


def test_a_linear_classifier_with_one_row(rng):
    """As onnxruntime does."""
    x = floats(rng, 9, 2)
    labels, scores = results(
        "LinearClassifier", [x], 2, classlabels_ints=[4, 2],
        coefficients=[1.0, 2.0], intercepts=[0.5],
    )  # fmt: skip
    s = x @ [[1], [2]] + 0.5
    np.testing.assert_array_equal(labels, np.where(s > 0, 2, 4)[:, 0])
    near(scores, np.hstack([1 - s, s]))


def test_scores_of_one_row_are_two_probabilities(rng):
    x = floats(rng, 9, 2)
    _, scores = results(
        "LinearClassifier", [x], 2, classlabels_ints=[4, 2],
        coefficients=[1.0, 2.0], intercepts=[0.5], post_transform="LOGISTIC",
    )  # fmt: skip
    s = 1 / (1 + np.exp(-(x @ [[1], [2]] + 0.5)))
    near(scores, np.hstack([1 - s, s]))


@either
def test_linear_regressors(known, rng):
    x = floats(rng, 7, 3)
    check(
        "LinearRegressor", [x], 1, known, coefficients=rng.normal(size=6),
        intercepts=[1.0, 2.0], targets=2,
    )  # fmt: skip
    (y,) = results("LinearRegressor", [x[0]], coefficients=[1.0, 2.0, 3.0])
    near(y, [x[:1] @ [1, 2, 3]])


KERNELS = ["LINEAR", "POLY", "RBF", "SIGMOID"]


def machines(rng, classes, features=3):
    vectors = [2, 3, 1, 2][:classes]
    pairs = classes * (classes - 1) // 2
    return {
        "classlabels_ints": [5, 3, 8, 1][:classes],
        "vectors_per_class": vectors,
        "support_vectors": rng.uniform(-1, 1, sum(vectors) * features),
        "coefficients": rng.uniform(-1, 1, sum(vectors) * (classes - 1)),
        "rho": rng.uniform(-0.3, 0.3, pairs),
        "kernel_params": [0.4, 0.3, 3],
    }


@either
@pytest.mark.parametrize("kernel", KERNELS)
def test_support_vector_classifiers(kernel, known, rng):
    attributes = machines(rng, 4) | {"kernel_type": kernel}
    check("SVMClassifier", [floats(rng, 25, 3)], 2, known, **attributes)


def coupled(shares, classes):
    """The optimum, which the operator comes close to. ONNX's reference has
    another one for more than two classes."""
    r = np.zeros((classes, classes))
    r[np.triu_indices(classes, 1)] = shares
    r += np.tril(1 - r.T, -1)
    q = np.diag((r**2).sum(0)) - r * r.T
    p = np.linalg.solve(q + 1e-12 * np.eye(classes), np.ones(classes))
    return p / p.sum()


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_probabilities_of_support_vectors(classes, rng):
    x, pairs = floats(rng, 25, 3), classes * (classes - 1) // 2
    machine = machines(rng, classes)
    a, b = rng.uniform(-2, -1, pairs), rng.uniform(-0.1, 0.1, pairs)
    _, probabilities = results(
        "SVMClassifier", [x], 2, kernel_type="RBF", prob_a=a, prob_b=b, **machine
    )
    ends = np.cumsum([0, *machine["vectors_per_class"]])
    vectors = machine["support_vectors"].reshape(-1, 3)
    weights = machine["coefficients"].reshape(classes - 1, -1)
    kernel = np.exp(-0.4 * ((x[:, None] - vectors) ** 2).sum(2))
    of = [slice(*end) for end in zip(ends, ends[1:], strict=False)]
    scores = [
        kernel[:, of[i]] @ weights[j - 1, of[i]]
        + kernel[:, of[j]] @ weights[i, of[j]]
        for i in range(classes)
        for j in range(i + 1, classes)
    ]
    shares = 1 / (1 + np.exp((np.transpose(scores) + machine["rho"]) * a + b))
    want = [coupled(row, classes) for row in shares]
    near(probabilities, want, 0, 5e-3)
    near(probabilities.sum(1), 1)


def test_support_vectors_of_two_classes(rng):
    check("SVMClassifier", [floats(rng, 25, 3)], 2, **machines(rng, 2))


def test_a_linear_machine_without_vectors(rng):
    """As onnxruntime does: one score and one row of coefficients a class."""
    x, rows = floats(rng, 9, 2), rng.normal(size=(3, 2))
    labels, scores = results(
        "SVMClassifier", [x], 2, classlabels_ints=[4, 2, 7],
        coefficients=rows.ravel(), rho=[0.3],
    )  # fmt: skip
    near(scores, x @ rows.T + 0.3)
    np.testing.assert_array_equal(labels, np.array([4, 2, 7])[scores.argmax(1)])


@either
@pytest.mark.parametrize("one_class", [0, 1])
@pytest.mark.parametrize("kernel", KERNELS)
def test_support_vector_regressors(kernel, one_class, known, rng):
    check(
        "SVMRegressor", [floats(rng, 9, 3)], 1, known, n_supports=4,
        support_vectors=rng.normal(size=12), coefficients=rng.normal(size=4),
        rho=[0.2], kernel_type=kernel, kernel_params=[0.4, 0.3, 2],
        one_class=one_class,
    )  # fmt: skip
