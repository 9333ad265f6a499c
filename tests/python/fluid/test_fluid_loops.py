"""StaticRNN, DynamicRNN and While: what steps give, gradients, mistakes."""

import functools

import numpy as np
import pytest
from fluid_runs import loop, number, run, started
from refusals import refused

import sluice as sl
import sluice.fluid as fluid
from sluice.fluid.translate import Translation

layers = fluid.layers


ROWS = np.arange(12, dtype=np.float32).reshape(6, 2)
LENGTHS = [3, 0, 1, 2]


def sums_of(x, start):
    rnn = layers.DynamicRNN()
    with rnn.block():
        row = rnn.step_input(x)
        total = rnn.memory(shape=[2], value=start)
        new = layers.elementwise_add(row, total)
        rnn.update_memory(total, new)
        rnn.output(new, row * 2.0)
    return rnn()


@pytest.mark.parametrize("start", [0.0, 10.0])
def test_a_dynamic_rnn_goes_through_each_sequence(start):
    x = layers.data("x", [-1, 2], lod_level=1)
    new, double = sums_of(x, start)
    assert (new.shape, new.lod_level) == ((-1, 2), 1)
    total, twice = run([new, double], {"x": (ROWS, [LENGTHS])})
    assert total.recursive_sequence_lengths() == [LENGTHS]
    begin = 0
    for length in LENGTHS:
        part = ROWS[begin : begin + length]
        expected = np.cumsum(part, axis=0) + start
        got = np.asarray(total)[begin : begin + length]
        np.testing.assert_array_equal(got, expected)
        begin += length
    np.testing.assert_array_equal(twice, ROWS * 2)


def test_a_memory_may_begin_with_a_variable_and_a_static_input_stays():
    x = layers.data("x", [-1, 2], lod_level=1)
    start = layers.data("start", [2])
    rnn = layers.DynamicRNN()
    with rnn.block():
        row = rnn.step_input(x)
        state = rnn.memory(init=start)
        factor = rnn.static_input(start)
        new = layers.elementwise_mul(row, factor) + state
        rnn.update_memory(state, new)
        rnn.output(new)
    last = layers.sequence_last_step(rnn())
    starts = np.array([[1, 2], [3, 4]], np.float32)
    feed = {"x": (ROWS, [[2, 4]]), "start": starts}
    (out,) = run([last], feed)
    sums = np.array([ROWS[:2].sum(0), ROWS[2:].sum(0)])
    np.testing.assert_allclose(out, starts + sums * starts)


def products(data, batch):
    """h = h * h * x: PaddlePaddle #20638 has no gradient of this."""
    x = layers.data("x", [*data.shape], append_batch_size=False)
    x.stop_gradient = False
    rnn = layers.StaticRNN()
    with rnn.step():
        each = rnn.step_input(x)
        h = rnn.memory(shape=[-1, 2], batch_ref=each, init_value=1.0)
        new = layers.elementwise_mul(layers.elementwise_mul(h, h), each)
        rnn.update_memory(h, new)
        rnn.step_output(new)
    assert rnn().shape == data.shape
    return x, layers.reduce_sum(rnn())


def test_the_gradient_of_a_static_rnn():
    data = np.random.default_rng(1).uniform(0.8, 1.2, (4, 3, 2))
    data = data.astype(np.float32)
    x, loss = products(data, 3)
    ((_, gradient),) = sl.append_backward(loss.value, [x.value])
    main = fluid.default_main_program()
    (got,) = sl.Executor().run(main.sluice, {"x": data}, [gradient])

    def value(a):
        h, total = np.ones((3, 2)), 0.0
        for each in a:
            h = h * h * each
            total += h.sum()
        return total

    wide, delta = data.astype(np.float64), 1e-6
    for at in np.ndindex(*data.shape):
        above, below = wide.copy(), wide.copy()
        above[at] += delta
        below[at] -= delta
        expected = (value(above) - value(below)) / (2 * delta)
        assert got[at] == pytest.approx(expected, rel=1e-4)


