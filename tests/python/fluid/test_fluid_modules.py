"""The modules beside layers: nets, clip, averages, gradients, readers."""

import numpy as np
import pytest
from fluid_runs import new_programs, started
from refusals import refused

import sluice as sl
import sluice.fluid as fluid

layers = fluid.layers


def run(*fetches, **feed):
    """What they are after the startup program."""
    return started().run(feed=feed, fetch_list=list(fetches))


def weight(value=1.0, name="w", size=1):
    start = fluid.initializer.ConstantInitializer(value, force_cpu=True)
    return layers.create_parameter(
        [size], "float32", name=name, default_initializer=start
    )


def rows(*shape):
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)


# nets


def test_a_group_of_convolutions_normalizes_each():
    x = fluid.data("x", [None, 2, 4, 4])
    fluid.nets.img_conv_group(
        x, [3, 4], 2, conv_act="relu", conv_with_batchnorm=[True, False],
        conv_batchnorm_drop_rate=0.5, pool_stride=2,
    )  # fmt: skip
    kinds = [op.type for op in fluid.default_main_program().block0.ops]
    conv = ["conv2d", "elementwise_add"]
    assert kinds == [
        *conv, "batch_norm", "relu", "dropout", *conv, "relu", "pool2d",
    ]  # fmt: skip


def test_attention_of_one_head_and_of_several():
    q, k, v = (fluid.data(n, [None, 5, 4]) for n in "qkv")
    one = fluid.nets.scaled_dot_product_attention(q, k, v)
    two = fluid.nets.scaled_dot_product_attention(q, k, v, num_heads=2)
    assert two.shape == (-1, 5, 4)
    given = {n: rows(2, 5, 4) * (i + 1) for i, n in enumerate("qkv")}
    out, more = run(one, two, **given)
    z = np.einsum("bid,bjd->bij", given["q"], given["k"]) / 2
    share = np.exp(z) / np.exp(z).sum(-1, keepdims=True)
    np.testing.assert_allclose(out, share @ given["v"], rtol=1e-4)
    assert more.shape == (2, 5, 4)
    refused(lambda: fluid.nets.scaled_dot_product_attention(q, k, v, num_heads=3), "3 divides")


# Gradients, clips, averages


def test_gradients_of_some_targets():
    x = fluid.data("x", [None, 2])
    x.stop_gradient = False
    w = weight(3.0)
    (of_w,) = fluid.gradients(x * w, w)
    (of_x,) = fluid.gradients([x * x], [x], [x])
    assert fluid.backward.append_backward(layers.mean(w * w))[0][0] is w
    values = np.array([[1, 2], [3, 4]], np.float32)
    a, b = run(of_w, of_x, x=values)
    np.testing.assert_allclose(a, [values.sum()])
    np.testing.assert_allclose(b, 2 * values * values)


def train(optimizer, steps=3, value=1.0):
    """What w is after each step down the loss w."""
    loss = layers.mean(layers.sums([weight(value)]))
    optimizer(loss)
    exe = started()
    for _ in range(steps):
        exe.run(fetch_list=[loss])
        yield np.asarray(fluid.global_scope()["w"]).item()


def test_a_clip_for_all_parameters():
    def optimizer(loss):
        fluid.clip.set_gradient_clip(fluid.clip.GradientClipByValue(0.25))
        fluid.optimizer.SGD(1.0).minimize(loss)

    np.testing.assert_allclose([*train(optimizer)], [0.75, 0.5, 0.25])


def test_gradients_first_and_updates_later():
    def optimizer(loss):
        sgd = fluid.optimizer.SGD(0.5)
        sgd.apply_gradients(sgd.backward(loss))

    np.testing.assert_allclose([*train(optimizer)], [0.5, 0.0, -0.5])


def test_lookahead_goes_back_half_the_way():
    def optimizer(loss):
        inner = fluid.optimizer.SGD(1.0)
        fluid.optimizer.LookaheadOptimizer(inner, k=2).minimize(loss)

    np.testing.assert_allclose([*train(optimizer, 4)], [0, 0, -1, -1])


