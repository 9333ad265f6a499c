"""Invalid arguments raise an error of Sluice that shows the value."""

import os

import numpy as np
import pytest
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
TEXT = {
    "data": (lambda: sl.data(SURROGATE, [3]), "data: name"),
    "feed": (lambda: run({SURROGATE: 1}), "feed: a key"),
    "fetch": (lambda: run({}, [SURROGATE]), "fetch_list"),
    "op": (lambda: append(SURROGATE), "type of an op"),
    "argument": (lambda: append(inputs={SURROGATE: "x"}), "relu: the name"),
    "variable": (lambda: append(inputs={"X": SURROGATE}), "relu: argument X"),
    "attribute": (lambda: append(attrs={SURROGATE: 1}), "relu: the name"),
    "value": (
        lambda: append("pool2d", attrs={"pooling_type": SURROGATE}),
        "pool2d: attribute pooling_type",
    ),
    "hint": (lambda: append(hint=SURROGATE), "relu: hint"),
    "hints": (lambda: sl.kernel_hints(SURROGATE), "kernel_hints"),
    "place": (lambda: sl.Executor(SURROGATE), "place"),
    "dtype": (lambda: sl.data("x", [3], SURROGATE), "data x: dtype"),
    "scope": (lambda: sl.global_scope()[SURROGATE], "scope"),
    "set": (lambda: sl.global_scope().set(SURROGATE, 1.0), "scope"),
    "contains": (lambda: SURROGATE in sl.global_scope(), "scope"),
    "erase": (lambda: sl.global_scope().erase(SURROGATE), "scope"),
    "has_var": (lambda: program().has_var(SURROGATE), "variable"),
    "var": (lambda: program().var(SURROGATE), "variable"),
    "run_op": (lambda: sl.run_op(SURROGATE, {}), "type of an op"),
    "kernels": (lambda: sl.kernels(SURROGATE), "type of an op"),
    "count": (lambda: sl.device_count(SURROGATE), "device_count"),
    "custom": (lambda: sl.CustomPlace(SURROGATE), "CustomPlace"),
}


@pytest.mark.parametrize("which", TEXT)
def test_lone_surrogates(which):
    call, words = TEXT[which]
    with pytest.raises(sl.InvalidArgumentError) as error:
        call()
    assert words in str(error.value)
    assert r"a\ud800b" in str(error.value)


