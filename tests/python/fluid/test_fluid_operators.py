"""Operators of variables: what Fluid's ``math_op_patch`` made of them."""

import numpy as np
from fluid_runs import run
from refusals import refused

import sluice.fluid as fluid
from sluice.fluid import layers


X = np.arange(12, dtype="float32").reshape(4, 3)


def test_a_right_side_of_unknown_length_is_a_column():
    x = fluid.data("x", [None, 3])
    row = layers.reduce_sum(x, -1)  # [-1]
    known = layers.fill_constant([3], "float32", 2.0)
    for made, expected in zip(
        run([x - row, x > row, x * known, row + row], {"x": X[:3]}),
        [
            X[:3] - X[:3].sum(1, keepdims=True),
            X[:3] > X[:3].sum(1, keepdims=True),
            X[:3] * 2,
            X[:3].sum(1) * 2,
        ],
        strict=True,
    ):
        np.testing.assert_array_equal(made, expected)


def test_the_right_side_gets_the_dtype_of_the_left():
    x = fluid.data("x", [None, 3])
    n = fluid.data("n", [None, 3], "int64")
    numbers = np.arange(12).reshape(4, 3)
    feed = {"x": X + 0.5, "n": numbers}
    cases = {
        "float and int": (x * n, (X + 0.5) * X, "float32"),
        "int and float": (n + x, 2 * numbers, "int64"),
        "int and a float": (n + 0.5, X + 0.5, "float32"),
        "a float and int": (0.5 - n, 0.5 - X, "float32"),
        "int and an int": (n + 2, numbers + 2, "int64"),
        "int by an int": (n / 2, X / 2, "float32"),
    }
    for what, (made, expected, dtype) in cases.items():
        assert made.dtype == dtype, what
        (got,) = run([made], feed)
        np.testing.assert_allclose(got, expected, err_msg=what)


def test_equal_and_unequal_are_ops():
    n = fluid.data("n", [None, 1], "int64")
    feed = {"n": np.array([[0], [2], [0]])}
    is_zero, is_not, same = run([n == 0, n != 0, n == n + 0], feed)
    assert is_zero.ravel().tolist() == [True, False, True]
    assert is_not.ravel().tolist() == [False, True, False]
    assert same.all()
    # A variable remains a key, and equals nothing that is no variable.
    assert {n: 1}[n] == 1
    assert (n == None) is False  # noqa: E711
    assert n != "n"


def test_indices_may_be_variables():
    x = fluid.data("x", [None, 3])
    at = fluid.data("at", [1], "int64")
    cases = [
        (x[at], X[1], (3,)),
        (x[at:], X[1:], (-1, 3)),
        (x[:, at], X[:, 1], (-1,)),
        (x[0:at, 1], X[0:1, 1], (-1,)),
        (x[-1, at : at + 2], X[-1, 1:3], (-1,)),
        (x[::-1, 1], X[::-1, 1], (-1,)),
        (x[:], X, (-1, 3)),
        (x[..., 2], X[..., 2], (-1,)),
    ]
    for made, expected, shape in cases:
        assert made.shape == shape
        (got,) = run([made], {"x": X, "at": np.array([1])})
        np.testing.assert_array_equal(got.reshape(expected.shape), expected)
    refused(lambda: x[0, 0, at], "up to 2")


def test_reshape_in_place_changes_the_variable():
    x = fluid.data("x", [None, 6])
    made = layers.reshape(x, [2, -1, 3], inplace=True)
    assert made is x and x.shape == (2, -1, 3)
    other = layers.reshape(x, [-1])
    assert x.shape == (2, -1, 3) and other.shape == (-1,)
    (got,) = run([x], {"x": X.reshape(2, 6)})
    np.testing.assert_array_equal(got, X.reshape(2, 2, 3))
