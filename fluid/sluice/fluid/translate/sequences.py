"""Ops over ragged rows: Fluid's LoD."""

from __future__ import annotations

from typing import Any

from ... import layers
from ...framework import Variable
from .declaration import Attribute, FluidOp
from .table import REQUIRED, Many, Op, row


def _parameters_of_sequence_pool(layer, pool_type):
    layer.attrs["pooltype"] = pool_type.upper()


@FluidOp(
    parameters=_parameters_of_sequence_pool, more="MaxIndex", unused="pool_type"
)
def sequence_pool(
    op, input, pool_type: str, is_test=False, pad_value=0.0, *,
    pooltype="AVERAGE",
):  # fmt: skip
    """One row for each sequence."""
    attrs = {"pooltype": pooltype, "pad_value": pad_value}
    made = op.append_all("sequence_pool", {"X": op.ragged(input)}, **attrs)
    if pooltype == "MAX" and op.wants("MaxIndex"):
        made["MaxIndex"] = op.cast(made["MaxIndex"], "int32")
    else:
        made.pop("MaxIndex", None)
    return made


def _parameters_of_sequence_conv(
    layer, input, num_filters, filter_size, padding_start, param_attr
):
    sizes = [filter_size * input.shape[-1], num_filters]
    layer.parameter("Filter", param_attr, sizes)
    centered = -(filter_size // 2)
    start = centered if padding_start is None else padding_start
    layer.attrs["contextStart"] = start
    layer.bias(num_filters, 1)


@FluidOp(
    parameters=_parameters_of_sequence_conv,
    unused="num_filters padding padding_start",
    defaults={"filter_size": REQUIRED},
    filter_size="contextLength",
    filter_stride="contextStride",
)
def sequence_conv(
    op, input, num_filters: int, filter_size=3, filter_stride=1, padding=True,
    padding_start: int | None = None, bias_attr=None, param_attr=None, act=None,
    name=None, *, Filter: Variable, PaddingData=None, contextStart=0,
    paddingTrainable=False,
):  # fmt: skip
    """Windows of rows, side by side, times the filter."""
    op.only(
        paddingTrainable=(paddingTrainable, False),
        contextStride=(filter_stride, 1),
    )
    attrs = {"start": contextStart, "length": filter_size}
    windows = op.sequence_context(op.ragged(input), **attrs)
    return op.mul(windows, Filter)


@FluidOp()
def sequence_expand(op, x, y, ref_level=-1, name=None):
    """Each sequence, or row, of X as often as Y has elements there."""
    out = layers.sequence_expand(x, op.ragged(y, "Y"), ref_level)
    if not x.lod_level:
        return out
    # Fluid keeps the sequences, but not whose copies they are.
    return op.lod_reset(out, Offsets=out.offsets)


@FluidOp()
def sequence_unpad(op, x, length, name=None):
    """The first rows of each sample."""
    lengths = op.reshape(length, -1)
    out = op.sequence_unpad(x, Length=lengths)
    if op.rank(x) == 2:
        out = op.reshape(out, 0, 1)
    return out


@row("sequence_erase")
def sequence_erase(op, X, *, tokens):
    """Without these numbers."""
    if X.lod_level > 1:
        op.refuse(f"{X.lod_level} levels of LoD; expected 1")
    return op.sequence_erase(op.ragged(X), tokens=list(tokens))


@FluidOp(
    outputs="Y",
    defaults={"maxlen": -1, "dtype": 5},
    maxlen=Attribute("maxlen", "MaxLenTensor"),
    dtype="out_dtype",
)
def sequence_mask(op, x, maxlen: int | None = None, dtype="int64", name=None):
    """1 below each length."""
    longest: Any = maxlen
    if isinstance(maxlen, Variable):
        longest = op.cast(op.reshape(maxlen), x.dtype)
    elif maxlen == -1:
        longest = None
    return layers.sequence_mask(x, longest, dtype)


def _affine(activation: str) -> str:
    return "affine" if activation in ("identity", "") else activation


_CODES = ["identity", "sigmoid", "tanh", "relu"]


def _with_zeros(op: Op, bias: Variable) -> Variable:
    zeros = op.constant_like(bias, 0.0)
    return op.concat([bias, zeros], axis=1)


def _first(op: Op, state: Variable | None) -> Variable | None:
    if state is None:
        return None
    return op.unsqueeze(state, axes=[0])


def columns(op: Op, x: Variable, first: int, size: int) -> Variable:
    """Columns from ``first`` on."""
    return op.slice(x, 1, first, first + size)


def gru_weight(op: Op, Weight: Variable, units: int) -> list[Variable]:
    """The matrices of the gates [H, 2 * H] and of the candidate [H, H], which
    lie one after the other in the memory of [H, 3 * H].
    """
    flat = op.reshape(Weight, 3 * units * units)
    parts = []
    for begin, gates in ((0, 2 * units), (2 * units * units, units)):
        part = op.slice(flat, 0, begin, begin + units * gates)
        parts.append(op.reshape(part, units, gates))
    return parts


@row("gru", outputs="Hidden")
def gru(
    op, Input, Weight, Bias=None, H0=None, *, activation="tanh",
    gate_activation="sigmoid", is_reverse=False, origin_mode=False,
):  # fmt: skip
    """Gated recurrent units over products of rows."""
    units = op.size(Weight, 0)
    turned = [
        op.transpose(part, axis=[1, 0])
        for part in gru_weight(op, Weight, units)
    ]
    whole = op.concat(turned, axis=0)
    made = op.append_all(
        "gru",
        {
            "X": op.ragged(Input, "Input"),
            "R": op.unsqueeze(whole, axes=[0]),
            "Bias": None if Bias is None else _with_zeros(op, Bias),
            "InitialH": _first(op, H0),
        },
        {"Reserve": op.name("Reserve")},
        direction="reverse" if is_reverse else "forward",
        update_takes_new=not origin_mode,
        activations=[_affine(gate_activation), _affine(activation)],
    )
    return op.reshape(made["Y"], 0, units)


@row("lstm", outputs="Hidden Cell")
def lstm(
    op, Input, Weight, Bias, H0=None, C0=None, *, use_peepholes=True,
    is_reverse=False, gate_activation="sigmoid", cell_activation="tanh",
    candidate_activation="tanh",
):  # fmt: skip
    """Long short-term memory over products of rows."""
    units = op.size(Weight, 0)
    wanted = (7 if use_peepholes else 4) * units
    if op.size(Bias, 1) != wanted:
        op.wrong(f"Bias has {op.size(Bias, 1)} columns; expected {wanted}")
    bias = columns(op, Bias, 0, 4 * units) if use_peepholes else Bias
    turned = op.transpose(Weight, axis=[1, 0])
    inputs = {
        "X": op.ragged(Input, "Input"),
        "R": op.unsqueeze(turned, axes=[0]),
        "Bias": _with_zeros(op, bias),
        "InitialH": _first(op, H0),
        "InitialC": _first(op, C0),
    }
    if use_peepholes:  # those of Sluice are of i, o and f
        peepholes = [columns(op, Bias, k * units, units) for k in (4, 6, 5)]
        inputs["Peephole"] = op.concat(peepholes, axis=1)
    kinds = (gate_activation, candidate_activation, cell_activation)
    made = op.append_all(
        "lstm",
        inputs,
        {"Cells": op.name("Cells"), "Reserve": op.name("Reserve")},
        direction="reverse" if is_reverse else "forward",
        gate_order="cifo",
        activations=[_affine(kind) for kind in kinds],
    )
    return {
        slot: op.reshape(made[mine], 0, units)
        for slot, mine in (("Hidden", "Y"), ("Cell", "Cells"))
    }


def _activate(op: Op, kind: Any, x: Variable) -> Variable:
    name = _CODES[kind] if isinstance(kind, int) else kind
    return x if name == "identity" else op.append(name, {"X": x})


def _parameters_of_gru_unit(
    layer, size, param_attr, bias_attr, activation, gate_activation
):
    layer.parameter("Weight", param_attr, [size // 3, size])
    layer.parameter("Bias", bias_attr, [1, size])
    layer.attrs["activation"] = _CODES.index(activation)
    layer.attrs["gate_activation"] = _CODES.index(gate_activation)


@FluidOp(
    parameters=_parameters_of_gru_unit,
    outputs="Hidden ResetHiddenPrev Gate",
    unused="size",
    defaults={"activation": 2, "gate_activation": 1},
    input="Input",
    hidden="HiddenPrev",
)
def gru_unit(
    op, input, hidden, size: int, param_attr=None, bias_attr=None,
    activation="tanh", gate_activation="sigmoid", origin_mode=False, *,
    Weight: Variable, Bias=None,
):  # fmt: skip
    """One step of gated recurrent units."""
    units = op.size(hidden, 1)
    x = input if Bias is None else input + Bias
    gates, candidate = gru_weight(op, Weight, units)
    product = op.mul(hidden, gates)
    ur = columns(op, x, 0, 2 * units) + product
    ur = _activate(op, gate_activation, ur)
    update, reset = columns(op, ur, 0, units), columns(op, ur, units, units)
    kept = reset * hidden
    fresh = columns(op, x, 2 * units, units) + op.mul(kept, candidate)
    fresh = _activate(op, activation, fresh)
    new, old = (hidden, fresh) if origin_mode else (fresh, hidden)
    return {
        "Hidden": old + update * (new - old),
        "Gate": op.concat([ur, fresh], axis=1),
        "ResetHiddenPrev": kept,
    }


@row("lstm_unit", outputs="H C")
def lstm_unit(op, X, C_prev, *, forget_bias=0.0):
    """One step of long short-term memory: parts i, f, o and c of X."""
    units = op.size(C_prev, 1)
    i, f, o, c = (columns(op, X, k * units, units) for k in range(4))
    kept = op.sigmoid(f + forget_bias) * C_prev
    fresh = op.sigmoid(i) * op.tanh(c)
    cells = kept + fresh
    hidden = op.sigmoid(o) * op.tanh(cells)
    return {"H": hidden, "C": cells}


@FluidOp()
def add_position_encoding(op, input, alpha: float, beta: float, name=None):
    """alpha * x + beta * sines and cosines of the positions."""
    if input.lod_level:
        op.refuse("ragged rows; give [batch, steps, columns]")
    steps, width = op.size(input, 1), op.size(input, 2)
    half = width // 2
    dtype = input.dtype
    place = op.range(end=float(steps), dtype=dtype)
    place = op.unsqueeze(place, axes=[1])
    power = op.range(end=float(half), dtype=dtype)
    power = power * (1.0 / (half - 1)) if half > 1 else power + 1.0
    base = op.constant(10000.0, dtype) ** power
    angle = place / base
    waves = [op.append(kind, {"X": angle}) for kind in ("sin", "cos")]
    return input * alpha + op.concat(waves, axis=1) * beta


@row("segment_pool")
def segment_pool(op, X, SegmentIds, *, pooltype="SUM"):
    """One row for each id up to the last one; the ids of the rows rise."""
    ids = op.cast(SegmentIds, "int64")
    last = op.slice(ids, 0, -1, 2**31)
    end = op.reshape(last + op.constant(2, "int64"))
    places = op.range(End=end, dtype="int64")
    below = op.unsqueeze(ids, axes=[1]) < places
    offsets = op.reduce_sum(op.cast(below, "int64"), dim=[0])
    sign = -1.0 if pooltype == "MIN" else 1.0
    kind = {"MEAN": "AVERAGE", "MIN": "MAX"}.get(pooltype, pooltype)
    rows = X if sign > 0 else X * sign
    rows = op.lod_reset(rows, Offsets=offsets)
    out = op.sequence_pool(rows, pooltype=kind)
    return out if sign > 0 else out * sign


# The op, and its gates in PaddlePaddle's weights.
_CELLS = {
    "LSTM": ("lstm", (0, 3, 1, 2)), "GRU": ("gru", (1, 0, 2)),
    "RNN_TANH": ("simple_rnn", (0,)), "RNN_RELU": ("simple_rnn", (0,)),
}  # fmt: skip


@row("rnn", outputs="Out State")
def rnn(
    op, Input, PreState: Many, WeightList: Many, SequenceLength=None, *, mode,
    num_layers=1, is_bidirec=False, dropout_prob=0.0, is_test=False,
    hidden_size=None, input_size=None,
):  # fmt: skip
    """Recurrent layers of PaddlePaddle 2 over [steps, batch, inputs]. The list
    has, layer by layer, for each direction the weights of the inputs and of the
    states, and then so the biases.
    """
    type, order = _CELLS[mode]
    sides = 2 if is_bidirec else 1

    def given(layer: int, side: int, kind: int, bias: bool) -> Variable:
        k = (bias * num_layers + layer) * 2 * sides + 2 * side + kind
        parts = layers.split(WeightList[k], len(order), 0)
        gates = [parts[gate] for gate in order]
        return op.concat(gates, axis=0)

    attrs = {"direction": "bidirectional" if is_bidirec else "forward"}
    if type == "gru":
        attrs["linear_before_reset"] = True
    if mode == "RNN_RELU":
        attrs["activations"] = ["relu"] * sides
    ends = ("LastH", "LastC")[: len(PreState)]
    before = [layers.split(state, num_layers, 0) for state in PreState]
    after = []
    for layer in range(num_layers):
        if layer and dropout_prob and not is_test:
            Input = layers.dropout(
                Input, dropout_prob, dropout_implementation="upscale_in_train"
            )
        inputs = {"X": Input, "SequenceLens": SequenceLength}
        for k, slot in enumerate("WR"):
            each = [given(layer, s, k, False) for s in range(sides)]
            inputs[slot] = layers.stack(each, 0)
        biases = []
        for s in range(sides):
            pair = [given(layer, s, k, True) for k in range(2)]
            biases.append(op.concat(pair))
        inputs["Bias"] = layers.stack(biases, 0)
        for k, slot in enumerate(("InitialH", "InitialC")[: len(PreState)]):
            inputs[slot] = before[k][layer]
        into = {slot: op.name(slot) for slot in (*ends, "Reserve")}
        made = op.append_all(type, inputs, into, **attrs)
        Input = op.transpose(made["Y"], axis=[0, 2, 1, 3])
        Input = op.reshape(Input, 0, 0, sides * op.size(made["Y"], 3))
        after.append(made)
    states = [
        op.concat([made[slot] for made in after], axis=0) for slot in ends
    ]
    return {"Out": Input, "State": states}
