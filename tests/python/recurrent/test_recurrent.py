"""Recurrent layers: against formulas in NumPy, and tasks that a wrong gradient
does not learn.
"""

import numpy as np
import pytest
import refusals
from control_flow_networks import adding_network
from formulas.differences import gradient_error
from formulas.recurrences import fluid_gru_step, lstm_step

import sluice as sl

HIDDEN, SIZE = 3, 2


def numpy_lstm(x, lens, w, r, bias, h, c):
    """The last layer's outputs and states of [T, B, I], one direction."""
    outputs = np.zeros((*x.shape[:2], h.shape[1]))
    for t, row in enumerate(x):
        gates = row @ w.T + h @ r.T + bias
        i, o, f, g = np.split(gates, 4, axis=1)
        on = (t < lens)[:, None]
        states = lstm_step(i, f, o, g, c)
        h, c = (np.where(on, s, old) for s, old in zip(states, (h, c)))
        outputs[t] = np.where(on, h, 0)
    return outputs, h, c


@pytest.mark.parametrize("time_major", [True, False])
def test_two_layers_of_lstm_give_what_numpy_gives(exe, time_major):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((4, 3, SIZE))
    first = rng.standard_normal((2, 2, 3, HIDDEN))  # h and c of two layers
    lens = np.array([4, 0, 2])
    x = sl.data("x", [None, None, SIZE], "float64")
    steps = sl.data("steps", [None], "int64")
    states = [sl.data(n, [2, None, HIDDEN], "float64") for n in "hc"]
    found = sl.layers.lstm(
        x,
        *states,
        num_layers=2,
        time_major=time_major,
        sequence_length=steps,
        param_attr=sl.ParamAttr("net"),
        bias_attr=sl.ParamAttr("net", sl.initializer.Uniform(-1, 1)),
    )
    exe.run(sl.default_startup_program())
    feed = {
        "x": values if time_major else values.swapaxes(0, 1),
        "steps": lens,
        "h": first[0],
        "c": first[1],
    }
    out, last_h, last_c = exe.run(feed=feed, fetch_list=list(found))
    scope, want = sl.global_scope(), values
    for layer in range(2):
        w, r, b = (np.array(scope[f"net.{n}{layer}"])[0] for n in "wrb")
        bias = b[: 4 * HIDDEN] + b[4 * HIDDEN :]
        want, h, c = numpy_lstm(want, lens, w, r, bias, *first[:, layer])
        np.testing.assert_allclose(last_h[layer], h, atol=1e-12)
        np.testing.assert_allclose(last_c[layer], c, atol=1e-12)
    out = out if time_major else out.swapaxes(0, 1)
    np.testing.assert_allclose(out, want, atol=1e-12)


def test_both_directions_lie_side_by_side(exe):
    rng = np.random.default_rng(1)
    values = rng.standard_normal((4, 3, SIZE))
    x = sl.data("x", [4, None, SIZE], "float64")
    found = {}
    for direction in ("bidirectional", "forward", "reverse"):
        found[direction], _ = sl.layers.gru(
            x, hidden_size=HIDDEN, direction=direction, name=direction
        )
    exe.run(sl.default_startup_program())
    scope = sl.global_scope()
    for kind in ("w_0", "w_1", "b_0"):
        both = np.array(scope[f"bidirectional.{kind}"])
        scope[f"forward.{kind}"], scope[f"reverse.{kind}"] = both[:1], both[1:]
    both, *one = exe.run(feed={"x": values}, fetch_list=list(found.values()))
    np.testing.assert_allclose(both, np.concatenate(one, axis=2), atol=1e-12)


def test_dropout_is_between_layers_only_and_off_in_tests(exe):
    x = sl.data("x", [5, 8, SIZE])
    one, _ = sl.layers.simple_rnn(x, hidden_size=HIDDEN, dropout_prob=0.5)
    two, _ = sl.layers.simple_rnn(
        x, hidden_size=HIDDEN, num_layers=2, dropout_prob=0.5
    )
    exe.run(sl.default_startup_program())
    program = sl.default_main_program()
    feed = {"x": np.ones((5, 8, SIZE), "f4")}

    def rows(program, out):
        (result,) = exe.run(program, feed, [out])
        return len(np.unique(result[0].round(5), axis=0))

    assert rows(program, one) == 1
    assert rows(program, two) > 1
    assert rows(program.clone(for_test=True), two) == 1


def test_a_length_beyond_int32_is_refused(exe):
    x, lengths = sl.data("x", [3, 1, 2]), sl.data("n", [1], "int64")
    out = sl.layers.lstm(x, hidden_size=2, sequence_length=lengths)[0]
    exe.run(sl.default_startup_program())
    feed = {"x": np.zeros((3, 1, 2), "f4"), "n": np.array([2**32 + 1])}
    with pytest.raises(sl.OutOfRangeError):
        exe.run(feed=feed, fetch_list=[out])


def test_gradients_of_a_padded_stack_are_those_by_differences(exe):
    x = sl.data("x", [3, 2, SIZE], "float64")
    x.stop_gradient = False
    steps = sl.data("steps", [2], "int32")
    out, last, cells = sl.layers.lstm(
        x,
        hidden_size=HIDDEN,
        num_layers=2,
        is_bidirec=True,
        sequence_length=steps,
        use_peepholes=True,
        bias_attr=sl.initializer.Uniform(-1, 1),
    )
    parts = [sl.layers.reduce_sum(v * v, reduce_all=True) for v in
             (out, last, cells)]  # fmt: skip
    loss = sl.layers.sum(parts)
    feed = {
        "x": np.random.default_rng(2).standard_normal((3, 2, SIZE)),
        "steps": np.array([3, 1], "i4"),
    }
    wanted = [x, *sl.default_main_program().all_parameters()]
    assert len(wanted) == 9
    assert gradient_error(exe, loss, feed, wanted) < 1e-7


