"""What PaddlePaddle's model zoo and its libraries rely on, beside layers."""

import importlib

import numpy as np
import pytest
from fluid_runs import number, run, started
from refusals import refused

import sluice as sl
import sluice.fluid as fluid
from sluice.fluid import layers


@pytest.mark.parametrize(
    "name",
    """fluid.layers.control_flow.Switch fluid.layers.nn.fc fluid.layers.io.data
    fluid.layers.learning_rate_scheduler._decay_step_counter
    fluid.layers.utils.convert_to_list fluid.layers.tensor.assign
    fluid.framework.name_scope fluid.framework.cpu_places
    fluid.executor.global_scope fluid.executor._fetch_var
    fluid.io.xmap_readers fluid.core.EnforceNotMet
    fluid.BuildStrategy.ReduceStrategy.Reduce fluid.initializer.init_on_cpu
    fluid.wrapped_decorator.signature_safe_contextmanager
    fluid.clip.append_gradient_clip_ops fluid.framework.switch_main_program
    fluid.compiler.CompiledProgram fluid.parallel_executor.ParallelExecutor
    fluid.contrib.reader.distributed_batch_reader""".split(),
)
def test_a_name_is_where_scripts_look_for_it(name):
    found = importlib.import_module("sluice")
    for part in name.split("."):
        found = getattr(found, part)
    assert found is not None


@pytest.mark.parametrize("module", [layers, fluid.contrib.layers])
def test_what_is_left_out_can_be_imported(module):
    cell = module.RNNCell if module is layers else module.basic_lstm

    class Mine(cell):
        pass

    assert module is not layers or issubclass(Mine, layers.RNNCell)
    for made in (cell, Mine):
        with pytest.raises(
            sl.errors.UnimplementedError, match=rf"{cell.__name__}: .*"
        ):
            made(3)


def rate_by_switch():
    """A learning rate of 1, then 2 and 3 times the number of the run."""
    rate = layers.create_global_var([1], 0.0, "float32", True, name="rate")
    counted = layers.learning_rate_scheduler._decay_step_counter()
    with layers.Switch() as switch:
        with switch.case(counted < 1.0):
            layers.assign(number(1, "float32"), rate)
        with switch.case(counted == 1.0):
            layers.assign(counted * 2.0, rate)
        with switch.default():
            layers.assign(counted * 3.0, rate)
    return rate


def test_a_switch_sets_the_learning_rate_that_the_run_counts():
    rate = rate_by_switch()
    exe = started()
    rates = [exe.run(fetch_list=[rate])[0].item() for _ in range(4)]
    assert rates == [1, 2, 6, 9]
    assert fluid.executor._fetch_var("rate").item() == 9
    assert rate.persistable


def test_the_learning_rate_is_a_variable():
    x = fluid.data("x", [None, 3])
    loss = layers.mean(layers.fc(x, 1))
    made = fluid.optimizer.Momentum(0.5, 0.9)
    assert made._global_learning_rate() is None
    made.minimize(loss)
    rate = made._global_learning_rate()
    rate.persistable = loss.persistable = True
    feed = {"x": np.ones((2, 3), "float32")}
    assert run([rate], feed)[0] == 0.5
    # A variable of the scope may be fed, and keeps what it was fed.
    exe = fluid.Executor(fluid.CPUPlace())
    feed[rate.name] = np.array([0.25], "float32")
    assert exe.run(feed=feed, fetch_list=[rate])[0] == 0.25
    del feed[rate.name]
    assert exe.run(feed=feed, fetch_list=[rate])[0] == 0.25
    by_switch = fluid.optimizer.SGD(rate)
    assert by_switch._global_learning_rate() is rate


