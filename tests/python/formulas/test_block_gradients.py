"""Gradients through cond, scan and while_loop, against differences."""

import itertools
import re

import control_flow_networks as networks
import numpy as np
import pytest
import sluice as sl
from block_model import Model, total
from sluice import layers


@pytest.fixture
def model():
    return Model()


def number(value):
    return layers.fill_constant(shape=[1], value=value, dtype="float64")


def cell(model, inputs=3, size=2):
    """h = tanh(x W + h U + b)"""
    w = model.parameter("w", inputs, size)
    u = model.parameter("u", size, size)
    b = model.parameter("b", size)

    def step(x, h):
        both = layers.matmul(x, w) + layers.matmul(h, u)
        return layers.tanh(layers.bias_add(both, b))

    return step


WAYS = [
    {"reverse": reverse, "recompute": recompute}
    for reverse, recompute in itertools.product([False, True], repeat=2)
]


@pytest.mark.parametrize("way", WAYS)
def test_a_recurrent_layer(model, way):
    step = cell(model)
    x = model.parameter("x", 5, 4, 3)  # its gradient is stacked
    h0 = model.parameter("h0", 4, 2)
    weight = model.constant(5, 4, 2)

    def run(carried, elements):
        h = step(elements[0], carried[0])
        return [h], [h]

    (last,), (outputs,) = layers.scan(run, [h0], [x], **way)
    loss = total(last, outputs * weight)
    assert set(model.check(loss)) == {"w", "u", "b", "x", "h0"}


def types_of_ops(block):
    return [op["type"] for op in sl.default_main_program()._blocks()[block]["ops"]]


@pytest.mark.parametrize("layer", ["matmul", "mul"])
@pytest.mark.parametrize("way", WAYS)
def test_gradients_of_weights_are_products_after_the_loop(model, way, layer):
    product = getattr(layers, layer)
    x = model.parameter("x", 5, 4, 3)
    w = model.parameter("w", 3, 2)
    u = model.parameter("u", 2, 2)
    h0 = model.parameter("h0", 4, 2)

    def step(carried, elements):
        h = layers.tanh(product(elements[0], w) + product(carried[0], u))
        return [h], []

    model.check_scan(step, [h0], [x], **way)
    # Slices of a sequence that is read from its end are in another order.
    after = 0 if way["recompute"] else 1 if way["reverse"] else 2
    assert types_of_ops(0).count(layer + "_grad_y") == after
    blocks = range(1, len(sl.default_main_program()._blocks()))
    inside = [op for block in blocks for op in types_of_ops(block)]
    assert inside.count(layer + "_grad_y") == 2 - after


@pytest.mark.parametrize("batch", [4, None])
def test_a_loop_keeps_no_value_of_which_only_the_shape_is_read(model, batch):
    step = cell(model)
    model.feed["rows"] = model.random.normal(size=(5, 4, 3))
    x = sl.data("rows", [None, batch, 3], "float64")

    def run(carried, elements):
        h = step(elements[0], carried[0])
        return [h], []

    model.check_scan(run, [model.parameter("h0", 4, 2)], [x])
    text = sl.default_main_program().to_string(all=True)
    saved = set(re.findall(r"[\w.]+(?=@SAVED)", text))
    # Not the two products, nor their sum and the sum with the bias.
    assert saved == {"tanh_1.Out", "block_1.carried_0"}


def test_a_loop_keeps_the_shape_of_what_cannot_be_repeated(model):
    w = model.parameter("w", 1, 2)
    x = model.parameter("x", 3, 2, 4)

    def step(carried, elements):
        # Gradients read the data of `right`, the shapes of `left` and `kept`.
        left, right = layers.split(elements[0], 2, dim=1)
        kept = layers.dropout(right + w, 0.0)
        return [carried[0] * right + left + (kept + w)], []

    h0 = model.parameter("h0", 2, 2)
    model.check_scan(step, [h0], [x])


