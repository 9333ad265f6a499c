"""While, Switch, IfElse, cond and its like, arrays, beam search."""

import contextlib

import numpy as np
import pytest
from formulas.searches import beam_search

import sluice as sl
import sluice.fluid as fluid

layers = fluid.layers


def run(fetches, feed=None, program=None):
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe.run(program, feed, fetches)


def counter(value=0):
    return layers.fill_constant([1], "int64", value)


def test_a_loop_fills_an_array_and_reads_it():
    x = layers.data("x", [2])
    i, limit = counter(), counter(3)
    array = layers.array_write(x, i)
    goes_on = layers.less_than(i, limit)
    with layers.While(goes_on).block():
        last = layers.array_read(array, i)
        layers.increment(i)
        layers.array_write(last * 2.0, i, array)
        layers.less_than(i, limit, cond=goes_on)
    length = layers.array_length(array)
    last = layers.array_read(array, i)
    value = np.ones((1, 2), np.float32)
    got, count = run([last, length], {"x": value})
    assert count.tolist() == [4]
    np.testing.assert_array_equal(got, value * 8)


def test_a_loop_may_be_the_first_to_write_an_array():
    i, limit = counter(), counter(4)
    array = layers.create_array("float32", capacity=8)
    goes_on = layers.less_than(i, limit)
    with layers.While(goes_on).block():
        layers.array_write(layers.cast(i, "float32") + 0.5, i, array)
        layers.increment(i)
        layers.less_than(i, limit, cond=goes_on)
    one = layers.array_read(array, counter(2))
    assert run([one])[0].tolist() == [2.5]


def test_an_array_without_room_names_its_capacity():
    array = layers.create_array("float32", capacity=2)
    layers.array_write(
        layers.fill_constant([1], "float32", 1), counter(2), array
    )
    with pytest.raises(sl.OutOfRangeError, match="room for 2"):
        run([layers.array_read(array, counter(2))])


def test_a_dense_element_with_fewer_rows_than_a_later_one_is_not_read():
    few, many = layers.data("few", [2]), layers.data("many", [2])
    array = layers.array_write(few, counter(0))
    layers.array_write(many, counter(1), array)
    feed = {"few": np.ones((1, 2), "f4"), "many": np.ones((3, 2), "f4")}
    second = layers.array_read(array, counter(1))
    np.testing.assert_array_equal(run([second], feed)[0], feed["many"])
    first = layers.array_read(array, counter(0))
    with pytest.raises(sl.FailedPreconditionError, match="element 0.* 1 rows"):
        run([first], feed)


def test_sizes_may_change_from_iteration_to_iteration():
    i, limit, x = counter(), counter(3), layers.data("x", [1])
    goes_on = layers.less_than(i, limit)
    with layers.While(goes_on).block():
        layers.assign(layers.concat([x, x], axis=1), x)
        layers.increment(i)
        layers.less_than(i, limit, cond=goes_on)
    got = run([x * 1.0], {"x": np.ones((2, 1), "f4")})[0]
    assert got.shape == (2, 8)


def test_a_loop_changes_a_stored_variable():
    stored = layers.create_global_var([1], 5.0, "float32", persistable=True)
    i, limit = counter(), counter(3)
    goes_on = layers.less_than(i, limit)
    with layers.While(goes_on).block():
        layers.assign(stored * 2.0, stored)
        layers.increment(i)
        layers.less_than(i, limit, cond=goes_on)
    run([i])
    value = np.asarray(fluid.global_scope().find_var(stored.name))
    assert value.tolist() == [40.0]