def test_parameters_have_attributes():
    x = fluid.data("x", [None, 3])
    loss = layers.mean(layers.fc(x, 1, bias_attr=False))
    (weight,) = fluid.default_main_program().all_parameters()
    assert weight.optimize_attr["learning_rate"] == 1.0
    assert weight.do_model_average and weight.regularizer is None
    weight.optimize_attr["learning_rate"] = 0.0
    weight.gradient_clip_attr = fluid.clip.GradientClipByValue(0.1)
    fluid.optimizer.SGD(1.0).minimize(loss)
    exe = started()
    before = fluid.executor._fetch_var(weight.name)
    exe.run(feed={"x": np.ones((2, 3), "float32")}, fetch_list=[loss])
    after = fluid.executor._fetch_var(weight.name)
    np.testing.assert_array_equal(after, before)


def test_weights_decay_behind_the_optimizer():
    x = fluid.data("x", [None, 3])
    loss = layers.mean(layers.fc(x, 1, bias_attr=False) * 0.0)
    main = fluid.default_main_program()
    _, pairs = fluid.optimizer.SGD(1.0).minimize(loss)
    for weight, grad in pairs:
        with main._optimized_guard([weight, grad]), fluid.name_scope("decay"):
            layers.assign(weight * 0.5, output=weight)
    exe = started()
    before = fluid.executor._fetch_var(pairs[0][0].name)
    feed = {"x": np.ones((2, 3), "float32")}
    exe.run(main.clone(for_test=True), feed, [loss])
    exe.run(feed=feed, fetch_list=[loss])
    after = fluid.executor._fetch_var(pairs[0][0].name)
    np.testing.assert_allclose(after, before / 2, rtol=1e-6)


def test_a_layer_of_a_script_uses_the_helper():
    def scaled(x, param_attr=None, bias_attr=None, act=None, name=None):
        helper = fluid.layer_helper.LayerHelper("scaled", **locals())
        dtype = helper.input_dtype("x")
        weight = helper.create_parameter(helper.param_attr, [3, 2], dtype)
        steps = helper.create_global_variable([1], "float32", name="steps")
        helper.set_variable_initializer(steps, fluid.initializer.Constant(7.0))
        out = helper.create_variable_for_type_inference(dtype)
        helper.append_op("mul", {"X": x, "Y": weight}, {"Out": out})
        fixed = helper.create_variable_for_type_inference(dtype)
        helper.append_op("relu", {"X": x}, {"Out": fixed}, None, True)
        assert fixed.stop_gradient and not out.stop_gradient
        return helper.append_activation(helper.append_bias_op(out)), steps

    x = fluid.data("x", [None, 3])
    made, steps = scaled(x, "w", "b", "relu")
    bare, _ = scaled(x, param_attr="w", bias_attr=False)
    found = fluid.default_main_program().all_parameters()
    assert {p.name for p in found} == {"w", "b"}
    feed = {"x": np.array([[1, 2, 3]], "float32")}
    got, plain, count = run([made, bare, steps], feed)
    np.testing.assert_allclose(got, np.maximum(plain, 0))
    assert count == 7
    refused(lambda: fluid.layer_helper.LayerHelper("scaled", input=3).input(), "input")


def test_draws_have_a_size_that_a_run_knows():
    x = fluid.data("x", [None, 3])
    rows = layers.shape(x)[0]
    draws = {
        (-1, 5): layers.uniform_random([rows, 5], min=2.0, max=3.0),
        (5, -1): layers.uniform_random_batch_size_like(
            x, [5, -1], output_dim_idx=1, min=2.0, max=3.0
        ),
        (-1, 1, 1): layers.gaussian_random_batch_size_like(x, [-1, 1, 1]),
        (-1,): layers.sampling_id(layers.softmax(x)),
        (-1, 6): layers.fill_constant(
            [fluid.data("rows", [1], "int32"), 6], "float32", 1.0
        ),
        (-1, 7): layers.fill_constant_batch_size_like(
            layers.fc(x, 2), [-1, 7], "float32", 2.5
        ),
    }
    layers.fc(draws[(-1, 7)], 2)  # the other sizes are known
    feed = {"x": np.ones((4, 3), "float32"), "rows": np.array([4], "int32")}
    for shape, made in draws.items():
        assert made.shape == shape
        (got,) = run([made], feed)
        assert list(got.shape) == [4 if n == -1 else n for n in shape]
        if "uniform" in made.name:
            assert ((got >= 2) & (got < 3)).all()
    assert {*run([draws[(-1,)]], feed)[0].tolist()} <= {0, 1, 2}


