"""Norms, products and made-up tensors, against NumPy."""

import numpy as np
import pytest
from agreement import agree, values

import sluice as sl

layers = sl.layers


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("axis", [None, 1, [0, 2]])
@pytest.mark.parametrize("p", ["fro", 1, 2, 3, 0.5, 2.5, np.inf, -np.inf])
def test_norm(p, axis, keepdim):
    axes = None if axis is None else tuple(np.atleast_1d(axis))

    def reference(x):
        size = abs(x)
        if p == np.inf or p == -np.inf:
            best = np.max if p > 0 else np.min
            return best(size, axis=axes, keepdims=keepdim)
        power = 2 if p == "fro" else p
        total = (size**power).sum(axis=axes, keepdims=keepdim)
        return total ** (1 / power)

    agree(
        lambda x: layers.norm(x, p, axis, keepdim), reference, values(2, 3, 2)
    )


def test_norms_of_zeros_have_gradients_of_zero():
    x = sl.data("x", [2, 2], "float64")
    x.stop_gradient = False
    feed = {"x": np.array([[0.0, 0.0], [0.0, 2.0]])}
    exe = sl.Executor()
    for p in (3, 0.5, 2):
        out = layers.norm(x, p, 1)
        ((_, grad),) = sl.append_backward(layers.reduce_sum(out), [x])
        got, slope = exe.run(feed=feed, fetch_list=[out, grad])
        np.testing.assert_allclose(got, [0, 2], rtol=1e-15)
        np.testing.assert_allclose(slope, [[0, 0], [0, 1]], rtol=1e-15)


def test_a_norm_of_power_zero_counts():
    x = np.array([[0.0, 3.0, -1.0], [0.0, 0.0, 0.0]])
    agree(
        lambda x: layers.norm(x, 0, -1),
        lambda x: np.linalg.norm(x, 0, -1),
        x,
        grads=False,
    )


@pytest.mark.parametrize(
    "start, stop, num, dtype",
    [
        (0, 10, 11, "float32"),
        (0.1, 0.7, 7, "float64"),
        (5, -3, 4, "float32"),
        (2, 9, 1, "float32"),
        (0, 100, 101, "int64"),
        (3, 3, 5, "int32"),
        (0, 0.3, 257, "float32"),
    ],
)
def test_linspace(start, stop, num, dtype, exe):
    (got,) = exe.run(fetch_list=[layers.linspace(start, stop, num, dtype)])
    want = np.linspace(start, stop, num).astype(dtype)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-15 if dtype[-1] == "4" else 0)
    assert got[0] == np.dtype(dtype).type(start)
    assert num == 1 or got[-1] == np.dtype(dtype).type(stop)


def test_linspace_of_variables():
    agree(
        lambda a, b: layers.linspace(a, b, 5, "float64"),
        lambda a, b: np.linspace(a[0], b[0], 5),
        values(1),
        values(1, seed=3) * 7,
    )


def test_eye(exe):
    got = exe.run(
        fetch_list=[
            layers.eye(3),
            layers.eye(2, 4, dtype="int64"),
            layers.eye(3, 2, batch_shape=[2, 1]),
            layers.eye(1, 0),
        ]
    )
    want = [np.eye(3), np.eye(2, 4), np.tile(np.eye(3, 2), (2, 1, 1, 1))]
    for a, b in zip(got, [*want, np.zeros((1, 0))]):
        np.testing.assert_array_equal(a, b)
    assert got[0].dtype == "float32" and got[1].dtype == "int64"


def test_a_dot_of_vectors_has_one_element_as_in_fluid():
    agree(
        layers.dot,
        lambda x, y: (x * y).sum(keepdims=True),
        values(5),
        values(5, seed=1),
    )


def test_cross_takes_the_first_dim_of_three():
    agree(
        layers.cross,
        lambda x, y: np.cross(x, y, axis=1),
        values(2, 3, 3),
        values(2, 3, 3, seed=1),
    )
    with sl.program_guard(sl.Program()):
        agree(
            lambda x, y: layers.cross(x, y, -1),
            np.cross,
            values(2, 3, 3),
            values(2, 3, 3, seed=1),
        )


def test_cos_sim_compares_one_row_with_all_and_takes_any_rank():
    def reference(x, y):
        x, y = x.reshape(len(x), -1), y.reshape(len(y), -1)
        lengths = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
        return ((x * y).sum(1) / lengths)[:, None]

    agree(layers.cos_sim, reference, values(3, 2, 2), values(1, 2, 2, seed=1))


@pytest.mark.parametrize(
    "a, b, unknown",
    [
        ((2,), (3,), ()),
        ((2, 3), (4, 1), ()),
        ((2,), (2, 3), ()),
        ((2, 2, 1), (3,), ()),
        ((2, 3), (2, 2), (0,)),
    ],
)
def test_kron(a, b, unknown):
    agree(layers.kron, np.kron, values(*a), values(*b, seed=1), unknown=unknown)


def test_random_integers(exe):
    drawn = [
        layers.randint(-3, 4, [20000], seed=5),
        layers.randint(2, shape=[3, 5], dtype="int32"),
        layers.randint(2**53 - 2, 2**53, [100]),
    ]
    wide, narrow, large = exe.run(fetch_list=drawn)
    counts = np.bincount(wide + 3, minlength=7)
    assert counts.size == 7 and counts.sum() == 20000
    assert abs(counts - 20000 / 7).max() < 5 * np.sqrt(20000 / 7)
    assert narrow.dtype == "int32" and set(narrow.ravel()) <= {0, 1}
    assert set(large) == {2**53 - 2, 2**53 - 1}
    again = exe.run(fetch_list=drawn)
    assert (again[0] != wide).any()


def test_random_orders(exe):
    order = layers.randperm(1000, seed=3)
    few = layers.randperm(3, "int32")
    got, small = exe.run(fetch_list=[order, few])
    assert got.dtype == "int64" and small.dtype == "int32"
    assert sorted(got) == list(range(1000)) and (got != np.arange(1000)).any()
    assert (exe.run(fetch_list=[order])[0] != got).any()
    assert exe.run(fetch_list=[layers.randperm(0)])[0].shape == (0,)
