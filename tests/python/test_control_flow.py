"""The layers cond, while_loop and scan: results, state and errors."""

import re
import resource

import numpy as np
import pytest
import refusals

import sluice as sl
from control_flow_networks import absolute_sum, doubled_until, lstm, number
from formulas.recurrences import lstm_step

layers = sl.layers


def numpy_lstm(x, h, c, weights, bias):
    outputs = []
    for element in x:
        gates = np.concatenate([element, h], 1) @ weights + bias
        i, f, o, g = np.split(gates, 4, 1)
        h, c = lstm_step(i, f, o, g, c)
        outputs.append(h)
    return h, c, np.stack(outputs)


def test_a_condition_on_data_chooses_a_branch():
    x = sl.data("x", [None])
    out = absolute_sum(x)
    assert out.shape == (None,)
    exe = sl.Executor()
    for values in ([1.0, 2.0], [-1.0, -2.0], [3.0, -4.0, 0.5]):
        fed = np.array(values, "float32")
        (got,) = exe.run(feed={"x": fed}, fetch_list=[out])
        np.testing.assert_array_equal(got, -fed if fed.sum() < 0 else fed)


def test_a_list_stays_a_list():
    x = sl.data("x", [2])
    yes = layers.reduce_sum(x) < number(0.0)
    one = layers.cond(yes, lambda: [x], lambda: [layers.relu(x)])
    assert isinstance(one, list)
    assert len(one) == 1
    pair = layers.cond(
        yes, lambda: (x, x), lambda: (layers.relu(x), layers.square(x))
    )
    got = sl.Executor().run(
        feed={"x": np.array([2, -1], "float32")}, fetch_list=pair
    )
    np.testing.assert_array_equal(got, [[2, 0], [4, 1]])


@pytest.mark.parametrize("reverse", [False, True])
def test_an_lstm_by_scan_gives_what_numpy_gives(reverse):
    rng = np.random.default_rng(0)
    size, features = 3, 2
    x = sl.data("x", [None, None, features])
    h, c = sl.data("h", [None, size]), sl.data("c", [None, size])
    w = sl.data("w", [features + size, 4 * size])
    b = sl.data("b", [4 * size])
    carried, stacked = lstm(x, h, c, w, b, size, reverse)
    exe = sl.Executor()
    for steps, batch in ((5, 4), (1, 1), (7, 2)):
        feed = {
            "x": rng.normal(size=(steps, batch, features)),
            "h": rng.normal(size=(batch, size)),
            "c": rng.normal(size=(batch, size)),
            "w": rng.normal(size=(features + size, 4 * size)),
            "b": rng.normal(size=4 * size),
        }
        feed = {name: value.astype("float32") for name, value in feed.items()}
        got = exe.run(feed=feed, fetch_list=[*carried, *stacked])
        order = feed["x"][::-1] if reverse else feed["x"]
        last, cell, rows = numpy_lstm(order, *(feed[n] for n in "hcwb"))
        expected = last, cell, rows[::-1] if reverse else rows
        for a, e in zip(got, expected, strict=True):
            np.testing.assert_allclose(a, e, rtol=1e-4, atol=1e-5)


def test_a_scan_of_no_elements_carries_what_it_got():
    x = sl.data("x", [None, 2])
    first = sl.data("first", [2])
    (total,), (sums,) = layers.scan(
        lambda carried, elements: (
            [carried[0] + elements[0]],
            [elements[0]],
        ),
        [first],
        [x],
    )
    feed = {"x": np.zeros((0, 2), "float32"), "first": np.ones(2, "float32")}
    got = sl.Executor().run(feed=feed, fetch_list=[total, sums])
    np.testing.assert_array_equal(got[0], [1, 1])
    assert got[1].shape == (0, 2)


def test_a_while_loop_may_change_shapes():
    x = sl.data("x", [None])
    out = doubled_until(x, number(10.0))
    exe = sl.Executor()
    for count, expected in ((1, 16), (3, 12), (11, 11)):
        fed = np.ones(count, "float32")
        (got,) = exe.run(feed={"x": fed}, fetch_list=[out])
        np.testing.assert_array_equal(got, np.ones(expected))


