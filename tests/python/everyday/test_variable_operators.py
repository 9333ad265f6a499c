"""Operators, indices and slices of variables, against NumPy."""

import operator
import re

import numpy as np
import pytest
from agreement import agree, fed, values

import sluice as sl

layers = sl.layers

INDICES = [
    (0,),
    (-1,),
    (1, 2),
    (1, -2, 3),
    (slice(1, None),),
    (slice(None, -1), slice(1, 2)),
    (slice(None), slice(2, 5)),
    (slice(None, None, 2), slice(None, None, -1)),
    (slice(-1, None, -2), slice(-99, 99)),
    (slice(2, 0, -1),),
    (slice(2, 1),),
    (Ellipsis, -1),
    (0, Ellipsis, slice(0, 2)),
    (Ellipsis,),
    (),
    (None,),
    (None, 1, None, slice(None), None),
    (slice(None), None, Ellipsis, None, 0),
    ([2, 0, 2],),
    (slice(None), [-1, 0]),
    (1, [0, 2, 1]),
    (slice(None), 1, np.array([[0, 3], [1, 1]])),
    (None, [1, 0], 2),
    ([0, 2], 1),
    ([],),
    (np.int64(1), np.uint8(2)),
]


def shown(index):
    return re.sub(r"[^\w,:.+-]", "", repr(index)).replace("slice", "")


@pytest.mark.parametrize("unknown", [(), (0, 1)])
@pytest.mark.parametrize("index", INDICES, ids=shown)
def test_indices_are_numpys(index, unknown):
    index = index[0] if len(index) == 1 else index
    as_numpy = np.array([], int) if isinstance(index, list) and not index else index
    x = values(3, 3, 4)
    agree(lambda x: x[index], lambda x: np.array(x[as_numpy]), x, unknown=unknown)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_an_integer_variable_is_an_index(dtype):
    x, i = values(3, 4), np.array([2, -1, 0, 2], dtype)

    def take(x, i):
        return [x[i], x[:, i], x[1, i], x[None, i, 1:]]

    agree(take, take, x, i, unknown=(0,))


def test_an_index_without_dims_drops_one():
    def take(x, i):
        return [x[i], x[:, i], x[0, :, i], x[i, 1, :]]

    agree(take, take, values(3, 4, 2), np.array(1, "int64"))


def test_a_bound_may_be_a_variable():
    def take(x, i):
        return [x[i:], x[:i, 1:], x[1 : i + 1], x[i:0:-1]]

    agree(take, take, values(5, 3), np.array(3, "int32"), grads=False)


def test_masks():
    x = values(3, 4)
    agree(
        lambda x: [
            x[x > 0],
            x[layers.reduce_sum(x, [1]) > 0],
            x[:, [True, False, True, True]],
            x[np.array([False, True, False])],
        ],
        lambda x: [x[x > 0], x[x.sum(1) > 0], x[:, [0, 2, 3]], x[[1]]],
        x,
        grads=False,
    )


@pytest.mark.parametrize(
    "index, words, error",
    [
        (lambda i: 3, "3 is out of range for dim 0", sl.OutOfRangeError),
        (lambda i: (0, -5), "-5 is out of range", sl.OutOfRangeError),
        (lambda i: (0, 0, 0), "3 entries for 2 dims", None),
        (lambda i: 1.5, "got 1.5", None),
        (lambda i: "a", "got 'a'", None),
        (lambda i: True, "got True", None),
        (lambda i: (..., ...), "once", None),
        (lambda i: slice(0, 2, 0), "not 0", None),
        (lambda i: slice(0, 2, i), "step is an integer", None),
        (lambda i: slice(0.5, 2), "got 0.5", None),
        (lambda i: [0.5], "integers or booleans", None),
        (lambda i: (i, i), "gather_nd", sl.UnimplementedError),
        (lambda i: (i, [0]), "gather_nd", sl.UnimplementedError),
        (lambda i: sl.data("f", [2]), "neither integers", None),
        (lambda i: sl.data("m", [4], "bool"), "other dims", None),
        (lambda i: sl.data("m", [3, 3], "bool"), "other dims", None),
    ],
)
def test_a_wrong_index_is_named(index, words, error):
    x = sl.data("x", [3, 4])
    i = sl.data("i", [2], "int64")
    with pytest.raises(
        error or sl.InvalidArgumentError, match=re.escape(words)
    ) as raised:
        x[index(i)]
    assert "test_variable_operators.py" in str(raised.value)


def test_what_numpy_would_turn_is_refused():
    x = sl.data("x", [3, 4, 5])
    with pytest.raises(sl.UnimplementedError, match="index twice"):
        x[0, :, [1, 2]]
    np.testing.assert_equal(x[0][:, [1, 2]].shape, (4, 2))


def test_an_index_out_of_range_is_found_when_it_runs(exe):
    x, i = values(3, 4), np.array([3])
    out = fed("x", x)[fed("i", i)]
    with pytest.raises(sl.OutOfRangeError, match="gather"):
        exe.run(feed={"x": x, "i": i}, fetch_list=[out])
    late = sl.data("y", [None, 4])[5]
    with pytest.raises(sl.SluiceError, match="squeeze"):
        exe.run(feed={"y": np.zeros((3, 4), "f4")}, fetch_list=[late])


