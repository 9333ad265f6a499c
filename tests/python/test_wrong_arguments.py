"""Invalid arguments raise an error of Sluice that shows the value."""

import os

import numpy as np
import pytest
import refusals
from processes import python

import sluice as sl

SURROGATE = "a\ud800b"
LINE = "test_wrong_arguments.py:"


def program():
    sl.data("x", [None, 3])
    return sl.default_main_program()


def run(feed=None, fetch=("x",), **more):
    return sl.Executor().run(program(), feed, list(fetch), **more)


def append(type="relu", inputs=None, **more):
    return program().append_op(type, {"X": "x"} if inputs is None else inputs, **more)


def loss():
    return sl.layers.mean(sl.layers.fc(sl.data("y", [None, 3]), 2))


# Calls, and their messages.
TEXT = [
    (lambda: sl.data(SURROGATE, [3]), "data: name"),
    (lambda: run({SURROGATE: 1}), "feed: a key"),
    (lambda: run({}, [SURROGATE]), "fetch_list"),
    (lambda: append(SURROGATE), "type of an op"),
    (lambda: append(inputs={SURROGATE: "x"}), "relu: the name"),
    (lambda: append(inputs={"X": SURROGATE}), "relu: argument X"),
    (lambda: append(attrs={SURROGATE: 1}), "relu: the name"),
    (lambda: append("pool2d", attrs={"pooling_type": SURROGATE}),
     "pool2d: attribute pooling_type"),
    (lambda: append(hint=SURROGATE), "relu: hint"),
    (lambda: sl.kernel_hints(SURROGATE), "kernel_hints"),
    (lambda: sl.Executor(SURROGATE), "place"),
    (lambda: sl.data("x", [3], SURROGATE), "data x: dtype"),
    (lambda: sl.global_scope()[SURROGATE], "scope"),
    (lambda: sl.global_scope().set(SURROGATE, 1.0), "scope"),
    (lambda: SURROGATE in sl.global_scope(), "scope"),
    (lambda: sl.global_scope().erase(SURROGATE), "scope"),
    (lambda: program().has_var(SURROGATE), "variable"),
    (lambda: program().var(SURROGATE), "variable"),
    (lambda: sl.run_op(SURROGATE, {}), "type of an op"),
    (lambda: sl.kernels(SURROGATE), "type of an op"),
    (lambda: sl.device_count(SURROGATE), "device_count"),
    (lambda: sl.CustomPlace(SURROGATE), "CustomPlace"),
]  # fmt: skip


test_lone_surrogates = refusals.rows(
    [(*row, r"a\ud800b") for row in TEXT], line=False
)


