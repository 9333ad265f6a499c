"""Options of sessions and runs: each has an effect, or is said to have none."""

import json
import threading
import time
import warnings

import numpy as np
import pytest

import sluice as sl
import sluice.onnxruntime as ort
from sluice.onnxruntime import environment
from sluice.onnxruntime.capi import onnxruntime_pybind11_state as state

onnx = pytest.importorskip("onnx")
from onnx_reference import parsed  # noqa: E402
from small_model import WEIGHTS, X, Y, small_model  # noqa: E402


@pytest.fixture(autouse=True)
def nothing_was_said():
    environment._said.clear()
    yield
    environment._said.clear()


@pytest.fixture
def model():
    return small_model().SerializeToString()


def options(**values):
    made = ort.SessionOptions()
    for name, value in values.items():
        setattr(made, name, value)
    return made


def test_options_without_effect_are_named_once(model):
    given = options(enable_mem_pattern=False, inter_op_num_threads=2)
    given.add_session_config_entry("session.intra_op.allow_spinning", "0")
    with pytest.warns(UserWarning) as told:
        ort.InferenceSession(model, given)
    texts = sorted(str(each.message) for each in told)
    assert [text.split(" has no effect")[0] for text in texts] == [
        "SessionOptions.enable_mem_pattern",
        "SessionOptions.inter_op_num_threads",
        "SessionOptions: the entry 'session.intra_op.allow_spinning'",
    ]
    assert {each.filename for each in told} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ort.InferenceSession(model, given)
        quiet = options(execution_mode=ort.ExecutionMode.ORT_PARALLEL)
        quiet.log_severity_level = 3
        ort.InferenceSession(model, quiet)
        ort.InferenceSession(model, options(enable_mem_reuse=True))


def test_a_function_gets_what_would_be_warned(model):
    told = []
    ort.set_default_logger_callback(lambda *message: told.append(message))
    try:
        ort.InferenceSession(model, options(enable_cpu_mem_arena=False))
    finally:
        ort.set_default_logger_callback(None)
    (message,) = told
    assert message[0] == 2 and "enable_cpu_mem_arena" in message[-1]
    with pytest.raises(TypeError, match="expected a function"):
        ort.set_default_logger_callback(3)


def test_attributes_have_types_and_no_others_exist():
    given = ort.SessionOptions()
    given.enable_profiling = 1
    assert given.enable_profiling is True
    given.intra_op_num_threads = np.int64(3)
    assert given.intra_op_num_threads == 3
    for name, value in (
        ("intra_op_num_threads", "x"),
        ("graph_optimization_level", 99),
        ("execution_mode", 1),
        ("logid", 3),
        ("enable_profiling", "yes"),
    ):
        with pytest.raises(TypeError, match=name):
            setattr(given, name, value)
    for made in (given, ort.RunOptions()):
        with pytest.raises(AttributeError, match="foo"):
            made.foo = 1


def test_a_session_keeps_its_options(model):
    given = options(intra_op_num_threads=1)
    session = ort.InferenceSession(model, given)
    given.intra_op_num_threads = 2
    session.run(None, {"x": X})
    plan = session._executor._last_plan(session.program)
    assert plan.num_threads == 1
    assert session.get_session_options().intra_op_num_threads == 1
    with pytest.raises(TypeError, match="expected SessionOptions"):
        ort.InferenceSession(model, {"intra_op_num_threads": 1})
    ort.InferenceSession(model, options(intra_op_num_threads=-1))


def test_threads_can_be_those_of_all_sessions(model):
    ort.set_global_thread_pool_sizes(1, 1)
    try:
        given = options(use_per_session_threads=False)
        session = ort.InferenceSession(model, given)
        session.run(None, {"x": X})
        plan = session._executor._last_plan(session.program)
        assert plan.num_threads == 1
    finally:
        ort.set_global_thread_pool_sizes(0, 0)


