"""While, Switch, IfElse, cond and its like, arrays, beam search."""

import contextlib

import numpy as np
import pytest
from fluid_runs import loop, number, run, started
from formulas.searches import beam_search
from refusals import refused

import sluice as sl
import sluice.fluid as fluid

layers = fluid.layers


def data(name, dtype="float32"):
    """A variable [1] that is fed."""
    return fluid.data(name, [1], dtype)


def f32(*values):
    return np.array(values, np.float32)


def test_a_loop_fills_an_array_and_reads_it():
    x = layers.data("x", [2])
    array = layers.array_write(x, number(0))
    with loop(number(3)) as i:
        last = layers.array_read(array, i)
        layers.array_write(last * 2.0, i + 1, array)
    length = layers.array_length(array)
    last = layers.array_read(array, i)
    value = np.ones((1, 2), np.float32)
    got, count = run([last, length], {"x": value})
    assert count.tolist() == [4]
    np.testing.assert_array_equal(got, value * 8)


def test_a_loop_may_be_the_first_to_write_an_array():
    array = layers.create_array("float32", capacity=8)
    with loop(number(4)) as i:
        layers.array_write(layers.cast(i, "float32") + 0.5, i, array)
    one = layers.array_read(array, number(2))
    assert run([one])[0].tolist() == [2.5]


def test_an_array_without_room_names_its_capacity():
    array = layers.create_array("float32", capacity=2)
    layers.array_write(number(1, "float32"), number(2), array)
    read = layers.array_read(array, number(2))
    refused(lambda: run([read]), "room for 2", error=sl.OutOfRangeError)


def test_a_dense_element_with_fewer_rows_than_a_later_one_is_not_read():
    few, many = layers.data("few", [2]), layers.data("many", [2])
    array = layers.array_write(few, number(0))
    layers.array_write(many, number(1), array)
    feed = {"few": np.ones((1, 2), "f4"), "many": np.ones((3, 2), "f4")}
    second = layers.array_read(array, number(1))
    np.testing.assert_array_equal(run([second], feed)[0], feed["many"])
    first = layers.array_read(array, number(0))
    refused(lambda: run([first], feed), "element 0", " 1 rows", error=sl.FailedPreconditionError)


def test_sizes_may_change_from_iteration_to_iteration():
    x = layers.data("x", [1])
    with loop(number(3)):
        layers.assign(layers.concat([x, x], axis=1), x)
    got = run([x * 1.0], {"x": np.ones((2, 1), "f4")})[0]
    assert got.shape == (2, 8)


def test_a_loop_changes_a_stored_variable():
    stored = layers.create_global_var([1], 5.0, "float32", persistable=True)
    with loop(number(3)) as i:
        layers.assign(stored * 2.0, stored)
    run([i])
    value = np.asarray(fluid.global_scope().find_var(stored.name))
    assert value.tolist() == [40.0]


@pytest.mark.parametrize(
    "value, expected", [(1.0, 10.0), (2.0, 20.0), (3.0, 30.0)]
)
def test_switch_runs_the_first_case_that_is_true(value, expected):
    x, out = data("x"), number(0, "float32")
    with layers.Switch() as switch:
        for limit in (2.0, 3.0):
            with switch.case(x < limit):
                layers.assign(f32(10 * limit - 10), out)
        with switch.default():
            layers.assign(f32(30), out)
    assert run([out * 1.0], {"x": f32(value)})[0].tolist() == [expected]


def test_switch_changes_a_stored_variable_and_survives_a_clone():
    rate = layers.create_global_var([1], 1.0, "float32", persistable=True)
    with layers.Switch() as switch, switch.case(data("x") < 0.0):
        layers.assign(rate * 3.0, rate)
    copy = fluid.default_main_program().clone()
    for program in (fluid.default_main_program(), copy):
        for value, expected in ((-1.0, 3.0), (1.0, 1.0)):
            got = run([rate], {"x": f32(value)}, program)[0]
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
    x = layers.data("x", [1])
    limit = layers.fill_constant_batch_size_like(x, [-1, 1], "float32", 4.0)
    out = if_else(layers.elementwise_mul(x, w), limit)
    loss = layers.mean(out)
    fluid.optimizer.SGD(1.0).minimize(loss)
    exe = started()
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
    x = data("x")
    both = layers.cond(
        x < 0.0,
        lambda: (layers.elementwise_mul(x, w), [x * 2.0]),
        lambda: (layers.square(layers.elementwise_mul(x, w)), [x * 3.0]),
    )
    product, (multiple,) = both
    fluid.optimizer.SGD(1.0).minimize(layers.mean(product))
    exe = started()
    fluid.global_scope()["w"] = np.ones(1, "f4")
    feed = {"x": f32(value)}
    got, more = exe.run(feed=feed, fetch_list=[product, multiple])
    negative = value < 0
    assert got.tolist() == [value if negative else value**2]
    assert more.tolist() == [value * (2 if negative else 3)]
    after = np.asarray(fluid.global_scope().find_var("w"))
    gradient = value if negative else 2 * value**2
    assert after.tolist() == [1 - gradient]


