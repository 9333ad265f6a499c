"""What is bound to a session, as programs for onnxruntime do it."""

import ctypes

import numpy as np
import pytest

import sluice as sl
import sluice.onnxruntime as ort
from sluice.onnxruntime import environment
from sluice.onnxruntime.capi import onnxruntime_pybind11_state as state

pytest.importorskip("onnx")
from small_model import WEIGHTS, X, Y, small_model  # noqa: E402


@pytest.fixture
def session():
    return ort.InferenceSession(small_model().SerializeToString())


@pytest.fixture
def binding(session):
    made = session.io_binding()
    made.bind_cpu_input("x", X)
    return made


def bind_buffer(binding, buffer, **changed):
    told = {
        "name": "y",
        "device_type": "cpu",
        "device_id": 0,
        "element_type": buffer.dtype.type,
        "shape": buffer.shape,
        "buffer_ptr": buffer.ctypes.data,
    }
    binding.bind_output(**{**told, **changed})


def test_outputs_come_in_the_order_of_binding(session, binding):
    binding.bind_output("z")
    binding.bind_output("y", "cpu")
    assert [value.has_value() for value in binding.get_outputs()] == [False] * 2
    binding.synchronize_inputs()
    session.run_with_iobinding(binding, ort.RunOptions())
    binding.synchronize_outputs()
    z, y = binding.copy_outputs_to_cpu()
    np.testing.assert_array_equal(z, X)
    np.testing.assert_allclose(y, Y)
    values = binding.get_outputs()
    assert [value.shape() for value in values] == [[2, 3], [2, 2]]
    vector = binding.get_outputs_as_ortvaluevector()
    assert isinstance(vector, state.OrtValueVector) and len(vector) == 2
    binding.bind_cpu_input("x", X[:1])
    session.run_with_iobinding(binding)
    assert [value.shape() for value in values] == [[2, 3], [2, 2]]
    assert [v.shape() for v in binding.get_outputs()] == [[1, 3], [1, 2]]


def test_memory_of_the_program_is_read_and_filled(session):
    fed, buffer = X.copy(), np.full((3, 2), 7, "float32")
    binding = session.io_binding()
    binding.bind_input("x", "cpu", 0, np.float32, fed.shape, fed.ctypes.data)
    bind_buffer(binding, buffer, shape=(2, 2))
    session.run_with_iobinding(binding)
    np.testing.assert_allclose(buffer[:2], Y)
    assert buffer[2].tolist() == [7, 7]
    (before,) = binding.copy_outputs_to_cpu()
    fed[:] = 0
    session.run_with_iobinding(binding)
    assert not buffer[:2].any() and before.any()
    for kind in (1, "float32", np.dtype("float32")):
        binding.bind_input("x", "cpu", 0, kind, X.shape, X.ctypes.data)
        bind_buffer(binding, buffer, shape=(2, 2), element_type=kind)
        session.run_with_iobinding(binding)
        np.testing.assert_allclose(buffer[:2], Y)


def test_values_are_fed_and_filled(session):
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", ort.OrtValue.ortvalue_from_numpy(X))
    kept = ort.OrtValue.ortvalue_from_shape_and_type([2, 2], np.float32)
    binding.bind_ortvalue_output("y", kept)
    session.run_with_iobinding(binding)
    np.testing.assert_allclose(kept.numpy(), Y)
    assert binding.get_outputs()[0].data_ptr() == kept.data_ptr()