CALLS = {
    "feed key 5": (lambda: run({5: 1}), ["feed: a key", "got 5 (int)"]),
    "feed key None": (lambda: run({None: 1}), ["a key", "None (NoneType)"]),
    "feed list": (lambda: run([1]), ["feed", "dict", "[1] (list)"]),
    "fetch 5": (lambda: run({}, [5]), ["fetch_list", "5 (int)"]),
    "fetch text": (
        lambda: sl.Executor().run(program(), {}, "x"),
        ["fetch_list", "list", "'x' (str)"],
    ),
    "swapped": (
        lambda: sl.Executor().run({"x": 1}, program()),
        ["run: program", "a sluice.Program", "(dict)"],
    ),
    "scope": (lambda: run({}, [], scope=5), ["run: scope", "sluice.Scope"]),
    "inputs": (lambda: append(inputs=5), ["relu: inputs", "dict", "5 (int)"]),
    "type": (lambda: append(5), ["type of an op", "text", "5 (int)"]),
    "attrs": (lambda: append(attrs=5), ["relu: attrs", "dict", "5 (int)"]),
    "outputs": (lambda: append(outputs=5), ["relu: outputs", "5 (int)"]),
    "hint": (lambda: append(hint=5), ["relu: hint", "text", "5 (int)"]),
    "argument 5": (lambda: append(inputs={5: "x"}), ["relu", "5 (int)"]),
    "attribute 5": (lambda: append(attrs={5: 1}), ["relu", "5 (int)"]),
    "attrs as outputs": (
        lambda: program().append_op("scale", {"X": "x"}, {"scal": 2.0}),
        ["scale: argument scal", "2.0 (float)", "test_wrong_arguments.py:"],
    ),
    "loss 5": (lambda: sl.append_backward(5), ["append_backward", "5 (int)"]),
    "loss None": (lambda: sl.append_backward(None), ["append_backward"]),
    "parameters": (
        lambda: sl.append_backward(loss(), 5),
        ["append_backward: parameter_list", "list", "5 (int)"],
    ),
    "threads": (
        lambda: sl.set_num_threads(2**31),
        ["set_num_threads: count", "32 bits", "2147483648 (int)"],
    ),
    "threads 1.5": (lambda: sl.set_num_threads(1.5), ["1.5 (float)"]),
    "threads True": (lambda: sl.set_num_threads(True), ["True (bool)"]),
    "index": (lambda: sl.CUDAPlace("0"), ["place: index", "'0' (str)"]),
    "name 5": (lambda: sl.data(5, [3]), ["data: name", "5 (int)"]),
    "dtype": (
        lambda: sl.data("x", [3], "float7"),
        ["data x: dtype", "float7", "float32"],
    ),
    "dtype of an op": (
        lambda: sl.layers.cast(sl.data("c", [3]), "float7"),
        ["cast: attribute", "float7"],
    ),
    "object as dtype": (
        lambda: sl.layers.cast(sl.data("c", [3]), [5]),
        ["cast: attribute", "[5] (list)"],
    ),
    "shape": (lambda: sl.data("x", [2**64]), ["data x", "18446744073709551616"]),
    "shape None": (
        lambda: sl.data("x", None),
        ["data x", "[None, 10]", "None (NoneType)"],
    ),
    "name None": (lambda: sl.data(None, [3]), ["data: name", "None"]),
    "dtype None": (lambda: sl.data("x", [3], None), ["data x", "expected a dtype", "None (NoneType)"]),
    "op None": (lambda: append(None), ["type of an op", "None (NoneType)"]),
    "var None": (lambda: program().var(None), ["variable", "None (NoneType)"]),
    "path": (lambda: sl.io.load_program(5), ["path", "5 (int)"]),
    "program and path swapped": (
        lambda: sl.io.save_program("net", sl.Program()),
        ["save_program: program: expected a sluice.Program", "'net'"],
    ),
    "path with NUL": (
        lambda: sl.io.load_program("/tmp/cut\0off"),
        ["path without zero bytes"],
    ),
    "params with NUL": (
        lambda: sl.io.save_params("/tmp/cut\0off"),
        ["path without zero bytes"],
    ),
    "plug-in with NUL": (
        lambda: sl.load_device_plugin("/tmp/cut\0off"),
        ["path without zero bytes"],
    ),
    "rate": (
        lambda: sl.optimizer.SGD("0.1"),
        ["sgd: learning_rate", "number", "'0.1' (str)"],
    ),
    "window of pool3d": (
        lambda: sl.layers.pool3d(sl.data("x", [1, 1, 4, 4, 4]), 2.5),
        ["pool3d: pool_size", "[depth, height, width]", "got 2.5"],
    ),
    "pool3d of an image": (
        lambda: sl.layers.pool3d(sl.data("x", [1, 1, 4, 4])),
        ["pool3d", "rank 5"],
    ),
    "rate -0.1": (
        lambda: sl.optimizer.Momentum(-0.1),
        ["momentum: learning_rate must be at least 0", "-0.1"],
    ),
    "fan_in -1": (
        lambda: sl.initializer.Xavier(fan_in=-1),
        ["Xavier: fan_in: expected an integer above 0", "got -1"],
    ),
    "fan_out -2": (
        lambda: sl.initializer.Xavier(fan_out=-2),
        ["Xavier: fan_out: expected an integer above 0", "got -2"],
    ),
    "fan_in of text": (
        lambda: sl.initializer.MSRA(fan_in="8"),
        ["MSRA: fan_in: expected an integer above 0", "'8'"],
    ),
    "rate None": (lambda: sl.optimizer.SGD(None), ["learning_rate", "None"]),
    "rate True": (lambda: sl.optimizer.SGD(True), ["learning_rate", "True"]),
    "rate NaN": (
        lambda: sl.optimizer.SGD(float("nan")),
        ["learning_rate", "finite", "nan"],
    ),
    "momentum": (
        lambda: sl.optimizer.Momentum(0.1, "0.9"),
        ["momentum: momentum", "'0.9' (str)"],
    ),
    "beta": (
        lambda: sl.optimizer.Adam(beta1="0.9"),
        ["adam: beta1", "'0.9' (str)"],
    ),
    "constant": (
        lambda: sl.layers.fc(rows(), 2, param_attr=sl.initializer.Constant("1")),
        ["value", "number", "'1' (str)"],
    ),
    "size": (
        lambda: sl.layers.fc(rows(), "3"),
        ["fc: size", "integer above 0", "'3' (str)", LINE],
    ),
    "size 10.0": (
        lambda: sl.layers.fc(rows(), 10.0),
        ["fc: size", "integer above 0", "10.0 (float)"],
    ),
    "size 0": (lambda: sl.layers.fc(rows(), 0), ["fc: size", "above 0"]),
    "unknown size": (
        lambda: sl.layers.fc(sl.data("x", [None, None]), 3),
        ["needs a shape that is known", "[None, 3]", LINE],
    ),
    "fc of unknown steps": (
        lambda: sl.layers.fc(sl.data("x", [1, None, 5]), 3),
        ["[None, 3]", "num_flatten_dims=-1", "sl.layers.reshape", LINE],
    ),
    "fc of a list": (
        lambda: sl.layers.fc([rows(), np.ones([2, 3])], 3),
        ["fc: input[1]: expected a variable", "(ndarray)", "sl.data(", LINE],
    ),
    "fc of an array": (
        lambda: sl.layers.fc(np.ones([2, 3]), 3),
        ["fc: input: expected a variable", "(ndarray)", "sl.data(", LINE],
    ),
    "fc of a name": (
        lambda: sl.layers.fc("rows", 3),
        ["fc: input: expected a variable", "program.var(name)"],
    ),
    "relu of an array": (
        lambda: sl.layers.relu(np.ones([2, 3])),
        ["relu: argument X: expected a variable", "sl.data("],
    ),
    "loss of an array": (
        lambda: sl.layers.softmax_with_cross_entropy(np.ones([2, 3]), rows()),
        ["softmax_with_cross_entropy: logits", "sl.data("],
    ),
    "cond of a bool": (
        lambda: sl.layers.cond(True, rows, rows),
        ["cond: pred: expected a variable", "True (bool)"],
    ),
    "padding SAME": (
        lambda: sl.layers.conv2d(image(), 4, 3, padding="SAME"),
        ["conv2d: padding", "integer or [height, width]", "'SAME'", "// 2"],
    ),
    "stride 1.5": (
        lambda: sl.layers.conv2d(image(), 4, 3, stride=(1, 1.5)),
        ["conv2d: stride", "(1, 1.5) (tuple)", LINE],
    ),
    "pool size": (
        lambda: sl.layers.pool2d(image(), None),
        ["pool2d: pool_size", "None (NoneType)"],
    ),
    "rank of an image": (
        lambda: sl.layers.batch_norm(sl.data("flat", [3])),
        ["batch_norm: input must have rank 2 or more", "flat", LINE],
    ),
    "groups": (
        lambda: sl.layers.conv2d(image(), 4, 3, groups=0),
        ["conv2d: groups", "integer above 0", "0 (int)"],
    ),
    "param_attr": (
        lambda: sl.layers.fc(rows(), 3, param_attr=5),
        ["param_attr", "a ParamAttr", "5 (int)", LINE],
    ),
    "table": (
        lambda: sl.layers.embedding(sl.data("i", [3], "int64"), 5),
        ["embedding: size", "[rows, columns]", "5 (int)"],
    ),
    "padding_idx": (
        lambda: sl.layers.embedding(sl.data("i", [3], "int64"), [5, 2], 5),
        ["embedding: padding_idx", "from -5 to 4", "5 (int)"],
    ),
    "padding_idx -6": (
        lambda: sl.layers.embedding(sl.data("i", [3], "int64"), [5, 2], -6),
        ["embedding: padding_idx", "from -5 to 4", "-6 (int)"],
    ),
}


def rows():
    return sl.data("rows", [None, 3])


def image():
    return sl.data("image", [None, 3, 8, 8])


@pytest.mark.parametrize("which", CALLS)
def test_a_wrong_argument_is_named_with_what_came(which):
    call, words = CALLS[which]
    with pytest.raises(sl.InvalidArgumentError) as error:
        call()
    print(error.value)
    for word in words:
        assert word in str(error.value)


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
