"""Print and py_func."""

import traceback

import numpy as np
import pytest

import sluice as sl

L = sl.layers


def tanh(x):
    return np.tanh(x)


def tanh_grad(x, y, dy):
    return dy * (1 - y * y)


def test_print_writes_the_value_and_the_gradient(exe, capfd):
    x = sl.data("x", [None, 2])
    x.stop_gradient = False
    y = L.Print(x, message="seen", summarize=3)
    loss = L.reduce_sum(y * y)
    ((_, grad),) = sl.append_backward(loss, [x])
    feed = {"x": np.array([[1, 2], [3, 4]], "f4")}
    value, slope = exe.run(feed=feed, fetch_list=[y, grad])
    np.testing.assert_array_equal(value, feed["x"])
    np.testing.assert_array_equal(slope, 2 * feed["x"])
    forward, backward = capfd.readouterr().err.splitlines()
    assert forward == "seen x float32 [2, 2]: [1, 2, 3, ...]"
    assert backward.startswith("seen ") and "@GRAD" in backward
    assert backward.endswith("float32 [2, 2]: [2, 4, 6, ...]")


@pytest.mark.parametrize(
    ("phase", "lines"), [("forward", 1), ("backward", 1), ("both", 2)]
)
def test_print_of_one_phase(exe, capfd, phase, lines):
    x = sl.data("x", [2])
    x.stop_gradient = False
    loss = L.reduce_sum(L.Print(x, print_phase=phase))
    ((_, grad),) = sl.append_backward(loss, [x])
    exe.run(feed={"x": [1, 2]}, fetch_list=[loss, grad])
    printed = capfd.readouterr().err.splitlines()
    assert len(printed) == lines
    assert ("GRAD" in printed[-1]) == (phase != "forward")


def test_print_stops_after_the_first(exe, capfd):
    y = L.Print(sl.data("x", [None]), first_n=2)
    for _ in range(4):
        exe.run(feed={"x": [1]}, fetch_list=[y])
    assert len(capfd.readouterr().err.splitlines()) == 2


def test_py_func_computes_with_its_gradient(exe):
    x = sl.data("x", [None, 3], "float64")
    x.stop_gradient = False
    y = L.py_func(tanh, x, (x.shape, x.dtype), tanh_grad)
    loss = L.reduce_sum(y * y)
    ((_, grad),) = sl.append_backward(loss, [x])
    for rows in (1, 4):
        array = np.linspace(-1, 1, 3 * rows).reshape(rows, 3)
        value, slope = exe.run(feed={"x": array}, fetch_list=[y, grad])
        t = np.tanh(array)
        np.testing.assert_allclose(value, t)
        np.testing.assert_allclose(slope, 2 * t * (1 - t * t))


def test_py_func_of_several_variables_without_those_skipped(exe):
    x, y = (sl.data(name, [2]) for name in "xy")
    n = sl.data("n", [1], "int64")
    for variable in (x, y):
        variable.stop_gradient = False
    got = []

    def forward(x, n, y):
        return x * n.astype("f4") + y, x.sum(keepdims=True)

    def backward(*arrays):
        got.append([array.copy() for array in arrays])
        n, first, second, d_first, d_second = arrays
        return d_first * n.astype("f4") + d_second, None, d_first

    a, b = L.py_func(
        forward,
        [x, n, y],
        [([2], "float32"), ([1], "float32")],
        backward,
        skip_vars_in_backward_input=[x, y],
    )
    loss = L.reduce_sum(a) + 10.0 * L.reduce_sum(b)
    pairs = sl.append_backward(loss, [x, y])
    feed = {"x": [1, 2], "y": [5, 6], "n": [3]}
    fetch = [a, b, *(grad for _, grad in pairs)]
    first, second, dx, dy = exe.run(feed=feed, fetch_list=fetch)
    np.testing.assert_array_equal(first, [8, 12])
    np.testing.assert_array_equal(second, [3])
    np.testing.assert_array_equal(dx, [13, 13])
    np.testing.assert_array_equal(dy, [1, 1])
    assert len(got[0]) == 5 and got[0][0] == [3]


