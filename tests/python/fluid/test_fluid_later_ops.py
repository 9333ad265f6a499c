"""Ops of Fluid's int8 programs, of its fused passes and of PaddlePaddle 2."""

import numpy as np
import pytest
from formulas.recurrences import lstm_step, sigmoid
from test_fluid_translation import f32, run

import sluice as sl
from sluice.fluid.translate import Translation

X = f32(-1.02, -0.5, 0.25, 1.0)
LOG = np.log(f32(0.2, 0.5, 0.3)[None])


def tanh_gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def bins(x, scale, bits=8):
    n = 2 ** (bits - 1) - 1
    return np.round(np.clip(x / scale, -1, 1) * n)


@pytest.mark.parametrize(
    "type, inputs, attrs, slot, expected",
    [
        # half to even, and cut to the range of the type
        (
            "quantize",
            {"Input": f32(0.5, 1.5, -0.5, 500)},
            {"Scale": 1.0},
            "Output",
            np.array([0, 2, 0, 255], np.uint8),
        ),
        (
            "quantize",
            {"Input": f32(-2, 1)},
            {"Scale": 100.0, "is_negative_input": True},
            "Output",
            np.array([-128, 100], np.int8),
        ),
        (
            "quantize",
            {"Input": f32(-1, 1)},
            {"Scale": 10.0, "Shift": 128.0, "is_negative_input": True},
            "Output",
            np.array([118, 138], np.uint8),
        ),
        (
            "dequantize",
            {"Input": np.array([118, 138], np.uint8)},
            {"Scale": 10.0, "Shift": 128.0},
            "Output",
            f32(-1, 1),
        ),
        (
            "requantize",
            {"Input": np.array([-100, 50], np.int8)},
            {"Scale_in": 100.0, "Scale_out": 50.0},
            "Output",
            np.array([-50, 25], np.int8),
        ),
        (
            "matmul",
            {
                "X": np.array([[10, 20]], np.int8),
                "Y": np.array([[10], [100]], np.int8),
            },
            {"Scale_x": 10.0, "Scale_y": 10.0, "Scale_out": 2.0},
            "Out",
            np.array([[42]], np.int8),
        ),
        (
            "pool2d",
            {"X": np.array([[[[1, 2, 2, 2]]]], np.int8)},
            {"pooling_type": "avg", "ksize": [1, 4]},
            "Out",
            np.array([[[[2]]]], np.int8),
        ),
        (
            "fake_quantize_abs_max",
            {"X": X},
            {"bit_length": 4},
            "Out",
            bins(X, 1.02, 4),
        ),
        ("fake_quantize_abs_max", {"X": X * 0}, {}, "Out", X * 0),
        (
            "fake_quantize_dequantize_moving_average_abs_max",
            {
                "X": X, "InScale": f32(9), "InAccum": f32(1),
                "InState": f32(1),
            },
            {"moving_rate": 0.5},
            "Out",
            bins(X, 1.52 / 1.5) * (1.52 / 1.5) / 127,
        ),
        (
            "fake_channel_wise_dequantize_max_abs",
            {"X": np.ones((2, 3), np.float32), "Scales": [f32(1, 2)]},
            {"quant_bits": [8]},
            "Out",
            [[1 / 127] * 3, [2 / 127] * 3],
        ),
        # gelu of this op is another one than that of gelu
        (
            "fused_elemwise_activation",
            {"X": X, "Y": X},
            {"functor_list": ["gelu", "elementwise_add"]},
            "Out",
            tanh_gelu(2 * X),
        ),
        # oneDNN resizes by half pixels, whatever align_corners says
        (
            "bilinear_interp",
            {"X": f32(0, 1).reshape(1, 1, 1, 2)},
            {"out_h": 1, "out_w": 4, "use_mkldnn": True},
            "Out",
            [[[[0, 0.25, 0.75, 1]]]],
        ),
        (
            "softmax_with_cross_entropy",
            {"Logits": np.exp(LOG), "Label": np.array([[1]])},
            {"use_softmax": False},
            "Loss",
            -LOG[:, 1:2],
        ),
        (
            "segment_pool",
            {
                "X": f32(1, -2, 3, 5)[:, None],
                "SegmentIds": np.array([0, 0, 2, 2]),
            },
            {"pooltype": "MIN"},
            "Out",
            [[-2], [0], [3]],
        ),
        (
            "diagonal",
            {"Input": np.arange(6, dtype=np.float32).reshape(2, 3)},
            {"offset": 1},
            "Out",
            [1, 5],
        ),
        ("equal_all", {"X": X, "Y": X}, {}, "Out", [True]),
        ("equal_all", {"X": X, "Y": X[:2]}, {}, "Out", [False]),
        ("log2", {"X": f32(8)}, {}, "Out", [3]),
        ("log10", {"X": f32(100)}, {}, "Out", [2]),
        (
            "fill_any_like",
            {"X": np.zeros(1, np.int32)},
            {"value": 2.9},
            "Out",
            [2],
        ),
        (
            "temporal_shift",
            {"X": f32(1, 2).reshape(2, 1, 1, 1)},
            {"seg_num": 2, "shift_ratio": 0.5, "data_format": "NHWC"},
            "Out",
            np.zeros((2, 1, 1, 1)) + [[[[2]]], [[[0]]]],
        ),
    ],
)  # fmt: skip
def test_numbers(type, inputs, attrs, slot, expected):
    (out,) = run(type, inputs, attrs, (slot,))
    assert out.shape == np.shape(expected)
    if isinstance(expected, np.ndarray) and expected.dtype.kind in "iu":
        assert out.dtype == expected.dtype
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "type, inputs, attrs, outputs, text",
    [
        ("quantize", {"Input": X}, {"Scale": 0.0}, ("Output",), "not 0"),
        ("quantize", {"Input": X}, {"Shift": 300.0}, ("Output",), "0 to 255"),
        (
            "requantize",
            {"Input": np.zeros(2, np.int8)},
            {"Shift_in": 3.0},
            ("Output",),
            "shifts of int8; expected uint8",
        ),
        (
            "diagonal",
            {"Input": np.zeros((2, 3), np.float32)},
            {"offset": 5},
            ("Out",),
            "a diagonal of no element",
        ),
    ],
)
def test_what_is_refused(type, inputs, attrs, outputs, text):
    with pytest.raises(sl.errors.SluiceError, match=text):
        run(type, inputs, attrs, outputs)


