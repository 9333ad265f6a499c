"""Layers over sequences with parameters, and losses with parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from .framework import Variable
from .layer_helper import LayerHelper, layer
from .parameter_layers import fc
from .simple_layers import LAYERS
from .writing import assign

__all__ = [
    "crf_decoding", "dynamic_gru", "dynamic_lstm", "dynamic_lstmp", "gru_unit",
    "hsigmoid", "linear_chain_crf", "lstm_unit", "nce",
]  # fmt: skip


def _attributes(a: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(a, name) for name in names}


@layer(
    "input, size, param_attr=None, bias_attr=None, is_reverse=False, "
    "gate_activation='sigmoid', candidate_activation='tanh', h_0=None, "
    "origin_mode=False",
    "gru",
)
def dynamic_gru(helper: LayerHelper, a: Any) -> Variable:
    """Gated recurrent units over products [rows, 3 * size]."""
    w, bias = _weights(helper, a, [a.size, 3 * a.size], 3 * a.size)
    return helper.append(
        "gru",
        {"Input": a.input, "Weight": w, "Bias": bias, "H0": a.h_0},
        {
            "activation": a.candidate_activation,
            **_attributes(a, "is_reverse", "gate_activation", "origin_mode"),
        },
        "Hidden",
    )


def _weights(
    helper: LayerHelper, a: Any, shape: list[int], width: int
) -> tuple[Any, Any]:
    dtype = getattr(a, "dtype", a.input.dtype)
    w = helper.create_parameter(a.param_attr, shape, dtype)
    bias = helper.create_parameter(a.bias_attr, [1, width], dtype, is_bias=True)
    return w, bias


_LSTM = (
    "use_peepholes", "is_reverse", "gate_activation", "cell_activation",
    "candidate_activation",
)  # fmt: skip


@layer(
    "input, size, h_0=None, c_0=None, param_attr=None, bias_attr=None, "
    "use_peepholes=True, is_reverse=False, gate_activation='sigmoid', "
    "cell_activation='tanh', candidate_activation='tanh', dtype='float32', "
    "name=None",
    "lstm",
)
def dynamic_lstm(helper: LayerHelper, a: Any) -> tuple[Variable, Variable]:
    """Long short-term memory over products [rows, size]."""
    units = a.size // 4
    width = 7 * units if a.use_peepholes else a.size
    w, bias = _weights(helper, a, [units, a.size], width)
    return helper.append(
        "lstm",
        {"Input": a.input, "Weight": w, "Bias": bias, "H0": a.h_0, "C0": a.c_0},
        _attributes(a, *_LSTM),
        "Hidden",
        ("Cell",),
    )


@layer(
    "input, size, proj_size, param_attr=None, bias_attr=None, "
    "use_peepholes=True, is_reverse=False, gate_activation='sigmoid', "
    "cell_activation='tanh', candidate_activation='tanh', "
    "proj_activation='tanh', dtype='float32', name=None, h_0=None, c_0=None, "
    "cell_clip=None, proj_clip=None",
    "lstmp",
)
def dynamic_lstmp(helper: LayerHelper, a: Any) -> tuple[Variable, Variable]:
    """:func:`dynamic_lstm` whose states are projected to ``proj_size``."""
    units = a.size // 4
    w = helper.create_parameter(a.param_attr, [a.proj_size, a.size], a.dtype)
    projection = helper.create_parameter(
        a.param_attr, [units, a.proj_size], a.dtype
    )
    width = 7 * units if a.use_peepholes else a.size
    bias = helper.create_parameter(a.bias_attr, [1, width], a.dtype, True)
    inputs = {
        "Input": a.input,
        "Weight": w,
        "ProjWeight": projection,
        "Bias": bias,
        "H0": a.h_0,
        "C0": a.c_0,
    }
    attrs = _attributes(a, *_LSTM, "proj_activation", "cell_clip", "proj_clip")
    return helper.append("lstmp", inputs, attrs, "Projection", ("Cell",))


_CODES = {"identity": 0, "sigmoid": 1, "tanh": 2, "relu": 3}


@layer(
    "input, hidden, size, param_attr=None, bias_attr=None, activation='tanh', "
    "gate_activation='sigmoid', origin_mode=False"
)
def gru_unit(helper: LayerHelper, a: Any) -> Any:
    """A step of :func:`dynamic_gru`: the state, the reset one, the gates."""
    w, bias = _weights(helper, a, [a.size // 3, a.size], a.size)
    return helper.append(
        "gru_unit",
        {"Input": a.input, "HiddenPrev": a.hidden, "Weight": w, "Bias": bias},
        {
            "activation": _CODES[a.activation],
            "gate_activation": _CODES[a.gate_activation],
            "origin_mode": a.origin_mode,
        },
        "Hidden",
        ("ResetHiddenPrev", "Gate"),
    )


@layer(
    "x_t, hidden_t_prev, cell_t_prev, forget_bias=0.0, param_attr=None, "
    "bias_attr=None, name=None"
)
def lstm_unit(helper: LayerHelper, a: Any) -> tuple[Variable, Variable]:
    """A step of long short-term memory, with its ``fc``: state and cell."""
    both = LAYERS["concat"]([a.x_t, a.hidden_t_prev], 1)
    size = 4 * a.cell_t_prev.shape[1]
    gates = fc(both, size, param_attr=a.param_attr, bias_attr=a.bias_attr)
    inputs = {"X": gates, "C_prev": a.cell_t_prev}
    attrs = {"forget_bias": float(a.forget_bias)}
    return helper.append("lstm_unit", inputs, attrs, "H", ("C",))


def _crf(helper: LayerHelper, a: Any) -> dict[str, Any]:
    tags = a.input.shape[-1]
    return {
        "Emission": a.input,
        "Transition": helper.create_parameter(
            a.param_attr, [tags + 2, tags], a.input.dtype
        ),
        "Label": a.label,
        "Length": a.length,
    }


@layer("input, label, param_attr=None, length=None")
def linear_chain_crf(helper: LayerHelper, a: Any) -> Variable:
    """The cost of each sequence's tags."""
    inputs = _crf(helper, a)
    return helper.append("linear_chain_crf", inputs, {}, "LogLikelihood")


