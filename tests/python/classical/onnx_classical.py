"""Nodes of the domain ai.onnx.ml."""

import numpy as np
from onnx import helper
from onnx_reference import compare, named, node

import sluice as sl

DOMAIN = "ai.onnx.ml"
TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]


def ml(op, inputs, outputs=1, known=True, version=3, **attributes):
    """A model with one node of the domain, and its feed."""
    inputs = named(inputs)
    names = [f"y{i}" for i in range(outputs)]
    model = node(op, inputs, names, 18, known, domain=DOMAIN, **attributes)
    model.opset_import.append(helper.make_opsetid(DOMAIN, version))
    return model, inputs


def results(op, inputs, outputs=1, known=True, version=3, **attributes):
    model, feed = ml(op, inputs, outputs, known, version, **attributes)
    return sl.onnx.load(model).run(feed)


def check(op, inputs, outputs=1, known=True, version=3, **attributes):
    return compare(*ml(op, inputs, outputs, known, version, **attributes))


def near(got, want, rtol=2e-5, atol=1e-6):
    np.testing.assert_allclose(got, want, rtol, atol)


def transformed(x, transform):
    """Scores [N, C] by attribute post_transform."""
    if transform == "SOFTMAX":
        e = np.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)
    if transform == "LOGISTIC":
        return 1 / (1 + np.exp(-x))
    if transform == "SOFTMAX_ZERO":
        e = np.exp(x - x.max(1, keepdims=True))
        e[np.abs(x) < 1e-7] = 0
        return e / e.sum(1, keepdims=True)
    if transform == "PROBIT":  # Winitzki's formula
        y = 2 * x - 1
        log = np.log(1 - y * y)
        half = 2 / (np.pi * 0.147) + log / 2
        return np.sqrt(2) * np.sign(y) * np.sqrt(
            np.sqrt(half**2 - log / 0.147) - half
        )
    return x