@pytest.mark.parametrize("kind", ["ema", "mean"])
def test_an_average_takes_the_place_of_parameters(kind):
    made = []

    def optimizer(loss):
        fluid.optimizer.SGD(1.0).minimize(loss)
        if kind == "mean":
            made.append(fluid.optimizer.ModelAverage(0.5, 2, 10))
        else:
            made.append(fluid.optimizer.ExponentialMovingAverage(0.5))
            made[0].update()

    values = [*train(optimizer)]
    with made[0].apply(fluid.Executor()):
        now = np.asarray(fluid.global_scope()["w"]).item()
    shares = [1 / 3] * 3 if kind == "mean" else [1 / 7, 2 / 7, 4 / 7]
    assert now == pytest.approx(np.dot(values, shares))
    assert np.asarray(fluid.global_scope()["w"]).item() == values[-1]


# Readers


def test_runs_without_a_feed_read_until_the_end():
    reader = layers.py_reader(4, [[-1, 2], [-1, 1]], ["float32", "int64"])
    x, label = layers.read_file(layers.double_buffer(reader))
    total = layers.reduce_sum(x) + layers.reduce_sum(label).astype("float32")
    reader.decorate_paddle_reader(
        fluid.io.batch(lambda: ((np.full(2, i), i) for i in range(4)), 2)
    )
    exe = fluid.Executor()
    for _ in range(2):
        reader.start()
        sums = []
        with pytest.raises(fluid.core.EOFException):
            while True:
                sums.append(exe.run(fetch_list=[total])[0].item())
        reader.reset()
        assert sums == [3, 15]
    refused(lambda: exe.run(fetch_list=[total]), "start()", error=sl.FailedPreconditionError)
    ones = np.ones((1, 2), np.float32)
    feed = {x.name: ones, label.name: np.array([[5]])}
    assert exe.run(feed=feed, fetch_list=[total])[0] == [7]


def test_a_reader_of_declared_variables_gives_samples():
    x = fluid.data("x", [None, 2])
    reader = layers.create_py_reader_by_data(2, [x])
    assert layers.read_file(reader) is x
    loader = fluid.io.DataLoader.from_generator([x], 2)
    assert loader.set_sample_generator(lambda: iter(np.eye(2)), 2) is loader
    ((feed,),) = list(loader())
    np.testing.assert_array_equal(feed["x"], np.eye(2))
    again = loader.set_batch_generator(lambda: iter([[np.ones((3, 2))]]))
    assert again is loader and [each["x"].shape for (each,) in again()] == [(3, 2)]


# Layers with a state, or with Python


def test_a_function_of_python_has_a_gradient():
    block = fluid.default_main_program().current_block()
    x = weight(2.0)
    out = block.create_var(name="y", shape=[1], dtype="float32")
    y = layers.py_func(
        lambda x: x * x, x, out, backward_func=lambda x, y, dy: 2 * x * dy
    )
    (grad,) = fluid.gradients(y, x)
    test = fluid.default_main_program().clone(for_test=True)
    a, b = run(y, grad)
    assert (a, b) == ([4], [4])
    assert fluid.Executor().run(test, fetch_list=["y"])[0] == [4]
    refused(lambda: layers.py_func(np.sin, x, block.create_var(name="z")), "create_var(")


def test_centers_move_to_their_rows():
    x = fluid.data("x", [None, 2])
    label = fluid.data("label", [None, 1], "int64")
    zero = fluid.ParamAttr(name="c", initializer=fluid.initializer.Constant())
    loss = layers.center_loss(x, label, 2, 0.5, zero)
    (out,) = run(loss, x=np.ones((1, 2), np.float32), label=np.array([[1]]))
    np.testing.assert_allclose(out, [[1.0]])
    centers = np.asarray(fluid.global_scope()["c"])
    np.testing.assert_allclose(centers, [[0, 0], [0.25, 0.25]])