def test_an_index_is_a_new_variable():
    x = sl.data("x", [3])
    assert x[...] is not x and x[:].name != x.name


@pytest.mark.parametrize(
    "apply",
    [
        lambda x, y: x % y,
        lambda x, y: abs(x) ** y,
        lambda x, y: x[:, :3] @ y,
        lambda x, y: 2 / x - 3 * y + 1,
        lambda x, y: x**2 + y,
        lambda x, y: x**3 - y,
        lambda x, y: abs(x) ** 0.5 * y**-1,
        lambda x, y: 2.5**x / +y,
        lambda x, y: x % 0.31 + 7.3 % y,
        lambda x, y: -abs(x) * y // 100.0 + x * y,
        lambda x, y: [x + x, x + 1, 1 + x, x - 1, 3 - y, x * 2, 2 * y, x / 2, -x],
    ],
)
def test_float_operators(apply):
    agree(apply, apply, values(3, 4), values(3, 4, seed=1) * 1.003)


def test_a_variable_and_a_text_have_no_sum():
    with pytest.raises(TypeError):
        sl.data("x", [2]) + "text"


@pytest.mark.parametrize("shape", [(3,), ()])
@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons(name, shape):
    compare = getattr(operator, name)

    def all_ways(x, y):
        return [compare(x, y), compare(x, 2), compare(2.0, x)]

    x, y = np.float32([2, 3, 1]), np.float32([3, 2, 1])
    if not shape:
        x, y = x[1:2].reshape(()), y[1:2].reshape(())
    agree(all_ways, all_ways, x, y, grads=False)


@pytest.mark.parametrize(
    "apply",
    [
        operator.floordiv,
        operator.mod,
        operator.and_,
        operator.or_,
        operator.xor,
        operator.add,
        operator.mul,
        lambda x, y: ~x,
        lambda x, y: x // 2 + 7 % y,
        lambda x, y: 100 // y,
        lambda x, y: 2 ** abs(y),
        lambda x, y: x**2,
        lambda x, y: 5 & x | 2 ^ y,
        operator.lt,
        operator.ge,
        operator.eq,
        operator.ne,
        lambda x, y: (x > 1) & (y < 2) | ~(x == y) ^ (y <= 3),
        lambda x, y: (x > 1) & True,
        lambda x, y: 2 < x,
    ],
)
def test_integer_operators(apply):
    x = np.array([7, -7, 3, 2, -2], "int64")
    y = np.array([2, 3, -3, 2, -5], "int64")
    agree(apply, apply, x, y, grads=False)


def test_floor_division_has_no_gradient_but_a_value():
    def divide(x, y):
        return [x // y, x // 0.25, 3 // y]

    agree(divide, divide, values(5), values(5, seed=1), grads=False)


def test_lengths():
    assert len(sl.data("x", [3, None])) == 3
    with pytest.raises(TypeError, match="sl.layers.shape"):
        len(sl.data("y", [None, 3]))
    with pytest.raises(TypeError, match="no dims"):
        len(sl.data("z", []))


def test_iteration_is_refused_with_what_to_write():
    x = sl.data("x", [2, 3])
    with pytest.raises(TypeError, match=r"unstack\(x\) is a list"):
        list(x)
    with pytest.raises(TypeError, match="unstack"):
        _first, _second = x
    with pytest.raises(TypeError, match="scan"):
        for _ in x:
            pass
    with pytest.raises(TypeError, match="unstack"):
        3 in x  # noqa: B015


def test_assignment_is_refused_with_what_to_write():
    x = sl.data("x", [2, 3])
    with pytest.raises(TypeError, match="scatter_nd"):
        x[0] = 1.0


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (np.exp, r"np\.exp computes numbers, .*sl\.layers\.exp\(\.\.\.\)"),
        (np.absolute, r"sl\.layers\.abs\("),
        (lambda x: np.maximum(x, 0), r"sl\.layers\.elementwise_max\("),
        (lambda x: np.ones(3) - x, "ndarray and Variable; arrays are fed"),
        (np.sum, r"np\.add\.reduce computes .*sl\.layers\.reduce_sum\("),
        (lambda x: np.hypot(x, x), r"sl\.layers\.\.\.\., which appends"),
        (float, r"fetch it with Executor\.run"),
        (int, r"fetch it with Executor\.run"),
    ],
)
def test_a_variable_has_no_numbers_yet(use, says):
    with pytest.raises(TypeError, match=says):
        use(sl.data("x", [None, 3]))


def test_numbers_of_numpy_may_be_on_the_left():
    two, x = np.float32(2), np.float32([[1, 2, 3]])

    def all_ways(x):
        return [two + x, two - x, two * x, two / x, two**x, two // x, two % x, two < x, two == x]

    found = sl.Executor().run(feed={"x": x}, fetch_list=all_ways(sl.data("x", [None, 3])))
    for value, right in zip(found, all_ways(x), strict=True):
        np.testing.assert_allclose(value, right, rtol=1e-6)
