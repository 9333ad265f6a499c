"""Sluice as an execution provider of onnxruntime itself, where that is there."""

import threading

import numpy as np
import pytest
from onnx_reference import parsed

import sluice as sl

try:
    import onnxruntime as ort
except ImportError:
    ort = None
HAS_PLUGINS = hasattr(ort, "register_execution_provider_library")
pytestmark = pytest.mark.skipif(not HAS_PLUGINS, reason="no onnxruntime with plug-ins")
# Older ones do not give a fused node what its subgraphs capture.
GIVES_CAPTURED = HAS_PLUGINS and tuple(map(int, ort.__version__.split(".")[:2])) >= (1, 32)
DRAW = np.random.default_rng(0)


def f(*shape, dtype="float32"):
    return DRAW.standard_normal(shape).astype(dtype)


def ints(*shape):
    return DRAW.integers(1, 9, shape)


@pytest.fixture(scope="module")
def devices():
    ort.register_execution_provider_library("Sluice", sl.onnx.execution_provider())
    return [each for each in ort.get_ep_devices() if each.ep_name == "Sluice"]


@pytest.fixture
def session(devices):
    """Opens a session whose nodes are all Sluice's, or some of them."""

    def make(model, whole=True, **options):
        chosen = ort.SessionOptions()
        chosen.log_severity_level = 4
        if whole:
            chosen.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        chosen.add_provider_for_devices(devices, options)
        return ort.InferenceSession(model.SerializeToString(), chosen, enable_fallback=False)

    return make


def by_onnxruntime(model, feed):
    theirs = ort.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return theirs.run(None, feed)


def check(made, model, feed, rtol=1e-4):
    ours = made.run(None, feed)
    for mine, theirs in zip(ours, by_onnxruntime(model, feed), strict=True):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=1e-5)


MLP = parsed(
    """(float[batch, 8] x) => (float[batch, 4] y) {
        a = MatMul (x, w1)
        b = Add (a, b1)
        c = Relu (b)
        y = Gemm <alpha = 0.5> (c, w2, b2)
    }""",
    17,
    w1=f(8, 16),
    b1=f(16),
    w2=f(16, 4),
    b2=f(4),
)


def test_the_device_is_the_cpu(devices):
    (device,) = devices
    assert device.ep_vendor == "The Sluice authors"
    assert device.device.type == ort.OrtHardwareDeviceType.CPU


@pytest.mark.parametrize("rows", [3, 1, 7, 0])
def test_a_model_with_an_open_batch(session, rows):
    check(session(MLP), MLP, {"x": f(rows, 8)})


