"""Kernels from outside: libraries, and functions of arrays."""

import faulthandler
import functools
import gc
import os
import textwrap
import warnings

import numpy as np
import pytest
from processes import python, together

import sluice as sl

X = np.array([[-1.0, 0.0, 2.0]], "float32")


def run_relu(variant, x=X):
    return sl.run_op("relu", {"X": x}, hint=f"require variant={variant}")["Out"]


def names(arguments):
    return [argument.name for argument in arguments]


def test_a_library_adds_its_kernels():
    path = os.environ.get("TEST_KERNEL_LIBRARY")
    if not path or not os.path.exists(path):
        pytest.skip("TEST_KERNEL_LIBRARY is not built")
    loaded = sl.load_kernel_library(path)
    assert [(k.op, k.dtype, k.variant) for k in loaded] == [
        ("relu", "float32", "test_mine"),
        ("relu", "float64", "test_mine"),
    ]
    assert sl.load_kernel_library(path) == loaded
    np.testing.assert_array_equal(run_relu("test_mine"), [[100, 100, 102]])


def test_libraries_that_are_none(tmp_path):
    path = tmp_path / "libnone.so"
    with pytest.raises(sl.NotFoundError, match="libnone"):
        sl.load_kernel_library(path)
    path.write_bytes(b"text")
    with pytest.raises(sl.InvalidArgumentError, match="ELF"):
        sl.load_kernel_library(path)


def test_a_function_of_arrays_is_a_kernel():
    seen = []

    @sl.kernel("relu", variant="py_plus_1", dtypes=["float32", "float64"])
    def relu(x):
        seen.append((x.flags.writeable, x.dtype, x.shape))
        return np.maximum(x, 0) + x.dtype.type(1)

    np.testing.assert_array_equal(run_relu("py_plus_1"), [[1, 1, 3]])
    assert seen == [(False, np.float32, (1, 3))]
    run_relu("py_plus_1", X.astype("float64"))
    assert seen[1][1] == np.float64
    listed = [k for k in sl.kernels("relu") if k.variant == "py_plus_1"]
    assert [(k.library, k.dtype) for k in listed] == [
        ("PYTHON", "float32"),
        ("PYTHON", "float64"),
    ]


def test_without_a_hint_others_run(exe):
    @sl.kernel("relu", variant="py_never")
    def relu(x):
        raise AssertionError

    x = sl.data("x", [None, 3])
    y = sl.layers.relu(x)
    (value,) = exe.run(feed={"x": X}, fetch_list=[y])
    np.testing.assert_array_equal(value, [[0, 0, 2]])
    assert "py_never" in exe.explain(all=True)


def test_inputs_are_not_copied():
    addresses = []

    @sl.kernel("relu", variant="py_address")
    def relu(x):
        addresses.append(x.__array_interface__["data"][0])
        return np.maximum(x, 0)

    x = sl.Tensor(np.ones((64, 64), "float32"))
    sl.run_op("relu", {"X": x}, hint="require variant=py_address")
    assert addresses == [np.asarray(x).__array_interface__["data"][0]]


def test_attributes_come_by_name():
    @sl.kernel("scale", variant="py_named")
    def scale(x, *, scale, bias):
        return x * np.float32(scale) + np.float32(bias)

    @sl.kernel("scale", variant="py_all")
    def scale_all(x, **attributes):
        assert attributes["bias_after_scale"] is True
        return x * np.float32(attributes["scale"])

    for variant, wanted in (("py_named", X * 3 + 1), ("py_all", X * 3)):
        hint = f"require variant={variant}"
        attributes = {"scale": 3.0, "bias": 1.0}
        value = sl.run_op("scale", {"X": X}, attributes, hint=hint)["Out"]
        np.testing.assert_array_equal(value, wanted)


def test_several_outputs_and_integers():
    @sl.kernel("top_k", variant="py_sorted")
    def top_k(x, *, k, largest):
        assert largest
        order = np.argsort(-x, axis=-1)[..., :k]
        return np.take_along_axis(x, order, -1), order

    assert names(sl.kernel_arguments("top_k").inputs) == ["X"]
    assert names(sl.kernel_arguments("top_k").outputs) == ["Out", "Indices"]
    got = sl.run_op(
        "top_k", {"X": X}, {"k": 2}, hint="require variant=py_sorted"
    )
    np.testing.assert_array_equal(got["Out"], [[2, 0]])
    np.testing.assert_array_equal(got["Indices"], [[2, 1]])