def test_a_dynamic_rnn_learns_and_its_test_program_has_the_loop():
    x = layers.data("x", [-1, 2], lod_level=1)
    y = layers.data("y", [1])
    rnn = layers.DynamicRNN()
    with rnn.block():
        row = rnn.step_input(x)
        h = rnn.memory(shape=[8])
        new = layers.fc([row, h], 8, act="tanh")
        rnn.update_memory(h, new)
        rnn.output(new)
    guess = layers.fc(layers.sequence_first_step(rnn()), 1)
    guess = guess + layers.fc(layers.sequence_last_step(rnn()), 1)
    loss = layers.mean(layers.square_error_cost(guess, y))
    test = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.Adam(0.02).minimize(loss)
    exe = started()
    generator = np.random.default_rng(3)
    lengths = [4, 2, 5, 3]
    rows = generator.normal(size=(14, 2)).astype(np.float32)
    target = np.array([[1], [-1], [0.5], [2]], np.float32)
    feed = {"x": (rows, [lengths]), "y": target}
    losses = [exe.run(feed=feed, fetch_list=[loss])[0][0] for _ in range(150)]
    assert losses[-1] < 1e-4 < losses[0]
    (tested,) = exe.run(test, feed, [loss])
    assert tested[0] == pytest.approx(losses[-1], abs=1e-4)


def repeated(n, body):
    with loop(n) as i:
        body()
    return i


def test_while_carries_what_it_writes():
    n = layers.data("n", [1], dtype="int64", append_batch_size=False)
    total = number(0, "float32")
    i = repeated(n, lambda: layers.assign(total + 2.0, total))
    for steps in (0, 1, 7):
        out = run([total, i], {"n": np.array([steps])})
        assert [float(each[0]) for each in out] == [2.0 * steps, steps]


def test_a_loop_in_loops_is_not_translated_twice_for_each(monkeypatch):
    types, append = [], Translation.append
    count = lambda self, *op: types.append(op[0]) or append(self, *op)  # noqa: E731
    monkeypatch.setattr(Translation, "append", count)
    total = number(0, "float32")
    body = lambda: layers.assign(layers.scale(total, 1.0, 2.0), total)  # noqa: E731
    for _ in range(5):
        body = functools.partial(repeated, number(2), body)
    body()
    assert run([total])[0] == [2.0 * 2**5] and types.count("scale") == 2


# Mistakes


def test_loops_that_are_not_finished():
    x = layers.data("x", [-1, 2], lod_level=1)
    error, early = sl.errors.InvalidArgumentError, sl.errors.FailedPreconditionError

    def looped(*inputs, **memory):
        rnn = layers.DynamicRNN()
        with rnn.block():
            [rnn.step_input(each) for each in inputs]
            memory and rnn.memory(**memory)
        return rnn

    refused(lambda: looped(x, shape=[2]), "has no update_memory", error=error)
    refused(lambda: looped(x)(), "no output", error=early)
    refused(lambda: looped(shape=[2]), "memory needs init, or a shape", error=error)
    refused(lambda: looped(layers.data("dense", [2])), "takes one level of sequences", error=error)
    refused(lambda: layers.DynamicRNN().step_input(x), "belongs into", error=early)
    refused(lambda: layers.DynamicRNN()(), "first", error=early)


def test_programs_with_loops_are_not_written(tmp_path):
    x = layers.data("x", [-1, 2], lod_level=1)
    new, _ = sums_of(x, 0.0)
    with pytest.raises(sl.errors.UnimplementedError, match="dynamic_rnn cannot be written"):
        fluid.io.save_inference_model(str(tmp_path), ["x"], [new], None)


def test_a_mistake_in_a_block_leaves_the_program_as_it_was():
    x = layers.data("x", [-1, 2], lod_level=1)
    rnn = layers.DynamicRNN()
    with pytest.raises(sl.errors.SluiceError):
        with rnn.block():
            row = rnn.step_input(x)
            layers.elementwise_add(row, layers.fill_constant([3], "float32", 1))
    (out,) = run([sums_of(x, 0.0)[0]], {"x": (ROWS, [[6]])})
    np.testing.assert_array_equal(out, np.cumsum(ROWS, axis=0))
