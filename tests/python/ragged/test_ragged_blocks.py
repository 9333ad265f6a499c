"""Ragged rows in conditions and loops, and loops over their steps."""

import numpy as np
import pytest
import refusals
from formulas.differences import gradient_error

import sluice as sl

layers = sl.layers


def ids(name="x"):
    return sl.data(name, [None, 1], "int64", lod_level=1)


def flag():
    return sl.data("flag", [1], "bool")


def test_a_condition_keeps_the_offsets_of_both_branches(exe):
    x = sl.data("x", [None, 1], lod_level=1)
    chosen = layers.cond(
        flag(), lambda: layers.scale(x, scale=2.0), lambda: layers.exp(x)
    )
    assert chosen.offsets.name == "x@LOD"
    mean = layers.mean(chosen)
    program = sl.default_main_program()
    parsed = sl.Program.parse(program.serialize())
    for copy in (program, program.clone(), parsed):
        feed = {"x": [[1, 2], [3]], "flag": np.array([True])}
        got, average = exe.run(copy, feed, [chosen.name, mean.name])
        assert got.lod == [[0, 2, 3]]
        assert got.ravel().tolist() == [2, 4, 6]
        assert average == 4  # of true rows only
    feed["flag"] = np.array([False])
    (got,) = exe.run(feed=feed, fetch_list=[chosen])
    np.testing.assert_allclose(got.ravel(), np.exp([1, 2, 3]), rtol=1e-6)


def test_a_condition_gives_offsets_that_its_branches_make(exe):
    x = ids()

    def without(token):
        rows = layers.sequence_erase(x, [token])
        return [rows, rows.offsets]

    rows, offsets = layers.cond(flag(), lambda: without(1), lambda: without(2))
    assert rows.offsets.name == offsets.name
    for condition, want in ((True, [[2], [3]]), (False, [[1], [1, 3]])):
        feed = {"x": [[1, 2], [1, 3]], "flag": np.array([condition])}
        (got,) = exe.run(feed=feed, fetch_list=[rows])
        assert [s.ravel().tolist() for s in got.sequences()] == want


def test_branches_with_two_fed_offsets_are_compared_in_each_run(exe):
    x, y = ids("x"), ids("y")
    out = layers.cond(
        flag(), lambda: layers.scale(x), lambda: layers.scale(y)
    )
    feed = {"x": [[1], [2]], "y": [[3], [4]], "flag": np.array([False])}
    (got,) = exe.run(feed=feed, fetch_list=[out])
    assert got.lod == [[0, 1, 2]]
    feed["y"] = [[3, 4]]
    with pytest.raises(sl.InvalidArgumentError, match="x and y must have"):
        exe.run(feed=feed, fetch_list=[out])


def test_a_gradient_goes_through_a_condition_over_ragged_rows(exe, rng):
    x = sl.data("x", [None, 2], "float64", lod_level=1)
    x.stop_gradient = False
    out = layers.cond(
        flag(), lambda: layers.square(x), lambda: layers.fc(x, 2, name="f")
    )
    loss = layers.reduce_sum(layers.square(layers.sequence_pool(out, "sum")))
    feed = {
        "x": [rng.standard_normal((n, 2)) for n in (2, 0, 3)],
        "flag": np.array([True]),
    }
    assert gradient_error(exe, loss, feed, [x]) < 1e-7


def test_a_loop_carries_ragged_rows(exe):
    x = sl.data("x", [None, 1], lod_level=1)
    limit = layers.fill_constant(shape=[], value=100.0)
    (grown,) = layers.while_loop(
        lambda v: layers.reduce_sum(v) < limit,
        lambda v: [layers.scale(v, scale=2.0)],
        [x],
    )
    assert grown.offsets.name == "x@LOD"
    (got,) = exe.run(feed={"x": [[1, 2], [3]]}, fetch_list=[grown])
    assert got.lod == [[0, 2, 3]]
    # The sum that ends it is of true rows: 6, 12, 24, 48, 96, 192.
    assert got.ravel().tolist() == [32, 64, 96]


def test_a_loop_changes_the_offsets_that_it_carries(exe):
    x = ids()
    zero = layers.fill_constant(shape=[], dtype="int64", value=0)

    def lengths_of(rows):
        return layers.sequence_pool(layers.ones_like(rows), "sum")

    def rest(rows, offsets):
        """Each sequence without its first row."""
        one = layers.fill_constant(shape=[2, 1], dtype="int64", value=1)
        cut = layers.sequence_slice(rows, one, lengths_of(rows) - one)
        return [cut, cut.offsets]

    rows, offsets = layers.while_loop(
        lambda rows, offsets: layers.reduce_min(lengths_of(rows)) > zero,
        rest,
        [x, x.offsets],
    )
    assert rows.offsets.name == offsets.name
    (got,) = exe.run(feed={"x": [[1, 2, 3], [4, 5]]}, fetch_list=[rows])
    assert [s.ravel().tolist() for s in got.sequences()] == [[3], []]