def test_outputs_may_be_written_in_place():
    @sl.kernel("relu", variant="py_out")
    def relu(x, out):
        np.maximum(x, 0, out=out)

    @sl.kernel("top_k", variant="py_outs")
    def top_k(x, k, out):
        values, indices = out
        values[:], indices[:] = 7, k

    np.testing.assert_array_equal(run_relu("py_out"), [[0, 0, 2]])
    hint = "require variant=py_outs"
    got = sl.run_op("top_k", {"X": X}, {"k": 1}, hint=hint)
    assert (got["Out"], got["Indices"]) == (7, 1)


def test_variadic_and_optional_inputs():
    @sl.kernel("sum", variant="py_sum")
    def total(xs):
        assert isinstance(xs, list)
        return np.sum(xs, axis=0, dtype="float32")

    hint = "require variant=py_sum"
    got = sl.run_op("sum", {"X": [X, X, X]}, hint=hint)["Out"]
    np.testing.assert_array_equal(got, 3 * X)

    seen = []

    @sl.kernel("crop", variant="py_crop")
    def crop(x, y, offsets_input, *, offsets, shape):
        seen.append(y is None and offsets_input is None)
        return x[:, offsets[1] : offsets[1] + shape[1]]

    assert names(sl.kernel_arguments("crop").inputs) == ["X", "Y", "Offsets"]

    attributes = {"offsets": [0, 1], "shape": [1, 2]}
    got = sl.run_op(
        "crop", {"X": X}, attributes, hint="require variant=py_crop"
    )["Out"]
    np.testing.assert_array_equal(got, [[0, 2]])
    assert seen == [True]


def test_inputs_that_are_read_for_their_shape_have_no_data(exe):
    seen = []

    @sl.kernel("crop_grad", variant="py_crop_grad")
    def crop_grad(x, y, offsets_input, out_grad, **attributes):
        seen.append((x.shape, x.any()))
        grad = np.zeros(x.shape, "f4")
        grad[:, 1:] = out_grad
        return grad

    assert sl.kernel_arguments("crop_grad").inputs[0].name == "X"
    x = sl.data("x", [1, 3])
    x.stop_gradient = False
    loss = sl.layers.mean(sl.layers.crop(x, offsets=[0, 1], shape=[1, 2]))
    grads = sl.append_backward(loss, parameter_list=[x])
    with sl.kernel_hints("crop_grad: require variant=py_crop_grad"):
        (value,) = exe.run(feed={"x": X}, fetch_list=[grads[0][1]])
    np.testing.assert_array_equal(value, [[0, 0.5, 0.5]])
    assert seen == [((1, 3), False)]


def test_a_gradient_op_in_training(exe):
    calls = []

    @sl.kernel("square_grad", variant="py_grad")
    def square_grad(x, out_grad):
        calls.append(x.shape)
        return 2 * x * out_grad

    assert names(sl.kernel_arguments("square_grad").inputs) == ["X", "Out@GRAD"]
    x = sl.data("x", [None, 1])
    loss = sl.layers.mean(sl.layers.square(sl.layers.fc(x, 1)))
    sl.optimizer.SGD(0.1).minimize(loss)
    exe.run(sl.default_startup_program())
    feed = {"x": np.ones((4, 1), "float32")}
    with sl.kernel_hints("square_grad: require variant=py_grad"):
        losses = [
            float(exe.run(feed=feed, fetch_list=[loss])[0]) for _ in range(9)
        ]
    assert len(calls) == 9
    assert losses[-1] < losses[0] / 4


def test_zero_sizes_and_scalars():
    @sl.kernel("relu", variant="py_sizes")
    def relu(x):
        return np.maximum(x, 0)

    for shape in ((0,), (3, 0), ()):
        assert run_relu("py_sizes", np.ones(shape, "f4")).shape == shape


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")

    @sl.kernel("relu", variant="py_bf16", dtypes=[sl.bfloat16])
    def relu(x):
        assert x.dtype == ml_dtypes.bfloat16
        return np.maximum(x, x.dtype.type(0))

    got = run_relu("py_bf16", X.astype(ml_dtypes.bfloat16))
    np.testing.assert_array_equal(got.astype("f4"), [[0, 0, 2]])


