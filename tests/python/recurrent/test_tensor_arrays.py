"""Tensor arrays: written and read around loops, in them, and backwards."""

import numpy as np
import pytest
import refusals
from formulas.differences import gradient_error
from refusals import refused

import sluice as sl

layers = sl.layers


def number(value):
    return layers.fill_constant(shape=[1], dtype="int64", value=value)


def total(value):
    return layers.reduce_sum(value, reduce_all=True)


def begun(x, capacity):
    """An array with room for some elements, whose first is x."""
    array = layers.create_array(x.dtype, capacity=capacity)
    return layers.array_write(x, 0, array)


def given(name, shape):
    x = sl.data(name, shape, "float64")
    x.stop_gradient = False
    return x


def test_elements_are_read_as_they_were_written(exe):
    x = sl.data("x", [None, 2])
    array = layers.array_write(x, 0)
    layers.array_write(x * 2.0, layers.cast(number(3), dtype="int32"), array)
    before = layers.array_length(array)
    layers.array_write(x * 3.0, number(1), array)
    found = [layers.array_read(array, i) for i in (0, 1, number(2), 3)]
    value = np.array([[1, 2]], "float32")
    *elements, length, after = exe.run(
        feed={"x": value},
        fetch_list=[*found, before, layers.array_length(array)],
    )
    for element, factor in zip(elements, (1, 3, 0, 2), strict=True):
        np.testing.assert_array_equal(element, value * factor)
    assert (length.item(), after.item()) == (4, 4)
    assert length.dtype == np.int64


def test_an_array_begins_with_a_list(exe):
    x = sl.data("x", [2])
    array = layers.create_array("float32", [x, x * 2.0], capacity=2)
    got, length = exe.run(
        feed={"x": np.ones(2, "float32")},
        fetch_list=[layers.array_read(array, 1), layers.array_length(array)],
    )
    np.testing.assert_array_equal(got, [2, 2])
    assert length.item() == 2


@pytest.mark.parametrize("recompute", [False, True])
def test_a_loop_writes_what_it_reads_and_trains(exe, recompute):
    """h[t + 1] = tanh(h[t] w + h[t - 1]), until h has enough elements."""
    w, first = given("w", [3, 3]), given("h", [None, 3])
    enough = sl.data("enough", [1], "int64")
    array = begun(first, 8)
    layers.array_write(first * 0.5, 1, array)

    def body(i, array):
        last = layers.array_read(array, i)
        older = layers.array_read(array, i - 1)
        new = layers.tanh(layers.matmul(last, w) + older)
        return [i + 1, layers.array_write(new, i + 1, array)]

    i, array = layers.while_loop(
        lambda i, array: layers.array_length(array) < enough,
        body,
        [number(1), array],
        max_trips=7,
        recompute=recompute,
    )
    states = [layers.array_read(array, k) for k in (1, 4, i)]
    loss = layers.sum([total(s * s * s) for s in states])
    rng = np.random.default_rng(0)
    feed = {
        "w": rng.standard_normal((3, 3)),
        "h": rng.standard_normal((2, 3)),
        "enough": np.array([6]),
    }
    h = [feed["h"], feed["h"] * 0.5]
    while len(h) < 6:
        h.append(np.tanh(h[-1] @ feed["w"] + h[-2]))
    got = exe.run(feed=feed, fetch_list=[*states, layers.array_length(array)])
    for state, k in zip(got, (1, 4, 5)):
        np.testing.assert_allclose(state, h[k], atol=1e-12)
    assert got[3].item() == 6
    assert gradient_error(exe, loss, feed, ["w", "h"]) < 1e-7