test_what_would_lose_offsets_is_refused = refusals.rows(
    [
        (lambda x: layers.cond(flag(), lambda: x,
             lambda: layers.fill_constant(shape=[3, 1], dtype="int64", value=0)),
         "output 0 has offsets x@LOD where the condition holds ", " and none"),
        (lambda x: layers.cond(flag(), lambda: layers.sequence_erase(x, [1]),
             lambda: x),
         "or these as further outputs of both blocks"),
        (lambda x: layers.while_loop(
             lambda v: layers.reduce_sum(v) < layers.reduce_max(v),
             lambda v: [layers.sequence_erase(v, [1])], [x]),
         "begins with offsets x@LOD, ", " unless the offsets are carried on"),
        (lambda x: layers.scan(lambda c, e: (c, e),
             [layers.fill_constant(shape=[1], value=0.0)], [x]),
         "sequence x is ragged ", "sequence_scan takes the steps"),
        (lambda x: layers.scan(lambda c, e: (c, [layers.scale(x)]),
             [layers.fill_constant(shape=[1], value=0.0)], [sl.data("steps", [3,
             1])]),
         "is ragged ", "make it dense first, by sequence_pool"),
        (lambda x: layers.sequence_scan(lambda c, e: (c, e), [2], [x, ids("y")]),
         "is cut by other offsets ", "by lod_reset"),
        (lambda x: layers.sequence_scan(lambda c, e: ([], e), [2], [x]),
         "what fn carries on: expected 1"),
        (lambda x: layers.sequence_scan(lambda c, e: (c, e), [0], [x]),
         "init[0]: expected an integer above 0"),
        (lambda x: layers.sequence_scan(lambda c, e: (c, e), [2],
             [sl.data("dense", [3, 1])]),
         "each of xs is not ragged"),
        (lambda x: layers.sequence_scan(lambda c, e: (c, e), [2], []),
         "xs is empty"),
    ],
    given=lambda: [ids()],
    line=False,
)  # fmt: skip


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("lengths", [(2, 0, 4, 1), (0, 0), ()])
def test_a_scan_of_sequences_stops_where_each_ends(exe, rng, reverse, lengths):
    x = sl.data("x", [None, 2], "float64", lod_level=1)
    first = sl.data("first", [None, 2], "float64")

    def step(carried, elements):
        total = carried[0] + elements[0]
        return [total], [total]

    (last,), (sums,) = layers.sequence_scan(step, [first], [x], reverse)
    assert sums.offsets.name == "x@LOD"
    both = sums + x  # of equal offsets and capacity
    rows = [rng.standard_normal((n, 2)) for n in lengths]
    start = rng.standard_normal((len(lengths), 2))
    got = exe.run(
        feed={"x": rows, "first": start}, fetch_list=[last, sums, both]
    )
    assert got[0].shape == start.shape
    for b, each in enumerate(rows):
        turned = each[::-1] if reverse else each
        want = start[b] + np.cumsum(turned, axis=0)
        end = want[-1] if len(want) else start[b]
        np.testing.assert_allclose(got[0][b], end)
        want = want[::-1] if reverse else want
        np.testing.assert_allclose(got[1].sequences()[b], want)
        np.testing.assert_allclose(got[2].sequences()[b], want + each)


@pytest.mark.parametrize("recompute", [False, True])
def test_gradients_of_a_scan_of_sequences(exe, rng, recompute):
    x = sl.data("x", [None, 2], "float64", lod_level=1)
    x.stop_gradient = False

    def step(carried, elements):
        both = layers.concat([carried[0], elements[0]], axis=1)
        new = layers.fc(
            both,
            3,
            act="tanh",
            param_attr="w",
            bias_attr=sl.ParamAttr("b", sl.initializer.Uniform(-1, 1)),
        )
        # Of a padding of zeros it would be infinite.
        part = layers.log(layers.square(elements[0]))
        return [new], [new, part]

    (last,), (states, parts) = layers.sequence_scan(
        step, [3], [x], reverse=True, recompute=recompute
    )
    loss = layers.sum(
        [
            layers.reduce_sum(layers.square(last)),
            layers.reduce_sum(states * layers.square(states)),
            layers.reduce_sum(parts),
        ]
    )
    rows = [rng.uniform(0.5, 1.5, (n, 2)) for n in (3, 0, 1, 2)]
    wanted = [x, *sl.default_main_program().all_parameters()]
    assert len(wanted) == 3
    assert gradient_error(exe, loss, {"x": rows}, wanted) < 1e-7


@pytest.mark.parametrize("trainable", [True, False])
def test_a_hand_written_cell_learns_the_parity_of_ones(exe, trainable):
    """Stated before: 95 % right, where chance is 50 %."""
    units = 16
    sl.default_startup_program().random_seed = 3
    bits = ids("bits")
    label = sl.data("label", [None, 1], "int64")
    embedded = layers.embedding(bits, [2, 8])

    def step(carried, elements):
        gates = layers.fc(
            elements[0],
            3 * units,
            param_attr=sl.ParamAttr("in", trainable=trainable),
            bias_attr=sl.ParamAttr(trainable=trainable),
        )
        hidden, _, _ = layers.gru_unit(
            gates,
            carried[0],
            3 * units,
            param_attr=sl.ParamAttr("cell", trainable=trainable),
            bias_attr=sl.ParamAttr(trainable=trainable),
        )
        return [hidden], []

    (last,), _ = layers.sequence_scan(step, [units], [embedded])
    scores = layers.fc(last, 2)
    loss = layers.mean(layers.softmax_with_cross_entropy(scores, label))
    right = layers.accuracy(layers.softmax(scores), label)
    sl.optimizer.Adam(0.02).minimize(loss)
    exe.run(sl.default_startup_program())
    rng, shares = np.random.default_rng(1), []
    for _ in range(400):
        rows = [rng.integers(0, 2, (n, 1)) for n in rng.integers(0, 9, 32)]
        labels = np.array([[r.sum() % 2] for r in rows])
        feed = {"bits": rows, "label": labels}
        shares.append(exe.run(feed=feed, fetch_list=[right])[0].item())
    share = np.mean(shares[-20:])
    assert share > 0.95 if trainable else share < 0.8
