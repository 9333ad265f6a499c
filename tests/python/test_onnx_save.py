"""Saving networks as ONNX models, and the models' metadata."""

import fcntl
import io
import os
import pathlib
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from processes import interrupted

import sluice as sl
from sluice import lab

onnx = pytest.importorskip("onnx")
from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx_reference import by_onnxruntime, saved  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))
LIGHT = (
    pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
)


def network():
    """A network with batch_norm and dropout, after its startup program."""
    image = sl.data("image", [None, 1, 8, 8])
    label = sl.data("label", [None, 1], "int64")
    x = sl.layers.conv2d(image, 4, 3, act="relu")
    x = sl.layers.batch_norm(x)
    x = sl.layers.dropout(x, 0.5)
    logits = sl.layers.fc(x, 10)
    loss = sl.layers.mean(sl.layers.softmax_with_cross_entropy(logits, label))
    test = sl.default_main_program().clone(for_test=True)
    sl.optimizer.Momentum(0.05).minimize(loss)
    exe = sl.Executor()
    exe.run(sl.default_startup_program())
    return test, logits, loss, exe


def assert_round_trip(program, feed, fetch_list, scope=None, **options):
    scope = sl.global_scope() if scope is None else scope
    expected = sl.Executor().run(program, feed, fetch_list, scope)
    model = saved(program, fetch_list, scope=scope, **options)
    message = onnx.load_from_string(model)
    onnx.checker.check_model(message, full_check=True)
    got = sl.onnx.load(model).run(feed)
    for a, b in zip(got, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    others = [ReferenceEvaluator(message).run(None, feed)]
    if find_spec("onnxruntime") is not None:
        others.append(by_onnxruntime(model, feed))
    for other in others:
        for a, b in zip(other, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def properties_of(message):
    return {p.key: p.value for p in message.metadata_props}


def test_a_network_comes_back_with_its_names(tmp_path, rng):
    test, logits, _, exe = network()
    path = tmp_path / "net.onnx"
    sl.onnx.save(test, path, [logits], description="reads digits")
    model = sl.onnx.load(path)
    feed = {"image": rng.standard_normal((3, 1, 8, 8)).astype("float32")}
    (expected,) = exe.run(test, feed, [logits])
    (got,) = model.run(feed)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    assert [v.name for v in model.inputs] == ["image"]
    assert model.inputs[0].shape == ("batch", 1, 8, 8)
    assert model.outputs[0].name == logits.name
    used = {v.name for v in test.prune([logits]).all_parameters()}
    assert used <= set(model.parameters)
    assert model.metadata.producer_name == "sluice"
    assert model.metadata.graph_name == "net"
    assert model.metadata.description == "reads digits"
    nodes = onnx.load(path).graph.node
    assert all("test_onnx_save.py" in node.doc_string for node in nodes)
    names = [node.name for node in nodes]
    assert len(names) == len(set(names))


def test_what_forward_ops_leave_unread_is_the_output():
    test, _, loss, _ = network()
    model = onnx.load_from_string(saved(test))
    assert [v.name for v in model.graph.output] == [loss.name]
    assert [v.name for v in model.graph.input] == ["image", "label"]


def test_the_order_of_inputs_is_that_of_feed_list():
    test, _, loss, _ = network()
    model = onnx.load_from_string(saved(test, [loss], ["label", "image"]))
    assert [v.name for v in model.graph.input] == ["label", "image"]


def test_programs_that_train_are_refused_with_the_way_out(tmp_path):
    _, logits, loss, _ = network()
    train = sl.default_main_program()
    path = tmp_path / "net.onnx"
    with pytest.raises(sl.SluiceError, match=r"clone\(for_test=True\)"):
        sl.onnx.save(train, path, [logits])
    weight = train.all_parameters()[0].name
    with pytest.raises(sl.InvalidArgumentError, match="an optimizer's op"):
        sl.onnx.save(train, path, [weight])
    with pytest.raises(sl.InvalidArgumentError, match="a gradient op"):
        sl.onnx.save(train, path, [f"{loss.name}@GRAD"])
    assert not list(tmp_path.iterdir())


def test_prune_keeps_what_the_fetches_need():
    test, logits, _, exe = network()
    pruned = test.prune([logits])
    assert not pruned.has_var("label")
    assert len(pruned.ops) < len(test.ops)
    image = np.ones((2, 1, 8, 8), "float32")
    (got,) = exe.run(pruned, {"image": image}, [logits.name])
    (expected,) = exe.run(test, {"image": image}, [logits])
    np.testing.assert_array_equal(got, expected)
    with pytest.raises(sl.NotFoundError, match="no variable"):
        test.prune(["never"])


def test_refused_ops_are_listed_with_their_lines(tmp_path):
    x = sl.data("x", [3])
    y = sl.layers.atan2(x, x)
    noise = sl.layers.uniform_random([3])
    with pytest.raises(sl.UnimplementedError) as error:
        sl.onnx.save(sl.default_main_program(), tmp_path / "x", [y, noise])
    text = str(error.value)
    assert "2 of 2 ops" in text
    assert text.count("test_onnx_save.py") == 2
    assert not list(tmp_path.iterdir())


def digits_feed(count=40):
    import digits_data

    images, labels = digits_data.load()
    return {"image": images[:count], "label": labels[:count]}


@pytest.mark.parametrize("name", ["lenet", "maxout"])
def test_networks_of_train_digits_give_the_same(name):
    import train_digits

    built = train_digits.build(getattr(train_digits, name), 1, 0.1)
    scope = sl.Scope()
    sl.Executor().run(built.startup, scope=scope)
    fetch_list = [built.loss, built.logits]
    assert_round_trip(built.test, digits_feed(), fetch_list, scope)


def test_the_network_of_tune_lenet_gives_the_same():
    job = lab.load("lenet", 4)
    test = job.program.clone(for_test=True)
    assert_round_trip(test, job.feed, job.fetch_list, job.scope)


def test_the_program_of_kmeans_gives_the_same():
    points, centroids = (sl.data(n, [None, 2]) for n in ("points", "centroids"))
    distance = sl.layers.manhattan_distance(points, centroids)
    best, index = sl.layers.top_k(distance, k=1, largest=False)
    places = np.random.default_rng(1).random((50, 2), "float32")
    feed = {"points": places, "centroids": places[:5]}
    assert_round_trip(sl.default_main_program(), feed, [best, index])


def test_of_crf_tagging_the_emissions_are_a_model():
    import crf_tagging

    _, startup, tagging, scores, _, path = crf_tagging.build()
    sl.Executor().run(startup)
    images = digits_feed(24)["image"].reshape(2, 12, 64)
    assert_round_trip(tagging, {"image": images}, [scores.name])
    with pytest.raises(sl.UnimplementedError, match="up to their emissions"):
        saved(tagging, [path])


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_models_are_saved_as_they_were_loaded(name, rng, tmp_path):
    model = sl.onnx.load(LIGHT / f"light_{name}.onnx")
    path = tmp_path / "again.onnx"
    model.save(path, external_data=True)
    again = sl.onnx.load(path)
    assert again.inputs == model.inputs
    assert again.outputs == model.outputs
    (value,) = model.inputs
    feed = {value.name: rng.standard_normal(value.shape).astype("float32")}
    (expected,), (got,) = model.run(feed), again.run(feed)
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    assert path.stat().st_size < (tmp_path / "again.onnx.data").stat().st_size
    onnx.checker.check_model(path, full_check=True)


def test_names_of_sizes_are_saved(tmp_path):
    x, y = sl.data("x", [None, 4]), sl.data("y", [None, None])
    product = sl.layers.matmul(y, x)
    names = {"x": ["rows", None], "y": (None, "rows")}
    bytes_ = saved(sl.default_main_program(), [product], size_names=names)
    model = sl.onnx.load(bytes_)
    assert [v.shape for v in model.inputs] == [("rows", 4), ("y_0", "rows")]
    model.save(tmp_path / "again.onnx")
    assert sl.onnx.load(tmp_path / "again.onnx").inputs == model.inputs


def test_nodes_say_what_was_measured(rng):
    x = sl.data("x", [64, 64])
    y = sl.layers.softmax(sl.layers.fc(x, 32))
    program, exe = sl.default_main_program(), sl.Executor()
    exe.run(sl.default_startup_program())
    feed = {"x": rng.standard_normal((64, 64)).astype("float32")}
    with pytest.raises(sl.FailedPreconditionError):
        saved(program, [y], executor=exe)
    sl.tune(program, feed, [y], 2)
    exe.run(program, feed, [y])
    message = onnx.load_from_string(
        saved(program, [y], executor=exe, properties={"author": "somebody"})
    )
    onnx.checker.check_model(message)
    model = properties_of(message)
    assert model["author"] == "somebody"
    assert model["sluice.threads"] == str(sl.num_threads())
    assert model["sluice.machine"]
    nodes = [properties_of(node) for node in message.graph.node]
    assert all("/" in node["sluice.kernel"] for node in nodes)
    times = [float(n.get("sluice.measured_microseconds", 0)) for n in nodes]
    assert max(times) > 0


def test_wrong_arguments_are_named(tmp_path):
    test, logits, _, _ = network()
    path = tmp_path / "net.onnx"
    for arguments, options, words in [
        (["q"], {}, "no variable q"),
        (logits, {}, "fetch_list must be a list"),
        ([logits], {"feed_list": ["label"]}, "computed from image"),
        ([logits], {"feed_list": ["image", logits]}, "cannot be an input"),
        ([logits, logits], {}, "twice"),
        ([logits], {"opset": 7}, "opset 7"),
        ([logits], {"opset": "new"}, "opset: expected an int"),
        ([logits], {"properties": ["a"]}, "properties must be a dict"),
        ([logits], {"properties": {"a": 1}}, "a value of properties"),
        ([logits], {"size_names": 3}, "size_names must be a dict"),
        ([logits], {"size_names": {"image": ["n"]}}, "image has 4 dims"),
        ([logits], {"name": 3}, "name: expected"),
        ([logits], {"scope": sl.Scope()}, "start-up program"),
        ([logits], {"scope": "all"}, "scope"),
    ]:
        with pytest.raises(sl.SluiceError, match=words):
            sl.onnx.save(test, path, arguments, **options)
    for path in (None, 3, "a\0b"):
        with pytest.raises(sl.InvalidArgumentError, match=r"path|zero byte"):
            sl.onnx.save(test, path, [logits])
    with pytest.raises(sl.InvalidArgumentError, match="beside which"):
        sl.onnx.save(test, io.BytesIO(), [logits], external_data=True)
    with pytest.raises(sl.NotFoundError, match="cannot create"):
        sl.onnx.save(test, tmp_path / "none" / "net.onnx", [logits])
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("what", ["model", "program", "parameters"])
def test_ctrl_c_ends_a_save_that_waits_for_another_process(tmp_path, what):
    test, logits, _, _ = network()
    path = tmp_path / "file"
    path.write_bytes(b"old")
    temporary = tmp_path / "file.saving"
    with temporary.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with interrupted(0.2):
            if what == "model":
                sl.onnx.save(test, path, [logits])
            elif what == "program":
                sl.io.save_program(test, path)
            else:
                sl.io.save_params(path, test)
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("what", ["onnx", "onnxruntime"])
def test_models_that_were_saved_twice_are_read_by_others(tmp_path, what):
    pytest.importorskip(what)
    x = sl.data("x", [None, 64])
    weights = np.ones((64, 64), "f4")
    w = sl.default_main_program().persistable("w", [64, 64])
    y = sl.layers.matmul(x, w)
    path = tmp_path / "net.onnx"
    feed = {"x": np.ones((1, 64), "f4")}
    for times in (1, 2, 3):
        sl.global_scope()["w"] = times * weights
        sl.onnx.save(
            sl.default_main_program(), path, [y], external_data=True
        )
        if what == "onnx":
            onnx.checker.check_model(path)
            (got,) = ReferenceEvaluator(onnx.load(path)).run(None, feed)
        else:
            (got,) = by_onnxruntime(path, feed)
        np.testing.assert_array_equal(got, np.full((1, 64), 64 * times))
        assert len(os.listdir(tmp_path)) == 2


def computed(program, op, inputs, attrs=None):
    return next(iter(program.append_op(op, inputs, attrs=attrs).values()))


def ints(program, *values):
    attrs = {"shape": [len(values)], "dtype": "int64", "values": []}
    return computed(
        program, "assign_value", {}, {**attrs, "int_values": list(values)}
    )


def test_operands_that_are_computed_stay_computed(rng):
    program = sl.default_main_program()
    x = sl.data("x", [None, None])
    shape = computed(program, "shape", {"X": x})
    two = ints(program, 2)
    double = computed(program, "elementwise_mul", {"X": shape, "Y": two})
    rows = computed(
        program, "slice", {"X": shape}, {"starts": [0], "ends": [1]}
    )
    narrow = computed(program, "cast", {"X": rows}, {"dtype": "int32"})
    pads = computed(
        program, "concat", {"X": [two, two, rows, rows]}, {"axis": 0}
    )
    least = computed(
        program,
        "fill_constant",
        {"Shape": two},
        {"value": -0.5, "dtype": "float32"},
    )
    least = computed(
        program, "slice", {"X": least}, {"starts": [0], "ends": [1]}
    )
    swap = ints(program, 1, 0)
    turned = computed(program, "gather", {"X": shape, "Index": swap})
    fetch_list = [
        computed(program, "resize", {"X": x, "Sizes": double}),
        computed(program, "tile", {"X": x, "Repeats": shape}),
        computed(program, "pad", {"X": x, "Pads": pads}),
        computed(program, "slice", {"X": x, "Starts": narrow, "Ends": narrow}),
        computed(program, "clip", {"X": x, "Min": least}, {"max": 0.25}),
        computed(program, "range", {"End": rows}),
        *program.append_op("top_k", {"X": x, "K": rows}).values(),
        computed(program, "reshape", {"X": x, "Shape": turned}),
        computed(program, "trilu", {"X": x, "K": ints(program, 1)}),
        computed(
            program,
            "reduce_sum",
            {"X": x, "Dim": ints(program, -1)},
            {"keep_dim": True},
        ),
        computed(program, "cumsum", {"X": x, "Axis": ints(program, 0)}),
    ]
    feed = {"x": rng.standard_normal((2, 5)).astype("float32")}
    assert_round_trip(program, feed, fetch_list)


def test_inputs_and_parameters_may_be_outputs():
    x = sl.data("x", [2])
    y = sl.layers.fc(sl.layers.reshape(x, shape=[1, 2]), 3)
    sl.Executor().run(sl.default_startup_program())
    program = sl.default_main_program()
    weight = program.all_parameters()[0]
    feed = {"x": np.ones(2, "float32")}
    assert_round_trip(program, feed, [y, x, weight])