def test_a_scan_carries_an_array(exe):
    """Each step adds an element of the array that it wrote before."""
    xs, first = given("xs", [4, 2]), given("h", [2])
    array = begun(first, 5)

    def step(carried, elements):
        i, array = carried
        new = layers.array_read(array, i) * elements[0] + elements[0]
        return [i + 1, layers.array_write(new, i + 1, array)], [new]

    (_, array), (stacked,) = layers.scan(step, [number(0), array], [xs])
    joined, index = layers.tensor_array_to_tensor(array, 0, use_stack=True)
    loss = total(joined * joined * joined)
    rng = np.random.default_rng(1)
    feed = {"xs": rng.standard_normal((4, 2)), "h": rng.standard_normal(2)}
    want = [feed["h"]]
    for x in feed["xs"]:
        want.append(want[-1] * x + x)
    got, each, sizes = exe.run(feed=feed, fetch_list=[joined, stacked, index])
    np.testing.assert_allclose(got, want, atol=1e-12)
    np.testing.assert_allclose(each, want[1:], atol=1e-12)
    assert sizes.tolist() == [1] * 5
    assert gradient_error(exe, loss, feed, ["xs", "h"]) < 1e-7


def test_a_condition_chooses_between_arrays(exe):
    x = sl.data("x", [2])

    def made(factor, count):
        array = layers.create_array("float32", capacity=3)
        for i in range(count):
            layers.array_write(x * factor, i, array)
        return array

    array = layers.cond(
        total(x) < 0.0, lambda: made(2.0, 1), lambda: made(3.0, 2)
    )
    fetch = [layers.array_read(array, 0), layers.array_length(array)]
    for sign, factor, count in ((-1, 2, 1), (1, 3, 2)):
        value = np.full(2, sign, "float32")
        got, length = exe.run(feed={"x": value}, fetch_list=fetch)
        np.testing.assert_array_equal(got, value * factor)
        assert length.item() == count


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("use_stack", [False, True])
def test_elements_become_one_tensor(exe, axis, use_stack):
    x = given("x", [2, 3])
    array = layers.create_array("float64", capacity=9)
    for i in range(4):
        layers.array_write(x * (i + 1.0), i, array)
    out, index = layers.tensor_array_to_tensor(array, axis, "out", use_stack)
    assert out.name == "out"
    feed = {"x": np.arange(6.0).reshape(2, 3) - 2.5}
    parts = [feed["x"] * (i + 1) for i in range(4)]
    join = np.stack if use_stack else np.concatenate
    got, sizes = exe.run(feed=feed, fetch_list=[out, index])
    np.testing.assert_array_equal(got, join(parts, axis))
    assert sizes.tolist() == [1 if use_stack else x.shape[axis]] * 4
    assert sizes.dtype == np.int32
    assert exe.cached_plans == 1  # numbers alone say how many there are
    assert gradient_error(exe, total(out * out), feed, ["x"]) < 1e-7


def test_a_length_may_depend_on_data(exe):
    x = given("x", [None, 2])
    limit = sl.data("limit", [1], "float64")
    array = begun(x, 10)

    def body(i, array):
        new = layers.array_read(array, i) * 2.0
        return [i + 1, layers.array_write(new, i + 1, array)]

    _, array = layers.while_loop(
        lambda i, array: total(layers.array_read(array, i)) < limit,
        body,
        [number(0), array],
        max_trips=9,
    )
    out, index = layers.tensor_array_to_tensor(array, axis=1)
    for limit_is, count in ((7, 3), (100, 7)):
        feed = {"x": np.ones((1, 2)), "limit": np.array([float(limit_is)])}
        got, sizes = exe.run(feed=feed, fetch_list=[out, index])
        want = np.repeat(2.0 ** np.arange(count), 2)[None]
        np.testing.assert_array_equal(got, want)
        assert sizes.tolist() == [2] * count
    assert gradient_error(exe, total(out * out), feed, ["x"]) < 1e-7


def test_sequences_stay_cut(exe):
    x = sl.data("x", [None, 1], lod_level=2)
    array = layers.array_write(x, 1, layers.create_array("float32", shape=x))
    empty, same = layers.array_read(array, 0), layers.array_read(array, 1)
    assert same.lod_level == 2
    sums = layers.sequence_pool(same, "sum")
    lists = [[[1.0, 2.0], []], [[3.0]]]
    rows, pooled, nothing = exe.run(
        feed={"x": lists}, fetch_list=[same, sums, empty]
    )
    assert rows.lod == [[0, 2, 3], [0, 2, 2, 3]]
    assert pooled.ravel().tolist() == [3, 0, 3]
    assert nothing.size == 0


