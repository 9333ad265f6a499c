import inspect
import os

import numpy as np
import pytest
from processes import python

import sluice as sl
from sluice.layers import generate, ops, rows


@pytest.mark.parametrize("op", ops.names())
def test_every_op_has_a_function_with_a_signature(op):
    function = getattr(ops, op)
    parameters = inspect.signature(function).parameters
    schema = ops.schema(op)
    count = len(schema["inputs"]) + len(schema["attributes"])
    assert len(parameters) == count + 2
    for argument in schema["inputs"]:
        assert argument["doc"].split()[0] in function.__doc__
    stub = generate.function_source(schema, stub=True)
    compile("from __future__ import annotations\n" + stub, op, "exec")


# As Fluid has them.
ROWS = {
    "cosine_decay": "learning_rate, step_each_epoch, epochs, dtype='float32'",
    **dict.fromkeys(
        ("exponential_decay", "inverse_time_decay", "natural_exp_decay"),
        "learning_rate, decay_steps, decay_rate, staircase=False, dtype='float32'",
    ),
    "noam_decay": "d_model, warmup_steps, learning_rate=1.0, dtype='float32'",
    "piecewise_decay": "boundaries, values, dtype='float32'",
    "polynomial_decay": "learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False, dtype='float32'",
    "sequence_enumerate": "input, win_size, pad_value=0, name=None",
    "sequence_erase": "input, tokens, name=None",
    "sequence_expand_as": "x, y, name=None",
    "sequence_reshape": "input, new_dim, name=None",
    "sequence_reverse": "x, name=None",
    "sequence_scatter": "input, index, updates, name=None",
    "sequence_slice": "input, offset, length, name=None",
    "sequence_softmax": "input, use_cudnn=False, name=None",
    "sequence_unpad": "x, length, name=None", "expand_as": "x, target_tensor, name=None",
}


@pytest.mark.parametrize("name", rows.ROWS)
def test_a_layer_of_one_op_has_the_arguments_of_fluid(name):
    function, row = getattr(sl.layers, name), rows.ROWS[name]
    parameters = inspect.signature(function).parameters.values()
    assert ", ".join(p.name + f"={p.default!r}" * (p.default is not p.empty) for p in parameters) == ROWS[name]
    for parameter in parameters:
        # Python 3.13 takes the indentation of the function away.
        assert f"\n    {parameter.name}" in inspect.cleandoc(function.__doc__)
    for of in set(row.inputs.values()) - set(row.inputs):
        assert of not in function.__doc__.split()
    stub = generate.stub_source([ops.schema(name)], {name: row})
    assert ops.schema(name)["doc"].split()[1] in stub and f"def {name}(" in stub
    compile(stub, name, "exec")


def test_functions_with_several_outputs_return_named_tuples(exe):
    x = sl.data("x", [None, 4])
    found = sl.layers.top_k(x, k=2, name="best")
    assert found.out.name == "best.Out"
    _, indices = exe.run(feed={"x": [[1, 4, 3, 2]]}, fetch_list=list(found))
    np.testing.assert_array_equal(indices, [[1, 2]])


def test_an_unknown_layer_lists_near_names():
    with pytest.raises(AttributeError, match="did you mean .*reduce_sum"):
        sl.layers.reduce_sums  # noqa: B018
    assert "scale" in dir(sl.layers)
    with pytest.raises(AttributeError) as error:
        sl.layers.nothing_like_it  # noqa: B018
    assert str(error.value) == (
        "there is no op or layer 'nothing_like_it' (operators of your own "
        "library: call sl.load_op_library first)"
    )


def test_gradient_ops_are_no_layers():
    missing = {"relu_grad", "conv2d_grad_input", "linear_chain_crf_grad"}
    assert missing <= set(sl._core._op_names())
    assert not missing & {*dir(sl.layers), *ops.names()}
    with pytest.raises(AttributeError, match="no op or layer 'relu_grad'"):
        sl.layers.relu_grad  # noqa: B018
    # Users never append these, whatever their names are.
    left = [op for op in sl._core._op_names() if "_grad" in op]
    assert not set(left) & set(ops.names())


def distance(**hint):
    x, y = sl.data("x", [None, 4]), sl.data("y", [None, 4])
    feed = {"x": np.ones((2, 4), "f4"), "y": np.zeros((3, 4), "f4")}
    return sl.layers.manhattan_distance(x, y, **hint), feed


