import io

import numpy as np
import pytest

import sluice as sl


def test_a_program_cloned_for_testing_does_not_train(exe):
    x = sl.data("x", [None, 2])
    y = sl.layers.fc(x, 1, param_attr=sl.initializer.Constant(1.0))
    loss = sl.layers.mean(y)
    sl.optimizer.SGD(0.1).minimize(loss)
    test = sl.default_main_program().clone(for_test=True)
    exe.run(sl.default_startup_program())
    for _ in range(2):
        (value,) = exe.run(test, {"x": [[1.0, 2.0]]}, [loss.name])
        assert value == 3


def test_testing_folds_batch_norms_and_follows_training(exe):
    if "onednn" not in sl.show_config("dicts")["modules"]:
        pytest.skip("no oneDNN")
    x = sl.data("x", [None, 8, 8, 32])
    y = sl.layers.conv2d(x, 32, 3, data_format="NHWC")
    y = sl.layers.batch_norm(y, act="relu", data_layout="NHWC")
    test = sl.default_main_program().clone(for_test=True)
    loss = sl.layers.mean(y)
    sl.optimizer.SGD(0.1).minimize(loss)
    exe.run(sl.default_startup_program())
    feed = {"x": np.random.default_rng(0).random((2, 8, 8, 32), np.float32)}

    def tested(hint):
        with sl.kernel_hints(hint):
            (value,) = exe.run(test, feed, [y.name])
            return value, exe.explain(test, all=True)

    for _ in range(3):
        folded, text = tested("allow library=ONEDNN")
        assert "conv2d+bn+relu" in text
        plain, text = tested("exclude library=ONEDNN")
        assert "batch_norm" in text
        np.testing.assert_allclose(folded, plain, rtol=1e-4, atol=1e-5)
        assert "fused" not in str(test)
        exe.run(feed=feed, fetch_list=[loss])


def test_a_learning_rate_may_be_fed(exe):
    x = sl.data("x", [None, 2])
    rate = sl.data("rate", [1])
    constant = sl.initializer.Constant(1.0)
    y = sl.layers.fc(x, 1, param_attr=constant, bias_attr=False)
    loss = sl.layers.mean(y)
    _, ((param, _),) = sl.optimizer.SGD(rate).minimize(loss)
    exe.run(sl.default_startup_program())
    exe.run(feed={"x": [[1.0, 2.0]], "rate": [0.5]}, fetch_list=[loss])
    np.testing.assert_array_equal(
        sl.global_scope()[param.name].numpy(), [[0.5], [0.0]]
    )


def test_append_backward_refuses_what_has_no_gradient():
    x = sl.data("x", [None, 2])
    y = sl.layers.fc(x, 3, param_attr=sl.initializer.Constant(1.0))
    with pytest.raises(sl.InvalidArgumentError, match="test_training.py"):
        sl.append_backward(y)


def test_parameters_that_are_not_trainable_stay():
    x = sl.data("x", [None, 2])
    constant = sl.initializer.Constant(1.0)
    attr = sl.ParamAttr(initializer=constant, trainable=False)
    h = sl.layers.fc(x, 2, param_attr=attr)
    loss = sl.layers.mean(sl.layers.fc(h, 1, param_attr=constant))
    pairs = sl.append_backward(loss)
    assert [p.name for p, _ in pairs] == ["fc_0.b_0", "fc_1.w_0", "fc_1.b_0"]


def test_embeddings_come_apart_by_masks(exe):
    """Two masks of one row, whose positions are set by hand."""
    table = sl.LayerHelper("pixels").create_parameter(
        sl.ParamAttr("pixels", sl.initializer.Uniform(-0.1, 0.1, seed=1)),
        [1, 1, 6, 2],
    )
    mask = sl.data("mask", [1, 2, 1, 2], "int64")
    loss = sl.layers.discriminative_loss(
        table, mask, delta_v=0.125, delta_d=0.5, regularization_weight=0.0
    )
    mean, count = sl.layers.average_embedding_mask(table, mask)
    sl.optimizer.SGD(0.5).minimize(sl.layers.mean(loss))
    exe.run(sl.default_startup_program())
    feed = {"mask": [[[[0, 3]], [[3, 6]]]]}
    before = exe.run(feed=feed, fetch_list=[loss])[0]
    for _ in range(60):
        after, means, counts = exe.run(feed=feed, fetch_list=[loss, mean, count])
    assert before > 0.5
    assert after < 1e-3
    np.testing.assert_array_equal(counts, [[3, 3]])
    assert np.linalg.norm(means[0, 0] - means[0, 1]) > 0.95


