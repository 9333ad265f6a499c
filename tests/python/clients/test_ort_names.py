"""The names that programs for onnxruntime import, and modules of it."""

import io
import pickle
from contextlib import redirect_stdout

import numpy as np
import pytest
from processes import python

import sluice.onnxruntime as ort
from sluice.onnxruntime import absent
from sluice.onnxruntime.capi import onnxruntime_pybind11_state as state

pytest.importorskip("onnx")
from small_model import X, Y, small_model  # noqa: E402

# What onnxruntime 1.32 has, without what is of Python.
NAMES = """
AdapterFormat ExecutionMode ExecutionOrder GraphOptimizationLevel IOBinding
InferenceSession LoraAdapter ModelCompiler ModelMetadata ModelPackage
ModelPackageComponentContext ModelPackageContext ModelPackageOptions
ModelPackageWriteMode NodeArg OrtAllocatorType OrtArenaCfg OrtCompileApiFlags
OrtDevice OrtDeviceMemoryType OrtDeviceVendorId OrtEpAssignedNode
OrtEpAssignedSubgraph OrtEpContextData OrtEpContextDataBuffer OrtEpDevice
OrtExecutionProviderDevicePolicy OrtExternalInitializerInfo OrtHardwareDevice
OrtHardwareDeviceType OrtMemType OrtMemoryInfo OrtMemoryInfoDeviceType
OrtSparseFormat OrtSyncStream OrtValue RunOptions SessionIOBinding
SessionOptions SparseTensor copy_tensors create_and_register_allocator
create_and_register_allocator_v2 cuda_version disable_telemetry_events
enable_telemetry_events get_all_providers get_available_providers
get_build_info get_device get_ep_devices get_version_string has_collective_ops
package_name preload_dlls print_debug_info register_execution_provider_library
set_default_logger_callback set_default_logger_severity
set_default_logger_verbosity set_global_thread_pool_sizes set_seed
unregister_execution_provider_library version
""".split()
IN_THE_EXTENSION = """
ArenaExtendStrategy DeviceReset EPFail EngineError Fail InvalidArgument
InvalidGraph InvalidProtobuf ModelLoadCanceled ModelLoaded
ModelRequiresCompilation NoModel NoSuchFile NotFound NotImplemented
OrtCompiledModelCompatibility OrtDeviceEpIncompatibilityReason OrtValueVector
RuntimeException SessionObjectInitializer SparseBlockSparseView SparseCooView
SparseCsrView get_all_operator_schema get_all_opkernel_def
get_compatibility_info_from_model get_compatibility_info_from_model_bytes
get_default_session_options get_hardware_device_ep_incompatibility_details
get_hardware_devices get_model_compatibility_for_ep_devices
get_registered_ep_kernel_defs get_session_initializer kNextPowerOfTwo
kSameAsRequested opkernel pack_fp4_weights_for_cuda_moe_gemm
quantize_matmul_2bits quantize_matmul_4bits quantize_matmul_8bits
quantize_matmul_bnb4 quantize_qdq_matmul_2bits quantize_qdq_matmul_4bits
schemadef
""".split()


def test_all_names_of_onnxruntime_are_there():
    assert [name for name in NAMES if not hasattr(ort, name)] == []
    modules = "cuda_version package_name print_debug_info preload_dlls version"
    inner = [n for n in NAMES if n not in modules.split()] + IN_THE_EXTENSION
    python_only = ("IOBinding", "OrtDeviceVendorId")
    missing = [n for n in inner if not hasattr(state, n)]
    assert [n for n in missing if n not in python_only] == []
    assert set(inner) <= set(state.__all__) | set(python_only)


def test_clients_import_it_in_the_place_of_onnxruntime():
    code = """
import sys, sluice.onnxruntime
sys.modules["onnxruntime"] = sluice.onnxruntime
import onnxruntime
print(onnxruntime.capi.onnxruntime_pybind11_state.__file__.rsplit("/", 1)[1])
from onnxruntime.capi import _pybind_state as C
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument
from onnxruntime.capi._pybind_state import NoSuchFile, OrtValue
from onnxruntime.capi.onnxruntime_inference_collection import InferenceSession
from onnxruntime.capi.onnxruntime_validation import check_distro_info
import onnxruntime as ort, onnxruntime.quantization
from onnxruntime.quantization import CalibrationDataReader, quantize_dynamic
from onnxruntime.quantization.calibrate import CalibrationMethod
from onnxruntime.transformers import optimizer
from onnxruntime.transformers.models.gpt2.convert_to_onnx import main
from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference
from onnxruntime.datasets import get_example
assert InferenceSession is sluice.onnxruntime.InferenceSession
assert ort.OrtValue is OrtValue and "cuda=" in ort.get_build_info()
assert ort.get_version_string() == ort.__version__
class Reader(CalibrationDataReader): pass
try: ort.InferenceSession("none.onnx")
except NoSuchFile: print("caught")
try: optimizer.optimize_model("none.onnx")
except NotImplementedError as error: print(error)
try: SymbolicShapeInference.infer_shapes(None)
except ImportError as error: print(error)
try: import onnxruntime.training
except ModuleNotFoundError as error: print(error)
"""
    done = python("-c", code, check=True)
    lines = done.stdout.splitlines()
    assert lines[:2] == ["onnxruntime_pybind11_state.py", "caught"]
    assert lines[2].startswith("onnxruntime.transformers.optimizer.optimize_mod")
    assert lines[3].startswith("onnxruntime.tools.symbolic_shape_infer.Symbolic")
    assert "process of its own" in lines[3]
    assert lines[4].startswith("No module named 'onnxruntime.training'")


