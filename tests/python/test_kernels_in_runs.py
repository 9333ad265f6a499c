"""Kernels in Python: their state, nested runs and changes during runs; and
kernels on a CUDA device, real or emulated."""

import ctypes
import faulthandler
import pathlib
import re
import threading

import numpy as np
import pytest
from processes import python

import sluice as sl

X = np.array([[-1.0, 0.0, 2.0]], "float32")


def run_relu(variant, x=X):
    return sl.run_op("relu", {"X": x}, hint=f"require variant={variant}")["Out"]


KEPT = {
    "base": lambda x: x.base,
    "memoryview": memoryview,
    "a view of the base": lambda x: np.asarray(x.base)[:, 1:],
}


@pytest.mark.parametrize("which", KEPT)
def test_what_looks_into_the_memory_of_a_view_is_an_error_too(which):
    kept = []

    @sl.kernel("relu", variant="py_keeps_" + which.replace(" ", "_"))
    def relu(x):
        kept.append(KEPT[which](x))
        return np.maximum(x, 0)

    with pytest.raises(sl.InternalError, match="keep a copy"):
        run_relu("py_keeps_" + which.replace(" ", "_"))


def test_a_kernel_may_run_a_program_of_another_scope(exe):
    inner, other = sl.Program(), sl.Scope()
    with sl.program_guard(inner):
        doubled = sl.layers.scale(sl.data("x", [1, 3]), scale=2.0)

    @sl.kernel("relu", variant="py_nested")
    def relu(x):
        feed = {"x": np.array(x)}
        return sl.Executor().run(inner, feed, [doubled], scope=other)[0]

    np.testing.assert_array_equal(run_relu("py_nested"), 2 * X)


NESTED_RUN = """
import os, signal
import numpy as np
import sluice as sl

inner = sl.Program()
with sl.program_guard(inner):
    doubled = sl.layers.scale(sl.data("x", [1, 3]), scale=2.0)
exe = sl.Executor()

@sl.kernel("relu", variant="py_nested")
def relu(x):
    return exe.run(inner, {"x": np.array(x)}, [doubled])[0]

y = sl.layers.relu(sl.data("x", [1, 3]))
before = signal.getsignal(signal.SIGINT)
with sl.kernel_hints("relu: require variant=py_nested"):
    for _ in range(3):
        exe.run(feed={"x": np.ones((1, 3), "f4")}, fetch_list=[y])
assert signal.getsignal(signal.SIGINT) is before
try:
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000):
        pass
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_works_after_a_run_inside_of_a_run():
    done = python("-c", NESTED_RUN, timeout=60, check=True)
    assert done.stdout == "interrupted\n"


def test_a_handler_that_a_kernel_sets_stays():
    code = """
import signal
import numpy as np
import sluice as sl

@sl.kernel("relu", variant="py_ignores")
def relu(x):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return np.maximum(x, 0)

y = sl.layers.relu(sl.data("x", [1]))
with sl.kernel_hints("relu: require variant=py_ignores"):
    sl.Executor().run(feed={"x": np.ones(1, "f4")}, fetch_list=[y])