@pytest.mark.parametrize(
    "add, get",
    [
        ("add_session_config_entry", "get_session_config_entry"),
        ("add_run_config_entry", "get_run_config_entry"),
    ],
)
def test_entries_are_texts_and_are_kept(add, get):
    made = ort.SessionOptions() if "session" in add else ort.RunOptions()
    getattr(made, add)("a", "b")
    getattr(made, add)("a", "c")
    assert getattr(made, get)("a") == "c"
    with pytest.raises(RuntimeError, match="with key: nothing"):
        getattr(made, get)("nothing")
    with pytest.raises(TypeError, match="two texts"):
        getattr(made, add)("a", 1)
    for key in ("", "k" * 1025):
        with pytest.raises(RuntimeError, match="empty or longer"):
            getattr(made, add)(key, "1")


def test_sizes_are_fixed_by_name_and_by_denotation(model):
    proto = onnx.load_from_string(model)
    for fix in (
        lambda o: o.add_free_dimension_override_by_name("batch", 2),
        lambda o: o.add_free_dimension_override_by_denotation("DATA_BATCH", 2),
    ):
        dim = proto.graph.input[0].type.tensor_type.shape.dim[0]
        dim.denotation = "DATA_BATCH"
        given = ort.SessionOptions()
        fix(given)
        session = ort.InferenceSession(proto.SerializeToString(), given)
        assert session.get_inputs()[0].shape == [2, 3]
        np.testing.assert_allclose(session.run(["y"], {"x": X})[0], Y)
        np.testing.assert_allclose(session.run(["y"], {"x": X.tolist()})[0], Y)
        for fed in (X[:1], X[:1].tolist()):
            with pytest.raises(
                state.InvalidArgument, match="index: 0 Got: 1 Expected: 2"
            ):
                session.run(["y"], {"x": fed})
    class Foreign:
        """A tensor of a library whose dtypes have no name, such as PyTorch."""

        dtype, shape = "torch.float32", X.shape

        def __dlpack__(self, **keywords):
            return X.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return X.__dlpack_device__()

    np.testing.assert_allclose(session.run(["y"], {"x": Foreign()})[0], Y)
    given = ort.SessionOptions()
    given.add_free_dimension_override_by_name("other", 2)
    given.add_free_dimension_override_by_denotation("OTHER", 2)
    session = ort.InferenceSession(proto.SerializeToString(), given)
    assert session.get_inputs()[0].shape == ["batch", 3]
    with pytest.raises(TypeError, match="expected an integer"):
        given.add_free_dimension_override_by_name("batch", "2")
    with pytest.raises(ValueError, match="0 or more"):
        given.add_free_dimension_override_by_denotation("OTHER", -1)


def test_initialisers_get_other_values(model):
    ones = ort.OrtValue.ortvalue_from_numpy(np.ones((3, 2), "float32"))
    expected = np.maximum(X.sum(1, keepdims=True), 0).repeat(2, 1)
    given = ort.SessionOptions()
    given.add_initializer("w", ones)
    with pytest.warns(UserWarning, match="initializer with name v"):
        given.add_initializer("v", np.ones(1, "float32"))
        session = ort.InferenceSession(model, given)
    np.testing.assert_allclose(session.run(["y"], {"x": X})[0], expected)
    with pytest.raises(RuntimeError, match="already been added: w"):
        given.add_initializer("w", ones)
    with pytest.raises(RuntimeError, match="must be an OrtValue"):
        given.add_initializer("u", [1.0])
    for wrong in (np.ones((3, 3), "float32"), np.ones((3, 2))):
        given = ort.SessionOptions()
        given.add_initializer("w", wrong)
        with pytest.raises(state.Fail, match="the value given for it is float"):
            ort.InferenceSession(model, given)