CALLS = [
    (lambda: run({5: 1}), "feed: a key", "got 5 (int)"),
    (lambda: run({None: 1}), "a key", "None (NoneType)"),
    (lambda: run([1]), "feed", "dict", "[1] (list)"),
    (lambda: run({}, [5]), "fetch_list", "5 (int)"),
    (lambda: sl.Executor().run(program(), {}, "x"),
     "fetch_list", "list", "'x' (str)"),
    (lambda: sl.Executor().run({"x": 1}, program()),
     "run: program", "a sluice.Program", "(dict)"),
    (lambda: run({}, [], scope=5), "run: scope", "sluice.Scope"),
    (lambda: append(inputs=5), "relu: inputs", "dict", "5 (int)"),
    (lambda: append(5), "type of an op", "text", "5 (int)"),
    (lambda: append(attrs=5), "relu: attrs", "dict", "5 (int)"),
    (lambda: append(outputs=5), "relu: outputs", "5 (int)"),
    (lambda: append(hint=5), "relu: hint", "text", "5 (int)"),
    (lambda: append(inputs={5: "x"}), "relu", "5 (int)"),
    (lambda: append(attrs={5: 1}), "relu", "5 (int)"),
    (lambda: program().append_op("scale", {"X": "x"}, {"scal": 2.0}),
     "scale: argument scal", "2.0 (float)", "test_wrong_arguments.py:"),
    (lambda: sl.append_backward(5), "append_backward", "5 (int)"),
    (lambda: sl.append_backward(None), "append_backward"),
    (lambda: sl.append_backward(loss(), 5),
     "append_backward: parameter_list", "list", "5 (int)"),
    (lambda: sl.set_num_threads(2**31),
     "set_num_threads: count", "32 bits", "2147483648 (int)"),
    (lambda: sl.set_num_threads(1.5), "1.5 (float)"),
    (lambda: sl.set_num_threads(True), "True (bool)"),
    (lambda: sl.CUDAPlace("0"), "place: index", "'0' (str)"),
    (lambda: sl.data(5, [3]), "data: name", "5 (int)"),
    (lambda: sl.data("x", [3], "float7"), "data x: dtype", "float7", "float32"),
    (lambda: sl.layers.cast(sl.data("c", [3]), "float7"),
     "cast: attribute", "float7"),
    (lambda: sl.layers.cast(sl.data("c", [3]), [5]),
     "cast: attribute", "[5] (list)"),
    (lambda: sl.data("x", [2**64]), "data x", "18446744073709551616"),
    (lambda: sl.data("x", None), "data x", "[None, 10]", "None (NoneType)"),
    (lambda: sl.data(None, [3]), "data: name", "None"),
    (lambda: sl.data("x", [3], None),
     "data x", "expected a dtype", "None (NoneType)"),
    (lambda: append(None), "type of an op", "None (NoneType)"),
    (lambda: program().var(None), "variable", "None (NoneType)"),
    (lambda: sl.io.load_program(5), "path", "5 (int)"),
    (lambda: sl.io.save_program("net", sl.Program()),
     "save_program: program: expected a sluice.Program", "'net'"),
    (lambda: sl.io.load_program("/tmp/cut\0off"), "path without zero bytes"),
    (lambda: sl.io.save_params("/tmp/cut\0off"), "path without zero bytes"),
    (lambda: sl.load_device_plugin("/tmp/cut\0off"), "path without zero bytes"),
    (lambda: sl.optimizer.SGD("0.1"),
     "sgd: learning_rate", "number", "'0.1' (str)"),
    (lambda: sl.layers.pool3d(sl.data("x", [1, 1, 4, 4, 4]), 2.5),
     "pool3d: pool_size", "[depth, height, width]", "got 2.5"),
    (lambda: sl.layers.pool3d(sl.data("x", [1, 1, 4, 4])), "pool3d", "rank 5"),
    (lambda: sl.optimizer.Momentum(-0.1),
     "momentum: learning_rate must be at least 0", "-0.1"),
    (lambda: sl.initializer.Xavier(fan_in=-1),
     "Xavier: fan_in: expected an integer above 0", "got -1"),
    (lambda: sl.initializer.Xavier(fan_out=-2),
     "Xavier: fan_out: expected an integer above 0", "got -2"),
    (lambda: sl.initializer.MSRA(fan_in="8"),
     "MSRA: fan_in: expected an integer above 0", "'8'"),
    (lambda: sl.optimizer.SGD(None), "learning_rate", "None"),
    (lambda: sl.optimizer.SGD(True), "learning_rate", "True"),
    (lambda: sl.optimizer.SGD(float("nan")), "learning_rate", "finite", "nan"),
    (lambda: sl.optimizer.Momentum(0.1, "0.9"),
     "momentum: momentum", "'0.9' (str)"),
    (lambda: sl.optimizer.Adam(beta1="0.9"), "adam: beta1", "'0.9' (str)"),
    (lambda: sl.layers.fc(rows(), 2, param_attr=sl.initializer.Constant("1")),
     "value", "number", "'1' (str)"),
    (lambda: sl.layers.fc(rows(), "3"),
     "fc: size", "integer above 0", "'3' (str)", LINE),
    (lambda: sl.layers.fc(rows(), 10.0),
     "fc: size", "integer above 0", "10.0 (float)"),
    (lambda: sl.layers.fc(rows(), 0), "fc: size", "above 0"),
    (lambda: sl.layers.fc(sl.data("x", [None, None]), 3),
     "needs a shape that is known", "[None, 3]", LINE),
    (lambda: sl.layers.fc(sl.data("x", [1, None, 5]), 3),
     "[None, 3]", "num_flatten_dims=-1", "sl.layers.reshape", LINE),
    (lambda: sl.layers.fc(sl.data("x", [None]), 3), "num_flatten_dims"),
    (lambda: sl.layers.fc([rows(), np.ones([2, 3])], 3),
     "fc: input[1]: expected a variable", "(ndarray)", "sl.data(", LINE),
    (lambda: sl.layers.fc(np.ones([2, 3]), 3),
     "fc: input: expected a variable", "(ndarray)", "sl.data(", LINE),
    (lambda: sl.layers.fc("rows", 3),
     "fc: input: expected a variable", "program.var(name)"),
    (lambda: sl.layers.relu(np.ones([2, 3])),
     "relu: argument X: expected a variable", "sl.data("),
    (lambda: sl.layers.softmax_with_cross_entropy(np.ones([2, 3]), rows()),
     "softmax_with_cross_entropy: logits", "sl.data("),
    (lambda: sl.layers.cond(True, rows, rows),
     "cond: pred: expected a variable", "True (bool)"),
    (lambda: sl.layers.conv2d(image(), 4, 3, padding="SAME"),
     "conv2d: padding", "integer or [height, width]", "'SAME'", "// 2"),
    (lambda: sl.layers.conv2d(image(), 4, 3, stride=(1, 1.5)),
     "conv2d: stride", "(1, 1.5) (tuple)", LINE),
    (lambda: sl.layers.pool2d(image(), None),
     "pool2d: pool_size", "None (NoneType)"),
    (lambda: sl.layers.batch_norm(sl.data("flat", [3])),
     "batch_norm: input must have rank 2 or more", "flat", LINE),
    (lambda: sl.layers.conv2d(image(), 4, 3, groups=0),
     "conv2d: groups", "integer above 0", "0 (int)"),
    (lambda: sl.layers.conv2d(image(), 4, 3, groups=2), "groups"),
    (lambda: sl.layers.conv2d(rows(), 4, 3), "rank 4"),
    (lambda: sl.layers.conv3d(image(), 4, 3), "conv3d", "rank 5"),
    (lambda: sl.layers.conv3d(volume(), 4, 3, groups=2),
     "conv3d", "3 input chan"),
    (lambda: sl.layers.conv3d(volume(), 4, 3, padding="SAME"),
     "conv3d", "depth, height, width"),
    (lambda: sl.layers.fc(rows(), 3, param_attr=5),
     "param_attr", "a ParamAttr", "5 (int)", LINE),
    (lambda: sl.layers.embedding(sl.data("i", [3], "int64"), 5),
     "embedding: size", "[rows, columns]", "5 (int)"),
    (lambda: sl.layers.embedding(sl.data("i", [3], "int64"), [5, 2], 5),
     "embedding: padding_idx", "from -5 to 4", "5 (int)"),
    (lambda: sl.layers.embedding(sl.data("i", [3], "int64"), [5, 2], -6),
     "embedding: padding_idx", "from -5 to 4", "-6 (int)"),
]  # fmt: skip