def test_a_weight_that_is_used_twice_is_summed_in_the_loop(model):
    u = model.parameter("u", 2, 2)
    h0 = model.parameter("h0", 4, 2)
    x = model.constant(3, 4, 2)

    def step(carried, elements):
        h = layers.matmul(elements[0], u) + layers.matmul(carried[0], u)
        return [layers.tanh(h)], []

    (last,), _ = layers.scan(step, [h0], [x])
    model.check(total(last, layers.matmul(u, u)))
    assert "matmul_grad_y" in types_of_ops(2)


def test_products_with_less_than_a_matrix_stay_in_the_loop(model):
    # A vector times a matrix: five of them would be five rows.
    w = model.parameter("w", 2, 2)
    x = model.constant(5, 2)
    h0 = model.parameter("h0", 2)

    def step(carried, elements):
        return [layers.tanh(layers.matmul(carried[0], w) + elements[0])], []

    model.check_scan(step, [h0], [x])
    assert "matmul_grad_y" in types_of_ops(2)


@pytest.mark.parametrize("recompute", [False, True])
def test_the_square_of_the_state(model, recompute):
    x = model.constant(4, 3)
    h0 = model.parameter("h0", 3)

    def step(carried, elements):
        (h,) = carried
        squared = h * h
        return [squared + elements[0]], []

    (last,), _ = layers.scan(step, [h0], [x], recompute=recompute)
    model.check(total(layers.tanh(last)))


@pytest.mark.parametrize("kind", ["scan", "sequence_scan", "while_loop"])
def test_a_squared_state_that_outputs_read_before(model, kind):
    # Paddle #20638: the state is squared and carried on; only what a step
    # makes of it and of its element leaves the loop, and no op reads the last
    # state. Fluid's backward pass saw tensors of other ranks and failed.
    w, v = model.parameter("w", 2, 3), model.parameter("v", 3, 3)
    if kind == "while_loop":
        h0 = model.parameter("h0", 4, 3)

        def body(h, outputs, i):
            new = h * h
            out = layers.tanh(layers.matmul(h, v))
            return [new, outputs + out, i + number(1.0)]

        start = [h0, layers.zeros_like(h0), number(0.0)]
        _, outputs, _ = layers.while_loop(
            lambda h, outputs, i: i < number(3.0), body, start, max_trips=3
        )
        assert set(model.check(total(outputs))) == {"v", "h0"}
        return

    def step(carried, elements):
        (h,) = carried
        new = h * h
        out = layers.matmul(elements[0], w) + layers.matmul(h, v)
        return [new], [layers.tanh(out)]

    if kind == "scan":
        first = model.parameter("h0", 4, 3)
        _, (out,) = layers.scan(step, [first], [model.constant(3, 4, 2)])
    else:
        x = sl.data("x", [None, 2], "float64", lod_level=1)
        rows = model.random.normal(size=(6, 2))
        model.feed["x"] = (rows, [0, 3, 3, 5, 6])
        first = model.parameter("h0", 4, 3)
        _, (out,) = layers.sequence_scan(step, [first], [x])
    assert set(model.check(total(out))) == {"w", "v", "h0"}


def test_a_parameter_that_is_only_the_first_state(model):
    w = model.parameter("w", 2, 3)
    first = layers.matmul(model.constant(4, 2), w)

    def step(carried, elements):
        h = layers.sigmoid(carried[0] + elements[0])
        return [h], []

    grads = model.check_scan(step, [first], [model.constant(3, 4, 3)])
    assert np.abs(grads["w"]).min() > 0


@pytest.mark.parametrize("way", WAYS)
def test_attention_to_what_is_computed_around_the_block(model, way):
    # Paddle #18803: the block reads y = x w1 of the program around it, twice,
    # while x is also its sequence. Fluid lost a part of the gradient of w1.
    w1, w2 = model.parameter("w1", 3, 3), model.parameter("w2", 3, 3)
    x = model.constant(4, 2, 3)
    y = layers.matmul(x, w1)
    memory = layers.reshape(y, shape=[-1, 3])

    def step(carried, elements):
        query = layers.matmul(carried[0], w2) + elements[0]
        scores = layers.matmul(query, memory, transpose_y=True)
        h = layers.matmul(layers.softmax(scores), memory)
        return [h], [h]

    h0 = model.parameter("h0", 2, 3)
    (last,), (states,) = layers.scan(step, [h0], [x], **way)
    loss = total(last, states) + total(y)
    assert set(model.check(loss)) == {"w1", "w2", "h0"}


