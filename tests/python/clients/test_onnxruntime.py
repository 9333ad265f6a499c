"""The interface of onnxruntime, used like its clients do."""

import threading
import warnings

import numpy as np
import pytest
from processes import together

import sluice as sl
import sluice.onnxruntime as ort
from sluice.onnxruntime.capi import onnxruntime_pybind11_state as state

onnx = pytest.importorskip("onnx")
from onnx_reference import parsed  # noqa: E402
from small_model import X, Y, small_model  # noqa: E402


@pytest.fixture
def model():
    return small_model().SerializeToString()


def test_a_session_says_what_it_has(model):
    session = ort.InferenceSession(model)
    (x,) = session.get_inputs()
    assert (x.name, x.shape, x.type) == ("x", ["batch", 3], "tensor(float)")
    assert [value.name for value in session.get_outputs()] == ["y", "z"]
    meta = session.get_modelmeta()
    assert meta.custom_metadata_map["character"] == "abc"
    assert (meta.producer_name, meta.graph_name) == ("tests", "small")
    assert session.get_providers() == ["CPUExecutionProvider"]


@pytest.mark.parametrize(
    "feed",
    [X, np.asfortranarray(X), X.tolist(), X[::1], np.stack([X, X], -1)[..., 0]],
    ids=["dense", "fortran", "lists", "view", "strided"],
)
def test_feeds_come_in_many_forms(model, feed):
    session = ort.InferenceSession(model)
    y, z = session.run(None, {"x": feed})
    np.testing.assert_allclose(y, Y)
    np.testing.assert_array_equal(z, X)
    (z,) = session.run(["z"], {"x": feed}, ort.RunOptions())
    np.testing.assert_array_equal(z, X)


def test_zero_dimensional_feeds():
    proto = parsed("(int64 a) => (int64 b) { b = Add (a, a) }")
    session = ort.InferenceSession(proto.SerializeToString())
    assert session.get_inputs()[0].type == "tensor(int64)"
    (b,) = session.run(None, {"a": np.array(16000, "int64")})
    assert b.shape == () and b == 32000


def test_options_are_those_of_onnxruntime(model):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 2
    options.log_severity_level = 4
    options.enable_cpu_mem_arena = False
    options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = ort.InferenceSession(
        model,
        sess_options=options,
        providers=[("CPUExecutionProvider", {"arena_extend_strategy": "x"})],
    )
    kept = session.get_session_options()
    assert kept.execution_mode == ort.ExecutionMode.ORT_PARALLEL
    np.testing.assert_allclose(session.run(["y"], {"x": X})[0], Y)
    with pytest.raises(TypeError):
        options.intra_op_num_threads = "many"
    with pytest.raises(AttributeError):
        options.intra_op_threads = 1


@pytest.mark.parametrize("threads", [1, 2])
def test_thread_counts_reach_the_plan(model, threads):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(model, options)
    before = sl.num_threads()
    session.run(None, {"x": X})
    assert sl.num_threads() == before
    plan = session._executor._last_plan(session.program)
    assert plan.num_threads == threads


def test_level_disable_all_fuses_nothing(model):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model, options)
    session.run(None, {"x": X})
    assert "relu" in session.explain()


def test_errors_are_those_that_clients_catch(model, tmp_path):
    with pytest.raises(state.NoSuchFile):
        ort.InferenceSession(str(tmp_path / "none.onnx"))
    with pytest.raises(state.InvalidProtobuf):
        ort.InferenceSession(b"no model at all")
    with pytest.raises(TypeError):
        ort.InferenceSession(3)
    session = ort.InferenceSession(model)
    with pytest.raises(ValueError, match=r"Required inputs \(\['x'\]\)"):
        session.run(None, {})
    for names, feed, message in (
        (None, {"x": X, "u": X}, "Invalid input name: u"),
        (["u"], {"x": X}, "Invalid output name: u"),
        (None, {"x": X.astype("float64")}, "float64"),
        (None, {"x": X[0]}, "shape"),
        (None, {"x": X[:, :2]}, "shape"),
    ):
        with pytest.raises(state.InvalidArgument, match=message):
            session.run(names, feed)
    np.testing.assert_allclose(session.run(["y"], {"x": X})[0], Y)


def test_models_that_contradict_themselves_or_need_more_are_told_apart(model):
    proto = onnx.load_from_string(model)
    proto.graph.node[1].input[0] = "nothing"
    with pytest.raises(state.InvalidGraph, match="nothing"):
        ort.InferenceSession(proto.SerializeToString())
    proto = onnx.load_from_string(model)
    proto.graph.node[1].op_type = "StringSplit"
    with pytest.raises(state.NotImplemented, match="StringSplit"):
        ort.InferenceSession(proto.SerializeToString())


def test_unknown_providers_warn_and_fall_back(model):
    with pytest.warns(UserWarning, match="FooExecutionProvider"):
        session = ort.InferenceSession(model, providers=["FooExecutionProvider"])
    assert session.get_providers() == ["CPUExecutionProvider"]
    with pytest.raises(ValueError, match="as many"):
        ort.InferenceSession(
            model, providers=["CPUExecutionProvider"], provider_options=[{}, {}]
        )