def rows():
    return sl.data("rows", [None, 3])


def image():
    return sl.data("image", [None, 3, 8, 8])


def volume():
    return sl.data("volume", [None, 3, 8, 8, 8])


test_a_wrong_argument_is_named_with_what_came = refusals.rows(CALLS, line=False)


def test_numbers_of_numpy_are_numbers():
    sl.optimizer.SGD(np.float32(0.1))
    sl.optimizer.Adam(np.array(0.1), beta1=np.float64(0.5))
    sl.layers.fc(rows(), np.int64(3))
    before = sl.num_threads()
    sl.set_num_threads(np.int32(1))
    assert sl.num_threads() == 1
    sl.set_num_threads(before)


def fed(value, dtype):
    x = sl.data("x", None if dtype is None else [None, 2], dtype)
    return sl.Executor().run(feed={"x": value}, fetch_list=[x])[0]


REFUSED = [
    ([[None, 1]], "float32", "None at [0, 0]"),
    (None, "float32", "None"),
    ([[1, 1.5]], "int64", "1.5 at [0, 1]"),
    ([[1, float("nan")]], "int64", "nan at [0, 1]"),
    ([[1, float("inf")]], "int32", "inf at [0, 1]"),
    ([[300, 1]], "int8", "300 at [0, 0]"),
    ([[1, -1]], "uint8", "-1 at [0, 1]"),
    ([[2**31, 1]], "int32", "2147483648"),
    ([[2**63, 1]], "int64", "9.22"),
    ([[2**70, 1]], "int64", "1180591620717411303424"),
    ([[2.0**63, 1]], "int64", "at [0, 0]"),
    ([[2, 1]], "bool", "2 at [0, 0]"),
    ([[1e300, 1]], "float32", "1e+300 at [0, 0]"),
    ([[70000, 1]], "float16", "70000 at [0, 0]"),
    ([["1.5", "2"]], "float32", "'1.5' at [0, 0]"),
    ([[1j, 1]], "float32", "1j"),
    ([[1], [1, 2]], "float32", "with a sequence"),
    (np.ma.masked_equal(np.float32([[1, 2]]), 2), "float32", "fill them"),
]