def test_projected_states_take_the_place_of_the_states():
    x = fluid.data("x", [None, 8], lod_level=1)
    start = fluid.initializer.Constant(0.5)
    attrs = {"param_attr": start, "use_peepholes": False}
    plain, _ = layers.dynamic_lstm(x, 8, **attrs)
    kept, _ = layers.dynamic_lstmp(x, 8, 2, proj_activation="identity", **attrs)
    feed = fluid.create_lod_tensor(rows(5, 8), [[2, 3]])
    exe = started()
    fluid.global_scope()["lstmp_0.w_1"] = np.eye(2, dtype=np.float32)
    a, b = exe.run(feed={"x": feed}, fetch_list=[plain, kept])
    np.testing.assert_allclose(a, b, rtol=1e-5)


def test_the_area_of_all_batches_is_kept():
    p = fluid.data("p", [None, 2])
    label = fluid.data("label", [None, 1], "int64")
    area, last, states = layers.auc(p, label)
    exe = started()
    scores = np.array([[0.9, 0.1], [0.2, 0.8]], np.float32)
    feeds = [np.array([[0], [1]]), np.array([[1], [0]])]
    made = [
        exe.run(feed={"p": scores, "label": each}, fetch_list=[area, last])
        for each in feeds
    ]
    assert [[a.item(), b.item()] for a, b in made] == [[1, 1], [0.5, 0]]
    assert len(states) == 4


# Names of fluid


def test_parameters_begin_with_fluids_names():
    ids = fluid.data("ids", [None, 1], "int64")
    x = layers.embedding(ids, [5, 4])
    layers.embedding(ids, [5, 4])
    assert fluid.embedding(ids, [5, 4]).shape == (-1, 1, 4)
    layers.layer_norm(x)
    layers.hsigmoid(x, ids, 3)
    names = [p.name for p in fluid.default_main_program().all_parameters()]
    assert names == [
        "embedding_0.w_0", "embedding_1.w_0", "embedding_2.w_0",
        "layer_norm_0.w_0", "layer_norm_0.b_0", "hierarchical_sigmoid_0.w_0",
        "hierarchical_sigmoid_0.b_0",
    ]  # fmt: skip


def test_the_shape_of_data_is_whole():
    assert fluid.data("x", [None, 3]).shape == (-1, 3)
    assert fluid.data("y", [2, 3]).shape == (2, 3)
    assert fluid.one_hot(fluid.data("z", [2], "int64"), 4).shape == (2, 4)


def test_versions_and_places():
    fluid.require_version("1.6")
    fluid.require_version("1.8.0", "1.8.5")
    refused(lambda: fluid.require_version("2.0"), "1.8.5 on", error=sl.FailedPreconditionError)
    assert not fluid.in_dygraph_mode()
    assert len(fluid.cpu_places(2)) == 2
    with fluid.name_scope("part"):
        assert fluid.data("x", [2]).name == "x"
    tensor = fluid.create_random_int_lodtensor([[2, 3]], [4], None, 1, 3)
    assert tensor.shape() == [5, 4]
    assert {*np.asarray(tensor).ravel().tolist()} <= {1, 2, 3}


def test_a_parallel_executor_runs_the_program():
    y = weight(2.0) * 2.0
    started()
    parallel = fluid.ParallelExecutor(use_cuda=False, loss_name=y.name)
    assert parallel.run([y.name])[0] == [4]


def test_a_profile_names_kernels(tmp_path, capsys):
    y = layers.softmax(fluid.data("x", [2, 3]))
    trace = tmp_path / "trace"
    with fluid.profiler.profiler("CPU", "total", str(trace)):
        run(y, x=rows(2, 3))
    printed = capsys.readouterr().out
    assert printed.startswith("2 runs, times in ms")
    assert "softmax" in printed
    assert "softmax" in trace.read_text()
    refused(lambda: fluid.profiler.stop_profiler("speed"), "sorted_key must")