# Mistakes of a function, and the error messages.
BAD = {
    "shape": (lambda x: x[:, :2] + 0, r"Out with shape \[1, 2\].*\[1, 3\]"),
    "dtype": (lambda x: x.astype("f8"), "Out as float64, expected float32"),
    "none": (lambda x: None, "None as Out"),
    "text": (lambda x: "text", "gave <U4, expected numbers"),
    "complex": (lambda x: x * 1j, "gave complex64, expected numbers"),
    "mask": (lambda x: np.ma.masked_less(x, 0), "gave a masked array"),
}


@pytest.mark.parametrize("mistake", BAD)
def test_a_wrong_result_is_an_error_of_the_op(exe, mistake):
    function, message = BAD[mistake]
    sl.kernel("relu", variant=f"py_bad_{mistake}")(function)
    x = sl.data("x", [None, 3])
    y = sl.layers.relu(x)
    with (
        sl.kernel_hints(f"relu: require variant=py_bad_{mistake}"),
        pytest.raises(sl.InternalError, match=message) as raised,
    ):
        exe.run(feed={"x": X}, fetch_list=[y])
    text = str(raised.value)
    assert "in op 0 (relu)" in text
    assert "test_kernels.py" in text
    assert f"py_bad_{mistake}" in text
    assert raised.value.check_id == "python_kernel.output"


def test_a_wrong_count_is_an_error():
    sl.kernel("top_k", variant="py_one")(lambda x: x[:, :1])
    with pytest.raises(sl.InternalError, match="expected a tuple of 2"):
        sl.run_op("top_k", {"X": X}, {"k": 1}, hint="require variant=py_one")


def test_out_is_written_in_full_and_exactly():
    def rebinds(x, out):
        out = np.abs(x)  # noqa: F841

    def half(x, out):
        out[1:] = np.abs(x[1:])

    def rounds(x, out):
        out[...] = np.abs(x) * 1.5

    def turns(x, out):
        out[...] = x * 1j

    def returns(x, out):
        return x

    x = np.array([1, -2, 3], "int32")
    for function, text in (
        (rebinds, "left 3 of 3 elements of out unwritten; out"),
        (half, "left 1 of 3 elements of out unwritten"),
        (rounds, "wrote float64 into out, which is int32"),
        (turns, "gave complex128, expected numbers for int32"),
        (returns, "was given out"),
    ):
        name = function.__name__
        sl.kernel("abs", variant=name, dtypes=["int32"])(function)
        with pytest.raises(sl.InternalError, match=text) as raised:
            sl.run_op("abs", {"X": x}, hint=f"require variant={name}")
        assert raised.value.check_id == "python_kernel.output"


def test_each_call_is_to_write_all_of_out():
    @sl.kernel("relu", variant="py_some")
    def relu(x, out):
        out[x > 0] = x[x > 0]

    run_relu("py_some", abs(X) + 1)
    with pytest.raises(sl.InternalError, match="left 2 of 3 elements"):
        run_relu("py_some")


def test_an_exception_is_the_cause_of_an_error_of_the_op(exe):
    @sl.kernel("relu", variant="py_raises")
    def relu(x):
        raise ValueError("no such luck")

    x = sl.data("x", [None, 3])
    y = sl.layers.relu(x)
    with (
        sl.kernel_hints("relu: require variant=py_raises"),
        pytest.raises(sl.InternalError) as raised,
    ):
        exe.run(feed={"x": X}, fetch_list=[y])
    text = str(raised.value)
    assert "relu/py_raises raised ValueError: no such luck" in text
    assert "in op 0 (relu)" in text
    assert text.count("test_kernels.py") == 2  # the function's, the layer's
    assert isinstance(raised.value.__cause__, ValueError)
    assert raised.value.__cause__.__traceback__ is not None
    # The next run works.
    (value,) = exe.run(feed={"x": X}, fetch_list=[y])
    np.testing.assert_array_equal(value, [[0, 0, 2]])