def test_lstm_unit_is_fluids(exe):
    rng = np.random.default_rng(3)
    x, h, c = (
        sl.data(n, [None, size], "float64")
        for n, size in (("x", SIZE), ("h", HIDDEN), ("c", HIDDEN))
    )
    hidden, cell = sl.layers.lstm_unit(x, h, c, forget_bias=0.5, name="unit")
    loss = sl.layers.reduce_sum(hidden * cell, reduce_all=True)
    feed = {n: rng.standard_normal((4, s)) for n, s in zip("xhc", (2, 3, 3))}
    parameters = sl.default_main_program().all_parameters()
    error = gradient_error(exe, loss, feed, parameters)
    assert error < 1e-7
    scope = sl.global_scope()
    w, b = np.array(scope["unit.w_0"]), np.array(scope["unit.b_0"])
    gates = np.concatenate([feed["x"], feed["h"]], 1) @ w + b
    i, f, o, j = np.split(gates, 4, axis=1)
    want = lstm_step(i, f + 0.5, o, j, feed["c"])
    found = exe.run(feed=feed, fetch_list=[hidden, cell])
    np.testing.assert_allclose(found, want, atol=1e-12)


@pytest.mark.parametrize("origin_mode", [False, True])
def test_gru_unit_is_fluids(exe, origin_mode):
    rng = np.random.default_rng(4)
    x = sl.data("x", [None, 3 * HIDDEN], "float64")
    h = sl.data("h", [None, HIDDEN], "float64")
    found = sl.layers.gru_unit(
        x,
        h,
        3 * HIDDEN,
        param_attr="w",
        bias_attr=sl.ParamAttr("b", sl.initializer.Uniform(-1, 1)),
        origin_mode=origin_mode,
    )
    loss = sl.layers.reduce_sum(found[0] * found[0], reduce_all=True)
    feed = {
        "x": rng.standard_normal((4, 3 * HIDDEN)),
        "h": rng.standard_normal((4, HIDDEN)),
    }
    parameters = sl.default_main_program().all_parameters()
    assert gradient_error(exe, loss, feed, parameters) < 1e-7
    scope = sl.global_scope()
    inputs = feed["x"] + np.array(scope["b"])
    want = fluid_gru_step(inputs, feed["h"], scope["w"], origin_mode)
    results = exe.run(feed=feed, fetch_list=list(found))
    for result, expected in zip(results, want, strict=True):
        np.testing.assert_allclose(result, expected, atol=1e-12)


@pytest.mark.parametrize("trainable", [True, False])
def test_a_stacked_lstm_adds_two_marked_numbers_of_30(exe, trainable):
    steps, batch = 30, 32
    loss = adding_network(exe, sl.data("x", [steps, None, 2]), trainable)
    rng, losses, rows = np.random.default_rng(5), [], np.arange(batch)
    for _ in range(400):
        values, marks = rng.random((steps, batch)), np.zeros((steps, batch))
        for half in (0, steps // 2):
            marks[half + rng.integers(0, steps // 2, batch), rows] = 1
        feed = {
            "x": np.stack([values, marks], 2).astype("f4"),
            "y": (values * marks).sum(0)[:, None].astype("f4"),
        }
        losses.append(exe.run(feed=feed, fetch_list=[loss])[0].item())
    # Without gradients of the layers, the mean is the best guess: 1 / 6.
    mean = np.mean(losses[-20:])
    assert mean < 0.03 if trainable else mean > 0.14


test_what_does_not_fit_is_refused = refusals.rows(
    [
        (lambda x, n: sl.layers.lstm(x), "lstm: hidden_size"),
        (lambda x, n: sl.layers.gru(x, hidden_size=0), "gru: hidden_size"),
        (lambda x, n: sl.layers.lstm(x, hidden_size=2, num_layers=0),
         "lstm: num_layers"),
        (lambda x, n: sl.layers.lstm(x, None, None, 3, 2),
         "input has 4 steps; expected at most max_len = 3"),
        (lambda x, n: sl.layers.gru(x, hidden_size=2, direction="both"),
         "direction"),
        (lambda x, n: sl.layers.lstm(x, n, hidden_size=2), "rank"),
        (lambda x, n: sl.layers.gru_unit(n, n, 6), "must be 3 times"),
        (lambda x, n: sl.layers.lstm_unit(n, n, x), "cell_t_prev must be a"),
    ],
    given=lambda: (sl.data("x", [4, None, 2]), sl.data("n", [None, 2])),
    line=False,
)  # fmt: skip


def test_a_length_beyond_the_steps_is_named(exe):
    x, n = sl.data("x", [4, None, 2]), sl.data("n", [None], "int64")
    out, _ = sl.layers.gru(x, hidden_size=2, sequence_length=n)
    exe.run(sl.default_startup_program())
    feed = {"x": np.zeros((4, 2, 2), "f4"), "n": np.array([4, 5])}
    with pytest.raises(sl.OutOfRangeError, match="SequenceLens is 5"):
        exe.run(feed=feed, fetch_list=[out])