def test_masked_arrays_are_refused_wherever_numbers_are_taken():
    masked = np.ma.masked_equal(np.float32([1, 2]), 2)
    for take in (
        sl.Tensor,
        sl.initializer.NumpyArray,
        lambda x: sl.Scope().__setitem__("x", x),
        lambda x: sl.io.default_collate([x]),
        lambda x: sl.run_op("relu", {"X": x}),
        sl.fluid.layers.assign,
    ):
        with pytest.raises(sl.InvalidArgumentError, match="filled"):
            take(masked)
        take(np.ma.masked_array(masked.data))


@pytest.mark.parametrize("value, dtype, words", REFUSED)
def test_a_list_that_would_lose_something_is_refused(value, dtype, words):
    with pytest.raises(sl.InvalidArgumentError, match="feed x") as error:
        fed(value, dtype)
    print(error.value)
    assert words in str(error.value)


TAKEN = [
    ([[1.0, 2.0]], "int64", [[1, 2]]),
    ([[-128, 127]], "int8", [[-128, 127]]),
    ([[0, 255]], "uint8", [[0, 255]]),
    ([[2**63 - 1, -(2**63)]], "int64", [[2**63 - 1, -(2**63)]]),
    ([[True, False]], "float32", [[1, 0]]),
    ([[0, 1]], "bool", [[False, True]]),
    ([[1.0, 0.0]], "bool", [[True, False]]),
    ([[0.1, 2**24 + 1]], "float32", np.float32([[0.1, 2**24 + 1]])),
    ([[float("inf"), 1]], "float16", [[np.inf, 1]]),
    ([[2**70, 1]], "float32", np.float32([[2.0**70, 1]])),
    ([[1.5, 2]], "bfloat16", [[1.5, 2]]),
    ([np.array([1, 2], "i4")], "int64", [[1, 2]]),
    ([], "float32", np.zeros([0, 2])),
]


@pytest.mark.parametrize("value, dtype, want", TAKEN)
def test_a_list_that_loses_nothing_is_taken(value, dtype, want):
    if value == []:
        value = np.zeros([0, 2]).tolist() or np.zeros([0, 2], "f4")
    np.testing.assert_array_equal(
        np.asarray(fed(value, dtype), np.float64 if dtype == "bfloat16" else None),
        want,
    )


def test_an_empty_shape_that_numpy_cannot_have():
    for shape in ([0, 2**63 - 1], [2**40, 2**40, 0], [0, 2**62]):
        x = sl.layers.fill_constant(shape=shape, dtype="float32", value=1.0)
        with pytest.raises(sl.SluiceError) as error:
            sl.Executor().run(fetch_list=[x])
        assert str(shape[0]) in str(error.value)
    (tensor,) = sl.Executor().run(fetch_list=[x], return_numpy=False)
    assert tensor.shape == (0, 2**62)
    for look in (np.asarray, sl.Tensor.numpy, np.from_dlpack):
        with pytest.raises((sl.InvalidArgumentError, BufferError)):
            look(tensor)


def test_a_feed_without_room_says_so():
    huge = np.broadcast_to(np.float32(1), (2**45, 2))
    with pytest.raises(sl.ResourceExhaustedError, match="feed x") as error:
        fed(huge, "float32")
    assert "memory" in str(error.value)