def test_ops_that_know_no_sequences_get_the_rows_alone():
    x = fluid.data("x", [None, 1], "int64", lod_level=1)
    y = fluid.data("y", [None, 1], "int64", lod_level=1)
    table = fluid.embedding(x, [9, 4])
    shares = layers.softmax(layers.squeeze(table, [1]))
    loss = layers.mean(
        layers.cross_entropy(
            layers.softmax(layers.sequence_reshape(layers.fc(shares, 4), 4)), y
        )
    )
    fetches = [
        layers.accuracy(shares, y),
        layers.shape(shares),
        layers.reshape(shares, [-1, 1]),
        layers.concat([shares, shares], 0),
        layers.transpose(shares, [1, 0]),
        shares,
        loss,
    ]
    fluid.optimizer.SGD(0.5).minimize(loss)
    exe = started()
    losses = []
    for n in (5, 9, 5, 5):
        numbers = np.arange(n)[:, None]
        feed = {
            "x": fluid.create_lod_tensor(numbers % 9, [[2, n - 2]]),
            "y": fluid.create_lod_tensor(numbers % 4, [[2, n - 2]]),
        }
        got = exe.run(feed=feed, fetch_list=fetches, return_numpy=False)
        right, shape, flat, both, turned, rows, each = map(np.asarray, got)
        assert shape.tolist() == [n, 4]
        np.testing.assert_array_equal(flat.ravel(), rows.ravel())
        np.testing.assert_array_equal(both, [*rows, *rows])
        np.testing.assert_array_equal(turned, rows.T)
        wanted = np.mean(rows.argmax(1) == (numbers % 4).ravel())
        assert right.item() == pytest.approx(wanted)
        losses.append(each.item())
    assert losses[3] < losses[2] < losses[0]


def test_rows_stand_beside_those_of_sequences():
    x = fluid.data("x", [None, 3], lod_level=1)
    dense = fluid.data("dense", [None, 3])
    normal = layers.batch_norm(x)
    cases = {
        "times": (x * dense, [[0, 3, 5]]),
        "other way round": (dense * x, [[0, 3, 5]]),
        "lod_reset": (x * layers.lod_reset(dense, x), [[0, 3, 5]]),
        "batch_norm": (normal * 0.0 + x, [[0, 3, 5]]),
        "pool": (layers.sequence_pool(normal, "sum"), []),
        "both": (layers.concat([x, x * 2.0]), [[0, 3, 5, 8, 10]]),
    }
    loss = layers.mean(layers.sequence_pool(normal * x + dense, "sum"))
    fluid.optimizer.SGD(0.1).minimize(loss)
    rows = np.random.default_rng(0).random((5, 3), dtype="float32")
    feed = {
        "x": fluid.create_lod_tensor(rows, [[3, 2]]),
        "dense": np.ones((5, 3), "float32"),
    }
    exe = started()
    for what, (made, lod) in cases.items():
        (got,) = exe.run(feed=feed, fetch_list=[made], return_numpy=False)
        assert got.lod() == lod, what
        if what == "both":
            expected = [*rows, *(rows * 2)]
            np.testing.assert_array_equal(np.asarray(got), expected)
        elif lod:
            np.testing.assert_allclose(np.asarray(got), rows, err_msg=what)
    normed = (rows - rows.mean(0)) / np.sqrt(rows.var(0) + 1e-5)
    first = (normed * rows + 1).sum(0).mean() / 2
    started()
    (got,) = exe.run(feed=feed, fetch_list=[loss])
    assert got.item() == pytest.approx(first, rel=1e-4)