@pytest.mark.parametrize(
    "value, expected", [(1.0, 10.0), (2.0, 20.0), (3.0, 30.0)]
)
def test_switch_runs_the_first_case_that_is_true(value, expected):
    x = layers.data("x", [1], append_batch_size=False)
    out = layers.fill_constant([1], "float32", 0.0)
    two, three = (layers.fill_constant([1], "float32", v) for v in (2.0, 3.0))
    with layers.Switch() as switch:
        with switch.case(layers.less_than(x, two)):
            layers.assign(np.array([10.0], "f4"), out)
        with switch.case(layers.less_than(x, three)):
            layers.assign(np.array([20.0], "f4"), out)
        with switch.default():
            layers.assign(np.array([30.0], "f4"), out)
    feed = {"x": np.array([value], "f4")}
    assert run([out * 1.0], feed)[0].tolist() == [expected]


def test_switch_changes_a_stored_variable_and_survives_a_clone():
    rate = layers.create_global_var([1], 1.0, "float32", persistable=True)
    x = layers.data("x", [1], append_batch_size=False)
    zero = layers.fill_constant([1], "float32", 0.0)
    with layers.Switch() as switch:
        with switch.case(layers.less_than(x, zero)):
            layers.assign(rate * 3.0, rate)
    copy = fluid.default_main_program().clone()
    for program in (fluid.default_main_program(), copy):
        for value, expected in ((-1.0, 3.0), (1.0, 1.0)):
            got = run([rate], {"x": np.array([value], "f4")}, program)[0]
            assert got.tolist() == [expected]


def if_else(x, limit):
    ie = layers.IfElse(layers.less_than(x, limit))
    with ie.true_block():
        ie.output(ie.input(x) * 2.0)
    with ie.false_block():
        ie.output(layers.square(ie.input(x)))
    return ie()[0]


@pytest.mark.parametrize(
    "values", [[1, 5, 2, 7], [1, 2], [8, 9, 10], [4]], ids=str
)
def test_if_else_keeps_the_order_of_rows_and_trains(values):
    w = layers.create_parameter([1], "float32", "w")
    fluid.default_startup_program()
    x = layers.data("x", [1])
    limit = layers.fill_constant_batch_size_like(x, [-1, 1], "float32", 4.0)
    out = if_else(layers.elementwise_mul(x, w), limit)
    loss = layers.mean(out)
    fluid.optimizer.SGD(1.0).minimize(loss)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    fluid.global_scope()["w"] = np.ones(1, "f4")
    column = np.array(values, "f4")[:, None]
    (got,) = exe.run(feed={"x": column}, fetch_list=[out])
    low = column < 4
    np.testing.assert_array_equal(got, np.where(low, column * 2, column**2))
    gradient = np.where(low, 2 * column, 2 * column**2).mean()
    after = np.asarray(fluid.global_scope().find_var("w"))
    np.testing.assert_allclose(after, [1 - gradient], rtol=1e-6)


@pytest.mark.parametrize("value", [-2.0, 3.0])
def test_cond_runs_one_way_and_has_a_gradient(value):
    w = layers.create_parameter([1], "float32", "w")
    x = layers.data("x", [1], append_batch_size=False)
    zero = layers.fill_constant([1], "float32", 0.0)
    both = layers.cond(
        layers.less_than(x, zero),
        lambda: (layers.elementwise_mul(x, w), [x * 2.0]),
        lambda: (layers.square(layers.elementwise_mul(x, w)), [x * 3.0]),
    )
    product, (multiple,) = both
    fluid.optimizer.SGD(1.0).minimize(layers.mean(product))
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    fluid.global_scope()["w"] = np.ones(1, "f4")
    feed = {"x": np.array([value], "f4")}
    got, more = exe.run(feed=feed, fetch_list=[product, multiple])
    negative = value < 0
    assert got.tolist() == [value if negative else value**2]
    assert more.tolist() == [value * (2 if negative else 3)]
    after = np.asarray(fluid.global_scope().find_var("w"))
    gradient = value if negative else 2 * value**2
    assert after.tolist() == [1 - gradient]


@pytest.mark.parametrize("number, expected", [(0, 1), (2, 2), (5, 3), (9, 3)])
def test_switch_case_takes_the_function_of_a_number(number, expected):
    index = layers.data("index", [1], append_batch_size=False, dtype="int32")

    def of(value):
        return lambda: layers.fill_constant([1], "float32", value)

    out = layers.switch_case(index, {0: of(1), 2: of(2), 5: of(3)})
    got = run([out], {"index": np.array([number], np.int32)})[0]
    assert got.tolist() == [expected]


