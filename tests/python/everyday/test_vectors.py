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


@pytest.mark.parametrize(
    "start, stop, num, dtype",
    [
        (0, 10, 11, "float32"),
        (0.1, 0.7, 7, "float64"),
        (5, -3, 4, "float32"),
        (2, 9, 1, "float32"),
        (0, 100, 101, "int64"),
        (3, 3, 5, "int32"),
        (-7, 5, 6, "int64"),
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