def of(value, dtype="float32"):
    return lambda: number(value, dtype)


@pytest.mark.parametrize(
    "functions, chosen, expected",
    [
        *(({0: of(1), 2: of(2), 5: of(3)}, *pair)
          for pair in [(0, 1), (2, 2), (5, 3), (9, 3)]),
        ([of(k) for k in range(20)], 17, 17),
    ],
)  # fmt: skip
def test_switch_case_takes_the_function_of_a_number(
    functions, chosen, expected
):
    out = layers.switch_case(data("index", "int32"), functions)
    got = run([out], {"index": np.array([chosen], np.int32)})[0]
    assert got.tolist() == [expected]


def test_case_takes_the_first_true_condition_or_the_default():
    x = data("x")
    pairs = [(x < limit, of(limit * 10)) for limit in (1.0, 2.0)]
    out = layers.case(pairs, lambda: x * 1.0)
    got = [run([out], {"x": f32(v)})[0].item() for v in (0, 1.5, 7)]
    assert got == [10.0, 20.0, 7.0]


def test_while_loop_returns_its_variables():
    out = layers.while_loop(
        lambda i, total: i < 10,
        lambda i, total: [i + 1, total * 2.0],
        [number(0), number(1, "float32")],
    )
    steps, value = run(list(out))
    assert (steps.item(), value.item()) == (10, 1024)


TOKENS, WIDTH, BEAMS, END, MOST = 12, 6, 3, 0, 7


def beam_decoder():
    """The decoder of Fluid's book: states and words in arrays."""
    start = layers.data("start", [WIDTH])
    limit, i = number(MOST), number(0)
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
    exe = started()
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
    refused(lambda: layers.While(x), "must be a bool")
    refused(lambda: layers.Switch().default(), "after a case", error=sl.FailedPreconditionError)
    goes_on = number(0) < 1
    with pytest.raises(sl.InvalidArgumentError, match="never writes .* the loop would not end"):
        with layers.While(goes_on).block():
            number(1, "float32")
    ie = layers.IfElse(layers.less_than(x, x))
    refused(lambda: ie.input(x), "true_block", error=sl.FailedPreconditionError)
    with ie.true_block():
        ie.output(ie.input(x))
    refused(lambda: ie(), "1 outputs")
    refused(lambda: layers.cond(goes_on, lambda: x, lambda: (x, x)), "returns 1")


def test_the_elements_of_an_array_side_by_side():
    x = layers.data("x", [2])
    array = layers.array_write(x, number(0))
    layers.array_write(x * 2.0, number(1), array)
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
    sign = number(1, "float32")
    with layers.Switch() as switch, switch.case(data("flag") < 0.0):
        layers.assign(sign * -1.0, sign)
    exe = started()
    lod = [[1, 1], [1, 1]]
    rows = {
        "first": np.full((2, 1), 1, np.int64),
        "nothing": np.zeros((2, 1), "f4"),
    }
    feed = {
        "start": np.random.default_rng(1).normal(size=(2, WIDTH)).astype("f4"),
        "flag": f32(-1),
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


def test_while_loop_carries_an_array():
    i, array = layers.while_loop(
        lambda i, array: i < 3,
        lambda i, array: [
            i + 1,
            layers.array_write(layers.cast(i, "float32"), i, array),
        ],
        [number(0), layers.create_array("float32")],
    )
    assert run([layers.array_read(array, number(2))])[0].tolist() == [2.0]


def test_results_of_two_element_types_get_the_one_that_holds_both():
    below = data("below", "bool")
    outs = [
        layers.cond(below, of(2**31 - 1, "int32"), of(0.5)),
        layers.cond(below, of(1, "bool"), of(2, "int64")),
    ]
    for way, wanted in ((True, [2**31 - 1, 1]), (False, [0.5, 2])):
        got = run(outs, {"below": [way]})
        assert [each.item() for each in got] == wanted
        assert [each.dtype.name for each in got] == ["float64", "int64"]
    mixed = lambda: layers.cond(below, of(2, "int64"), of(2, "float64"))  # noqa: E731
    refused(mixed, "result 0 is int64 where")


def test_an_array_is_fetched_as_the_list_of_its_elements():
    x = fluid.data("x", [None, 2])
    array = layers.array_write(x, number(0))
    empty = layers.create_array("float32")
    layers.array_write(x[:1] * 2, number(1), array)
    value = np.array([[1, 2], [3, 4]], "float32")
    got, same, none = run([array, x, empty], {"x": value})
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