def test_case_takes_the_first_true_condition_or_the_default():
    x = layers.data("x", [1], append_batch_size=False)
    limits = [layers.fill_constant([1], "float32", v) for v in (1.0, 2.0)]
    out = layers.case(
        [
            (layers.less_than(x, limit), lambda limit=limit: limit * 10.0)
            for limit in limits
        ],
        lambda: x * 1.0,
    )
    got = [
        run([out], {"x": np.array([v], "f4")})[0].item() for v in (0, 1.5, 7)
    ]
    assert got == [10.0, 20.0, 7.0]


def test_while_loop_returns_its_variables():
    i, total = counter(), layers.fill_constant([1], "float32", 1.0)
    ten = counter(10)
    out = layers.while_loop(
        lambda i, total: layers.less_than(i, ten),
        lambda i, total: [i + 1, total * 2.0],
        [i, total],
    )
    steps, value = run(list(out))
    assert (steps.item(), value.item()) == (10, 1024)


TOKENS, WIDTH, BEAMS, END, MOST = 12, 6, 3, 0, 7


def beam_decoder():
    """The decoder of Fluid's book: states and words in arrays."""
    start = layers.data("start", [WIDTH])
    limit, i = counter(MOST), counter()
    states = layers.create_array("float32")
    layers.array_write(start, i, states)
    ids, scores = layers.create_array("int64"), layers.create_array("float32")
    first = layers.data("first", [1], dtype="int64", lod_level=2)
    nothing = layers.data("nothing", [1], lod_level=2)
    layers.array_write(first, i, ids)
    layers.array_write(nothing, i, scores)
    goes_on = layers.less_than(i, limit)
    with layers.While(goes_on).block():
        word = layers.array_read(ids, i)
        score = layers.array_read(scores, i)
        state = layers.sequence_expand(layers.array_read(states, i), score)
        embedded = layers.embedding(word, [TOKENS, WIDTH], param_attr="words")
        new = layers.fc([state, embedded], WIDTH, act="tanh")
        chances = layers.fc(
            layers.lod_reset(new, score), TOKENS, act="softmax", bias_attr=False
        )
        best, candidates = layers.topk(chances, BEAMS)
        total = layers.elementwise_add(
            layers.log(best), layers.reshape(score, [-1]), axis=0
        )
        chosen, sums = layers.beam_search(
            word, score, candidates, total, BEAMS, END, level=0
        )
        layers.increment(i)
        layers.array_write(new, i, states)
        layers.array_write(chosen, i, ids)
        layers.array_write(sums, i, scores)
        layers.logical_and(
            layers.less_than(i, limit),
            layers.logical_not(layers.is_empty(chosen)),
            out=goes_on,
        )
    return layers.beam_search_decode(ids, scores, BEAMS, END)


def search(parameters, state, word):
    """The same for one source, in NumPy: (words, score), best first."""
    table, of_state, of_word, bias, out = parameters

    def follow(state, word):
        new = np.tanh(state @ of_state + table[word] @ of_word + bias)
        logits = new @ out
        chances = np.exp(logits - logits.max())
        chances = np.log(chances / chances.sum())
        best = np.argsort(-chances)[:BEAMS]
        return [(int(token), chances[token]) for token in best], new

    found, _ = beam_search(word, state, follow, BEAMS, MOST, END)
    return [(list(words), scores[-1]) for words, scores in found]