def test_ragged_variables_are_carried_with_their_offsets(exe):
    x = sl.data("x", [None, 1], lod_level=1)
    _, doubled, both = layers.while_loop(
        lambda i, x, y: i < 3,
        lambda i, x, y: [i + 1, layers.sequence_reverse(x) * 2.0, x + y],
        [number(0), x, x * 0.0],
    )
    assert doubled.lod_level == 1
    lists = [[1.0, 2.0, 3.0], [], [4.0, 5.0]]
    got, sums, last = exe.run(
        feed={"x": lists},
        fetch_list=[doubled, both, layers.sequence_pool(doubled, "last")],
    )
    assert got.ravel().tolist() == [24, 16, 8, 40, 32]
    assert sums.ravel().tolist() == [11, 14, 17, 30, 33]
    assert last.ravel().tolist() == [8, 0, 32]
    assert got.lod == [[0, 3, 3, 5]]


def test_gradients_flow_through_ragged_elements(exe):
    """Rows are multiplied by the sum of their sequence, again and again."""
    rows = given("rows", [5, 2])
    x = layers.lod_reset(rows, target_lod=[0, 2, 2, 5])
    array = begun(x, 4)

    def body(i, array, last, offsets):
        one = layers.array_read(array, i)
        sums = layers.sequence_expand_as(layers.sequence_pool(one, "sum"), one)
        new = layers.tanh(one * layers.lod_reset(sums, one))
        last = new * layers.lod_reset(last, new)
        array = layers.array_write(new, i + 1, array)
        return [i + 1, array, last, last.offsets]

    _, array, last, _ = layers.while_loop(
        lambda i, array, last, offsets: i < 3,
        body,
        [number(0), array, x, x.offsets],
        max_trips=3,
    )
    assert last.lod_level == 1
    third = layers.array_read(array, 2)
    loss = total(layers.sequence_pool(third, "sqrt")) + total(
        layers.sequence_pool(last, "max")
    )
    values = np.random.default_rng(3).standard_normal((5, 2))
    element = np.split(values, [2])
    product = [each.copy() for each in element]
    found = []
    for _ in range(3):
        element = [np.tanh(each * each.sum(0)) for each in element]
        product = [a * b for a, b in zip(product, element)]
        found.append(element)
    want = sum(e.sum() / np.sqrt(len(e)) for e in found[1])
    want += sum(e.max(0).sum() for e in product)
    (got,) = exe.run(feed={"rows": values}, fetch_list=[loss])
    assert got == pytest.approx(want, rel=1e-12)
    assert gradient_error(exe, loss, {"rows": values}, ["rows"]) < 1e-7


def new_array(**options):
    return layers.create_array("float32", **options)


def array_of_x():
    x = sl.data("x", [2])
    return x, layers.array_write(x, 0)


def rows():
    return sl.data("rows", [None, 1], lod_level=1)


def loop(body, array):
    layers.while_loop(lambda a: layers.array_length(a) < 3, body, [array])