@pytest.mark.parametrize(
    "module, name",
    [
        (fluid, "DistributeTranspiler"),
        (fluid, "WeightNormParamAttr"),
        (fluid.optimizer, "PipelineOptimizer"),
    ],
)
def test_what_is_left_out_has_a_reason(module, name):
    with pytest.raises(sl.errors.UnimplementedError, match=rf"\.{name}: \w+"):
        getattr(module, name)()
    refused(lambda: module.anything_else, "no attribute", error=AttributeError)


# old scripts


def test_sizes_of_1_behind_a_feed_are_dropped():
    x = layers.data("x", [2])
    (out,) = run(layers.scale(x, 2.0), x=np.ones((3, 2, 1, 1), np.float32))
    np.testing.assert_array_equal(out, np.full((3, 2), 2.0))
    # Other shapes than the declared ones are those of a copy.
    for shape in (3, 2, 1, 2), (4,), (3, 5):
        (out,) = run(layers.scale(x, 2.0), x=np.ones(shape, np.float32))
        np.testing.assert_array_equal(out, np.full(shape, 2.0))
    w = layers.fc(x, 1)
    refused(lambda: run(w, x=np.ones((3, 5), np.float32)), "mul")


def test_a_dense_input_ignores_levels():
    x = layers.data("x", [1], dtype="int64")
    value = fluid.create_lod_tensor([[1], [2]], [[1, 1]])
    (out,) = run(layers.cast(x, "float32"), x=value)
    assert out.tolist() == [[1.0], [2.0]]


def test_what_is_fed_decides():
    rows = layers.data("rows", [7, 1], append_batch_size=False, lod_level=1)
    pooled = layers.sequence_pool(rows, "sum")
    value = fluid.create_lod_tensor(np.ones((3, 1), np.float32), [[2, 1]])
    (out,) = run(pooled, rows=value)
    assert out.tolist() == [[2.0], [1.0]]
    block = fluid.default_main_program().global_block()
    made = block.create_var(name="made", shape=[-1, 2], dtype="float32")
    assert (made.shape, str(made.dtype)) == ((-1, 2), "float32")
    (out,) = run(layers.scale(made, 2.0), made=np.ones((1, 2), np.float32))
    assert out.tolist() == [[2.0, 2.0]]
    with fluid.program_guard(fluid.Program()):
        x = layers.data("x", [2])
        exe, ones = fluid.Executor(), np.ones((3, 2), np.float32)
        y = layers.scale(x, 2.0)
        (out,) = exe.run(feed=[{"x": ones}, {"x": ones[:1]}], fetch_list=y)
        assert out.shape == (4, 2)
        (out,) = exe.run(feed={"x": ones}, fetch_list=y, return_merged=False)
        assert [each.shape for each in out] == [(3, 2)]
        pruned = fluid.default_main_program()._prune([y])
        assert [op.type for op in pruned.global_block().ops] == ["scale"]
        assert pruned.global_block().ops[0].desc.all_attrs()["scale"] == 2.0


def test_two_levels_of_samples():
    words = layers.data("words", [1], dtype="int64", lod_level=2)
    feeder = fluid.DataFeeder([words])
    fed = feeder.feed([([[1, 2], [3]],), ([[4]],)])["words"]
    assert fed.recursive_sequence_lengths() == [[2, 1], [2, 1, 1]]
    assert np.asarray(fed).tolist() == [[1], [2], [3], [4]]


def test_sizes_that_a_run_knows():
    x = layers.data("x", [3])
    y = layers.data("y", [2])
    three = layers.data("three", [2], False, "int32")
    feed = {"x": rows(4, 3), "y": rows(2, 2), "three": np.int32([2, -1])}
    out = run(layers.pad_constant_like(x, y, 1.0), **feed)[0]
    padded = np.pad(rows(2, 2), [(0, 2), (0, 1)], constant_values=1)
    assert out.tolist() == padded.tolist()
    out = run(layers.crop_tensor(x, [-1, 2], [1, 1]), **feed)[0]
    assert out.tolist() == rows(4, 3)[1:, 1:].tolist()
    out = run(layers.crop_tensor(x, three, [1, 1]), **feed)[0]
    assert out.tolist() == rows(4, 3)[1:3, 1:].tolist()
    wide = layers.data("wide", [6])
    out = run(layers.expand_as(x, wide), wide=rows(8, 6), **feed)[0]
    assert out.tolist() == np.tile(rows(4, 3), [2, 2]).tolist()
    ones = layers.data("ones", [1, 2])
    out = run(layers.squeeze(ones, []), ones=np.ones((1, 1, 2), "f4"))[0]
    assert out.shape == (1, 2)  # Fluid's is (2,)


