"""Programs that are written with sluice.fluid: built, trained, saved, run."""

import sys

import numpy as np
import pytest
from fluid_runs import run, started
from refusals import refused
from processes import python

import sluice as sl
import sluice.fluid as fluid


def test_names_and_shapes_are_fluids():
    x = fluid.layers.data("x", shape=[13])
    assert x.shape == (-1, 13)
    y = fluid.layers.fc(x, 4, act="relu")
    assert (y.shape, str(y.dtype)) == ((-1, 4), "float32")
    names = [p.name for p in fluid.default_main_program().all_parameters()]
    assert names == ["fc_0.w_0", "fc_0.b_0"]
    loss = fluid.layers.mean(fluid.layers.square_error_cost(y, y))
    assert loss.shape == (1,)
    kinds = [op.type for op in fluid.default_main_program().global_block().ops]
    assert kinds == [
        "mul", "elementwise_add", "relu", "elementwise_sub", "square", "mean",
    ]  # fmt: skip


def fit_a_line(steps=200):
    x = fluid.layers.data("x", shape=[3])
    y = fluid.layers.data("y", shape=[1])
    guess = fluid.layers.fc(x, 1)
    loss = fluid.layers.mean(fluid.layers.square_error_cost(guess, y))
    test = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.SGD(learning_rate=0.1).minimize(loss)
    exe = started()
    generator = np.random.default_rng(0)
    data = generator.normal(size=(64, 3)).astype(np.float32)
    target = data @ np.array([[1], [-2], [3]], np.float32) + 0.5
    for _ in range(steps):
        (value,) = exe.run(feed={"x": data, "y": target}, fetch_list=[loss])
    return exe, test, guess, data, target, value


def test_a_line_is_fitted_and_its_test_program_predicts():
    exe, test, guess, data, target, loss = fit_a_line()
    assert loss.shape == (1,)
    assert loss[0] < 1e-6
    (out,) = exe.run(test, {"x": data}, [guess])
    np.testing.assert_allclose(out, target, atol=1e-2)


@pytest.mark.parametrize("file", [None, "params"])
def test_what_is_saved_is_loaded_without_the_script(tmp_path, file):
    exe, test, guess, data, _, _ = fit_a_line(3)
    (before,) = exe.run(test, feed={"x": data}, fetch_list=[guess])
    fluid.io.save_inference_model(
        str(tmp_path), ["x"], [guess], exe, test, None, file
    )
    params = None if file is None else tmp_path / file
    model = fluid.load(tmp_path, params)
    assert (model.feeds, model.fetches) == (["x"], [guess.name])
    (after,) = model.run({"x": data})
    np.testing.assert_array_equal(after, before)
    with pytest.raises(sl.errors.InvalidArgumentError, match="x is needed for"):
        fluid.io.save_inference_model(str(tmp_path), [], guess, exe, test)


def test_parameters_go_through_files(tmp_path):
    exe, *_ = fit_a_line(3)
    scope = fluid.global_scope()
    before = np.array(scope["fc_0.w_0"])
    fluid.io.save_params(exe, str(tmp_path))
    scope["fc_0.w_0"] = np.zeros_like(before)
    fluid.io.load_vars(exe, str(tmp_path), predicate=fluid.io.is_parameter)
    np.testing.assert_array_equal(scope["fc_0.w_0"], before)


def test_a_parameter_is_set_as_scripts_of_fluid_do_it():
    exe, test, guess = fit_a_line(1)[:3]
    place = fluid.CPUPlace()
    variable = fluid.global_scope().find_var("fc_0.w_0")
    parameter = variable.get_tensor()
    value = np.arange(parameter.shape()[0], dtype="float32").reshape(-1, 1)
    parameter.set(value, place)
    np.testing.assert_array_equal(np.array(parameter), value)
    np.testing.assert_array_equal(np.array(variable.get_tensor()), value)
    assert fluid.global_scope().find_var("nobody") is None
    other = fluid.core.Scope()
    assert other.find_var("fc_0.w_0") is None
    exe.run(fluid.default_startup_program(), scope=other)
    other.var("fc_0.w_0").get_tensor().set(2 * value, place)
    (got,) = exe.run(test, {"x": np.eye(3, dtype="f4")}, [guess], scope=other)
    np.testing.assert_array_equal(got, 2 * value)