@pytest.mark.parametrize("ragged", [False, True])
def test_what_is_stacked_need_not_come_last(model, ragged):
    # Paddle #21891: an output of a DynamicRNN that was not made by the last op
    # of its block had no gradient.
    w = model.parameter("w", 3)

    def step(carried, elements):
        scaled = elements[0] * w
        h = layers.tanh(scaled + carried[0])
        return [h], [scaled]

    if ragged:
        x = sl.data("x", [None, 3], "float64", lod_level=1)
        rows = model.random.normal(size=(5, 3))
        model.feed["x"] = (rows, [0, 2, 2, 5])
        _, (scaled,) = layers.sequence_scan(step, [3], [x])
    else:
        zero = layers.fill_constant(shape=[3], value=0.0, dtype="float64")
        _, (scaled,) = layers.scan(step, [zero], [model.constant(4, 3)])
    assert set(model.check(total(scaled))) == {"w"}


@pytest.mark.parametrize("recompute", [False, True])
def test_a_loop_in_a_loop(model, recompute):
    """Newton's square root of each step's value, until it is exact enough."""
    a, b = model.parameter("a", 1), model.parameter("b", 1)
    model.values["a"][:], model.values["b"][:] = 3.1, 0.6

    def body(value, i):
        def better(root):
            return [(root + value / root) * 0.5]

        (root,) = layers.while_loop(
            lambda root: abs(root * root - value) > number(0.1),
            better, [value * b], max_trips=9, recompute=recompute,
        )
        return [root + a * b, i + number(1.0)]

    value, _ = layers.while_loop(
        lambda value, i: i < number(3.0), body, [a * a, number(0.0)],
        max_trips=4, recompute=recompute,
    )
    assert set(model.check(total(value))) == {"a", "b"}


def test_states_that_change_places(model):
    a, b = model.parameter("a", 2), model.parameter("b", 2)

    def step(carried, elements):
        a, b = carried
        product = a * b
        return [b, product + elements[0]], [a]

    last, (stacked,) = layers.scan(step, [a, b], [model.constant(4, 2)])
    model.check(total(*last, stacked))


def test_states_that_are_passed_on_or_replaced(model):
    a, b, w = (model.parameter(name, 2) for name in "abw")

    def step(carried, elements):
        kept, replaced, counted = carried
        out = kept * elements[0]
        more = counted + replaced
        return [kept, w, more], [out, w, elements[0], kept]

    zero = layers.fill_constant(shape=[2], value=0.0, dtype="float64")
    x = model.parameter("x", 3, 2)
    last, stacked = layers.scan(step, [a, b, zero], [x])
    assert set(model.check(total(*last, *stacked))) == {"a", "b", "w", "x"}


def test_what_has_no_path_has_no_gradient(model):
    a, b = model.parameter("a", 2), model.parameter("b", 2)

    def step(carried, elements):
        return [carried[0] * elements[0], carried[1] + elements[0]], []

    last, _ = layers.scan(step, [a, b], [model.constant(3, 2)])
    assert set(model.check(total(last[0]))) == {"a"}


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("start", [0.12, 1.5, 40.0])
def test_a_loop_until_a_condition_fails(model, start, recompute):
    w = model.parameter("w", 1)
    model.values["w"][:] = 1.7
    a = model.parameter("a", 1)
    model.values["a"][:] = start

    def body(value, count):
        grown = value * layers.tanh(w)
        return [grown + value, count + number(1.0)]

    value, count = layers.while_loop(
        lambda value, count: value < number(20.0),
        body, [a, number(0.0)], max_trips=12, recompute=recompute,
    )
    model.check(total(value))
    assert model.run([count])[0] == {0.12: 8, 1.5: 4, 40.0: 0}[start]


