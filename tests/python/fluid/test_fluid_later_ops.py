"""Ops of Fluid's int8 programs, of its fused passes and of PaddlePaddle 2."""

import numpy as np
import pytest
from test_fluid_translation import f32, run

import sluice as sl
from sluice.fluid.translate import Translation

RNG = np.random.default_rng(5)
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


def test_attention_of_heads_is_one_product():
    x = RNG.normal(size=(1, 3, 4)).astype(np.float32)
    w = RNG.normal(size=(4, 3, 4)).astype(np.float32)
    b = RNG.normal(size=(3, 4)).astype(np.float32)
    mask = RNG.normal(size=(1, 2, 3, 3)).astype(np.float32)
    inputs = {"Input": x, "W": w, "Bias": b, "BiasQK": mask}
    (out,) = run("multihead_matmul", inputs, {"head_number": 2, "alpha": 0.5})
    q, k, v = (x[0] @ w[:, i] + b[i] for i in range(3))
    for head in range(2):
        part = slice(2 * head, 2 * head + 2)
        e = np.exp(0.5 * q[:, part] @ k[:, part].T + mask[0, head])
        expected = e / e.sum(1, keepdims=True) @ v[:, part]
        np.testing.assert_allclose(out[0, :, part], expected, rtol=1e-4)