def test_the_gradient_of_a_tagger_lowers_its_loss():
    """LAC's network in small, trained by its reader and its optimizer."""
    words = fluid.layers.data("words", [-1, 1], dtype="int64", lod_level=1)
    tags = fluid.layers.data("tags", [-1, 1], dtype="int64", lod_level=1)
    small = fluid.ParamAttr(
        initializer=fluid.initializer.Uniform(low=-0.1, high=0.1),
        regularizer=fluid.regularizer.L2DecayRegularizer(
            regularization_coeff=1e-4
        ),
    )
    x = fluid.layers.embedding(words, [10, 8], param_attr=small)
    ways = [
        fluid.layers.dynamic_gru(
            fluid.layers.fc(x, 24, param_attr=small),
            8,
            is_reverse=reverse,
            param_attr=small,
        )
        for reverse in (False, True)
    ]
    emission = fluid.layers.fc(fluid.layers.concat(ways, axis=1), 3)
    crf = fluid.ParamAttr(name="crfw", learning_rate=0.2)
    cost = fluid.layers.linear_chain_crf(emission, tags, param_attr=crf)
    loss = fluid.layers.mean(cost)
    path = fluid.layers.crf_decoding(emission, fluid.ParamAttr(name="crfw"))
    chunks = fluid.layers.chunk_eval(path, tags, "IOB", 1)
    test = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.Adam(learning_rate=0.05).minimize(loss)
    reader = fluid.io.PyReader([words, tags], capacity=2)
    generator = np.random.default_rng(2)
    samples = [
        (ids, [i % 3 for i in ids])
        for ids in (generator.integers(0, 10, n).tolist() for n in (3, 5, 2, 7))
    ]
    reader.decorate_sample_list_generator(lambda: iter([samples] * 60))
    exe = started()
    main = fluid.CompiledProgram(fluid.default_main_program())
    losses = [exe.run(main, data[0], [loss])[0][0] for data in reader()]
    assert losses[-1] < losses[0] / 10
    metric = fluid.metrics.ChunkEvaluator()
    feed = next(iter(reader()))
    metric.update(*exe.run(test, feed, list(chunks[3:])))
    assert metric.eval()[2] > 0.95


def test_the_mask_of_a_dropout_can_be_fetched():
    x = fluid.layers.data("x", shape=[50])
    y = fluid.layers.dropout(x, 0.25)
    op = fluid.default_main_program().global_block().ops[-1]
    ones = np.ones((4, 50), np.float32)
    out, mask = run([y, *op.output("Mask")], {"x": ones})
    np.testing.assert_array_equal(out, mask.astype(np.float32))
    assert 0 < out.mean() < 1


def test_dropout_that_scales_in_training_is_no_op_in_tests():
    x = fluid.layers.data("x", shape=[4])
    how = {"dropout_implementation": "upscale_in_train"}
    y = fluid.layers.dropout(x, 0.25, **how)
    test = fluid.default_main_program().clone(for_test=True)
    ones = np.ones((2, 4), np.float32)
    (out,) = run([y], {"x": ones}, test)
    np.testing.assert_array_equal(out, ones)
    assert [op.type for op in test.sluice.ops] == []
    (out,) = run([y], {"x": ones})
    assert set(np.unique(out)) <= {0, np.float32(1 / 0.75)}


def test_batch_norm_stores_its_averages():
    x = fluid.layers.data("x", shape=[2, 2, 2])
    y = fluid.layers.batch_norm(x)
    loss = fluid.layers.mean(y)
    fluid.optimizer.SGD(0.1).minimize(loss)
    run([loss], {"x": np.full((3, 2, 2, 2), 5, np.float32)})
    mean = np.asarray(fluid.global_scope()["batch_norm_0.w_1"])
    np.testing.assert_allclose(mean, [0.5, 0.5], rtol=1e-6)


def test_a_script_runs_as_it_is(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "import numpy as np\n"
        "import paddle\n"
        "import paddle.fluid as fluid\n"
        "from paddle.fluid.core import PaddleTensor\n"
        "x = fluid.layers.data(name='x', shape=[2], dtype='float32')\n"
        "y = fluid.layers.reduce_sum(x * 2.0)\n"
        "exe = fluid.Executor(fluid.CPUPlace())\n"
        "print(sys.argv[1:], exe.run(feed={'x': np.ones((3, 2), 'float32')},"
        " fetch_list=[y])[0])\n"
        "print(list(paddle.batch(lambda: iter(range(3)), 2)()))\n"
    )
    done = python("-m", "sluice.fluid", script, "one")
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout == "['one'] [12.]\n[[0, 1], [2]]\n"