def test_hints_choose_the_kernel(exe):
    d, feed = distance(hint="require variant=plain")
    exe.run(feed=feed, fetch_list=[d])
    assert "hint requires variant=plain" in exe.explain()


def test_hints_hold_for_a_block(exe):
    d, feed = distance()

    def variant():
        exe.run(feed=feed, fetch_list=[d])
        return " plain " in exe.explain()

    outer = variant()
    with sl.kernel_hints("manhattan_distance: prefer variant=plain"):
        assert variant()
        with sl.kernel_hints("manhattan_distance: prefer variant=blocked"):
            assert "blocked" in exe.prepare(feed=feed, fetch_list=[d]).explain()
    assert variant() == outer
    assert exe.cached_plans == 3
    with pytest.raises(sl.InvalidArgumentError, match="nonsense"):
        sl.kernel_hints("nonsense")


def test_hints_survive_generators_that_are_closed_in_any_order(exe):
    x = sl.data("x", [None, 4])
    z = sl.layers.scale(x, 2.0)

    def inside(text):
        with sl.kernel_hints(text):
            yield

    first = inside("scale: require variant=none_such")
    second = inside("scale: prefer library=PLAIN")
    next(first), next(second)
    first.close()
    exe.run(feed={"x": [[1, 1, 1, 1]]}, fetch_list=[z])
    second.close()
    third = inside("scale: require variant=none_such")
    next(third)
    with pytest.raises(sl.SluiceError, match="none_such"):
        exe.run(feed={"x": [[1, 1, 1, 1]]}, fetch_list=[z])
    del third
    exe.run(feed={"x": [[1, 1, 1, 1]]}, fetch_list=[z])


def test_kernels_lists_what_is_registered():
    kernel = sl.kernels("scale")[0]
    assert kernel.op == "scale"
    assert kernel.library == "PLAIN"
    assert len(sl.kernels()) > 20
    with pytest.raises(sl.NotFoundError, match="did you mean scale"):
        sl.kernels("scal")


def test_kernels_lists_libraries_before_the_first_run():
    code = (
        "import sluice as sl\n"
        "listed = sl.kernels('softmax')\n"
        "sl.run_op('softmax', {'X': [[1.0]]})\n"
        "assert listed == sl.kernels('softmax'), listed\n"
    )
    python("-c", code, check=True)


def test_run_op_runs_one_op():
    out = sl.run_op("scale", {"X": [1.0, 2.0]}, {"scale": 3.0})
    np.testing.assert_array_equal(out["Out"], [3.0, 6.0])
    out = sl.run_op("sum", {"X": [np.ones(2), np.ones(2)]})
    np.testing.assert_array_equal(out["Out"], [2.0, 2.0])
    with pytest.raises(sl.SluiceError):
        sl.run_op("scale", {})


def test_compare_says_where_two_ways_part():
    d, feed = distance()
    ways = (f"manhattan_distance: require variant={v}" for v in ("plain", "blocked"))
    result = sl.compare(d.program, feed, *ways)
    assert result
    assert result.ops[0].kernel_a != result.ops[0].kernel_b
    assert "manhattan_distance" in str(result)


def test_compare_takes_rounding_of_long_sums_for_no_difference(rng):
    sl.layers.manhattan_distance(sl.data("x", [64, 2000]), sl.data("y", [10, 2000]))
    feed = {name: rng.normal(size=(n, 2000)).astype("f4") for name, n in (("x", 64), ("y", 10))}
    program = sl.default_main_program()
    plain, other = (f"manhattan_distance: require variant={v}" for v in ("plain", "blocked"))
    assert sl.compare(program, feed, plain, other, budget=0.1)
    assert not sl.compare(program, feed, plain, other, rtol=1e-9, atol=1e-9, budget=0.1)


def test_parameters_are_shared_by_name():
    x = sl.data("x", [None, 4])
    constant = sl.initializer.Constant(0.5)
    attr = sl.ParamAttr(name="shared", initializer=constant)
    sl.layers.fc(x, 3, param_attr=attr, bias_attr=False)
    sl.layers.fc(x, 3, param_attr=attr, bias_attr=False)
    names = [v.name for v in sl.default_main_program().all_parameters()]
    assert names == ["shared"]
    assert len(sl.default_startup_program().ops) == 1
    with pytest.raises(sl.InvalidArgumentError, match="shared"):
        sl.layers.fc(x, 5, param_attr=attr)