def test_a_state_may_have_sequences_of_its_own():
    x = fluid.data("x", [None, 3], lod_level=1)
    y = fluid.data("y", [None, 3], lod_level=1)
    out = layers.dynamic_gru(layers.fc(y, 12), 4, h_0=layers.fc(x, 4))
    ones = np.ones((3, 3), "float32")
    feed = {
        "x": fluid.create_lod_tensor(ones[:2], [[2]]),
        "y": fluid.create_lod_tensor(ones, [[1, 2]]),
    }
    exe = started()
    (got,) = exe.run(feed=feed, fetch_list=[out], return_numpy=False)
    assert got.lod() == [[0, 1, 3]] and got.shape() == [3, 4]


def test_tests_of_averages_write_nothing_before_a_late_length():
    x = fluid.data("x", [None, 1, 4, 6])
    image = layers.batch_norm(layers.conv2d(x, 4, 3, padding=1))
    steps = layers.fc(layers.im2sequence(image, [4, 1], [1, 1]), 6)
    found = layers.ctc_greedy_decoder(steps, blank=5)
    test = fluid.default_main_program().clone(for_test=True)
    feed = {"x": np.ones((2, 1, 4, 6), "float32")}
    (got,) = run([found.name], feed, test)
    assert got is not None


def test_data_of_a_name_is_declared_once():
    x = fluid.data("x", [None, 3])
    assert fluid.data("x", [-1, 3]) is x
    assert layers.data("x", [3]) is x
    for other in ([None, 4], [None, 3, 1]):
        refused(lambda: fluid.data("x", other), "x already", error=sl.SluiceError)


def test_attributes_may_be_of_numpy(tmp_path):
    x = fluid.data("x", [None, 1, 4, 4])
    y = layers.pool2d(x, np.int32(2), "avg", np.int32(2))
    y = layers.reshape(y, [np.int64(-1), 4])
    z = layers.scale(y, np.float32(0.5))
    feed = {"x": np.ones((2, 1, 4, 4), "float32")}
    (got,) = run([z], feed)
    fluid.io.save_inference_model(str(tmp_path), ["x"], [z], None)
    (again,) = fluid.load(str(tmp_path)).run(feed)
    np.testing.assert_array_equal(again, got)


def test_arrays_of_any_order_are_taken():
    x = fluid.data("x", [None, 3])
    layers.fc(x, 4, param_attr="w", bias_attr=False)
    main = fluid.default_main_program()
    started()
    turned = np.arange(12, dtype="float32").reshape(4, 3).T
    fluid.set_program_state(main, {"w": turned})
    np.testing.assert_array_equal(fluid.executor._fetch_var("w"), turned)
    spread = np.broadcast_to(np.float32(2), (3, 4))
    fluid.global_scope().find_var("w").get_tensor().set(spread, None)
    np.testing.assert_array_equal(fluid.executor._fetch_var("w"), spread)


def test_a_piecewise_rate_is_stored():
    rate = layers.piecewise_decay([1, 2], [0.5, 0.25, 0.125])
    x = fluid.data("x", [None, 3])
    fluid.optimizer.SGD(rate).minimize(layers.mean(layers.fc(x, 1)))
    exe = started()
    rates = []
    for _ in range(4):
        exe.run(feed={"x": np.ones((2, 3), "float32")})
        rates.append(fluid.executor._fetch_var("learning_rate").item())
    assert rates == [0.5, 0.25, 0.125, 0.125]


def test_a_parameter_that_is_reshaped_in_place_is_stored_as_it_was():
    table = layers.create_parameter([2, 6], "float32", "t")
    assert layers.reshape(table, [3, -1], inplace=True).shape == (3, 4)
    (got,) = run([table * 1.0])
    assert got.shape == (3, 4)
    assert fluid.executor._fetch_var("t").shape == (2, 6)