def test_blocks_in_each_other_read_what_is_around_all_of_them():
    x = sl.data("x", [None, 2])
    scale = sl.data("scale", [2])

    def step(carried, elements):
        (total,) = carried
        chosen = layers.cond(
            layers.reduce_sum(elements[0]) < number(0.0),
            lambda: elements[0] * scale,
            lambda: elements[0] + total,
        )
        return [total + chosen], chosen

    (total,), (rows,) = layers.scan(step, [sl.data("first", [2])], [x])
    fed = np.array([[1, 2], [-3, -4], [5, 6]], "float32")
    feed = {
        "x": fed,
        "scale": np.array([10, 100], "float32"),
        "first": np.array([1, 0], "float32"),
    }
    got = sl.Executor().run(feed=feed, fetch_list=[total, rows])
    carried, chosen = feed["first"], []
    for row in fed:
        row = row * feed["scale"] if row.sum() < 0 else row + carried
        carried = carried + row
        chosen.append(row)
    np.testing.assert_array_equal(got[0], carried)
    np.testing.assert_array_equal(got[1], chosen)


def test_other_ops_read_what_nonzero_finds():
    x = sl.data("x", [None])
    places = layers.nonzero(x)
    values = layers.gather(x, layers.reshape(places, shape=[-1]), axis=0)
    total = layers.reduce_sum(values)
    exe = sl.Executor()
    for fed in ([0, 2, 0, 3], [0, 0], [1]):
        fed = np.array(fed, "float32")
        got = exe.run(feed={"x": fed}, fetch_list=[places, values, total])
        np.testing.assert_array_equal(got[0], np.stack(np.nonzero(fed)))
        np.testing.assert_array_equal(got[1], fed[fed != 0])
        assert float(got[2].sum()) == fed.sum()


def test_memory_is_bounded_over_changing_shapes():
    x = sl.data("x", [None])
    total = layers.reduce_sum(layers.nonzero(absolute_sum(x)))
    exe = sl.Executor()

    def run(counts):
        for count in counts:
            fed = np.ones(count, "float32")
            (got,) = exe.run(feed={"x": fed}, fetch_list=[total])
            assert int(got.sum()) == count * (count - 1) // 2

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB

    run(range(1, 500))
    before, plans = peak(), exe.cached_plans
    run(range(500, 2001))
    assert exe.cached_plans <= plans + 64
    assert peak() - before < 64 * 1024
    kept = exe.cached_plans
    run(range(1990, 2001))
    assert exe.cached_plans == kept  # planned once for a shape


def below(value, limit=0.0):
    return layers.reduce_sum(value) < number(limit)


def int32(x):
    return layers.cast(x, dtype="int32")


def scalar(x):
    return layers.reshape(layers.reduce_sum(x), shape=[])


WRONG_BLOCKS = [
    # Blocks give as many variables
    (lambda x, yes: layers.cond(yes, lambda: [x, x], lambda: [x]),
     "then_outputs names 2 variables, else_outputs 1"),
    (lambda x, yes: layers.while_loop(below, lambda v: [v, v], [x]),
     "body gives: expected 1,", "got 2"),
    (lambda x, yes: layers.scan(lambda c, e: ([], []), [x], [x]),
     "carries on: expected 1,", "got 0"),
    (lambda x, yes: layers.while_loop(
        lambda v: yes, lambda v: [v], [x], shapes=[[2], [2]]),
     "shapes: expected 1,", "got 2"),
    # of the same dtypes
    (lambda x, yes: layers.cond(yes, lambda: x, lambda: int32(x)),
     "output 0 is float32 ", " and int32"),
    (lambda x, yes: layers.scan(lambda c, e: ([int32(x)], []), [x], [x]),
     "must be float32, got i"),
    (lambda x, yes: layers.while_loop(layers.reduce_sum, lambda v: [v], [x]),
     "must be bool, got fl"),
    # and shapes
    (lambda x, yes: layers.while_loop(
        lambda v: below(v, 9.0), lambda v: [layers.concat([v, v], axis=0)], [x]),
     "body gives: concat_", " has shape [4], expected [2] as x has"),
    (lambda x, yes: layers.scan(
        lambda c, e: ([layers.reduce_sum(c[0])], []),
        [x], [sl.data("rows", [None, 2])]),
     "fn carries on: reduce_sum", " has shape [], expected [2]"),
    (lambda x, yes: layers.scan(lambda c, e: (c, e), [x], [scalar(x)]),
     "no dimension 0"),
    (lambda x, yes: layers.scan(lambda c, e: ([], []), [x], []), "xs is empty"),
    # and they are variables
    (lambda x, yes: layers.cond(yes, lambda: None, lambda: x),
     "then_block", "got None"),
    (lambda x, yes: layers.cond(True, lambda: x, lambda: x), "pred", "got True"),
    (lambda x, yes: layers.while_loop(lambda v: 3, lambda v: [v], [x]),
     "cond gives", "got 3"),
]  # fmt: skip