def gradient(type, attrs, slot="Out", **inputs):
    """The gradient of the first input, of the mean of an output."""
    program = sl.Program()
    t = Translation(program)
    for name, array in inputs.items():
        variable = program.data(name, array.shape, array.dtype.name)
        variable.stop_gradient = False
    t.append(type, {name: [name] for name in inputs}, {slot: ["out"]}, attrs)
    t.append("mean", {"X": ["out"]}, {"Out": ["loss"]})
    first = next(iter(inputs))
    ((_, grad),) = sl.append_backward(t.value("loss"), [first])
    return sl.Executor().run(program, inputs, [grad])[0]


def test_rounding_hands_the_gradient_on():
    attrs = {"bit_length": 8}
    got = gradient("fake_quantize_dequantize_abs_max", attrs, X=X)
    np.testing.assert_allclose(got, [0.25] * 4)


def test_cvm_refuses_its_gradient():
    # Fluid's is the input CVM, which is not the gradient of what it computes.
    pairs = np.ones((1, 4), np.float32)
    with pytest.raises(sl.errors.InvalidArgumentError, match="no gradient"):
        gradient("cvm", {}, "Y", X=pairs, CVM=pairs[:, :2])


@pytest.mark.parametrize("release", [1, 2])
def test_lamb_corrects_the_bias_since_paddlepaddle_2(release):
    inputs = {
        "Param": f32(1, 2), "Grad": f32(0.5, -0.5), "LearningRate": f32(0.1),
        "Moment1": f32(0, 0), "Moment2": f32(0, 0), "Beta1Pow": f32(0.9),
        "Beta2Pow": f32(0.999),
    }  # fmt: skip
    outputs = ("ParamOut", "Beta1PowOut")[:release]
    out = run("lamb", inputs, {"weight_decay": 0.1}, outputs)[0]
    p, g = inputs["Param"], inputs["Grad"]
    step = g / np.abs(g) if release == 2 else 0.1 * g / np.sqrt(0.001 * g * g)
    step = step + 0.1 * p
    expected = p - 0.1 * np.linalg.norm(p) / np.linalg.norm(step) * step
    np.testing.assert_allclose(out, expected, rtol=1e-4)