def test_fluid_is_imported_when_it_is_asked_for():
    text = (
        "import sys, sluice as sl; assert 'sluice.fluid' not in sys.modules; "
        "print(sl.fluid.__name__)"
    )
    done = python("-c", text)
    assert (done.stdout, done.stderr) == ("sluice.fluid\n", "")


def test_a_missing_annex_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sluice.fluid", None)
    refused(lambda: sl.__getattr__("fluid"), "pip install sluice-fluid", error=ModuleNotFoundError)


# Bad input


def test_layers_that_are_not_there_are_named():
    with pytest.raises(AttributeError, match="fluid.layers.warp is not"):
        _ = fluid.layers.warp


def test_paddle_itself_and_the_stand_in(tmp_path):
    (tmp_path / "paddle.py").write_text("")
    text = "import paddle, sluice.fluid.as_paddle"
    done = python("-c", text, cwd=tmp_path)
    assert done.returncode == 1
    assert "PaddlePaddle itself is imported, from " in done.stderr


def test_a_name_of_paddle_or_a_script_that_is_not_there():
    text = "import sluice.fluid.as_paddle, paddle; paddle.nn"
    for call, error in [
        (["-c", text], "module paddle has no attribute nn"),
        (["-m", "sluice.fluid", "no.py"], "fluid: there is no file no.py\n"),
    ]:
        assert error in python(*call).stderr


def test_running_something_else():
    refused(lambda: fluid.Executor().run(sl.Program()), "a fluid.Program")
    with pytest.raises(
        sl.errors.InvalidArgumentError, match=r"a fluid\.Program"
    ):
        with fluid.program_guard(sl.Program()):
            pass


def test_indices_that_are_none():
    x = fluid.layers.data("x", [4, 3], append_batch_size=False)
    for bad in ("a", (0, 0, 0), 1.5):
        refused(lambda: x[bad], "up to 2 integers")
    refused(lambda: list(x), "before it runs")


def test_a_result_of_one_number_is_a_number():
    x = fluid.layers.data("x", [2])
    (mean,) = run([fluid.layers.mean(x)], {"x": np.ones((1, 2), "f4")})
    assert (mean.shape, float(mean), int(mean)) == ((1,), 1.0, 1)
    assert f"{mean:.2f} %.1f" % mean == "1.00 1.0"
    assert f"{mean}" == "[1.]"
    assert (mean + 1).tolist() == [2.0]


def test_cross_entropy_of_ragged_rows_trains():
    x = fluid.layers.data("x", [4], lod_level=1)
    y = fluid.layers.data("y", [1], dtype="int64", lod_level=1)
    chances = fluid.layers.softmax(fluid.layers.fc(x, 3, param_attr="w"))
    loss = fluid.layers.mean(fluid.layers.cross_entropy(chances, y))
    fluid.optimizer.SGD(0.5).minimize(loss)
    exe = started()
    w = np.array(fluid.global_scope()["w"])
    rows = np.random.default_rng(0).normal(size=(5, 4)).astype("f4")
    labels = np.array([[0], [1], [2], [1], [0]])
    feed = {"x": (rows, [[2, 3]]), "y": (labels, [[2, 3]])}
    (got,) = exe.run(feed=feed, fetch_list=[loss])
    exps = np.exp(rows @ w)
    p = exps / exps.sum(1, keepdims=True)
    hot = np.eye(3)[labels[:, 0]]
    np.testing.assert_allclose(got, [-np.log((p * hot).sum(1)).mean()], 1e-5)
    after = np.array(fluid.global_scope()["w"])
    np.testing.assert_allclose(after, w - 0.1 * rows.T @ (p - hot), atol=1e-6)


def test_a_model_without_its_parameters(tmp_path):
    y = fluid.layers.fc(fluid.layers.data("x", [2]), 2)
    fluid.io.save_inference_model(
        tmp_path, ["x"], [y], started(), export_for_deployment=True,
        program_only=True,
    )  # fmt: skip
    assert [each.name for each in tmp_path.iterdir()] == ["__model__"]