@pytest.mark.parametrize("row", WRONG_BLOCKS, ids=lambda row: row[1])
def test_blocks_that_do_not_fit_are_refused_and_leave_no_block(row):
    call, *words = row
    x = sl.data("x", [2])
    yes = below(x)
    refusals.refused(lambda: call(x, yes), *words, "test_control_flow.py")
    assert len(sl.default_main_program()._blocks()) == 1


def unpack(carried, elements):
    hidden, _cell = carried
    return [hidden], []


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (lambda c, e: c[0] + e[0], r"and must return two, .* got .*<Var"),
        (lambda c, e: [c[0]], r"as .state., ..; got .* .list."),
        (lambda c, e: None, "and must return two, .* got None"),
        (lambda c, e: ([c[1]], []), "fn gets lists of 1 and 1, .* got IndexError.*list index out"),
        (lambda c, e: ([e[1]], []), "init and xs, .* got IndexE"),
        (unpack, r"init and xs, .* got ValueError.*.expected 2, got 1"),
        (
            lambda c, e: ([layers.concat([c[0]] * 2, axis=-1)], []),
            r"carries on: concat_\S+ has shape \[(None, )?8\], expected "
            r"\[(None, )?4\] as init\[0\] has$",
        ),
    ],
)
def test_a_step_of_a_scan_gives_two_lists(step, words):
    rows = sl.data("rows", [None, 4])
    ragged = sl.data("ragged", [None, 4], lod_level=1)
    first = layers.fill_constant(shape=[4], value=0.0)
    blocks = len(sl.default_main_program()._blocks())
    for name, init, xs in (
        ("scan", first, rows),
        ("sequence_scan", 4, ragged),
    ):
        with pytest.raises(sl.InvalidArgumentError) as error:
            getattr(layers, name)(step, [init], [xs])
        text, _, line = str(error.value).rpartition("\n")
        assert text.startswith(f"{name}: ") and re.search(words, text)
        assert "test_control_flow.py" in line
    assert len(sl.default_main_program()._blocks()) == blocks


def test_other_errors_of_a_step_stay_what_they_are():
    def step(carried, elements):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="^mine$"):
        layers.scan(step, [number(0.0)], [sl.data("rows", [None, 4])])


@pytest.mark.parametrize("size", [2, None])
def test_a_condition_is_one_bool(size):
    x = sl.data("x", [size])
    for condition, words in (
        (layers.reduce_sum(x), r"if: input Cond must be bool, got float32"),
        (x > 0.0, r"if: input Cond must have one element, .*\[2\]"),
    ):
        with pytest.raises(sl.InvalidArgumentError, match=words) as error:
            out = layers.cond(condition, lambda: x, lambda: x * 2.0)
            sl.Executor().run(
                feed={"x": np.ones(2, "float32")}, fetch_list=[out]
            )
        assert "test_control_flow.py" in str(error.value)


def test_variables_of_a_block_stay_in_it():
    x = sl.data("x", [2])
    yes = layers.reduce_sum(x) < number(0.0)
    kept = []

    def inside():
        kept.append(layers.square(x, name="inner"))
        return kept[0]

    layers.cond(yes, inside, lambda: x)
    with pytest.raises(sl.SluiceError, match="inner") as error:
        layers.relu(kept[0])
    assert "block 1" in str(error.value)


def test_a_loop_that_never_ends_is_an_error():
    x = sl.data("x", [1])
    (out,) = layers.while_loop(
        lambda value: value < number(1.0),
        lambda value: [layers.scale(value, 0.5)],
        [x],
        limit=20,
    )
    exe = sl.Executor()
    with pytest.raises(sl.ResourceExhaustedError, match="limit = 20") as error:
        exe.run(feed={"x": np.zeros(1, "float32")}, fetch_list=[out])
    assert "test_control_flow.py" in str(error.value)
    (got,) = exe.run(feed={"x": np.ones(1, "float32")}, fetch_list=[out])
    assert got == 1