def test_the_forms_of_the_extension_work(session):
    cpu = state.OrtDevice(state.OrtDevice.cpu(), state.OrtDevice.default_memory(), 0)
    inner = session.io_binding()._iobinding
    inner.bind_input("x", X)
    inner.bind_output("y", cpu)
    session._sess.run_with_iobinding(inner, None)
    np.testing.assert_allclose(inner.get_outputs()[0].numpy(), Y)
    buffer = np.zeros((2, 2), "float32")
    inner = state.SessionIOBinding(session._sess)
    inner.bind_input("x", cpu, np.float32, X.shape, X.ctypes.data)
    inner.bind_output("y", cpu, np.float32, buffer.shape, buffer.ctypes.data)
    session._sess.run_with_iobinding(inner, None)
    np.testing.assert_allclose(buffer, Y)
    fed, fetched = state.OrtValueVector(), state.OrtValueVector()
    fed.push_back(state.OrtValue.ortvalue_from_numpy(X, cpu))
    session.run_with_ortvaluevector(None, ["x"], fed, ["y"], fetched, [cpu])
    np.testing.assert_allclose(fetched[0].numpy(), Y)
    first = fetched[0]
    session.run_with_ortvaluevector(None, ["x"], fed, ["y"], fetched, [cpu])
    assert fetched[0].data_ptr() == first.data_ptr() and len(fetched) == 1
    (y,) = session._sess.run_with_ort_values({"x": fed[0]}, ["y"], None)
    np.testing.assert_allclose(y.numpy(), Y)


WRONG_FEEDS = {
    "dtype": (X.astype("float64"), r"Actual: \(tensor\(double\)\) , expected: "),
    "rank": (X[0], "Invalid rank for input: x Got: 1 Expected: 2"),
    "size": (X[:, :2], "index: 1 Got: 2 Expected: 3"),
}


@pytest.mark.parametrize("case", WRONG_FEEDS)
def test_wrong_feeds_are_told_when_the_session_runs(session, case):
    fed, told = WRONG_FEEDS[case]
    binding = session.io_binding()
    binding.bind_cpu_input("x", fed)
    binding.bind_output("y")
    for kind in (RuntimeError, state.InvalidArgument):
        with pytest.raises(kind, match=f"(?s)Error in execution: .*{told}"):
            session.run_with_iobinding(binding)
    binding.bind_cpu_input("x", X)
    session.run_with_iobinding(binding)
    np.testing.assert_allclose(binding.copy_outputs_to_cpu()[0], Y)


def test_wrong_buffers_are_told_and_nothing_is_written(session, binding):
    buffer = np.full((4, 2), 7, "float32")
    binding.bind_output("z")
    for changed, told in (
        ({"shape": (1, 2)}, r"has shape \[1, 2\] but .* run is \[2, 2\]"),
        ({"shape": (4, 2)}, r"has shape \[4, 2\]"),
        ({"shape": (4,)}, r"has shape \[4\]"),
        (
            {"shape": (2, 2), "element_type": np.int32},
            r"output data type. Actual: \(tensor\(int32\)\)",
        ),
    ):
        bind_buffer(binding, buffer, **changed)
        with pytest.raises(RuntimeError, match=told):
            session.run_with_iobinding(binding)
        assert (buffer == 7).all()
        with pytest.raises(RuntimeError, match="has no value"):
            binding.copy_outputs_to_cpu()
    for changed, kind, told in (
        ({"shape": None}, ValueError, "are to be provided"),
        ({"buffer_ptr": 0}, RuntimeError, "address 0x0"),
        ({"shape": (-1, 2)}, RuntimeError, "shape is"),
        ({"element_type": 99}, RuntimeError, "99 is not supported"),
        ({"device_type": "foo"}, RuntimeError, "'foo'"),
        ({"device_type": "npu"}, RuntimeError, "'npu'"),
    ):
        with pytest.raises(kind, match=told):
            bind_buffer(binding, buffer, **changed)


def test_names_that_the_model_lacks_are_told(session, binding):
    binding.bind_output("y")
    told = "Failed to find NodeArg with name: u .*the inputs are x"
    for bind in (
        lambda: binding.bind_cpu_input("u", X),
        lambda: binding.bind_input("u", "cpu", 0, 1, X.shape, X.ctypes.data),
        lambda: binding.bind_ortvalue_input(
            "u", ort.OrtValue.ortvalue_from_numpy(X)
        ),
    ):
        with pytest.raises(RuntimeError, match=told):
            bind()
    binding.bind_output("u")
    with pytest.raises(RuntimeError, match="Invalid output name: u"):
        session.run_with_iobinding(binding)
    with pytest.raises(RuntimeError, match="got list"):
        binding.bind_cpu_input("x", X.tolist())