@pytest.mark.parametrize("sources", [1, 2, 5, 17])
def test_the_decoder_of_the_book_finds_what_a_search_in_numpy_finds(sources):
    sentences, scores = beam_decoder()
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    scope = fluid.global_scope()
    generator = np.random.default_rng(sources)
    main = fluid.default_main_program()
    parameters = []
    for each in main.all_parameters():
        value = generator.normal(size=each.shape).astype(np.float32)
        scope[each.name] = value
        parameters.append(value.astype(np.float64))
    start = generator.normal(size=(sources, WIDTH)).astype(np.float32)
    lod = [[1] * sources] * 2
    first = np.full((sources, 1), 1, np.int64)
    feed = {
        "start": start,
        "first": fluid.create_lod_tensor(first, lod),
        "nothing": fluid.create_lod_tensor(np.zeros((sources, 1), "f4"), lod),
    }
    got, sums = exe.run(main, feed, [sentences, scores], return_numpy=False)
    of_sources, of_sentences = got.lod()
    words, sums = np.asarray(got).ravel(), np.asarray(sums).ravel()
    for at in range(sources):
        expected = search(parameters, start[at].astype(np.float64), 1)
        bounds = of_sentences[of_sources[at] : of_sources[at + 1] + 1]
        found = [
            (words[a:b].tolist(), sums[b - 1])
            for a, b in zip(bounds, bounds[1:])
        ]
        assert [w for w, _ in found] == [w for w, _ in expected]
        np.testing.assert_allclose(
            [s for _, s in found], [s for _, s in expected], atol=1e-4
        )


def test_mistakes_are_named():
    x = layers.data("x", [1])
    with pytest.raises(sl.InvalidArgumentError, match="must be a bool"):
        layers.While(x)
    with pytest.raises(sl.FailedPreconditionError, match="after a case"):
        layers.Switch().default()
    goes_on = layers.less_than(counter(), counter(1))
    with pytest.raises(sl.InvalidArgumentError, match="never writes"):
        with layers.While(goes_on).block():
            layers.fill_constant([1], "float32", 1.0)
    ie = layers.IfElse(layers.less_than(x, x))
    with pytest.raises(sl.FailedPreconditionError, match="true_block"):
        ie.input(x)
    with ie.true_block():
        ie.output(ie.input(x))
    with pytest.raises(sl.InvalidArgumentError, match="1 outputs"):
        ie()
    with pytest.raises(sl.InvalidArgumentError, match="returns 1"):
        layers.cond(goes_on, lambda: x, lambda: (x, x))


def test_the_elements_of_an_array_side_by_side():
    x = layers.data("x", [2])
    array = layers.array_write(x, counter(0))
    layers.array_write(x * 2.0, counter(1), array)
    both, sizes = layers.tensor_array_to_tensor(array, axis=1)
    got, count = run([both, sizes], {"x": np.ones((1, 2), "f4")})
    assert got.tolist() == [[1, 1, 2, 2]]
    assert count.tolist() == [2, 2]


def test_print_writes_for_who_reads_the_variable_later(capfd):
    x = layers.data("x", [2])
    layers.Print(x, message="here")
    run([x * 2.0], {"x": np.ones((1, 2), "f4")})
    assert "here x" in capfd.readouterr().err


def test_loops_arrays_and_conditions_are_written_and_read(tmp_path):
    sentences, scores = beam_decoder()
    limit = layers.fill_constant([1], "float32", 0.0)
    flag = layers.data("flag", [1], append_batch_size=False)
    sign = layers.fill_constant([1], "float32", 1.0)
    with layers.Switch() as switch:
        with switch.case(layers.less_than(flag, limit)):
            layers.assign(sign * -1.0, sign)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    lod = [[1, 1], [1, 1]]
    rows = {
        "first": np.full((2, 1), 1, np.int64),
        "nothing": np.zeros((2, 1), "f4"),
    }
    feed = {
        "start": np.random.default_rng(1).normal(size=(2, WIDTH)).astype("f4"),
        "flag": np.array([-1.0], "f4"),
    }
    tensors = {k: fluid.create_lod_tensor(v, lod) for k, v in rows.items()}
    targets = [sentences, scores, sign]
    expected = exe.run(feed={**feed, **tensors}, fetch_list=targets)
    names = ["start", "first", "nothing", "flag"]
    fluid.io.save_inference_model(tmp_path, names, targets, exe)
    model = fluid.load(tmp_path)
    assert model.feeds == names
    ragged = {k: (v, lod) for k, v in rows.items()}
    for got, wanted in zip(model.run({**feed, **ragged}), expected):
        np.testing.assert_array_equal(got, wanted)
    assert expected[2].tolist() == [-1.0]
    with fluid.scope_guard(fluid.core.Scope()):
        program, feeds, fetches = fluid.io.load_inference_model(tmp_path, exe)
        assert feeds == names
        again = exe.run(program, {**feed, **tensors}, fetches)
    for got, wanted in zip(again, expected):
        np.testing.assert_array_equal(got, wanted)