test_what_an_array_refuses_when_it_is_written = refusals.rows(
    [
        (lambda x, a: layers.array_write(layers.cast(x, dtype="int64"), 1, a),
         "array has elements of float32, got ", "int64"),
        (lambda x, a: layers.array_write(layers.concat([x, x], axis=0), 1, a),
         "another shape"),
        (lambda x, a: layers.array_write(rows(), 1, a), "has 1 levels"),
        (lambda x, a: layers.array_write(x, 0.5, a), "i must be an integer"),
        (lambda x, a: layers.array_read(x, 0), "array that create_array makes"),
        (lambda x, a: layers.array_write(x, 0, x), "array that create_array"),
        (lambda x, a: layers.array_read(new_array(), 0), "no element yet"),
        (lambda x, a: layers.while_loop(
            lambda array: total(x) < 0.0,
            lambda array: [layers.array_write(x, 0, array)], [new_array()]),
         "no element yet"),
        (lambda x, a: layers.tensor_array_to_tensor(layers.array_write(rows(), 0)),
         sl.UnimplementedError, "elements are ragged"),
        # A block gives the same kind
        (lambda x, a: loop(lambda array: [x], a), "number 0 is a variable that"),
        (lambda x, a: loop(lambda array: [
            layers.array_write(x, 0, new_array(capacity=3))], a),
         "expected the capacity of"),
        (lambda x, a: loop(lambda array: [
            layers.array_write(layers.cast(x, dtype="float64"), 0)], a),
         "must be float32, got float64"),
        (lambda x, a: layers.while_loop(
            lambda rows: total(x) < 0.0,
            lambda rows: [layers.sequence_pool(rows, "sum")], [rows()]),
         "begins with offsets rows@LOD, and the next value, ", "has none"),
    ],
    given=array_of_x,
)  # fmt: skip


def test_a_block_writes_arrays_of_its_own_only(exe):
    x = sl.data("x", [2])
    array = layers.array_write(x, 0)
    blocks = len(sl.default_main_program()._blocks())
    refused(
        lambda: layers.while_loop(
            lambda i: i < 3,
            lambda i: [layers.array_length(layers.array_write(x, i, array))],
            [number(0)],
        ),
        "not of this block",
        "while_loop",
    )
    assert len(sl.default_main_program()._blocks()) == blocks
    (got,) = layers.while_loop(  # reading it is fine
        lambda value: total(value) < 10.0,
        lambda value: [value + layers.array_read(array, 0)],
        [x],
    )
    (got,) = exe.run(feed={"x": np.ones(2, "float32")}, fetch_list=[got])
    assert got.tolist() == [5, 5]


@pytest.mark.parametrize(
    ("write", "read", "text"),
    [
        (0, 1, "array_read: I = 1, and the array has 1 elements"),
        (0, -1, "array_read: I = -1"),
        (4, 0, "array_write: I = 4; expected 0 to 3"),
        (-1, 0, "array_write: I = -1; expected 0 to 3"),
    ],
)
def test_what_an_array_refuses_in_a_run(exe, write, read, text):
    x = sl.data("x", [2])
    at = sl.data("at", [2], "int64")
    array = layers.create_array("float32", capacity=4)
    layers.array_write(x, at[:1], array)
    out = layers.array_read(array, at[1:])
    feed = {"x": np.ones(2, "float32"), "at": np.array([write, read])}
    with pytest.raises(sl.OutOfRangeError, match=text):
        exe.run(feed=feed, fetch_list=[out])


def test_a_loop_names_the_iteration_that_wrote_too_much(exe):
    x = sl.data("x", [2])
    array = begun(x, 3)

    def body(i, array):
        return [i + 1, layers.array_write(x, i, array)]

    _, array = layers.while_loop(
        lambda i, array: i < 9, body, [number(0), array]
    )
    feed, fetch_list = {"x": np.ones(2, "f4")}, [layers.array_length(array)]
    with pytest.raises(sl.OutOfRangeError, match="room for 3") as error:
        exe.run(feed=feed, fetch_list=fetch_list)
    assert "iteration 3" in str(error.value)


def test_a_program_with_arrays_is_saved_whole(exe):
    x = sl.data("x", [2])
    _, array = layers.while_loop(
        lambda i, array: i < 3,
        lambda i, array: [i + 1, layers.array_write(x, i, array)],
        [number(0), layers.create_array("float32", capacity=4, shape=[2])],
    )
    out = layers.array_read(array, 2)
    program = sl.Program.parse(sl.default_main_program().serialize())
    feed = {"x": np.array([1, 2], "float32")}
    (got,) = exe.run(program, feed, [out.name])
    assert got.tolist() == [1, 2]
