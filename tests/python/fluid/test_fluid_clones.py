"""Copies of programs with blocks, what blocks write, and resumed training."""

import numpy as np
import pytest
from fluid_runs import new_programs, loop, number, run, started
from refusals import refused

import sluice.fluid as fluid

layers = fluid.layers
ONES = {"x": np.ones((2, 4), np.float32)}


def filled(count, capacity):
    """An array that a loop fills with numbers."""
    array = layers.create_array("float32", capacity)
    with loop(number(count)) as i:
        layers.array_write(layers.cast(i, "float32"), i, array)
    return array


def by_cond(x):
    yes = number(1, "bool")
    return layers.cond(yes, lambda: layers.dropout(x, 0.5), lambda: x)


def by_switch(x):
    y = layers.assign(x)
    with layers.Switch() as switch, switch.case(number(1, "bool")):
        layers.assign(layers.dropout(x, 0.5), y)
    return y


def by_rnn(x):
    rows = layers.reshape(x, [2, 1, 4])
    rnn = layers.StaticRNN()
    with rnn.step():
        row = rnn.step_input(rows)
        rnn.step_output(layers.dropout(row, 0.5))
    return rnn()


@pytest.mark.parametrize("made_by", [by_cond, by_switch, by_rnn])
def test_blocks_are_tests_in_a_clone_for_tests(made_by):
    y = made_by(layers.data("x", [4]))
    test = fluid.default_main_program().clone(for_test=True)
    assert set(run([y.name], ONES, test)[0].ravel()) == {0.5}
    assert 0.5 not in run([y], ONES)[0]


def test_a_clone_has_the_arrays_and_their_capacity():
    length = layers.array_length(filled(200, 300))
    empty = layers.array_length(layers.create_array("float32"))
    clone = fluid.default_main_program().clone()
    got = run([length.name, empty.name], None, clone)
    assert [each.tolist() for each in got] == [[200], [0]]


def test_a_clone_and_a_file_are_made_outside_of_guards(tmp_path):
    length = layers.array_length(filled(3, 8))
    program = fluid.default_main_program()
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        clone = program.clone()
        exe = fluid.Executor(fluid.CPUPlace())
        fluid.io.save_inference_model(str(tmp_path), [], [length], exe, program)
        loaded = fluid.load(str(tmp_path))
    assert run([length.name], None, clone)[0].tolist() == [3]
    assert loaded.run({})[0].tolist() == [3]


def test_cond_writes_what_was_there_before():
    x = layers.data("x", [4])
    y = layers.assign(x)
    stored = layers.create_global_var([1], 0.0, "float32", persistable=True)

    def yes():
        layers.assign(x * 7.0, y)
        layers.assign(stored + 1.0, stored)

    def no():
        layers.assign(x * 9.0, y)

    layers.cond(number(1, "bool"), yes, None)
    layers.cond(number(0, "bool"), no)
    got, count = run([y, stored], ONES)
    assert set(got.ravel()) == {7.0}
    assert count.tolist() == [1.0]


def test_mistakes_of_cond_and_arrays():
    x, yes = layers.data("x", [4]), number(1, "bool")
    refused(lambda: layers.cond(True, lambda: x, lambda: x), "pred must be")
    refused(lambda: layers.cond(yes, lambda: 1.0, lambda: 2.0), "got 1.0")
    refused(lambda: layers.array_write(x, number(0), x), "x is no array")
    refused(lambda: layers.array_length(x), "X is no array")


def test_all_variables_can_be_asked_whether_they_are_stored():
    array = filled(3, 8)
    variables = fluid.default_main_program().list_vars()
    assert not any(each.persistable for each in variables)
    assert array.shape == () and "float32" in repr(array)


def training(sizes, how):
    """Losses of steps with an optimizer, a decay, a schedule and averages."""
    fluid.unique_name.generate("fc_0.w_0.adam_0.moment1")  # is taken
    ids = fluid.data("ids", [None, sizes, 1], "int64")
    hidden = layers.reduce_mean(layers.embedding(ids, [9, 4]), 1)
    loss = layers.mean(layers.square(layers.fc(hidden, 1) - 1.0))
    rate = layers.piecewise_decay([2], [0.1, 0.05])
    optimizer = fluid.optimizer.Adam(0.7 if how == "map" else rate)
    optimizer = fluid.optimizer.LookaheadOptimizer(optimizer, k=2)
    program = fluid.default_main_program()
    if how == "map":
        optimizer._learning_rate_map[program] = rate
    if how == "two":
        optimizer.apply_gradients(optimizer.backward(loss))
    else:
        optimizer.minimize(loss)
    for weight in program.all_parameters():
        with program._optimized_guard(weight):
            layers.assign(weight * 0.9, weight)
    average = fluid.optimizer.ExponentialMovingAverage(0.5)
    average.update()
    assert (optimizer._learning_rate is rate) == (how != "map")
    exe = started()
    trained = program.clone().clone() if how == "clone" else program
    feeds = [np.arange(2 * n).reshape(2, n, 1) % 9 for n in (5, 7, 5, 3)]
    losses = [
        exe.run(trained, {"ids": each}, [loss.name])[0].item()
        for each in feeds
    ]
    with average.apply(exe):
        return losses, np.array(fluid.global_scope()["fc_0.w_0"]).tolist()


@pytest.mark.parametrize("how", ["one", "two", "map", "clone"])
def test_training_takes_rows_of_other_sizes_than_declared(how):
    with new_programs():
        wanted = training(None, "one")
    assert training(5, how) == wanted


def test_a_copy_stops_gradients_where_the_program_does():
    x = layers.data("x", [4])
    x.stop_gradient = False
    y = layers.scale(x, 2.0)
    y.stop_gradient = True
    loss = layers.reduce_sum(x * y)
    (grad,) = fluid.gradients(loss, x)
    clone = fluid.default_main_program().clone()
    assert run([grad.name], ONES, clone)[0].tolist() == [[2.0] * 4] * 2