def test_initialisers_that_are_inputs_may_be_fed():
    proto = parsed(
        """(float[n, 3] x, float[3, 2] w, int64[2] shape) => (float[m, k] y) {
            h = MatMul (x, w)
            y = Reshape (h, shape)
        }""",
        w=WEIGHTS,
        shape=np.array([2, 2], "int64"),
    )
    session = ort.InferenceSession(proto.SerializeToString())
    assert [value.name for value in session.get_inputs()] == ["x"]
    for fed in (
        {},
        {"w": np.ones((3, 2), "float32")},
        {"shape": np.array([4, 1])},
        {"shape": np.array([1, 4]), "w": -WEIGHTS},
        {},
    ):
        (y,) = session.run(None, {"x": X, **fed})
        expected = X @ fed.get("w", WEIGHTS)
        shape = fed.get("shape", np.array([2, 2]))
        np.testing.assert_allclose(y, expected.reshape(shape))
    with pytest.raises(state.InvalidArgument, match="Invalid input name: v"):
        session.run(None, {"x": X, "w": WEIGHTS, "v": X})


def test_a_shape_among_the_initialisers_is_replaced_before_it_is_used():
    proto = parsed(
        "(float[6] x) => (float[n, m] y) { y = Reshape (x, shape) }",
        shape=np.array([2, 3], "int64"),
    )
    given = ort.SessionOptions()
    given.add_initializer("shape", np.array([3, 2], "int64"))
    session = ort.InferenceSession(proto.SerializeToString(), given)
    (y,) = session.run(None, {"x": np.zeros(6, "float32")})
    assert y.shape == (3, 2)


def test_external_initialisers_come_from_memory_or_a_folder(model, tmp_path):
    proto = onnx.load_from_string(model)
    onnx.save(
        proto,
        tmp_path / "net.onnx",
        save_as_external_data=True,
        location="net.data",
        size_threshold=0,
    )
    source = (tmp_path / "net.onnx").read_bytes()
    given = ort.SessionOptions()
    given.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(tmp_path)
    )
    session = ort.InferenceSession(source, given)
    np.testing.assert_allclose(session.run(["y"], {"x": X})[0], Y)
    (tmp_path / "net.data").unlink()
    given = ort.SessionOptions()
    given.add_external_initializers(["w"], [WEIGHTS])
    session = ort.InferenceSession(str(tmp_path / "net.onnx"), given)
    np.testing.assert_allclose(session.run(["y"], {"x": X})[0], Y)
    with pytest.raises(RuntimeError, match="equal length"):
        given.add_external_initializers(["w", "v"], [WEIGHTS])
    given.add_external_initializers(["v"], [WEIGHTS])
    with pytest.raises(state.Fail, match="initializer with name v"):
        ort.InferenceSession(str(tmp_path / "net.onnx"), given)
    with pytest.raises(state.NoSuchFile, match=r"net\.data"):
        ort.InferenceSession(str(tmp_path / "net.onnx"))


def test_the_model_is_written_and_can_be_loaded(model, tmp_path):
    path = tmp_path / "saved.onnx"
    ort.InferenceSession(model, options(optimized_model_filepath=str(path)))
    saved = ort.InferenceSession(path)
    np.testing.assert_allclose(saved.run(["y"], {"x": X})[0], Y)
    assert saved._model_path == str(path) and saved._model_bytes is None
    for wrong in (tmp_path / "none" / "saved.onnx", tmp_path / "saved.ort"):
        with pytest.raises(ort.capi.onnxruntime_pybind11_state.OrtException):
            ort.InferenceSession(
                model, options(optimized_model_filepath=str(wrong))
            )


def test_onnxruntimes_own_format_is_refused_in_a_sentence(model, tmp_path):
    (tmp_path / "net.ort").write_bytes(model)
    with pytest.raises(state.Fail, match=r"reads the \.onnx file"):
        ort.InferenceSession(tmp_path / "net.ort")
    given = ort.SessionOptions()
    given.add_session_config_entry("session.load_model_format", "ORT")
    with pytest.raises(state.Fail, match=r"reads the \.onnx file"):
        ort.InferenceSession(model, given)
    with pytest.raises(state.Fail, match="sluice.load_op_library"):
        given.register_custom_ops_library("ops.so")