signal.raise_signal(signal.SIGINT)
print("ignored")
"""
    done = python("-c", code, timeout=60)
    assert (done.stdout, done.stderr) == ("ignored\n", "")


SCOPE_CALLS = {
    "set": (lambda scope: scope.set("w", [1.0]), "cannot change"),
    "erase": (lambda scope: scope.erase("w"), "cannot change"),
}


@pytest.mark.parametrize("which", SCOPE_CALLS)
def test_a_kernel_does_not_wait_for_its_own_run(exe, which):
    call, words = SCOPE_CALLS[which]
    scope = sl.global_scope()
    scope["w"] = X

    @sl.kernel("relu", variant=f"py_own_{which}")
    def relu(x):
        np.testing.assert_array_equal(scope["w"], X)
        call(scope)

    w = sl.default_main_program().persistable("w", [1, 3])
    y = sl.layers.relu(w)
    faulthandler.dump_traceback_later(60, exit=True)
    with (
        sl.kernel_hints(f"relu: require variant=py_own_{which}"),
        pytest.raises(sl.InternalError, match=words) as raised,
    ):
        exe.run(fetch_list=[y])
    faulthandler.cancel_dump_traceback_later()
    assert raised.value.__cause__.check_id == "scope.own_run"
    assert "w" in scope


def test_erasing_waits_for_a_run_that_uses_the_variable(exe):
    inside, leave = threading.Event(), threading.Event()
    scope, results, erased = sl.global_scope(), [], threading.Event()
    scope["w"] = X

    @sl.kernel("relu", variant="py_waits")
    def relu(x):
        inside.set()
        leave.wait(30)
        return np.maximum(x, 0)

    y = sl.layers.relu(sl.default_main_program().persistable("w", [1, 3]))
    program = sl.default_main_program()

    def run():
        with sl.kernel_hints("relu: require variant=py_waits"):
            results.extend(exe.run(program, {}, [y], scope))

    def erase():
        assert scope.erase("w")
        erased.set()

    threads = [threading.Thread(target=f, daemon=True) for f in (run, erase)]
    threads[0].start()
    assert inside.wait(30)
    threads[1].start()
    assert not erased.wait(0.1)
    leave.set()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(results[0], np.maximum(X, 0))
    assert erased.is_set() and "w" not in scope


class CUDARuntime:
    """The CUDA runtime that the process has loaded, or its emulation."""

    TO_DEVICE, TO_HOST = 1, 2

    def __init__(self):
        maps = pathlib.Path("/proc/self/maps").read_text()
        names = r"\S*/lib(?:sluice_cuda_emulation|cudart)\.so\S*"
        self.library = ctypes.CDLL(re.search(names, maps).group())

    def copy(self, to, source, count, kind, stream):
        done = self.library.cudaMemcpyAsync(
            *(ctypes.c_void_p(p) for p in (to, source)),
            ctypes.c_size_t(count),
            kind,
            ctypes.c_void_p(stream),
        )
        assert done == 0
        assert self.library.cudaStreamSynchronize(ctypes.c_void_p(stream)) == 0

    def read(self, array, stream):
        """The data that a consumer of the interface sees, on the host."""
        interface = array.__cuda_array_interface__
        assert interface["version"] == 3
        assert interface["strides"] is None
        assert interface["stream"] == stream
        host = np.empty(interface["shape"], interface["typestr"])
        address, read_only = interface["data"]
        self.copy(host.ctypes.data, address, host.nbytes, self.TO_HOST, stream)
        return host, read_only

    def write(self, array, values, stream):
        address, read_only = array.__cuda_array_interface__["data"]
        assert not read_only
        self.copy(
            address, values.ctypes.data, values.nbytes, self.TO_DEVICE, stream
        )


@pytest.fixture
def cuda():
    try:
        sl.Tensor(X, place="cuda:0")
    except sl.SluiceError as error:
        pytest.skip(str(error))
    return CUDARuntime()


def test_arrays_on_a_device_have_the_cuda_array_interface(cuda):
    seen = []

    @sl.kernel("scale", variant="py_device", place="cuda:0")
    def scale(x, *, scale, out, stream):
        host, read_only = cuda.read(x, stream)
        seen.append((read_only, x.shape, x.dtype, x.__dlpack_device__()))
        cuda.write(out, host * np.float32(scale), stream)

    x = sl.data("x", [None, 3])
    y = sl.layers.scale(sl.layers.relu(x), scale=3.0)
    exe = sl.Executor("cuda:0")
    with sl.kernel_hints("scale: require variant=py_device"):
        (value,) = exe.run(feed={"x": X}, fetch_list=[y])
    np.testing.assert_array_equal(value, [[0, 0, 6]])
    assert seen == [(True, (1, 3), np.float32, (2, 0))]


def test_an_exception_on_a_device_names_the_op(cuda):
    @sl.kernel("relu", variant="py_device_raises", place="cuda")
    def relu(x, out, stream):
        raise ValueError("no such luck")

    with pytest.raises(sl.InternalError, match="no such luck") as raised:
        sl.run_op(
            "relu",
            {"X": X},
            place="cuda:0",
            hint="require variant=py_device_raises",
        )
    assert isinstance(raised.value.__cause__, ValueError)


@pytest.mark.parametrize("op", ["relu", "tanh", "gelu"])
@pytest.mark.parametrize("shape", [(2, 4), (64, 32), (1000, 1000)])
def test_a_function_is_no_guess(exe, op, shape):
    """The table of costs has a row for tanh and gelu, none for relu."""

    @sl.kernel(op, variant="py_seven")
    def seven(x):
        return x * 0 + 7

    x = sl.data("x", [None, shape[1]])
    y = getattr(sl.layers, op)(x)
    feed = {"x": np.full(shape, 0.3, "float32")}
    (value,) = exe.run(feed=feed, fetch_list=[y])
    assert value.max() < 1
    assert "others not measured" in str(exe.explain())