def test_an_output_that_is_not_used_has_gradient_0(exe):
    x = sl.data("x", [2])
    x.stop_gradient = False

    def backward(x, a, b, d_a, d_b):
        return d_a + d_b

    a, _ = L.py_func(lambda x: (x, x), x, [x, x], backward)
    ((_, grad),) = sl.append_backward(L.reduce_sum(a), [x])
    (slope,) = exe.run(feed={"x": [1, 2]}, fetch_list=[grad])
    np.testing.assert_array_equal(slope, [1, 1])


def test_without_backward_func_no_gradient_passes(exe):
    x = sl.data("x", [2])
    x.stop_gradient = False
    y = L.py_func(tanh, x, x)
    loss = L.reduce_sum(y * x)
    ((_, grad),) = sl.append_backward(loss, [x])
    (slope,) = exe.run(feed={"x": [1, 2]}, fetch_list=[grad])
    np.testing.assert_allclose(slope, np.tanh([1, 2]), rtol=1e-6)


def test_an_exception_keeps_its_line_and_names_the_function(exe):
    def divides(x):
        raise ZeroDivisionError("by nothing")

    y = L.py_func(divides, sl.data("x", [2]), ([2], "float32"))
    with pytest.raises(sl.InternalError, match="divides.*by nothing") as error:
        exe.run(feed={"x": [1, 2]}, fetch_list=[y])
    assert f"{__file__}:" in str(error.value)
    cause = error.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    frames = traceback.extract_tb(cause.__traceback__)
    assert frames[-1].name == "divides"
    (found,) = exe.run(
        feed={"x": [1, 2]},
        fetch_list=[L.py_func(tanh, sl.default_main_program().var("x"), y)],
    )
    np.testing.assert_allclose(found, np.tanh([1, 2]), rtol=1e-6)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: x[:1], r"Out0 with shape \[1\], expected \[2\]"),
        (lambda x: x.astype("f8"), "Out0 as float64, expected float32"),
        (lambda x: None, "None as Out0"),
        (lambda x: (x, x), "Out0"),
    ],
)
def test_a_wrong_result_is_an_error_of_the_run(exe, function, words):
    y = L.py_func(function, sl.data("x", [2]), ([2], "float32"))
    with pytest.raises(sl.InternalError, match=words):
        exe.run(feed={"x": [1, 2]}, fetch_list=[y])


def test_a_wrong_number_of_gradients_is_an_error_of_the_run(exe):
    x = sl.data("x", [2])
    x.stop_gradient = False
    y = L.py_func(tanh, x, x, lambda x, y, dy: (dy, dy))
    ((_, grad),) = sl.append_backward(L.reduce_sum(y), [x])
    with pytest.raises(sl.InternalError, match="2 gradients.*1 inputs"):
        exe.run(feed={"x": [1, 2]}, fetch_list=[grad])


@pytest.mark.parametrize(
    ("arguments", "check"),
    [
        ((3, "x", "x"), "py_func.function"),
        ((tanh, "x", "x", 3), "py_func.function"),
        ((tanh, "x", [2]), "py_func.out"),
        ((tanh, "x", (2, "float32")), "py_func.out"),
        ((tanh, 3, "x"), "python.variable"),
    ],
)
def test_wrong_arguments_of_py_func(arguments, check):
    x = sl.data("x", [2])
    arguments = [x if a == "x" else a for a in arguments]
    with pytest.raises(sl.InvalidArgumentError) as error:
        L.py_func(*arguments)
    assert error.value.check_id == check


def test_the_same_function_is_one_op():
    x = sl.data("x", [2])
    for _ in range(3):
        L.py_func(tanh, x, x, tanh_grad)
    types = {op.type for op in sl.default_main_program().ops}
    assert len(types) == 1 and "tanh" in min(types)
    assert not types & {*L.ops.names(), *dir(L)}
