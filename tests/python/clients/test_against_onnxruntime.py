"""The same calls of onnxruntime itself and of Sluice, where both are there."""

import warnings

import numpy as np
import pytest
from small_model import X, small_model

import sluice.onnxruntime
from sluice.onnxruntime.capi import onnxruntime_pybind11_state as our_state

try:
    import onnxruntime as theirs
    from onnxruntime.capi import onnxruntime_pybind11_state as their_state
except ImportError:
    theirs = None

pytestmark = pytest.mark.skipif(theirs is None, reason="onnxruntime is not there")

MODEL = small_model().SerializeToString()


def session(ort):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    return ort.InferenceSession(MODEL, options)


def bound(ort, bind):
    made = session(ort)
    binding = made.io_binding()
    bind(binding)
    made.run_with_iobinding(binding)
    return binding.copy_outputs_to_cpu()


def fed(binding, array=X):
    binding.bind_cpu_input("x", array)
    return binding


def output(binding, *memory):
    binding.bind_output("y", *memory)


ROOM = np.zeros((4, 2), "float32")

# Calls that return the same, or raise an error of the same class.
CALLS = {
    "shape": lambda ort: ort.OrtValue.ortvalue_from_numpy(X).shape(),
    "type": lambda ort: ort.OrtValue.ortvalue_from_numpy(X).data_type(),
    "element": lambda ort: ort.OrtValue.ortvalue_from_numpy(X).element_type(),
    "size": lambda ort: ort.OrtValue.ortvalue_from_numpy(X).tensor_size_in_bytes(),
    "scalar": lambda ort: ort.OrtValue.ortvalue_from_numpy(np.array(1.0)).shape(),
    "no array": lambda ort: ort.OrtValue.ortvalue_from_numpy([1.0]),
    "texts": lambda ort: ort.OrtValue.ortvalue_from_numpy(np.array(["a"])),
    "complex": lambda ort: ort.OrtValue.ortvalue_from_numpy(np.array([1j])),
    "no GPU": lambda ort: ort.OrtValue.ortvalue_from_numpy(X, "npu"),
    "no type": lambda ort: ort.OrtValue.ortvalue_from_shape_and_type([2], 99),
    "negative": lambda ort: ort.OrtValue.ortvalue_from_shape_and_type([-1], "float32"),
    "named": lambda ort: ort.OrtValue.ortvalue_from_shape_and_type(["a"], "float32"),
    "not a value": lambda ort: ort.OrtValue(X),
    "update": lambda ort: ort.OrtValue.ortvalue_from_numpy(X.copy()).update_inplace(
        X[:1]
    ),
    "update by list": lambda ort: ort.OrtValue.ortvalue_from_numpy(
        X.copy()
    ).update_inplace([1]),
    "no capsule": lambda ort: ort.OrtValue.from_dlpack(3),
    "strided": lambda ort: ort.OrtValue.from_dlpack(np.arange(10.0)[::2]),
    "run": lambda ort: session(ort).run(None, {"x": X}),
    "run of lists": lambda ort: session(ort).run(["y"], {"x": X.tolist()}),
    "run of no rows": lambda ort: session(ort).run(["y"], {"x": X[:0]}),
    "same output twice": lambda ort: session(ort).run(["y", "y"], {"x": X}),
    "run of a value": lambda ort: session(ort).run(
        ["y"], {"x": ort.OrtValue.ortvalue_from_numpy(X)}
    ),
    "dtype": lambda ort: session(ort).run(None, {"x": X.astype("float64")}),
    "rank": lambda ort: session(ort).run(None, {"x": X[0]}),
    "sizes": lambda ort: session(ort).run(None, {"x": X[:, :2]}),
    "missing": lambda ort: session(ort).run(None, {}),
    "unknown": lambda ort: session(ort).run(None, {"x": X, "u": X}),
    "unknown output": lambda ort: session(ort).run(["u"], {"x": X}),
    "inner output": lambda ort: session(ort).run(["h"], {"x": X}),
    "text as names": lambda ort: session(ort).run("y", {"x": X}),
    "no options": lambda ort: session(ort).run(None, {"x": X}, 4),
    "no file": lambda ort: ort.InferenceSession("none.onnx"),
    "cut off": lambda ort: ort.InferenceSession(b"\x08"),
    "empty": lambda ort: ort.InferenceSession(b""),
    "number": lambda ort: ort.InferenceSession(3),
    "entry": lambda ort: ort.SessionOptions().get_session_config_entry("a"),
    "run entry": lambda ort: ort.RunOptions().get_run_config_entry("a"),
    "no text": lambda ort: ort.SessionOptions().add_session_config_entry("a", 1),
    "severity": lambda ort: ort.set_default_logger_severity(9),
    "seed": lambda ort: ort.set_seed("3"),
    "no profile": lambda ort: session(ort).end_profiling(),
    "no start": lambda ort: session(ort).get_profiling_start_time_ns(),
    "bound": lambda ort: bound(ort, lambda b: output(fed(b))),
    "buffer": lambda ort: bound(
        ort,
        lambda b: output(
            fed(b), "cpu", 0, np.float32, (2, 2), ROOM.ctypes.data
        ),
    ),
    "nothing bound": lambda ort: bound(ort, fed),
    "unknown input": lambda ort: bound(ort, lambda b: b.bind_cpu_input("u", X)),
    "unknown bound": lambda ort: bound(ort, lambda b: fed(b).bind_output("u")),
    "bound dtype": lambda ort: bound(
        ort, lambda b: output(fed(b, X.astype("float64")))
    ),
    "bound sizes": lambda ort: bound(ort, lambda b: output(fed(b, X[:, :2]))),
    "bound list": lambda ort: bound(ort, lambda b: fed(b, X.tolist())),
    "too small": lambda ort: bound(
        ort,
        lambda b: output(
            fed(b), "cpu", 0, np.float32, (1, 2), ROOM.ctypes.data
        ),
    ),
    "buffer dtype": lambda ort: bound(
        ort,
        lambda b: output(fed(b), "cpu", 0, np.int32, (2, 2), ROOM.ctypes.data),
    ),
    "no shape": lambda ort: bound(
        ort, lambda b: output(fed(b), "cpu", 0, None, None, 5)
    ),
    "memory": lambda ort: ort.OrtMemoryInfo(
        "Foo",
        ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR,
        0,
        ort.OrtMemType.DEFAULT,
    ),
    "no device": lambda ort: ort.OrtDevice(3),
}


