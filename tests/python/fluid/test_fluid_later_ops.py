"""Ops of Fluid's int8 programs, of its fused passes and of PaddlePaddle 2."""

import numpy as np
import pytest
import refusals
from formulas.recurrences import lstm_step, sigmoid
from test_fluid_translation import f32, run

import sluice as sl
from sluice.fluid.translate import Translation

X = f32(-1.02, -0.5, 0.25, 1.0)

test_what_is_refused = refusals.rows(
    [
        (lambda: run("quantize", {"Input": X}, {"Scale": 0.0}), "not 0"),
        (lambda: run("quantize", {"Input": X}, {"Shift": 300.0}), "0 to 255"),
        (lambda: run("requantize", {"Input": X}, {"Shift_in": 3.0}),
         "shifts of int8; expected uint8"),
        (lambda: run("diagonal", {"Input": np.diag(X)}, {"offset": 5}),
         sl.UnimplementedError, "a diagonal of no element"),
    ],
    line=False,
)  # fmt: skip


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
    refusals.refused(lambda: gradient("cvm", {}, "Y", X=pairs, CVM=pairs[:, :2]), "no gradient")


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