def rnn_by_hand(mode, x, w, r, b, c, lengths):
    """The outputs of a layer in one direction."""
    out = np.zeros((*x.shape[:2], r.shape[1]))
    for row, length in enumerate(lengths):
        h = cell = np.zeros(r.shape[1])
        for t in range(length):
            given, kept = w @ x[t, row] + b, r @ h + c
            if mode == "LSTM":
                i, f, g, o = np.split(given + kept, 4)
                h, cell = lstm_step(i, f, o, g, cell)
            elif mode == "GRU":
                (r1, z1, n1), (r2, z2, n2) = (
                    np.split(v, 3) for v in (given, kept)
                )
                z = sigmoid(z1 + z2)
                h = z * h + (1 - z) * np.tanh(n1 + sigmoid(r1 + r2) * n2)
            else:
                h = np.maximum(given + kept, 0)
            out[t, row] = h
    return out


@pytest.mark.parametrize(
    "mode, gates", [("LSTM", 4), ("GRU", 3), ("RNN_RELU", 1)]
)
def test_rnn_reads_the_gates_in_their_order(mode, gates):
    rng = np.random.default_rng(5)
    shapes = [(gates * 2, 3), (gates * 2, 2), (gates * 2,), (gates * 2,)]
    weights = [rng.normal(size=s).astype(np.float32) for s in shapes]
    x = rng.normal(size=(4, 2, 3)).astype(np.float32)
    lengths = np.array([4, 2], np.int32)
    states = [np.zeros((1, 2, 2), np.float32)] * (2 if mode == "LSTM" else 1)
    inputs = {
        "Input": x, "PreState": states, "WeightList": weights,
        "SequenceLength": lengths,
    }  # fmt: skip
    (out,) = run("rnn", inputs, {"mode": mode})
    expected = rnn_by_hand(mode, x, *weights, lengths)
    np.testing.assert_allclose(out, expected, atol=1e-5)


def test_conv2d_of_int8_rounds_its_weights():
    x = np.array([[[[10, 20]]]], np.int8)
    weight = f32(0.26, -0.5).reshape(2, 1, 1, 1)
    attrs = {
        "Scale_in": 2.0, "Scale_weights": [10.0, 4.0], "Scale_out": 4.0
    }  # fmt: skip
    (out,) = run(
        "conv2d", {"Input": x, "Filter": weight, "Bias": f32(1, 0)}, attrs,
        ("Output",),
    )  # fmt: skip
    assert out.dtype == np.int8
    np.testing.assert_array_equal(out[0, :, 0], [[10, 16], [-10, -20]])


def test_diag_v2_fills_what_is_beside_it():
    (out,) = run("diag_v2", {"X": f32(1, 2)}, {"padding_value": 5.0})
    np.testing.assert_array_equal(out, [[1, 5], [5, 2]])
    (out,) = run("diag_v2", {"X": np.diag(f32(1, 2))})
    np.testing.assert_array_equal(out, [1, 2])


def test_unique_along_an_axis():
    x = f32(1, 0, 1, 2).reshape(2, 2)[:, [0, 0, 1]]
    attrs = {
        "axis": [1], "is_sorted": True, "return_index": True,
        "return_inverse": True, "return_counts": True, "dtype": 3,
    }  # fmt: skip
    got = run("unique", {"X": x}, attrs, ("Out", "Indices", "Index", "Counts"))
    wanted = np.unique(x, True, True, True, axis=1)
    for mine, theirs in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(mine, theirs.reshape(mine.shape))
