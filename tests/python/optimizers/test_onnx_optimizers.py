"""The optimizers of ONNX's domain for training, compared with NumPy."""

import numpy as np
import pytest

import sluice as sl

pytest.importorskip("onnx")
from onnx_reference import parsed  # noqa: E402


def optimizer(op, lists, attributes, steps, dtype="float", sizes="2"):
    """The new values of two tensors, by Sluice and by `formula`."""
    outputs = [name for name in lists if name != "g"]
    names = [f"{name}{i}" for name in lists for i in range(2)]
    results = ", ".join(f"{name}{i}_new" for name in outputs for i in range(2))
    inputs = ", ".join(f"{dtype}[{sizes}] {name}" for name in names)
    model = sl.onnx.load(
        parsed(
            f"""<ir_version: 8, opset_import: ["ai.onnx.preview.training": 1]>
            model (float r, int64 t, {inputs}) => ({results}) {{
                {results} = ai.onnx.preview.training.{op} <{attributes}>
                    (r, t, {", ".join(names)})
            }}"""
        )
    )
    rng = np.random.default_rng(0)
    kind = {"float": "f4", "double": "f8"}[dtype]
    feed = {name: rng.uniform(0.5, 2, 2).astype(kind) for name in names}
    r, t = np.float32(0.1), np.int64(steps)
    got = model.run({"r": r, "t": t, **feed})
    of_tensor = [
        {name: feed[f"{name}{i}"].astype("f8") for name in lists}
        for i in range(2)
    ]
    return got, of_tensor


def expect(got, wanted):
    """Compares results with one tuple of new values for each tensor."""
    flat = [value for values in zip(*wanted, strict=True) for value in values]
    for a, b in zip(got, flat, strict=True):
        np.testing.assert_allclose(a, b, rtol=3e-6)


@pytest.mark.parametrize("steps", [0, 3])
@pytest.mark.parametrize("dtype, sizes", [("float", "2"), ("double", "n")])
def test_adagrad(steps, dtype, sizes):
    attributes = "decay_factor = 0.5, norm_coefficient = 0.25, epsilon = 0.5"
    got, given = optimizer("Adagrad", "xgh", attributes, steps, dtype, sizes)

    def step(x, g, h):
        g = g + 0.25 * x
        h = h + g * g
        return x - 0.1 / (1 + steps * 0.5) * g / (np.sqrt(h) + 0.5), h

    expect(got, [step(**one) for one in given])


@pytest.mark.parametrize("steps", [0, 3])
@pytest.mark.parametrize("dtype, sizes", [("float", "2"), ("double", "n")])
def test_adam(steps, dtype, sizes):
    attributes = """alpha = 0.75, beta = 0.9375, norm_coefficient = 0.25,
        norm_coefficient_post = 0.125, epsilon = 0.5"""
    got, given = optimizer("Adam", "xgvh", attributes, steps, dtype, sizes)
    rate = 0.1
    if steps > 0:
        rate *= np.sqrt(1 - 0.9375**steps) / (1 - 0.75**steps)

    def step(x, g, v, h):
        g = g + 0.25 * x
        v = 0.75 * v + 0.25 * g
        h = 0.9375 * h + 0.0625 * g * g
        return 0.875 * (x - rate * v / (np.sqrt(h) + 0.5)), v, h

    expect(got, [step(**one) for one in given])


@pytest.mark.parametrize("steps", [0, 3])
@pytest.mark.parametrize("mode", ["standard", "nesterov"])
def test_momentum(steps, mode):
    attributes = f"""alpha = 0.75, beta = 0.5, norm_coefficient = 0.25,
        mode = "{mode}" """
    got, given = optimizer("Momentum", "xgv", attributes, steps)

    def step(x, g, v):
        g = g + 0.25 * x
        v = 0.75 * v + (0.5 if steps > 0 else 1) * g
        return x - 0.1 * (v if mode == "standard" else g + 0.75 * v), v

    expect(got, [step(**one) for one in given])