def test_more_iterations_than_max_trips_are_an_error(model):
    a = model.parameter("a", 1)
    (value,) = layers.while_loop(
        lambda value: value < number(1e9),
        lambda value: [layers.exp(value)], [a], max_trips=2,
    )
    with pytest.raises(sl.SluiceError, match="max_trips = 2"):
        model.run([value])


def test_a_loop_without_a_bound_has_no_gradient(model):
    a = model.parameter("a", 1)
    (value,) = layers.while_loop(
        lambda value: value < number(1e9),
        lambda value: [layers.exp(value)], [a],
    )
    with pytest.raises(sl.InvalidArgumentError, match="give .* max_trips"):
        sl.append_backward(total(value))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_condition(model, sign):
    a, b, c = (model.parameter(name, 3) for name in "abc")
    x = layers.scale(a * a, sign)

    def then():
        product = a * b
        return [product * layers.exp(product), a]

    def otherwise():
        return [c, layers.tanh(c) * x]

    condition = layers.reduce_sum(x) < number(0.0)
    grads = model.check(total(*layers.cond(condition, then, otherwise)))
    assert set(grads) == {"a", "b", "c"}
    unused = "c" if sign < 0 else "b"
    assert not grads[unused].any()


@pytest.mark.parametrize("recompute", [False, True])
def test_a_scan_in_a_scan(model, recompute):
    w = model.parameter("w", 2)
    x = model.parameter("x", 3, 4, 2)

    def inner(carried, elements):
        h = layers.tanh(carried[0] * w + elements[0])
        return [h], [h * carried[0]]

    def outer(carried, elements):
        (h,), (products,) = layers.scan(
            inner, carried, elements, recompute=recompute
        )
        return [h * w], [products]

    model.check_scan(outer, [model.parameter("h0", 2)], [x])


@pytest.mark.parametrize("recompute", [False, True])
def test_a_condition_and_a_loop_in_a_scan(model, recompute):
    w, v = model.parameter("w", 1), model.parameter("v", 1)
    x = model.constant(6, 1)

    def step(carried, elements):
        (h,) = carried
        (grown,) = layers.while_loop(
            lambda value: value < number(0.8),
            lambda value: [value + layers.exp(value * v)],
            [h], max_trips=6,
        )
        chosen = layers.cond(
            elements[0] < number(0.0),
            lambda: grown * w,
            lambda: layers.tanh(h * grown),
        )
        return [chosen], [grown]

    h0 = model.parameter("h0", 1)
    grads = model.check_scan(step, [h0], [x], recompute=recompute)
    assert set(grads) == {"w", "v", "h0"}


def test_a_scan_in_a_condition(model):
    step = cell(model)
    x, h0 = model.constant(3, 2, 3), model.parameter("h0", 2, 2)

    def then():
        (last,), _ = layers.scan(
            lambda carried, elements: ([step(elements[0], carried[0])], []),
            [h0], [x],
        )
        return last

    condition = number(0.0) < number(1.0)
    model.check(total(layers.cond(condition, then, lambda: h0)))


def test_a_cell_of_four_gates(model):
    out = networks.lstm(
        model.constant(4, 2, 3), model.parameter("h", 2, 2),
        model.parameter("c", 2, 2), model.parameter("w", 5, 8),
        model.parameter("b", 8), 2,
    )
    model.check(total(out[1][0], out[0][1]))


def test_dropout_in_a_scan_uses_the_numbers_of_the_forward_pass(model):
    w = model.parameter("w", 3)

    def step(carried, elements):
        kept = layers.dropout(carried[0] * w, 0.5)
        return [kept + elements[0]], [kept]

    one = layers.fill_constant(shape=[3], value=1.0, dtype="float64")
    _, (kept,) = layers.scan(step, [one], [model.constant(5, 3)])
    pairs = sl.append_backward(layers.reduce_sum(kept))
    model.values["w"][:] = 0.5
    values, grad = model.run([kept, pairs[0][1]])
    assert len({tuple(row) for row in values != 0}) > 1, "one mask for all"
    assert ((values != 0).any(0) == (grad != 0)).all()