def test_3d_convolutions_learn_also_from_an_onnx_model(exe, rng):
    x = sl.data("x", [None, 1, 5, 6, 7])
    y = sl.layers.conv3d(x, 4, 3, stride=(1, 2, 2), padding=1, act="relu")
    y = sl.layers.conv3d(y, 2, (2, 3, 3), groups=2, dilation=(2, 1, 1))
    assert y.shape == (None, 2, 3, 1, 2)
    test = sl.default_main_program().clone(for_test=True)

    def loss_of(output):
        return sl.layers.mean(sl.layers.square(output - 1.0))

    loss = loss_of(y)
    sl.optimizer.Adam(0.02).minimize(loss)
    exe.run(sl.default_startup_program())
    feed = {"x": rng.random((3, 1, 5, 6, 7), "f4")}
    values = [exe.run(feed=feed, fetch_list=[loss])[0] for _ in range(40)]
    assert values[-1] < values[0] / 10

    onnx = pytest.importorskip("onnx")
    file = io.BytesIO()
    sl.onnx.save(test, file, [y.name])
    onnx.checker.check_model(onnx.load_from_string(file.getvalue()))
    model = sl.onnx.load(file.getvalue())
    with sl.program_guard(model.program):
        output = model.program.var(model.outputs[0].name)
        loss = loss_of(output * 2.0)
        pairs = sl.append_backward(loss, model.parameters)
    values = []
    for _ in range(40):
        value, *grads = exe.run(
            model.program, feed, [loss, *(g for _, g in pairs)], model.scope
        )
        values.append(value)
        for (param, _), grad in zip(pairs, grads, strict=True):
            name = getattr(param, "name", param)
            model.scope.set(name, model.scope[name].numpy() - 0.02 * grad)
    assert len(pairs) == 4
    assert values[-1] < values[0] / 10


def test_parameters_survive_a_file(exe, tmp_path):
    x = sl.data("x", [None, 2])
    y = sl.layers.fc(x, 3, param_attr=sl.initializer.Constant(2.0))
    path = tmp_path / "p.safetensors"
    with pytest.raises(sl.FailedPreconditionError):
        sl.io.save_params(path)
    exe.run(sl.default_startup_program())
    sl.io.save_params(path)
    with sl.scope_guard(sl.Scope()):
        sl.io.load_params(path)
        (value,) = exe.run(feed={"x": [[1, 2]]}, fetch_list=[y])
    np.testing.assert_array_equal(value, [[6, 6, 6]])
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(sl.DataLossError):
        sl.io.load_params(path)
    with pytest.raises(sl.NotFoundError):
        sl.io.load_params(tmp_path / "none")


def test_a_partial_load_takes_what_both_have(exe, tmp_path):
    x = sl.data("x", [None, 2])
    hidden = sl.layers.fc(x, 3, param_attr=sl.initializer.Constant(2.0))
    exe.run(sl.default_startup_program())
    path = tmp_path / "p.safetensors"
    sl.io.save_params(path)
    scope = sl.global_scope()
    names = {var.name for var in sl.default_main_program().all_parameters()}
    sl.layers.fc(hidden, 1)
    exe.run(sl.default_startup_program())
    with pytest.raises(sl.InvalidArgumentError, match="it lacks fc_"):
        sl.io.load_params(path)
    for name in names:
        scope.set(name, np.zeros_like(scope.find_var(name)))
    loaded = sl.io.load_params(path, partial=True)
    assert loaded.superfluous == []
    assert len(loaded.missing) == 2
    assert names.isdisjoint(loaded.missing)
    weights = max(names, key=lambda name: scope.find_var(name).size)
    np.testing.assert_array_equal(scope.find_var(weights), np.full((2, 3), 2))
    sl.io.save_params(path)
    with sl.program_guard(sl.Program(), sl.Program()), sl.unique_name.guard():
        sl.layers.fc(sl.data("x", [None, 2]), 3)
        loaded = sl.io.load_params(path, partial=True)
    assert loaded.missing == []
    assert len(loaded.superfluous) == 2
    with sl.program_guard(sl.Program(), sl.Program()):
        sl.layers.fc(sl.data("x", [None, 2]), 3)
        with pytest.raises(sl.InvalidArgumentError, match="none of the program"):
            sl.io.load_params(path, partial=True)


def test_one_seed_gives_the_same_numbers(exe):
    def weights(seed):
        with sl.program_guard(sl.Program(), sl.Program()):
            sl.default_startup_program().random_seed = seed
            with sl.unique_name.guard():
                sl.layers.fc(sl.data("x", [None, 4]), 4)
            with sl.scope_guard(sl.Scope()):
                exe.run(sl.default_startup_program())
                return sl.global_scope()["fc_0.w_0"].numpy()

    np.testing.assert_array_equal(weights(1), weights(1))
    assert (weights(1) != weights(2)).any()
