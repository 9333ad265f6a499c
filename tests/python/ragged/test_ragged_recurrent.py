"""Recurrent layers over ragged rows: against padded rows and NumPy, gradients
by differences, and a task that a wrong gradient does not learn.
"""

import numpy as np
import pytest
import refusals
from control_flow_networks import adding_network
from formulas.differences import gradient_error
from formulas.recurrences import fluid_gru_step, fluid_lstm, sigmoid

import sluice as sl

layers = sl.layers
SIZE, HIDDEN = 2, 3
LENGTHS = (2, 0, 4, 1, 4, 0)


def sequences(rng, columns=SIZE, lengths=LENGTHS):
    return [rng.standard_normal((n, columns)) for n in lengths]


def ragged(columns=SIZE):
    return sl.data("x", [None, columns], "float64", lod_level=1)


@pytest.mark.parametrize("layer", ["lstm", "gru", "simple_rnn"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_ragged_rows_give_what_padded_ones_give(exe, rng, layer, direction):
    options = {
        "hidden_size": HIDDEN,
        "num_layers": 2,
        "direction": direction,
        "param_attr": sl.ParamAttr("net"),
        "bias_attr": sl.ParamAttr("net", sl.initializer.Uniform(-1, 1)),
    }
    x = ragged()
    padded = sl.data("padded", [None, None, SIZE], "float64")
    lens = sl.data("lens", [None], "int64")
    found = getattr(layers, layer)(x, **options)
    like = getattr(layers, layer)(
        padded, sequence_length=lens, time_major=False, **options
    )
    parameters = sl.default_main_program().all_parameters()
    kept = layers.cast(layers.sequence_mask(lens, 5), dtype="float64")
    losses = [
        layers.reduce_sum(layers.square(found[0])),
        layers.reduce_sum(
            layers.square(like[0]) * layers.unsqueeze(kept, axes=[2])
        ),
    ]
    for state, other in zip(found[1:], like[1:], strict=True):
        losses[0] = losses[0] + layers.reduce_sum(state, reduce_all=True)
        losses[1] = losses[1] + layers.reduce_sum(other, reduce_all=True)
    grads = [
        [grad for _, grad in sl.append_backward(loss, parameters)]
        for loss in losses
    ]
    exe.run(sl.default_startup_program())
    rows = sequences(rng)
    dense = np.full((len(rows), 5, SIZE), np.nan)
    for b, each in enumerate(rows):
        dense[b, : len(each)] = each
    feed = {"x": rows, "padded": dense, "lens": np.array(LENGTHS)}
    fetched = exe.run(feed=feed, fetch_list=[*found, *like])
    out, states = fetched[0], fetched[1 : len(found)]
    other, *others = fetched[len(found) :]
    for b, each in enumerate(out.sequences()):
        np.testing.assert_allclose(each, other[b, : len(each)], atol=1e-12)
    for state, expected in zip(states, others, strict=True):
        np.testing.assert_allclose(state, expected, atol=1e-12)
    fetched = exe.run(feed=feed, fetch_list=[*grads[0], *grads[1]])
    half = len(parameters)
    for name, got, expected in zip(
        parameters, fetched[:half], fetched[half:], strict=True
    ):
        np.testing.assert_allclose(got, expected, atol=1e-10, err_msg=str(name))


def test_gradients_of_a_ragged_stack_are_those_by_differences(exe, rng):
    x = ragged()
    x.stop_gradient = False
    out, last, cells = layers.lstm(
        x, hidden_size=HIDDEN, num_layers=2, is_bidirec=True, use_peepholes=True
    )
    assert out.offsets.name == "x@LOD"
    loss = layers.sum(
        [layers.reduce_sum(v * v, reduce_all=True) for v in (out, last, cells)]
    )
    wanted = [x, *sl.default_main_program().all_parameters()]
    assert gradient_error(exe, loss, {"x": sequences(rng)}, wanted) < 1e-7


@pytest.mark.parametrize("rows", [[], [[], []]])
def test_an_empty_batch_and_empty_sequences_have_gradients(exe, rows):
    x = ragged()
    out, last = layers.gru(x, hidden_size=HIDDEN, is_bidirec=True)
    loss = layers.reduce_sum(out) + layers.reduce_sum(last, reduce_all=True)
    grads = [grad for _, grad in sl.append_backward(loss)]
    exe.run(sl.default_startup_program())
    got = exe.run(feed={"x": rows}, fetch_list=[out, last, *grads])
    assert got[0].shape == (0, 2 * HIDDEN)
    assert got[1].shape == (2, len(rows), HIDDEN)
    for value in got[1:]:
        assert (value == 0).all()


def expect_sequences(values, k, wanted):
    """The sequences of number k, of each value."""
    for value, expected in zip(values, wanted, strict=True):
        np.testing.assert_allclose(value.sequences()[k], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("peepholes", "reverse", "given", "names"),
    [
        (True, False, False, {}),
        (True, True, True, {}),
        (False, True, False, {}),
        (
            True,
            False,
            True,
            {
                "gate_activation": "sigmoid",
                "candidate_activation": "relu",
                "cell_activation": "identity",
            },
        ),
    ],
)
def test_dynamic_lstm_is_fluids(exe, rng, peepholes, reverse, given, names):
    x = ragged(4 * HIDDEN)
    x.stop_gradient = False
    states = [
        sl.data(n, [None, HIDDEN], "float64") if given else None
        for n in ("h", "c")
    ]
    hidden, cell = layers.dynamic_lstm(
        x,
        4 * HIDDEN,
        *states,
        param_attr="w",
        bias_attr=sl.ParamAttr("b", sl.initializer.Uniform(-1, 1)),
        use_peepholes=peepholes,
        is_reverse=reverse,
        **names,
    )
    loss = layers.reduce_sum(hidden * hidden) + layers.reduce_sum(
        cell * layers.square(cell)
    )
    rows = sequences(rng, 4 * HIDDEN)
    feed = {"x": rows}
    first = np.zeros((2, len(rows), HIDDEN))
    if given:
        first = rng.standard_normal(first.shape)
        feed |= {"h": first[0], "c": first[1]}
    wanted = [x, *sl.default_main_program().all_parameters()]
    assert gradient_error(exe, loss, feed, wanted) < 1e-7
    w, b = (np.array(sl.global_scope()[n]) for n in ("w", "b"))
    assert w.shape == (HIDDEN, 4 * HIDDEN)
    assert b.shape == (1, (7 if peepholes else 4) * HIDDEN)
    found = exe.run(feed=feed, fetch_list=[hidden, cell])
    functions = (sigmoid, np.tanh, np.tanh)
    if names:
        functions = (sigmoid, lambda v: np.maximum(v, 0), lambda v: v)
    for k, each in enumerate(rows):
        want = fluid_lstm(
            each, w, b[0], *first[:, k], reverse, functions=functions
        )
        expect_sequences(found, k, want)


@pytest.mark.parametrize("clips", [(None, None), (0.5, 0.3)])
def test_dynamic_lstmp_is_fluids(exe, rng, clips):
    x = ragged(4 * HIDDEN)
    x.stop_gradient = False
    reverse = clips[0] is not None
    columns = 2
    projection, cell = layers.dynamic_lstmp(
        x,
        4 * HIDDEN,
        columns,
        param_attr=sl.ParamAttr("w", sl.initializer.Uniform(-1, 1)),
        bias_attr=sl.ParamAttr("b", sl.initializer.Uniform(-1, 1)),
        is_reverse=reverse,
        cell_clip=clips[0],
        proj_clip=clips[1],
    )
    loss = layers.reduce_sum(projection * projection) + layers.reduce_sum(
        cell * layers.square(cell)
    )
    rows = sequences(rng, 4 * HIDDEN)
    wanted = [x, *sl.default_main_program().all_parameters()]
    assert len(wanted) == 4
    assert gradient_error(exe, loss, {"x": rows}, wanted) < 1e-7
    w, p, b = (np.array(sl.global_scope()[n]) for n in ("w", "w.proj", "b"))
    found = exe.run(feed={"x": rows}, fetch_list=[projection, cell])
    states = np.zeros(columns), np.zeros(HIDDEN)
    for k, each in enumerate(rows):
        want = fluid_lstm(
            each, w, b[0], *states, reverse, projection=p, clips=clips
        )
        expect_sequences(found, k, want)


@pytest.mark.parametrize("origin_mode", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_dynamic_gru_is_fluids(exe, rng, origin_mode, reverse):
    x = ragged(3 * HIDDEN)
    x.stop_gradient = False
    h = sl.data("h", [None, HIDDEN], "float64") if reverse else None
    hidden = layers.dynamic_gru(
        x,
        HIDDEN,
        param_attr="w",
        bias_attr=False
        if origin_mode
        else sl.ParamAttr("b", sl.initializer.Uniform(-1, 1)),
        is_reverse=reverse,
        h_0=h,
        origin_mode=origin_mode,
    )
    loss = layers.reduce_sum(hidden * layers.square(hidden))
    rows = sequences(rng, 3 * HIDDEN)
    first = rng.standard_normal((len(rows), HIDDEN)) * reverse
    feed = {"x": rows, **({"h": first} if reverse else {})}
    wanted = [x, *sl.default_main_program().all_parameters()]
    assert gradient_error(exe, loss, feed, wanted) < 1e-7
    scope = sl.global_scope()
    w = np.array(scope["w"])
    b = np.zeros(3 * HIDDEN) if origin_mode else np.array(scope["b"])[0]
    found = exe.run(feed=feed, fetch_list=[hidden])
    for k, each in enumerate(rows):
        state, states = first[k], np.zeros((len(each), HIDDEN))
        order = range(len(each))
        for t in reversed(order) if reverse else order:
            state, *_ = fluid_gru_step(each[t] + b, state, w, origin_mode)
            states[t] = state
        expect_sequences(found, k, [states])


@pytest.mark.parametrize("trainable", [True, False])
def test_a_ragged_lstm_adds_two_marked_numbers(exe, trainable):
    """Stated before: an error below 0.03; without gradients it is 1 / 6."""
    batch = 32
    loss = adding_network(exe, sl.data("x", [None, 2], lod_level=1), trainable)
    rng, losses = np.random.default_rng(5), []
    for _ in range(400):
        rows, sums = marked_numbers(rng, batch)
        feed = {"x": rows, "y": sums}
        losses.append(exe.run(feed=feed, fetch_list=[loss])[0].item())
    mean = np.mean(losses[-20:])
    assert mean < 0.03 if trainable else mean > 0.14
    assert exe.cached_plans <= 16


def marked_numbers(rng, batch):
    """Sequences of 4 to 40 numbers, two of them marked, and their sums."""
    rows, sums = [], []
    for length in rng.integers(4, 41, batch):
        each = np.zeros((length, 2), "f4")
        each[:, 0] = rng.random(length)
        each[rng.choice(length, 2, replace=False), 1] = 1
        rows.append(each)
        sums.append([each.prod(1).sum()])
    return rows, np.array(sums, "f4")


test_what_does_not_fit_is_refused = refusals.rows(
    [
        (lambda x, n: layers.lstm(x, hidden_size=2, sequence_length=n),
         "lstm: input is ragged, ", "leave out sequence_length"),
        (lambda x, n: layers.lstm(x, None, None, 5, 2),
         "lstm: input is ragged, ", "leave out max_len, got 5"),
        (lambda x, n: layers.dynamic_lstm(x, 12), "4 columns", "unit, 12"),
        (lambda x, n: layers.dynamic_lstm(n, 12), "input is not ragged"),
        (lambda x, n: layers.dynamic_lstm(x, 8, bias_attr=False),
         "bias_attr cannot be False"),
        (lambda x, n: layers.dynamic_lstm(x, 8, n), "give h_0 and c_0"),
        (lambda x, n: layers.dynamic_lstm(x, 8, gate_activation="hard"),
         "gate_activation must be one of sigmoid, tanh, relu, identity"),
        (lambda x, n: layers.dynamic_lstm(x, 8, dtype="float64"), "dtype is"),
        (lambda x, n: layers.dynamic_gru(x, 8), "3 columns for each unit, 24"),
    ],
    given=lambda: (
        sl.data("x", [None, 8], lod_level=1), sl.data("n", [None], "int64")
    ),
    line=False,
)  # fmt: skip


def test_wrong_offsets_are_named_and_the_next_run_works(exe):
    out, _ = layers.gru(ragged(), hidden_size=HIDDEN)
    exe.run(sl.default_startup_program())
    rows = np.ones((3, SIZE))
    for offsets, words in (
        ([0, 2, 1, 3], "must not fall"),
        ([1, 3], "must start at 0"),
        ([0, 2], "end at 2; expected 3"),
    ):
        with pytest.raises(sl.InvalidArgumentError, match=words):
            exe.run(feed={"x": (rows, offsets)}, fetch_list=[out])
    (got,) = exe.run(feed={"x": (rows, [0, 1, 3])}, fetch_list=[out])
    assert got.lod == [[0, 1, 3]]