MODELS = {
    "convolutions": (
        """(float[n, 3, 12, 12] x) => (float[n, 5] y) {
            a = Conv <pads = [1, 1, 1, 1], auto_pad = "NOTSET"> (x, w)
            b = BatchNormalization (a, scale, shift, mean, var)
            c = Relu (b)
            d = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c)
            e = GlobalAveragePool (d)
            g = Flatten (e)
            y = Gemm (g, v)
        }""",
        {
            "w": f(6, 3, 3, 3),
            "scale": f(6),
            "shift": f(6),
            "mean": f(6),
            "var": np.abs(f(6)) + 1,
            "v": f(6, 5),
        },
        {"x": f(2, 3, 12, 12)},
    ),
    "LSTM": (
        """(float[t, n, 4] x) => (float[t, 1, n, 5] y, float[1, n, 5] h) {
            y, h = LSTM <hidden_size = 5, activations = ["Sigmoid", "Tanh", "Relu"]>
                (x, w, r, , , , , )
        }""",
        {"w": f(1, 20, 4), "r": f(1, 20, 5)},
        {"x": f(3, 2, 4)},
    ),
    "RNN, whose activations onnxruntime fills in": (
        """(float[t, n, 4] x) => (float[t, 1, n, 5] y, float[1, n, 5] h) {
            y, h = RNN <hidden_size = 5, direction = "reverse"> (x, w, r)
        }""",
        {"w": f(1, 5, 4), "r": f(1, 5, 5)},
        {"x": f(3, 2, 4)},
    ),
    "transformer": (
        """(float[n, t, 8] x) => (float[n, t, 8] y) {
            q = MatMul (x, wq)
            k = MatMul (x, wk)
            v = MatMul (x, wv)
            s = Shape (x)
            s2 = Slice (s, zero, two)
            s4 = Concat <axis = 0> (s2, heads)
            q4 = Reshape (q, s4)
            k4 = Reshape (k, s4)
            v4 = Reshape (v, s4)
            qt = Transpose <perm = [0, 2, 1, 3]> (q4)
            kt = Transpose <perm = [0, 2, 3, 1]> (k4)
            vt = Transpose <perm = [0, 2, 1, 3]> (v4)
            scores = MatMul (qt, kt)
            p = Softmax <axis = -1> (scores)
            o = MatMul (p, vt)
            ot = Transpose <perm = [0, 2, 1, 3]> (o)
            o3 = Reshape (ot, s)
            sum = Add (x, o3)
            norm = LayerNormalization <axis = -1, epsilon = 0.00001> (sum, g, b)
            e = Erf (norm)
            y = Mul (norm, e)
        }""",
        {
            **{name: f(8, 8) for name in ("wq", "wk", "wv")},
            "g": f(8),
            "b": f(8),
            "zero": np.array([0]),
            "two": np.array([2]),
            "heads": np.array([2, 4]),
        },
        {"x": f(2, 5, 8)},
    ),
    "dtypes": (
        """(double[n] d, float16[n] h, int64[n] i, int32[n] j, uint8[n] u, bool[n] q)
            => (double[n] d2, float16[n] h2, int64[n] i2, int32[n] j2, uint8[n] u2,
                bool[n] q2) {
            d2 = Mul (d, d)
            h2 = Add (h, h)
            i2 = Mul (i, i)
            j2 = Sub (j, j)
            u2 = Identity (u)
            q2 = Not (q)
        }""",
        {},
        {
            "d": f(3, dtype="float64"),
            "h": f(3, dtype="float16"),
            "i": ints(3),
            "j": ints(3).astype("int32"),
            "u": ints(3).astype("uint8"),
            "q": np.array([True, False, True]),
        },
    ),
    "scalars and tensors of attributes": (
        """(float s, int64[k] shape) => (float[] y) {
            c = ConstantOfShape <value = float[1] {2.5}> (shape)
            y = Mul (c, s)
        }""",
        {},
        {"s": np.array(3, "float32"), "shape": np.array([2, 3])},
    ),
    "captured values": (
        """(bool c, float[n, 3] x) => (float[n, 3] y) {
            t = Abs (x)
            y = If (c) <
                then_branch = yes () => (float[n, 3] a) { a = Add (t, w) },
                else_branch = no () => (float[n, 3] b) { b = Neg (x) }>
        }""",
        {"w": f(3)},
        {"c": np.array(True), "x": f(2, 3)},
    ),
    "a loop": (
        """(int64 m, float[3] x) => (float[3] y, float[k, 3] all) {
            y, all = Loop (m, , x) <body = step (int64 i, bool go, float[3] v) =>
                (bool on, float[3] next, float[3] seen) {
                    on = Identity (go)
                    next = Add (v, x)
                    seen = Mul (v, two)
                }>
        }""",
        {"two": np.float32(2)},
        {"m": np.array(3), "x": f(3)},
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_whole_models(session, name):
    text, constants, feed = MODELS[name]
    model = parsed(text, 17, **constants)
    whole = GIVES_CAPTURED or name not in ("captured values", "a loop")
    check(session(model, whole), model, feed, rtol=2e-3 if name == "dtypes" else 1e-4)


def test_bfloat16(session):
    # onnxruntime's CPU provider has no sum of them, and NumPy no such dtype.
    model = parsed(
        """(float[n] x) => (float[n] y) {
            a = Cast <to = 16> (x)
            b = Add (a, a)
            y = Cast <to = 1> (b)
        }"""
    )
    x = np.array([1, -3, 0.5], "float32")
    (y,) = session(model).run(None, {"x": x})
    np.testing.assert_array_equal(y, x + x)


SPLIT = """<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>
    model (float[n, 3] x) => (float[n, n] y, float[n, 3] z) {
        a = Abs (x)
        b = MatMul (a, w)
        [distances] c = com.microsoft.CDist <metric = "euclidean"> (b, x)
        d = Exp (b)
        e = Neg (c)
        y = Softmax (e)
        z = Add (d, a)
    }"""


def test_nodes_that_sluice_lacks_run_in_onnxruntime(session, tmp_path):
    model = parsed(SPLIT, w=f(3, 3))
    page = tmp_path / "explain.txt"
    made = session(model, whole=False, explain=str(page))
    check(made, model, {"x": f(4, 3)})
    text = page.read_text()
    assert "node distances (CDist): " in text.splitlines()[1]
    assert text.count("program, cpu") == 2  # before and after it
    assert "softmax" in text
    with pytest.raises(Exception, match="CPU"):
        session(model)


def test_nodes_without_a_kernel_run_in_onnxruntime(session, tmp_path, monkeypatch):
    hints = (f"matmul: exclude library={each}" for each in ("PLAIN", "EIGEN", "ONEDNN", "OPENBLAS"))
    monkeypatch.setenv("SLUICE_KERNEL_HINTS", "; ".join(hints))
    model = parsed("(float[n, 3] x) => (float[n, 2] y) { a = Abs (x) y = MatMul (a, w) }", w=f(3, 2))
    page = tmp_path / "explain.txt"
    made = session(model, whole=False, explain=str(page))
    check(made, model, {"x": f(4, 3)})
    assert "(MatMul): matmul: no kernel fits float32 at cpu" in page.read_text()


@pytest.mark.parametrize("shape", [(3,), (2, 3), ()])
def test_a_rank_that_is_known_late(session, shape):
    model = parsed("(float[] x) => (float[] y) { y = Neg (x) }")
    check(session(model), model, {"x": np.asarray(f(*shape), "float32")})


def test_what_a_subgraph_captures_may_come_from_onnxruntime(session):
    model = parsed(
        """<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>
        model (bool c, float[n, 3] x) => (float[n, n] y) {
            d = com.microsoft.CDist <metric = "euclidean"> (x, x)
            y = If (c) <
                then_branch = yes () => (float[n, n] a) { a = Add (d, d) },
                else_branch = no () => (float[n, n] b) { b = Neg (d) }>
        }"""
    )
    made = session(model, whole=False)
    for condition in (True, False):
        check(made, model, {"c": np.array(condition), "x": f(4, 3)})


def test_strings_and_sequences_stay_outside(session):
    model = parsed(
        """(string[n] s, float[n] x) => (float[n] y, bool[n] z) {
            q = SequenceConstruct (x, x)
            a = SequenceAt (q, one)
            y = Neg (a)
            z = Equal (s, s)
        }""",
        19,
        one=np.array(1),
    )
    made = session(model, whole=False)
    feed = {"s": np.array(["a", "b"], object), "x": f(2)}
    np.testing.assert_array_equal(made.run(["y"], feed)[0], -feed["x"])


def test_an_initialiser_that_is_fed(session):
    model = parsed("(float[2] x, float[2] w) => (float[2] y) { y = Mul (x, w) }", w=f(2))
    made = session(model)
    x, w = f(2), f(2)
    np.testing.assert_allclose(made.run(None, {"x": x, "w": w})[0], x * w)
    check(made, model, {"x": x})


def test_wrong_feeds(session):
    made = session(MLP)
    with pytest.raises(Exception, match="tensor\\(float\\)"):
        made.run(None, {"x": f(2, 8, dtype="float64")})
    with pytest.raises(Exception, match="x"):
        made.run(None, {"x": f(2, 9)})
    check(made, MLP, {"x": f(2, 8)})


def test_errors_of_a_run_have_sluices_text(session):
    model = parsed(
        "(float[n, m] x) => (float[n, k] y) { [product] y = MatMul (x, w) }", w=f(3, 2)
    )
    made = session(model)
    with pytest.raises(Exception, match="node product \\(MatMul\\)"):
        made.run(None, {"x": f(2, 5)})
    check(made, model, {"x": f(2, 3)})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": "many"}, "option threads: .* got many"),
        ({"threads": "-1"}, "option threads"),
        ({"colour": "red"}, "no option colour; it has explain and threads"),
        ({"explain": "/no/such/folder/page"}, "cannot write"),
    ],
    ids=str,
)
def test_wrong_options(session, options, message):
    with pytest.raises(Exception, match=message):
        session(MLP, **options)


def test_many_threads_run_one_session(session):
    made = session(MLP, threads="1")
    feeds = [f(rows, 8) for rows in range(1, 9)]
    want = [by_onnxruntime(MLP, {"x": feed})[0] for feed in feeds]
    wrong = []

    def run(feed, result):
        for _ in range(20):
            (y,) = made.run(None, {"x": feed})
            if not np.allclose(y, result, atol=1e-5):
                wrong.append(y)

    threads = [
        threading.Thread(target=run, args=pair) for pair in zip(feeds, want, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