def test_what_is_missing_is_told(session, binding):
    with pytest.raises(RuntimeError, match="At least one output"):
        session.run_with_iobinding(binding)
    binding.bind_output("y")
    binding.clear_binding_inputs()
    with pytest.raises(RuntimeError, match=r"Required inputs \(\['x'\]\)"):
        session.run_with_iobinding(binding)
    binding.bind_cpu_input("x", X)
    session.run_with_iobinding(binding)
    binding.clear_binding_outputs()
    assert binding.get_outputs() == [] and binding.copy_outputs_to_cpu() == []
    other = ort.InferenceSession(small_model().SerializeToString())
    with pytest.raises(ValueError, match="the session that created it"):
        other.run_with_iobinding(binding)


def test_memory_that_was_freed_is_told_and_not_read(session):
    library = ctypes.CDLL(None)
    library.mmap.restype = ctypes.c_void_p
    size = ctypes.c_size_t(1 << 16)
    binding = session.io_binding()
    for bind in (
        lambda at: binding.bind_input("x", "cpu", 0, np.float32, (2, 3), at),
        lambda at: bind_buffer(
            binding, np.zeros((2, 2), "float32"), buffer_ptr=at
        ),
    ):
        address = library.mmap(None, size, 3, 0x22, -1, 0)
        binding.bind_cpu_input("x", X)
        binding.bind_output("y")
        bind(address)
        session.run_with_iobinding(binding)
        library.munmap(ctypes.c_void_p(address), size)
        with pytest.raises(RuntimeError, match="must stay alive until after"):
            session.run_with_iobinding(binding)


def test_an_array_that_nobody_else_keeps_stays_bound(session):
    binding = session.io_binding()
    binding.bind_cpu_input("x", X + 0)
    binding.bind_output("y")
    _ = [np.full((2, 3), 9, "float32") for _ in range(50)]
    session.run_with_iobinding(binding)
    np.testing.assert_allclose(binding.copy_outputs_to_cpu()[0], Y)


def test_an_output_for_a_missing_device_is_on_the_host(session, binding):
    if "CUDAExecutionProvider" in ort.get_available_providers():
        pytest.skip("this machine has a GPU")
    binding.bind_output("y", "cuda")
    session.run_with_iobinding(binding)
    assert binding.get_outputs()[0].device_name() == "cpu"
    with pytest.raises(RuntimeError, match="'cuda'"):
        binding.bind_input("x", "cuda", 0, np.float32, X.shape, X.ctypes.data)


def test_memory_of_a_gpu_is_read_and_filled(monkeypatch):
    if not sl.device_count("cuda"):
        pytest.skip("there is no GPU, real or emulated")
    # An emulated one answers to its own name only; here it is taken for real.
    providers = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(
        environment, "get_available_providers", lambda: providers
    )
    emulated = environment.is_present(environment.EMULATED)
    session = ort.InferenceSession(
        small_model().SerializeToString(),
        providers=[environment.EMULATED if emulated else providers[0]],
    )
    fed = ort.OrtValue.ortvalue_from_numpy(X, "cuda", 0)
    room = ort.OrtValue.ortvalue_from_shape_and_type(
        [2, 2], np.float32, "cuda", 0
    )
    binding = session.io_binding()
    binding.bind_input("x", "cuda", 0, np.float32, [2, 3], fed.data_ptr())
    binding.bind_output("y", "cuda", 0, np.float32, [2, 2], room.data_ptr())
    binding.bind_output("z", "cuda")
    session.run_with_iobinding(binding)
    np.testing.assert_allclose(room.numpy(), np.maximum(X @ WEIGHTS, 0))
    y, z = binding.get_outputs()
    assert y.data_ptr() == room.data_ptr()
    assert (y.device_name(), z.device_name()) == ("cuda", "cuda")
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[1], X)