def test_recomputing_trains_alike():
    def losses(wrap):
        with new_programs():
            x = layers.data("x", [2])
            hidden = layers.fc(x, 3)
            loss = layers.mean(layers.fc(hidden, 1))
            optimizer = wrap(fluid.optimizer.Adam(0.1))
            getattr(optimizer, "_set_checkpoints", print)([hidden])
            optimizer.minimize(loss)
            exe = started()
            feed = {"x": rows(4, 2)}
            return [
                exe.run(feed=feed, fetch_list=loss)[0].item() for _ in "abc"
            ]

    recomputed = losses(fluid.optimizer.RecomputeOptimizer)
    assert recomputed == losses(lambda optimizer: optimizer)


def test_values_of_layers_at_once():
    x = np.array([[1.0, 2.0]], np.float32)
    with fluid.dygraph.guard():
        assert fluid.in_dygraph_mode()
        given = fluid.dygraph.to_variable(x)
        given.stop_gradient = False
        loss = layers.reduce_sum(layers.square(given))
        drawn = layers.gaussian_random([4])
        np.testing.assert_array_equal(drawn.numpy(), drawn.numpy())
        assert (loss.numpy().item(), given.gradient()) == (5.0, None)
        loss.backward()
        loss.backward()
        np.testing.assert_array_equal(given.gradient(), 4 * x)
        given.clear_gradient()
        np.testing.assert_array_equal(given.gradient(), 0 * x)
    assert not fluid.in_dygraph_mode()
    refused(lambda: layers.data("x", [2]).numpy(), "in a run", error=sl.FailedPreconditionError)
    with pytest.raises(sl.errors.FailedPreconditionError, match="inside of fluid"):
        fluid.dygraph.to_variable(x)


@pytest.mark.parametrize(
    "name, dtype",
    [
        ("cross_entropy", "int64"), ("softmax_with_cross_entropy", "int64"),
        ("bpr_loss", "int64"), ("log_loss", "float32"),
        ("sigmoid_cross_entropy_with_logits", "float32"),
        ("smooth_l1", "float32"), ("teacher_student_sigmoid_loss", "float32"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("level", ["x", "y"])
def test_a_loss_of_rows_of_which_one_side_has_lod(name, dtype, level):
    width = 3 if dtype == "int64" else 1
    feed = {
        "x": np.linspace(0.1, 0.9, 4 * width, dtype="float32").reshape(4, -1),
        "y": np.array([[1], [0], [1], [1]], dtype),
    }
    found = []
    for lod in [None, [[3, 1]]]:
        with fluid.program_guard(fluid.Program()):
            x, y = (
                layers.data(
                    n, [feed[n].shape[1]], dtype=feed[n].dtype.name,
                    lod_level=int(n == level and lod is not None),
                )
                for n in "xy"
            )  # fmt: skip
            loss = layers.mean(getattr(layers, name)(x, y))
            if lod:
                feed[level] = fluid.create_lod_tensor(feed[level], lod)
            found += run(loss, **feed)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)


def test_what_create_tensor_makes_may_be_fed():
    a, b = (layers.create_tensor("int64", name) for name in "ab")
    made = layers.sum([a, b])
    for value in np.int64([3, 2]), np.int64([[3, 2]]):
        (out,) = run(made, a=value, b=value)
        assert out.tolist() == (value * 2).tolist()
    assert layers.core.LoDTensorArray is list and layers.core is fluid.core
    assert [*fluid.io.batch(lambda: range(3), batch_size=4 / 2)()] == [[0, 1], [2]]