def test_what_is_absent_says_what_to_do():
    for use in (
        lambda: ort.LoraAdapter(),
        lambda: ort.LoraAdapter.Load("adapter"),
        lambda: ort.ModelCompiler(ort.SessionOptions(), "net.onnx"),
        lambda: state.quantize_matmul_4bits(),
    ):
        with pytest.raises(absent.AbsentError, match=r"^onnxruntime\.\w+.*: .+"):
            use()
    with pytest.raises(AttributeError):
        ort.nothing  # noqa: B018
    with pytest.raises(RuntimeError, match="load_device_plugin"):
        ort.register_execution_provider_library("EP", "libep.so")
    with pytest.raises(RuntimeError, match="no library of that name"):
        ort.unregister_execution_provider_library("EP")


def test_errors_are_texts_like_those_of_onnxruntime():
    session = ort.InferenceSession(small_model().SerializeToString())
    for call, kind, text in (
        (
            lambda: session.run(None, {"x": X.astype("float64")}),
            state.InvalidArgument,
            "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Unexpected input data "
            "type. Actual: (tensor(double)) , expected: (tensor(float))",
        ),
        (
            lambda: ort.InferenceSession("none.onnx"),
            state.NoSuchFile,
            "[ONNXRuntimeError] : 3 : NO_SUCHFILE : ",
        ),
        (
            lambda: ort.InferenceSession(b"\x08"),
            state.InvalidProtobuf,
            "[ONNXRuntimeError] : 7 : INVALID_PROTOBUF : ",
        ),
    ):
        with pytest.raises(kind) as told:
            call()
        assert str(told.value).startswith(text)
        assert told.value.__cause__ is not None


def test_names_that_are_private_in_onnxruntime_are_there(tmp_path):
    source = small_model().SerializeToString()
    (tmp_path / "net.onnx").write_bytes(source)
    session = ort.InferenceSession(tmp_path / "net.onnx")
    assert session._model_path == str(tmp_path / "net.onnx")
    assert session._providers == ["CPUExecutionProvider"]
    assert session._provider_options == {"CPUExecutionProvider": {}}
    assert [value.name for value in session._outputs_meta] == ["y", "z"]
    options = session._sess_options
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "profile")
    session._sess_options = options
    session._reset_session(["CPUExecutionProvider"], None)
    session.run(None, {"x": X})
    assert session.end_profiling()
    inner = state.InferenceSession(state.SessionOptions(), source, False, False)
    inner.initialize_session([], [], set())
    np.testing.assert_allclose(inner.run(["y"], {"x": X}, None)[0], Y)
    assert inner.inputs_meta[0].name == "x"
    assert inner.model_meta.graph_name == "small"


def test_a_session_can_be_derived_from_and_pickled(tmp_path):
    (tmp_path / "net.onnx").write_bytes(small_model().SerializeToString())
    session = Pickled(str(tmp_path / "net.onnx"), providers=["CPUExecutionProvider"])
    copy = pickle.loads(pickle.dumps(session))
    np.testing.assert_allclose(copy.run(["y"], {"x": X})[0], Y)


class Pickled(ort.InferenceSession):
    """As clients write it to send sessions to other processes."""

    def __init__(self, path, **options):
        super().__init__(path, **options)
        self.path = path

    def __getstate__(self):
        return {"path": self.path}

    def __setstate__(self, values):
        self.__init__(values["path"])