def test_windows_past_the_image_count_once():
    x = fluid.data("x", [None, 1, 6, 6])
    assert layers.pool2d(x, 7, "avg", 7).shape == (-1, 1, 1, 1)
    refused(lambda: layers.pool2d(x, 7, "avg", 1), "more than")


def test_a_script_may_say_what_shape_a_variable_has():
    x = layers.data("x", [5, 4], append_batch_size=False)
    norm = layers.data("norm", [5], append_batch_size=False)
    norm.desc.set_shape([-1])
    assert norm.shape == (-1,) and norm.desc.shape() == [-1]
    ones = np.ones((5, 4), "float32")
    (got,) = run([x * norm], {"x": ones, "norm": np.arange(5, dtype="float32")})
    np.testing.assert_array_equal(got, ones * np.arange(5)[:, None])


def test_what_no_target_depends_on_has_no_gradient():
    x = fluid.data("x", [None, 4])
    used, other = (layers.create_parameter([4, 2], "float32") for _ in "ab")
    loss = layers.mean(layers.mul(x, used))
    found = fluid.gradients(loss, [other, used])
    assert found[0] is None and found[1].shape == (4, 2)
    assert fluid.gradients(loss, [other]) == [None]


def test_structures_keep_their_form():
    structure = {"b": [1, (2,)], "a": 3}
    utils = layers.utils
    assert utils.flatten(structure) == [3, 1, 2]
    made = utils.map_structure(lambda x, y: x + y, structure, structure)
    assert made == {"b": [2, (4,)], "a": 6} and list(made) == ["b", "a"]
    assert utils.convert_to_list(3, 2, "stride") == [3, 3]
    for wrong in ("x", [1, 2, 3], [1.5, 2]):
        refused(lambda: utils.convert_to_list(wrong, 2, "stride"), "stride")
    refused(lambda: utils.pack_sequence_as(structure, [1, 2]), "2 values")


def test_memory_is_between_two_sizes():
    x = fluid.data("x", [None, 1000])
    layers.fc(x, 1000, bias_attr=False)
    low, high, unit = fluid.contrib.memory_usage(
        fluid.default_main_program(), 10
    )
    assert unit == "MB" and low < 4.08e6 / 1024**2 < high < 1.3 * low


def test_small_things(tmp_path):
    x = fluid.data("x", [None, 4])
    one = fluid.layers.data("one", [1], append_batch_size=False)
    with fluid.unique_name.guard("mine."):
        y = layers.fc(x, 2)
    first = fluid.default_main_program().all_parameters()[0]
    assert first.name.startswith("mine.mine.fc_0")
    assert x.dtype == fluid.core.VarDesc.VarType.FP32
    assert layers.cast(x, fluid.core.VarDesc.VarType.INT32).dtype == "int32"
    assert fluid.ParamAttr._to_attr(False) is False
    assert layers.data("n", [-7, 3], append_batch_size=False).shape == (-1, 3)
    feed = {"x": np.ones((2, 1, 4), "float32"), "one": np.float32(0.5)}
    assert run([y * one], feed)[0].shape == (2, 2)
    tensor = fluid.global_scope().find_var("mine.mine.fc_0.w_0").get_tensor()
    assert tensor._get_dims() == [4, 2] and tensor._dtype() == x.dtype
    loader = fluid.io.DataLoader.from_generator([x], 4)
    assert loader.queue.size() == 0
    whole = fluid.CompiledProgram(fluid.default_main_program())
    fluid.io.save_params(None, str(tmp_path), whole, "all")
    assert (tmp_path / "all").stat().st_size > 40
    before = fluid.framework.switch_main_program(fluid.Program())
    assert before is not fluid.default_main_program()
    fluid.framework.switch_main_program(before)
    assert fluid.initializer.Xavier(fan_in=0).fan_in == 0