@layer("input, param_attr, label=None, length=None")
def crf_decoding(helper: LayerHelper, a: Any) -> Variable:
    """The likeliest tags, or where ``label`` is equal to them."""
    return helper.append("crf_decoding", _crf(helper, a), {}, "ViterbiPath")


@layer(
    "input, label, num_classes, param_attr=None, bias_attr=None, name=None, "
    "path_table=None, path_code=None, is_custom=False, is_sparse=False",
    "hierarchical_sigmoid",
)
def hsigmoid(helper: LayerHelper, a: Any) -> Variable:
    """The cost of each label's way through a tree, a complete binary one or
    that of ``path_table`` and ``path_code``.
    """
    nodes = a.num_classes - (0 if a.is_custom else 1)
    shape = [nodes, a.input.shape[1]]
    inputs = {
        "X": a.input,
        "W": helper.create_parameter(a.param_attr, shape, a.input.dtype),
        "Label": a.label,
        "PathTable": a.path_table,
        "PathCode": a.path_code,
        "Bias": helper.create_parameter(
            a.bias_attr, [nodes, 1], a.input.dtype, is_bias=True
        ),
    }
    attrs = {"num_classes": a.num_classes}
    return helper.append("hierarchical_sigmoid", inputs, attrs)


@layer(
    "input, label, num_total_classes, sample_weight=None, param_attr=None, "
    "bias_attr=None, num_neg_samples=None, name=None, sampler='uniform', "
    "custom_dist=None, seed=0, is_sparse=False"
)
def nce(helper: LayerHelper, a: Any) -> Variable:
    """Noise-contrastive estimation: the cost of telling the labels from
    ``num_neg_samples`` drawn classes (10 if None), the same for all rows.
    """
    count = 10 if a.num_neg_samples is None else int(a.num_neg_samples)
    shape = [a.num_total_classes, a.input.shape[1]]
    inputs = {
        "Input": a.input,
        "Label": a.label,
        "Weight": helper.create_parameter(a.param_attr, shape, a.input.dtype),
        "Bias": helper.create_parameter(
            a.bias_attr, [shape[0], 1], a.input.dtype, is_bias=True
        ),
        "SampleWeight": a.sample_weight,
    }
    attrs = {
        "num_total_classes": a.num_total_classes,
        "num_neg_samples": count,
        "seed": a.seed,
        "sampler": ("uniform", "log_uniform", "custom_dist").index(a.sampler),
    }
    if a.custom_dist is not None:
        chances = np.array(a.custom_dist, "float32")
        inputs["CustomDistProbs"] = assign(chances)
    return helper.append("nce", inputs, attrs, "Cost") * (1.0 / (count + 1))