def test_the_line_of_an_exception_is_the_functions():
    @sl.kernel("relu", variant="py_raises_with_out")
    def relu(x, out):
        np.add(x, np.ones((7, 7)), out=out)

    with pytest.raises(sl.InternalError, match="ValueError") as raised:
        run_relu("py_raises_with_out")
    assert f"test_kernels.py:{relu.__code__.co_firstlineno + 2})" in str(raised.value)


def test_ctrl_c_in_a_function_is_ctrl_c():
    @sl.kernel("relu", variant="py_interrupt")
    def relu(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_relu("py_interrupt")


def test_inputs_cannot_be_written():
    @sl.kernel("relu", variant="py_writes")
    def relu(x):
        x[:] = 0
        return x

    with pytest.raises(sl.InternalError, match="read-only"):
        run_relu("py_writes")


def test_kept_views_are_an_error():
    kept = []

    @sl.kernel("relu", variant="py_keeps")
    def relu(x):
        kept.append(x[:1])
        return np.maximum(x, 0)

    with pytest.raises(sl.InternalError, match="keep a copy") as raised:
        run_relu("py_keeps")
    assert raised.value.check_id == "python_kernel.kept"


def test_arguments_of_an_op_have_dtypes_shapes_and_defaults():
    inputs, outputs, attributes = sl.kernel_arguments("conv2d")
    bias = {each.name: each for each in inputs}["Bias"]
    assert bias.optional and not inputs[0].optional
    assert "float32" in bias.type
    assert "[" in inputs[0].doc, "no shape"
    groups = {each.name: each for each in attributes}["groups"]
    assert (groups.type, groups.default) == ("int", 1)
    assert outputs[0].name == "Output"
    assert sl.kernel_arguments("sum").inputs[0].several
    text = str(sl.kernel_arguments("conv2d"))
    assert "\n  groups (int, default 1): " in text
    assert "optional" in text


def test_an_identity_may_return_its_input():
    sl.kernel("relu", variant="py_identity")(lambda x: x)
    np.testing.assert_array_equal(run_relu("py_identity"), X)


def test_many_threads(exe):
    @sl.kernel("relu", variant="py_threads")
    def relu(x):
        return np.maximum(x, 0)

    @sl.kernel("sgd", variant="py_sgd")
    def sgd(param, grad, rate, skip_update, rows):
        return param - rate * grad

    x = sl.data("x", [None, 64])
    y = sl.layers.relu(sl.layers.fc(x, 64))
    loss = sl.layers.mean(y)
    test = sl.default_main_program().clone(for_test=True)
    sl.optimizer.SGD(0.01).minimize(loss)
    exe.run(sl.default_startup_program())
    scope, program = sl.global_scope(), sl.default_main_program()
    feed = {"x": np.ones((8, 64), "float32")}
    failures = []

    def work(trains):
        try:
            own = sl.Executor()
            hints = (
                "sgd: require variant=py_sgd\nrelu: require variant=py_threads"
            )
            with sl.kernel_hints(hints if trains else ""):
                for _ in range(200):
                    own.run(
                        program if trains else test,
                        feed=feed,
                        fetch_list=[loss if trains else y],
                        scope=scope,
                    )
        except BaseException as error:
            failures.append(error)

    # A deadlock would keep the GIL from this thread, too.
    faulthandler.dump_traceback_later(60, exit=True)
    together([functools.partial(work, i % 2 == 0) for i in range(6)])
    faulthandler.cancel_dump_traceback_later()
    assert failures == []


def test_a_function_that_is_registered_again_takes_its_place(exe):
    def define(step):
        @sl.kernel("relu", variant="py_again")
        def relu(x):
            return x + np.float32(step)

    x = sl.data("x", [None, 3])
    y = sl.layers.relu(x)
    with warnings.catch_warnings(), sl.kernel_hints("require variant=py_again"):
        warnings.simplefilter("error")
        for step in (1, 2):
            define(step)
            (value,) = exe.run(feed={"x": X}, fetch_list=[y])
            np.testing.assert_array_equal(value, X + step)
    assert exe.cached_plans == 1
    assert len([k for k in sl.kernels("relu") if k.variant == "py_again"]) == 1


def test_another_function_of_the_name_is_a_warning():
    def one(x):
        return x

    def other(x):
        return x

    sl.kernel("relu", variant="py_other")(one)
    with pytest.warns(UserWarning, match=r"relu/py_other.*one.*other"):
        sl.kernel("relu", variant="py_other")(other)


def test_dtypes_that_are_left_out_again_are_withdrawn():
    def define(dtypes):
        sl.kernel("relu", variant="py_fewer", dtypes=dtypes)(lambda x: x)

    define(["float32", "float64"])
    run_relu("py_fewer", X.astype("f8"))
    define(["float32"])
    run_relu("py_fewer")
    with pytest.raises(sl.NotFoundError, match="without this dtype"):
        run_relu("py_fewer", X.astype("f8"))


def test_functions_are_let_go():
    class Big:
        alive = 0

        def __init__(self):
            Big.alive += 1

        def __del__(self):
            Big.alive -= 1

    def define():
        big = Big()

        @sl.kernel("relu", variant="py_big")
        def relu(x):
            assert big
            return x + 0

        return run_relu("py_big")

    for _ in range(3):
        define()
    gc.collect()
    assert Big.alive == 1


WRONG = {
    "relux": (lambda x: x, {}, "relu"),
    "relu": (lambda: 0, {}, "inputs X"),
    "scale": (lambda x, size: x, {}, "attribute size"),
    "abs": (lambda x: x, {"dtypes": ["uint8"]}, "dtype uint8"),
    "exp": (lambda x: x, {"dtypes": []}, "empty"),
    "sqrt": (lambda x: x, {"variant": "no name"}, "identifier"),
    "tanh": (lambda x: x, {"place": "fpga:0"}, "cpu or cuda"),
    "crop": (
        lambda x, y, offsets, **attributes: x, {},
        "offsets comes in the place of an input",
    ),
    "mean": (lambda x: x, {"place": "cuda"}, "out and stream"),
}


@pytest.mark.parametrize("op", WRONG)
def test_what_cannot_be_registered(op):
    function, keywords, message = WRONG[op]
    error = sl.NotFoundError if op == "relux" else sl.InvalidArgumentError
    before = len(sl.kernels())
    with pytest.raises(error, match=message):
        sl.kernel(op, **{"variant": "py_wrong"} | keywords)(function)
    assert len(sl.kernels()) == before


def test_numba_functions_are_kernels():
    numba = pytest.importorskip("numba")

    @sl.kernel("scale", variant="py_numba")
    @numba.njit(nogil=True)
    def scale(x, scale, bias, out):
        for i in range(x.size):
            out.flat[i] = x.flat[i] * scale + bias

    hint = "require variant=py_numba"
    got = sl.run_op("scale", {"X": X}, {"scale": 2.0, "bias": 1.0}, hint=hint)
    np.testing.assert_array_equal(got["Out"], 2 * X + 1)


EXIT = """
import threading, time
import numpy as np
import sluice as sl

@sl.kernel("relu", variant="py_exit")
def relu(x):
    while True:
        time.sleep(0.001)

x = sl.data("x", [None, 3])
y = sl.layers.relu(x)
exe = sl.Executor()
def work():
    with sl.kernel_hints("require variant=py_exit"):
        exe.run(feed={"x": np.ones((1, 3), "f4")}, fetch_list=[y])
threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
print("end")
"""


def test_the_interpreter_ends_while_kernels_run():
    done = python("-c", EXIT, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "end\n"


def test_onednn_is_loaded_by_its_first_kernel():
    if not any(k.library == "ONEDNN" for k in sl.kernels("conv2d")):
        pytest.skip("without oneDNN")
    run = python("-c", textwrap.dedent("""
        import numpy as np
        import sluice as sl

        def products(hint):
            x = np.ones((4, 4), "float32")
            sl.run_op("matmul", {"X": x, "Y": x}, hint=hint)
            with open("/proc/self/maps") as maps:
                return "libdnnl" in maps.read()

        print(products("require library=PLAIN"), products("require library=ONEDNN"))
    """))
    assert run.stdout.split() == ["False", "True"], run.stderr