def outcome(ort, call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(ort), None
        except Exception as error:
            return None, error


@pytest.mark.parametrize("name", CALLS)
def test_a_call_returns_or_raises_the_same(name):
    expected, their_error = outcome(theirs, CALLS[name])
    got, our_error = outcome(sluice.onnxruntime, CALLS[name])
    if their_error is None:
        assert our_error is None, our_error
        np.testing.assert_equal(got, expected)
    else:
        ours = [kind.__name__ for kind in type(our_error).__mro__]
        assert type(their_error).__name__ in ours, (their_error, our_error)


def names_of(module):
    return {name for name in dir(module) if not name.startswith("_")}


def test_their_names_are_ours():
    python = {"contextlib", "import_capi_exception", "onnxruntime_validation"}
    missing = names_of(theirs) - {*dir(sluice.onnxruntime), "capi", *python}
    assert missing - {"backend", "datasets", "quantization", "tools"} == set()
    assert names_of(their_state) - set(dir(our_state)) == set()


@pytest.mark.parametrize(
    "name",
    """ArenaExtendStrategy ExecutionMode ExecutionOrder GraphOptimizationLevel
    OrtAllocatorType OrtCompileApiFlags OrtDeviceMemoryType
    OrtExecutionProviderDevicePolicy OrtHardwareDeviceType OrtMemType
    OrtMemoryInfoDeviceType""".split(),
)
def test_numbers_of_names_are_theirs(name):
    members = getattr(their_state, name).__members__
    ours = getattr(our_state, name).__members__
    assert {n: int(ours[n]) for n in members} == {
        n: int(value) for n, value in members.items()
    }


@pytest.mark.parametrize(
    "name",
    """IOBinding InferenceSession NodeArg ModelMetadata OrtDevice OrtMemoryInfo
    OrtValue RunOptions SessionOptions""".split(),
)
def test_their_methods_are_ours(name):
    kind, ours = getattr(theirs, name), getattr(sluice.onnxruntime, name)
    made = ours() if name.endswith("Options") else ours
    fields = getattr(ours, "__dataclass_fields__", {})
    if name == "OrtMemoryInfo":
        made = sluice.onnxruntime.get_ep_devices()[-1].memory_info(0)
    missing = names_of(kind) - {*dir(made), *fields}
    # Of models that onnxruntime compiled before, and of other devices.
    assert missing - {
        "add_external_initializers_from_files_in_memory",
        "clear_ep_context_data_read_func",
        "get_provider_graph_assignment_info",
        "set_ep_context_data_read_func",
    } == set()