def test_the_hint_of_a_feed_names_its_variable_and_dtype():
    sl.data("label", [None, 1], "int64")
    with pytest.raises(sl.InvalidArgumentError) as error:
        sl.Executor().run(
            feed={"label": np.zeros([2, 1], "i4")}, fetch_list=["label"]
        )
    assert "feed label must be int64, got int32" in str(error.value)
    assert "label.astype('int64')" in str(error.value)
    assert "test_wrong_arguments.py:" in str(error.value)


def test_an_unknown_feed_suggests_no_intermediate(exe):
    x = sl.data("x", [None, 3])
    y = sl.layers.relu(x)
    with pytest.raises(sl.NotFoundError) as error:
        exe.run(feed={"z": np.zeros([1, 3], "f4")}, fetch_list=[y])
    assert "there are x" in str(error.value)
    assert y.name not in str(error.value)


def test_a_variable_of_another_program_is_told_with_op_and_line():
    with sl.program_guard(sl.Program()):
        other = sl.data("z", [None, 3])
    with pytest.raises(sl.InvalidArgumentError) as error:
        append("elementwise_add", {"X": "x", "Y": other})
    for word in ("elementwise_add: argument Y", "another program", ".py:"):
        assert word in str(error.value)


def test_layers_append_to_the_program_of_their_inputs():
    with sl.program_guard(sl.Program()):
        other = sl.data("z", [None, 3])
    y = sl.layers.relu(other)
    assert y.program is other.program
    assert sl.default_main_program().ops == []


def test_a_misspelt_argument_of_a_layer_is_near_another():
    x = sl.data("x", [None, 3])
    with pytest.raises(sl.NotFoundError) as error:
        sl.layers.scale(x, scal=2.0)
    assert "scale: there is no argument scal (did you mean scale?); it has x, " in str(
        error.value
    )
    with pytest.raises(sl.NotFoundError) as error:
        sl.layers.relu(input=x)
    assert "there is no argument input (here x); it has x, name, hint\n" in str(
        error.value
    )
    assert "test_wrong_arguments.py:" in str(error.value)
    with pytest.raises(TypeError):
        sl.layers.scale()


def test_refused_text_is_cut_and_quoted():
    for call in (
        lambda text: sl.default_main_program().var(text),
        lambda text: sl.default_main_program().append_op(text),
        lambda text: sl.data("x", [3], text),
        lambda text: sl.Executor(text),
        lambda text: sl.kernel_hints(text),
        lambda text: sl.Executor().run(feed={text: 1}),
        lambda text: sl.global_scope()[text],
    ):
        with pytest.raises(sl.SluiceError) as error:
            call("x" * 10**6)
        assert len(str(error.value)) < 1000
        with pytest.raises(sl.SluiceError) as error:
            call("\x1b[31mred\0")
        assert "\x1b" not in str(error.value)
        assert r"\x1b[31m" in str(error.value)


class Strange:
    def __repr__(self):
        raise RuntimeError("no repr")


def test_an_object_without_a_repr_can_be_refused():
    with pytest.raises(sl.InvalidArgumentError, match="a Strange"):
        sl.Executor().run(feed={Strange(): 1})


def test_a_program_of_a_file_whose_name_is_no_utf8_keeps_its_lines(tmp_path):
    code = compile("y = relu(x)", "/tmp/\udcff.py", "exec")
    x = sl.data("x", [None, 3])
    exec(code, {"relu": sl.layers.relu, "x": x})
    path = tmp_path / "p"
    sl.io.save_program(sl.default_main_program(), path)
    loaded = sl.io.load_program(os.fsencode(path))
    assert loaded.ops[0].line == ("/tmp/\udcff.py", 1)
    with pytest.raises(sl.NotFoundError) as error:
        exec(
            compile("relu(x, hind='')", "/tmp/\udcff.py", "exec"),
            {"relu": sl.layers.relu, "x": x},
        )
    assert "hind" in str(error.value)


def test_loading_names_a_variable_that_is_no_utf8():
    sl.data("name", [None, 3])
    data = bytearray(sl.default_main_program().serialize())
    at = data.index(b"name")
    data[at] = 0xFF
    with pytest.raises(sl.DataLossError):  # of the checksum
        sl.Program.parse(bytes(data))
    content = bytes(data[data.index(b"\n", 30) :])
    hash_ = 0xCBF29CE484222325
    start = len(data) - len(content)
    for start in range(20, at):
        content = bytes(data[start:])
        if len(content) == data[start - 1]:
            break
    for byte in content:
        hash_ = (hash_ ^ byte) * 0x100000001B3 % 2**64
    data[start - 10 : start - 2] = hash_.to_bytes(8, "little")
    with pytest.raises(sl.InvalidArgumentError, match="must be UTF-8") as error:
        sl.Program.parse(bytes(data))
    assert r"\xffame" in str(error.value)