def test_a_block_that_is_computed_again_draws_no_numbers(model):
    w = model.parameter("w", 3)
    out = layers.cond(
        number(0.0) < number(1.0),
        lambda: layers.dropout(w, 0.5), lambda: w,
    )
    with pytest.raises(sl.UnimplementedError, match="random ops"):
        sl.append_backward(total(out))


def test_an_op_without_gradient_in_a_block_is_named(model):
    w = model.parameter("w", 3)

    def step(carried, elements):
        product = carried[0] * elements[0]
        return [layers.quantize_and_dequantize(product, min=-1.0, max=1.0)], []

    (last,), _ = layers.scan(step, [w], [model.constant(5, 3)])
    with pytest.raises(sl.InvalidArgumentError, match=r"quantize.*no gradient"):
        sl.append_backward(total(last))


def test_an_empty_sequence_has_gradients_of_zero(model):
    step = cell(model)
    x = sl.data("x", [None, 2, 3], "float64")
    model.feed["x"] = np.zeros((0, 2, 3))
    grads = model.check_scan(
        lambda carried, elements: ([step(elements[0], carried[0])], []),
        [model.parameter("h0", 2, 2)], [x],
    )
    assert not grads["w"].any() and grads["h0"].any()


@pytest.mark.parametrize("steps", [0, 2])
def test_the_gradient_of_a_sequence_has_its_shape(exe, steps):
    x, first = sl.data("x", [None, None, 2]), sl.data("first", [None, 2])
    x.stop_gradient = False
    (last,), (outputs,) = layers.scan(
        lambda carried, elements: (
            [layers.tanh(carried[0] + elements[0])],
            [layers.square(elements[0] + carried[0])],
        ),
        [first], [x],
    )
    loss = layers.reduce_sum(last) + layers.reduce_sum(outputs)
    loss = loss + layers.reduce_sum(layers.square(x))  # the sum of both
    ((_, grad),) = sl.append_backward(loss, ["x"])
    feed = {"x": np.ones((steps, 4, 2), "f4"), "first": np.ones((4, 2), "f4")}
    for found in exe.run(feed=feed, fetch_list=[grad, outputs]):
        assert found.shape == (steps, 4, 2)


@pytest.mark.parametrize("trainable", [True, False])
def test_a_cell_learns_to_remember_the_first_symbol(trainable):
    """Without gradients through the loop the loss stays large."""
    random = np.random.default_rng(3)
    symbols = sl.data("symbols", [12, 32, 4])
    label = sl.data("label", [32, 1], "int64")
    attr = sl.ParamAttr(trainable=trainable)
    inputs = layers.fc(symbols, 16, 2, attr, attr)
    u = sl.default_main_program().persistable("u", [16, 16])
    u.stop_gradient = not trainable

    def step(carried, elements):
        return [layers.tanh(elements[0] + layers.matmul(carried[0], u))], []

    zero = layers.fill_constant(shape=[32, 16], value=0.0, dtype="float32")
    (last,), _ = layers.scan(step, [zero], [inputs])
    loss = layers.mean(
        layers.softmax_with_cross_entropy(layers.fc(last, 4), label)
    )
    sl.optimizer.Adam(5e-3).minimize(loss)
    exe = sl.Executor()
    exe.run(sl.default_startup_program())
    sl.global_scope().set("u", np.eye(16, dtype="float32"))
    losses = []
    for _ in range(250):
        chosen = random.integers(0, 4, (12, 32))
        feed = {
            "symbols": np.eye(4, dtype="float32")[chosen],
            "label": chosen[0][:, None],
        }
        losses.append(exe.run(feed=feed, fetch_list=[loss])[0].item())
    assert losses[0] > 1.2
    if trainable:
        assert np.mean(losses[-20:]) < 0.1
    else:
        assert np.mean(losses[-20:]) > 0.5