def test_fc_wants_the_startup_program_first(exe):
    x = sl.data("z", [None, 3])
    y = sl.layers.fc(x, 2, param_attr=sl.initializer.Constant(1.0))
    with pytest.raises(sl.FailedPreconditionError, match="startup"):
        exe.run(feed={"z": [[1, 1, 1]]}, fetch_list=[y])
    exe.run(sl.default_startup_program())
    (value,) = exe.run(feed={"z": [[1, 2, 3]]}, fetch_list=[y])
    np.testing.assert_array_equal(value, [[6, 6]])


def test_config():
    config = sl.show_config("dicts")
    assert config["version"] == sl.__version__
    assert "cpu" in config["places"]
    loaded = {place.split(":")[0] for place in config["places"]}
    there = loaded | set(config["loaded_when_used"])
    assert not loaded & set(config["loaded_when_used"])
    assert "cuda" in there or "cuda" not in config["modules"]
    assert all(sl.device_count(kind) >= 0 for kind in config["loaded_when_used"])
    assert "cuda" not in sl.show_config("dicts")["loaded_when_used"] or not sl.device_count("cuda")
    assert set(config["modules"]) <= {"onednn", "cuda"}
    assert all(count >= 0 for count in sl.counters().values())


def test_threads():
    before = sl.num_threads()
    sl.set_num_threads(1)
    assert sl.num_threads() == 1
    sl.set_num_threads(0)
    assert sl.num_threads() == before
    with pytest.raises(sl.InvalidArgumentError):
        sl.set_num_threads(-1)


def test_libraries_that_are_none(tmp_path):
    path = tmp_path / "libnone.so"
    with pytest.raises(sl.NotFoundError):
        sl.load_op_library(path)
    path.write_bytes(b"text")
    with pytest.raises(sl.InvalidArgumentError):
        sl.load_op_library(path)
    with pytest.raises(sl.SluiceError):
        sl.load_device_plugin(str(path))


def test_pool3d_is_a_layer_as_pool2d_is(exe, rng):
    x = sl.data("x", [None, 2, 4, 4, 6])
    largest = sl.layers.pool3d(x, name="largest")
    mean = sl.layers.pool3d(x, (1, 2, 3), "avg", pool_stride=(2, 2, 1), pool_padding=(0, 1, 0))
    wide = sl.layers.pool3d(x, (1, 1, 2), dilation=(1, 1, 3), pool_stride=1)
    assert largest.name == "largest"
    shapes = [y.shape for y in (largest, mean, wide)]
    assert shapes == [(None, 2, 2, 2, 3), (None, 2, 2, 3, 4), (None, 2, 4, 4, 3)]
    array = rng.random((3, 2, 4, 4, 6), "f4")
    one, two, three = exe.run(feed={"x": array}, fetch_list=[largest, mean, wide])
    blocks = array.reshape(3, 2, 2, 2, 2, 2, 3, 2).max((3, 5, 7))
    np.testing.assert_array_equal(one, blocks)
    middle = array[:, :, ::2, 1:3]
    windows = np.stack([middle[..., i : i + 3].mean((3, 4)) for i in range(4)], -1)
    np.testing.assert_allclose(two[:, :, :, 1], windows, rtol=1e-5)
    np.testing.assert_array_equal(three, np.maximum(array[..., :3], array[..., 3:]))


def test_a_library_adds_its_layers(exe):
    path = os.environ.get("TEST_OP_LIBRARY")
    if not path or not os.path.exists(path):
        pytest.skip("TEST_OP_LIBRARY is not built")
    assert sl.load_op_library(path) == ["steep_relu"]
    assert "slope" in inspect.signature(sl.layers.steep_relu).parameters
    x = sl.data("x", [None, 2])
    y = sl.layers.steep_relu(x, slope=0.5)
    (value,) = exe.run(feed={"x": [[-2, 3]]}, fetch_list=[y])
    np.testing.assert_array_equal(value, [[-1, 3]])
    assert sl.load_op_library(path) == []


@pytest.mark.parametrize("padding_idx", [2, -1])
def test_an_embedding_gives_zeros_for_a_row_counted_from_the_end(
    exe, padding_idx
):
    ids = sl.data("ids", [None, 1], "int64")
    ones = sl.initializer.Constant(1.0)
    y = sl.layers.embedding(ids, [3, 2], padding_idx, param_attr=ones)
    exe.run(sl.default_startup_program())
    (rows,) = exe.run(feed={"ids": [[0], [2]]}, fetch_list=[y])
    np.testing.assert_array_equal(rows, [[1, 1], [0, 0]])