@pytest.mark.parametrize(
    "variable, value",
    [
        ("SLUICE_CUDA_EMULATION_DEVICES", "x"),
        ("SLUICE_CUDA_EMULATION_DEVICES", "2"),
        ("SLUICE_CUDA_EMULATION_MEMORY", "1GB"),
        ("SLUICE_CUDA_EMULATION_ORDER", "backward"),
        ("SLUICE_CUDA_EMULATION_ORDER", "shuffle:"),
        ("SLUICE_CUDA_EMULATION_STREAMS", "now"),
    ],
)
def test_variables_of_the_emulation_are_checked(variable, value):
    if sl.show_config("dicts")["cuda"] != "EMULATE":
        pytest.skip("this build has no emulated CUDA")
    code = "import sluice as sl\nsl.Executor('cuda:0')"
    result = python("-c", code, env={**os.environ, variable: value})
    assert result.returncode != 0
    assert f'{variable} must be' in result.stderr
    assert f'got "{value}"' in result.stderr


def test_a_checkpoint_of_the_training_program_names_the_remedy(exe, tmp_path):
    path = tmp_path / "p"
    x = sl.data("x", [None, 3])
    main = sl.default_main_program()
    cost = sl.layers.mean(sl.layers.fc(x, 2))
    inference = main.clone(for_test=True)
    sl.optimizer.Momentum(0.1).minimize(cost)
    exe.run(sl.default_startup_program())
    sl.io.save_params(path)
    with sl.program_guard(sl.Program(), sl.Program()):
        sl.layers.mean(sl.layers.fc(sl.data("x", [None, 3]), 2))
        with pytest.raises(sl.InvalidArgumentError) as error:
            sl.io.load_params(path)
    for word in ("unique_name.guard", "clone(for_test=True)", "fc_1.w_0"):
        assert word in str(error.value)
    with pytest.raises(sl.InvalidArgumentError, match="partial=True"):
        sl.io.load_params(path, inference)
    assert sl.io.load_params(path, inference, partial=True).missing == []
    sl.io.save_params(path, inference)
    sl.io.load_params(path, inference)


@pytest.mark.parametrize(
    "hint, words",
    [
        ("rleu: prefer variant=plain", "did you mean relu"),
        ("relu: require variant=plian", "did you mean plain"),
        ("require library=PLIAN", "did you mean PLAIN"),
        ("prefer place=fgpa:0", "did you mean fpga"),
    ],
)
def test_misspelt_hints_are_errors(exe, hint, words):
    y = sl.layers.relu(sl.data("x", [None, 3]))
    with sl.kernel_hints(hint):
        with pytest.raises(sl.NotFoundError) as error:
            exe.run(feed={"x": [[1, 2, 3]]}, fetch_list=[y])
    assert words in str(error.value)


def test_a_place_that_is_not_there_says_where_it_was_looked_for():
    for call in (lambda: sl.Executor("gpu"), lambda: sl.device_count("gpu")):
        with pytest.raises(sl.NotFoundError, match="did you mean cuda?"):
            call()
    with pytest.raises(sl.NotFoundError) as error:
        sl.Executor(sl.CustomPlace("npu"))
    assert "SLUICE_PLUGIN_PATH" in str(error.value)
    assert "libsluice_npu.so" in str(error.value)


def test_feeds_in_another_order_share_a_plan(exe):
    x, y = sl.data("x", [None, 2]), sl.data("y", [None, 2])
    z = sl.layers.elementwise_sub(x, y)
    a, b = np.full([1, 2], 5, "f4"), np.full([1, 2], 3, "f4")
    for feed in ({"x": a, "y": b}, {"y": b, "x": a}) * 2:
        (value,) = exe.run(feed=feed, fetch_list=[z])
        np.testing.assert_array_equal(value, [[2, 2]])
    assert exe.cached_plans == 1