def test_providers_can_be_options(model):
    given = ort.SessionOptions()
    assert not given.has_providers()
    given.add_provider("CPUExecutionProvider", {"a": "b"})
    assert given.has_providers()
    session = ort.InferenceSession(model, given)
    assert session.get_provider_options() == {"CPUExecutionProvider": {"a": "b"}}
    with pytest.raises(RuntimeError, match="Unknown Provider Type: Foo"):
        given.add_provider("Foo", {})
    given = ort.SessionOptions()
    given.add_provider_for_devices(ort.get_ep_devices()[-1:], {})
    session = ort.InferenceSession(model, given)
    assert session.get_providers() == ["CPUExecutionProvider"]
    given.set_provider_selection_policy(
        ort.OrtExecutionProviderDevicePolicy.PREFER_CPU
    )
    assert ort.InferenceSession(model, given).get_providers()
    assert ort.InferenceSession(
        model, providers="CPUExecutionProvider"
    ).get_providers() == ["CPUExecutionProvider"]
    with pytest.warns(UserWarning, match="Duplicate provider"):
        ort.InferenceSession(model, providers=["CPUExecutionProvider"] * 2)
    with pytest.raises(ValueError, match="a sequence"):
        ort.InferenceSession(model, providers=3)


def test_a_run_can_be_refused_and_its_options_are_checked(model):
    session = ort.InferenceSession(model)
    run = ort.RunOptions()
    run.only_execute_path_to_fetches = True
    np.testing.assert_allclose(session.run(["y"], {"x": X}, run)[0], Y)
    run.terminate = True
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_output("y")
    for call in (
        lambda: session.run(None, {"x": X}, run),
        lambda: session.run_with_iobinding(binding, run),
    ):
        with pytest.raises(state.Fail, match="terminate flag being set to true"):
            call()
    session.run(None, {"x": X})
    run.terminate = False
    session.run(None, {"x": X}, run)
    with pytest.raises(TypeError, match="expected a RunOptions"):
        session.run(None, {"x": X}, 4)
    with pytest.raises(TypeError, match="merge it into"):
        run.add_active_adapter(None)
    run.add_run_config_entry("gpu_graph_id", "1")
    with pytest.warns(UserWarning, match="'gpu_graph_id' has no effect"):
        session.run(None, {"x": X}, run)


def test_loading_can_be_cancelled(model):
    given = ort.SessionOptions()
    given.set_load_cancellation_flag(True)
    with pytest.raises(state.ModelLoadCanceled, match="canceled by user"):
        ort.InferenceSession(model, given)
    ort.InferenceSession(model)
    given.set_load_cancellation_flag(False)
    ort.InferenceSession(model, given)


def test_a_run_is_ended_from_another_thread_and_no_other_run():
    proto = parsed(
        """(float[n, n] x) => (float[n, n] y) {
            steps = Constant <value_int = 100000> ()
            go = Constant <value = bool {1}> ()
            y = Loop (steps, go, x) <body = body (
                int64 i, bool c, float[n, n] a) => (bool d, float[n, n] b) {
                d = Identity (c)
                s = MatMul (a, a)
                b = Tanh (s)
            }>
        }"""
    )
    session = ort.InferenceSession(proto.SerializeToString())
    run, told = ort.RunOptions(), []
    feed = {"x": np.eye(64, dtype="float32")}

    def work():
        try:
            session.run(None, feed, run)
        except Exception as error:
            told.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.2)
    run.terminate = True
    other = ort.InferenceSession(small_model().SerializeToString())
    other.run(None, {"x": X}, ort.RunOptions())
    thread.join(30)
    assert not thread.is_alive()
    assert isinstance(told[0], state.Fail) and "terminate" in str(told[0])