def test_switch_case_of_many_functions():
    index = layers.data("index", [1], append_batch_size=False, dtype="int32")

    def of(value):
        return lambda: layers.fill_constant([1], "float32", value)

    out = layers.switch_case(index, [of(k) for k in range(20)])
    got = run([out], {"index": np.array([17], np.int32)})[0]
    assert got.tolist() == [17]


def test_while_loop_carries_an_array():
    i, limit = counter(), counter(3)
    i, array = layers.while_loop(
        lambda i, array: layers.less_than(i, limit),
        lambda i, array: [
            i + 1,
            layers.array_write(layers.cast(i, "float32"), i, array),
        ],
        [i, layers.create_array("float32")],
    )
    assert run([layers.array_read(array, counter(2))])[0].tolist() == [2.0]


def test_results_of_two_element_types_get_the_one_that_holds_both():
    def of(dtype, value):
        return lambda: layers.fill_constant([1], dtype, value)

    below = fluid.data("below", [1], "bool")
    outs = [
        layers.cond(below, of("int32", 2**31 - 1), of("float32", 0.5)),
        layers.cond(below, of("bool", 1), of("int64", 2)),
    ]
    for way, wanted in ((True, [2**31 - 1, 1]), (False, [0.5, 2])):
        got = fluid.Executor().run(feed={"below": [way]}, fetch_list=outs)
        assert [each.item() for each in got] == wanted
        assert [each.dtype.name for each in got] == ["float64", "int64"]
    with pytest.raises(
        sl.InvalidArgumentError, match="result 0 is int64 where"
    ):
        layers.cond(below, of("int64", 2), of("float64", 2))


def test_an_array_is_fetched_as_the_list_of_its_elements():
    x = fluid.data("x", [None, 2])
    array = layers.array_write(x, layers.fill_constant([1], "int64", 0))
    empty = layers.create_array("float32")
    layers.array_write(x[:1] * 2, layers.fill_constant([1], "int64", 1), array)
    value = np.array([[1, 2], [3, 4]], "float32")
    fetches = [array, x, empty]
    got, same, none = fluid.Executor().run(
        feed={"x": value}, fetch_list=fetches
    )
    np.testing.assert_array_equal(got[0], value)
    np.testing.assert_array_equal(got[1], 2 * value[:1])
    np.testing.assert_array_equal(same, value)
    assert (len(got), none) == (2, [])


def test_ops_know_the_scope_of_their_name():
    x = fluid.data("x", [1])
    for scopes in (["a"], ["a", "b"], ["c"]):
        with contextlib.ExitStack() as stack:
            for name in scopes:
                stack.enter_context(fluid.name_scope(name))
            x = layers.relu(x)
    ops = layers.relu(x).block.ops
    assert [op.idx for op in ops] == [0, 1, 2, 3]
    found = [op.desc.attr("op_namescope") for op in ops]
    assert found == ["/a/", "/a_1/b/", "/c/", "/"]
    with fluid.unique_name.guard():
        first = fluid.unique_name.generate("fc")
        before, _ = fluid.unique_name.switch()
        assert fluid.unique_name.generate("fc") == first
        fluid.unique_name.switch(before)
        assert fluid.unique_name.generate("fc") != first