def test_the_module_says_what_there_is():
    assert "CPUExecutionProvider" in ort.get_available_providers()
    assert ort.get_device() in ("CPU", "GPU")
    assert ort.__version__
    ort.disable_telemetry_events()
    ort.set_default_logger_severity(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from sluice.onnxruntime.providers import chosen

        assert chosen(["Foo"], None) == [("CPUExecutionProvider", {})]
    ort.set_default_logger_severity(2)
    with pytest.raises(RuntimeError):
        ort.set_default_logger_severity(7)


def test_a_session_explains_tunes_and_reports(model, tmp_path):
    session = ort.InferenceSession(model)
    with pytest.raises(state.Fail, match="explain needs a run"):
        session.explain()
    with pytest.raises(ValueError, match="input_feed"):
        session.tune(1)
    session.run(None, {"x": X})
    assert "matmul" in session.explain()
    session.tune(0.2)
    session.report(tmp_path / "page.html", seconds=0.1)
    assert "small" in (tmp_path / "page.html").read_text()


def test_threads_share_a_session(model):
    session = ort.InferenceSession(model)
    wrong = []

    def work():
        for rows in (1, 2) * 20:
            (y,) = session.run(["y"], {"x": X[:rows]})
            if not np.allclose(y, Y[:rows]):
                wrong.append(y)

    together([work] * 4)
    assert not wrong


def test_names_are_where_clients_import_them():
    from sluice.onnxruntime.capi import _pybind_state
    from sluice.onnxruntime.capi.onnxruntime_inference_collection import (
        InferenceSession,
    )

    assert InferenceSession is ort.InferenceSession
    assert set(_pybind_state.__all__) == set(state.__all__)
    for name in state.__all__:
        assert getattr(_pybind_state, name) is getattr(state, name)


def test_feeds_and_outputs_of_a_wrong_type_are_told(model):
    session = ort.InferenceSession(model)
    with pytest.raises(TypeError, match="dict of arrays .*'x': .*got list"):
        session.run(None, [X])
    with pytest.raises(TypeError, match="text 'y'; expected a list"):
        session.run("y", {"x": X})


def test_an_emulated_gpu_answers_to_its_own_name_only(model):
    if not sl.device_count("cuda") or sl.show_config("dicts")["cuda"] != "EMULATE":
        pytest.skip("CUDA is not emulated")
    assert ort.get_available_providers() == ["CPUExecutionProvider"]
    assert ort.get_device() == "CPU"
    names = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    with pytest.warns(UserWarning, match="'CUDAExecutionProvider' is not") as told:
        session = ort.InferenceSession(model, providers=names)
    assert told[0].filename == __file__
    assert session.get_providers() == ["CPUExecutionProvider"]
    sl.executor._warned.clear()
    with pytest.warns(UserWarning, match="emulates cuda:0"):
        session.set_providers(["EmulatedCUDAExecutionProvider"])
    assert session.get_providers()[0] == "EmulatedCUDAExecutionProvider"
    np.testing.assert_allclose(session.run(["y"], {"x": X})[0], Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sl.Executor(sl.CUDAPlace(0))  # it is said once


def test_values_are_fed_and_returned(model):
    session = ort.InferenceSession(model)
    fed = ort.OrtValue.ortvalue_from_numpy(X)
    (y,) = session.run_with_ort_values(["y"], {"x": fed})
    np.testing.assert_allclose(y.numpy(), Y)
    np.testing.assert_allclose(session.run(["y"], {"x": fed})[0], Y)
    fixed = X.copy()
    fixed.flags.writeable = False
    fed = ort.OrtValue.ortvalue_from_numpy(fixed)
    np.testing.assert_allclose(session.run(["y"], {"x": fed})[0], Y)


def test_a_thread_runs_and_calls_back(model):
    session = ort.InferenceSession(model)
    done = []
    session.run_async(["y"], {"x": X}, lambda *results: done.append(results), 7)
    session.run_async(["y"], {"x": X[0]}, lambda *told: done.append(told), 8)
    with pytest.raises(ValueError, match="Required inputs"):
        session.run_async(["y"], {}, print, 9)
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    (wrong,) = (told for told in done if told[1] == 8)
    assert wrong[0] == [] and wrong[2].startswith("Invalid rank for input: x")
    (right,) = (told for told in done if told[1] == 7)
    np.testing.assert_allclose(right[0][0], Y)
    assert right[2] == ""


def test_a_model_of_several_stretches_is_tuned():
    proto = parsed(
        """(float[3] x) => (float[1, n] z) {
            e = Exp (x)
            places = NonZero (e)
            y = Cast <to = 1> (places)
            z = Tanh (y)
        }"""
    )
    session = ort.InferenceSession(proto.SerializeToString())
    feed = {"x": np.float32([1, 2, 3])}
    before = session.run(None, feed)[0]
    tuned = session.tune(2)
    assert {"exp"} <= {signature.op for signature in tuned.signatures}
    np.testing.assert_allclose(session.run(None, feed)[0], before, rtol=1e-6)


def test_a_cast_to_the_dtype_that_a_value_has_is_none():
    proto = parsed("(float[3] x) => (float[3] y) { y = Cast <to=1> (x) }")
    session = ort.InferenceSession(proto.SerializeToString())
    assert " cast" not in str(session.program)
    (y,) = session.run(None, {"x": X[0]})
    np.testing.assert_array_equal(y, X[0])