def test_a_profile_is_a_trace_of_chrome(model, tmp_path):
    given = options(  # one kernel takes several nodes otherwise
        enable_profiling=True,
        profile_file_prefix=str(tmp_path / "profile"),
        graph_optimization_level=ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
    )
    before = time.monotonic_ns()
    session = ort.InferenceSession(model, given)
    run = ort.RunOptions()
    run.logid = "second"
    (y,) = session.run(["y"], {"x": X})
    np.testing.assert_allclose(y, Y)
    session.run(None, {"x": X}, run)
    assert before <= session.get_profiling_start_time_ns() < time.monotonic_ns()
    path = session.end_profiling()
    assert path.startswith(str(tmp_path / "profile_")) and path.endswith(".json")
    events = json.loads(open(path).read())
    assert {event["ph"] for event in events} == {"X"}
    assert all(event["ts"] >= 0 and event["dur"] >= 0 for event in events)
    session_events = [e["name"] for e in events if e["cat"] == "Session"]
    assert session_events == [
        "model_loading_array", "session_initialization", "model_run",
        "model_run",
    ]
    runs = [event for event in events if event["name"] == "model_run"]
    assert [event["args"] for event in runs] == [{}, {"logid": "second"}]
    nodes = [event for event in events if event["cat"] == "Node"]
    assert {"product_kernel_time"} <= {event["name"] for event in nodes}
    product = next(e for e in nodes if e["name"] == "product_kernel_time")
    assert product["args"]["op_name"] == "MatMul"
    assert product["args"]["provider"] == "CPUExecutionProvider"
    assert {"float": [2, 3]} in product["args"]["input_type_shape"]
    assert {"float": [2, 2]} in product["args"]["output_type_shape"]
    first = runs[0]
    assert first["ts"] <= product["ts"] <= first["ts"] + first["dur"] + 1
    assert session.end_profiling() == ""
    session.run(None, {"x": X})
    unprofiled = ort.InferenceSession(model)
    assert unprofiled.end_profiling() == ""
    assert unprofiled.get_profiling_start_time_ns() == 0


def test_a_profile_that_is_not_ended_is_written_with_its_session(model, tmp_path):
    given = options(
        enable_profiling=True, profile_file_prefix=str(tmp_path / "profile")
    )
    session = ort.InferenceSession(model, given)
    session.run(None, {"x": X})
    assert not list(tmp_path.glob("*.json"))
    del session
    (path,) = tmp_path.glob("*.json")
    assert json.loads(path.read_text())


def test_a_profile_of_several_stretches_has_the_run(tmp_path):
    proto = parsed(
        """(float[3] x) => (float[1, n] z) {
            places = NonZero (x)
            y = Cast <to = 1> (places)
            z = Tanh (y)
        }"""
    )
    given = options(
        enable_profiling=True, profile_file_prefix=str(tmp_path / "profile")
    )
    session = ort.InferenceSession(proto.SerializeToString(), given)
    (z,) = session.run(None, {"x": np.float32([1, 0, 3])})
    np.testing.assert_allclose(z, np.tanh([[0, 2]]), rtol=1e-6)
    events = json.loads(open(session.end_profiling()).read())
    assert "model_run" in [event["name"] for event in events]


def test_seeds_and_levels_are_checked():
    with pytest.warns(UserWarning, match="set_seed has no effect"):
        ort.set_seed(3)
    with pytest.raises(TypeError, match="expected an integer"):
        ort.set_seed("3")
    for level in (9, -1):
        with pytest.raises(RuntimeError, match="Invalid logging severity"):
            ort.set_default_logger_severity(level)
    with pytest.raises(TypeError, match="expected 0 to 4"):
        ort.set_default_logger_severity("3")
    with pytest.warns(UserWarning, match="one level of detail"):
        ort.set_default_logger_verbosity(3)
    assert sl.num_threads() > 0