def test_programs_with_blocks_are_saved_and_printed():
    x = sl.data("x", [None])
    out = doubled_until(absolute_sum(x), number(10.0))
    program = sl.default_main_program()
    loaded = sl.Program.parse(program.serialize())
    assert loaded.to_string(all=True) == program.to_string(all=True)
    text = str(program)
    assert "if(" in text
    assert "loop(" in text
    assert "block 1" in text
    feed = {"x": np.array([-1, -2], "float32")}
    (got,) = sl.Executor().run(loaded, feed, [out.name])
    (expected,) = sl.Executor().run(program, feed, [out])
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(got, [1, 2] * 4)
    pruned = program.clone(for_test=True).prune([out])
    (got,) = sl.Executor().run(pruned, feed, [out.name])
    np.testing.assert_array_equal(got, expected)


def test_explain_shows_the_blocks_that_ran():
    x = sl.data("x", [None])
    out = absolute_sum(x)
    exe = sl.Executor()
    feed = {"x": np.array([-1, -2], "float32")}
    exe.run(feed=feed, fetch_list=[out])
    text = exe.explain()
    assert "block 1" in text
    assert "scale" in text
    (got,) = exe.run_checked(feed=feed, fetch_list=[out])
    np.testing.assert_array_equal(got, [1, 2])


def test_checks_reach_into_blocks():
    x = sl.data("x", [None])
    out = layers.cond(
        layers.reduce_sum(x) < number(0.0),
        lambda: layers.log(x),
        lambda: x,
    )
    exe = sl.Executor()
    feed = {"x": np.array([-1, -2], "float32")}
    assert np.isnan(exe.run(feed=feed, fetch_list=[out])[0]).all()
    with pytest.raises(sl.InternalError, match="log") as error:
        exe.run_checked(feed=feed, fetch_list=[out])
    assert "test_control_flow.py" in str(error.value)


def test_what_looks_at_single_ops_refuses_blocks_and_tune_leaves_them():
    x = sl.data("x", [3])
    out = absolute_sum(x)
    feed = {"x": np.ones(3, "float32")}
    program = sl.default_main_program()
    for look in (sl.compare, sl.lab.bisect):
        with pytest.raises(sl.UnimplementedError, match="has some"):
            look(program, feed, "default", "reference", fetch_list=[out])
    with pytest.raises(sl.UnimplementedError, match="has some"):
        sl.lab.what_if(program, feed, [out])
    tuned = str(sl.tune(program, feed, [out], budget=0.2, again=True).all)
    assert "reduce_sum" in tuned
    assert "if/blocks" not in tuned and "WRONG" not in tuned


def test_loops_are_predicted_with_their_trips():
    x, limit = sl.data("x", [64, 64]), sl.data("limit", [1])
    (doubled,) = layers.while_loop(
        lambda v: layers.reduce_sum(v) < limit,
        lambda v: [layers.scale(v, 2.0)],
        [x],
    )
    last, rows = layers.scan(
        lambda carried, row: ([carried[0] + row[0]], carried[0]),
        [sl.data("start", [64])],
        [x],
    )
    exe, program = sl.Executor(), sl.default_main_program()
    feed = {
        "x": np.ones((64, 64), "f4"),
        "limit": np.full(1, 2**19, "f4"),
        "start": np.zeros(64, "f4"),
    }
    fetches = [doubled, last[0]]

    def seconds():
        calls = exe.explain(program).tables()[0]["calls"]
        return [call["seconds"] for call in calls if call["kernel"] == "blocks"]

    exe.prepare(program, feed, fetches)
    assert "trips unknown, 1 assumed" in exe.explain(program)
    assert "64 trips" in exe.explain(program)
    once, scanned = seconds()
    exe.run(program, feed, fetches)
    assert "7 trips, as last run" in exe.explain(program)
    assert seconds() == pytest.approx([7 * once, scanned])
    text = str(exe.profile(program, feed, fetches))
    assert "loop" not in text.partition("sl.tune()")[0].partition("estimates")[2]