def test_types_are_converted_for_bindings():
    from sluice.onnxruntime.transformers.io_binding_helper import TypeHelper

    session = ort.InferenceSession(small_model().SerializeToString())
    assert TypeHelper.get_io_numpy_type_map(session) == dict.fromkeys(
        "xyz", np.float32
    )
    assert TypeHelper.get_io_onnx_type_map(session) == dict.fromkeys("xyz", 1)
    assert TypeHelper.get_input_type(session, "x") == "tensor(float)"
    assert TypeHelper.get_output_type(session, "y") == "tensor(float)"
    assert TypeHelper.ort_type_to_numpy_type("tensor(bool)") is bool
    assert TypeHelper.ort_type_to_numpy_type("tensor(double)") is np.float64
    assert TypeHelper.ort_type_to_onnx_type("tensor(bfloat16)") == 16
    for wrong in ("float", "tensor(nothing)"):
        with pytest.raises(ValueError, match="not found in map"):
            TypeHelper.ort_type_to_numpy_type(wrong)
    with pytest.raises(ValueError, match="input name y not found"):
        TypeHelper.get_input_type(session, "y")


def test_memory_and_devices_have_descriptions():
    host = ort.OrtMemoryInfo(
        "Cpu",
        ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR,
        0,
        ort.OrtMemType.DEFAULT,
    )
    assert (host.name, host.device_id) == ("Cpu", 0)
    with pytest.raises(RuntimeError, match="'Foo' is not supported"):
        ort.OrtMemoryInfo("Foo", 0, 0, 0)
    assert ort.OrtArenaCfg(0, 1, -1, -1).arena_extend_strategy == 1
    assert ort.OrtArenaCfg({"max_mem": 5}).max_mem == 5
    with pytest.raises(RuntimeError, match="option: zz"):
        ort.OrtArenaCfg({"zz": 1})
    (*_, cpu) = ort.get_ep_devices()
    assert cpu.ep_name == "CPUExecutionProvider"
    assert cpu.device.type == ort.OrtHardwareDeviceType.CPU
    info = cpu.memory_info(ort.OrtDeviceMemoryType.DEFAULT)
    value = ort.OrtValue.ortvalue_from_shape_and_type(
        [2], np.float32, memory_info=info
    )
    assert value.device_name() == "cpu"
    session = ort.InferenceSession(small_model().SerializeToString())
    assert [info.name for info in session.get_input_memory_infos()] == ["Cpu"]
    assert len(session.get_output_memory_infos()) == 2
    assert session.get_input_epdevices()[0].ep_name == "CPUExecutionProvider"
    assert session.create_ortvalue_from_shape_and_type(
        [2], np.float32, "cpu"
    ).shape() == [2]
    assert session.get_tuning_results() == []
    with redirect_stdout(io.StringIO()) as printed:
        ort.print_debug_info()
    assert ort.__version__ in printed.getvalue()


def test_the_backend_runs_models(tmp_path):
    from sluice.onnxruntime import backend

    source = small_model()
    (tmp_path / "net.onnx").write_bytes(source.SerializeToString())
    for model in (
        source,
        source.SerializeToString(),
        str(tmp_path / "net.onnx"),
        ort.InferenceSession(source.SerializeToString()),
    ):
        y, z = backend.prepare(model, "CPU").run([X])
        np.testing.assert_allclose(y, Y)
        np.testing.assert_array_equal(z, X)
    np.testing.assert_allclose(backend.run(source, X)[0], Y)
    prepared = backend.prepare(source, intra_op_num_threads=1, other=2)
    assert backend.prepare(prepared) is prepared
    assert backend.supports_device("CPU") and backend.is_compatible(source)
    with pytest.raises(RuntimeError, match="2 inputs|1 inputs"):
        prepared.run([X, X])
    with pytest.raises(RuntimeError, match="Incompatible device"):
        backend.prepare(source, "TPU")
    for refused in ("optimized_model_filepath", "enable_profiling"):
        with pytest.raises(RuntimeError, match=refused):
            backend.prepare(source, **{refused: "x"})
    with pytest.raises(RuntimeError, match="terminate"):
        prepared.run([X], terminate=True)


def test_examples_are_models():
    from sluice.onnxruntime.datasets import get_example

    session = ort.InferenceSession(get_example("sigmoid.onnx"))
    (x,), (y,) = session.get_inputs(), session.get_outputs()
    assert (x.name, x.shape, x.type) == ("x", [3, 4, 5], "tensor(float)")
    fed = np.linspace(-2, 2, 60, dtype="float32").reshape(3, 4, 5)
    (got,) = session.run([y.name], {x.name: fed})
    np.testing.assert_allclose(got, 1 / (1 + np.exp(-fed)), rtol=1e-6)
    session = ort.InferenceSession(get_example("mul_1.onnx"))
    fed = np.array([[1, 2], [3, 4], [5, 6]], "float32")
    (got,) = session.run(["Y"], {"X": fed})
    np.testing.assert_array_equal(got, fed * fed)
    assert get_example("mul_1.onnx") == get_example("mul_1.onnx")
    with pytest.raises(FileNotFoundError, match=r"'nothing'; there are: sigmoid"):
        get_example("nothing")
