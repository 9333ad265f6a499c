"""Integers that stand for floats: oneDNN's int8 programs, and programs that are
trained for them.
"""

from __future__ import annotations

from typing import Any

from ...framework import Variable
from .elementwise import round as round_
from .table import Many, Op, row


def to_integers(op: Op, x: Variable, signed: bool) -> Variable:
    """The nearest 8-bit integers, half to even."""
    least, most = (-128.0, 127.0) if signed else (0.0, 255.0)
    whole = op.round(x)
    cut = op.clip(whole, min=least, max=most)
    return op.cast(cut, "int8" if signed else "uint8")


def _check(op: Op, scale: float, shift: float) -> None:
    if scale == 0 or not 0 <= shift <= 255:
        op.wrong(
            f"scale {scale} and shift {shift}; expected a scale that is not 0 "
            "and a shift from 0 to 255"
        )


@row("quantize", outputs="Output", bfloat16=False)
def quantize(
    op, Input, *, Scale=1.0, Shift=0.0, is_negative_input=False,
    output_format="NHWC", **attrs,
):  # fmt: skip
    """x * scale + shift as int8, with a shift or of positive x uint8."""
    _check(op, Scale, Shift)
    if attrs["bfloat16"]:
        return op.cast(Input, "bfloat16")
    return to_integers(
        op, Input * Scale + Shift, is_negative_input and Shift == 0
    )


@row("dequantize", outputs="Output")
def dequantize(op, Input, *, Scale=1.0, Shift=0.0):
    """(x - shift) / scale."""
    _check(op, Scale, Shift)
    return (op.cast(Input, "float32") - Shift) * (1.0 / Scale)


@row("requantize", outputs="Output")
def requantize(
    op, Input, *, Scale_in=1.0, Scale_out=1.0, Shift_in=0.0, Shift_out=0.0
):
    """Integers of another scale and shift."""
    _check(op, Scale_in, Shift_in)
    _check(op, Scale_out, Shift_out)
    shifted = Shift_in != 0 or Shift_out != 0
    if shifted and Input.dtype != "uint8":
        op.wrong("shifts of int8; expected uint8")
    ratio = Scale_out / Scale_in
    shift = min(max(float(round(Shift_out - ratio * Shift_in)), 0.0), 255.0)
    x = op.cast(Input, "float32") * ratio + (shift if shifted else 0.0)
    return to_integers(op, x, Input.dtype == "int8")


# What training computes: floats that are whole numbers, or such over a scale.


def _largest(op: Op, x: Variable, axis: int | None = None) -> Variable:
    """The largest size of an element, [1], or of each slice of an axis."""
    size = op.abs(x)
    if axis is None:
        most = op.reduce_max(size, dim=[], reduce_all=True)
        return op.reshape(most, 1)
    others = [k for k in range(op.rank(x)) if k != axis]
    return op.reduce_max(size, dim=others)


def _quantized(
    op: Op, X: Variable, scale: Variable, bit_length: int, axis: Any = None
) -> Variable:
    """X in [-scale, scale] as whole numbers; perhaps turned back, with the
    gradient of X.
    """
    bins = float(2 ** (bit_length - 1) - 1)
    if axis is not None:
        shape = [-1 if k == axis else 1 for k in range(op.rank(X))]
        scale = op.reshape(scale, *shape)
    tiny = op.less_equal(scale, op.constant(1e-30))
    inverse = 1.0 / (scale + op.cast(tiny, "float32") * 1e-6)
    low = op.elementwise_max(X, scale * -1.0)
    cut = op.elementwise_min(low, scale)
    out = round_(op, cut * (inverse * bins))
    if "_quantize_dequantize_" not in op.type:
        return out
    stopped = op.assign(X)
    out = op.assign(out * scale * (1.0 / bins))
    stopped.stop_gradient = out.stop_gradient = True
    return (X - stopped) + out


@row(
    "fake_quantize_abs_max",
    "fake_quantize_dequantize_abs_max",
    "fake_channel_wise_quantize_abs_max",
    "fake_channel_wise_quantize_dequantize_abs_max",
    outputs="Out OutScale",
)
def fake_quantize_abs_max(op, X, *, bit_length=8, quant_axis=0):
    """By the largest element, of all or of each channel."""
    axis = quant_axis if "channel" in op.type else None
    scale = _largest(op, X, axis)
    out = _quantized(op, X, scale, bit_length, axis)
    return {"Out": out, "OutScale": scale}


@row(
    "fake_quantize_moving_average_abs_max",
    "fake_quantize_dequantize_moving_average_abs_max",
    "moving_average_abs_max_scale",
    outputs="Out OutScale OutState OutAccum",
)
def fake_quantize_moving_average_abs_max(
    op, X, InScale=None, InAccum=None, InState=None, *, bit_length=8,
    moving_rate=0.9, is_test=False,
):  # fmt: skip
    """By a moving average of the largest elements; the last op only adds to
    the average.
    """
    made: dict[str, Any] = {"OutScale": InScale}
    if not is_test:
        state = InState * moving_rate + 1.0
        total = InAccum * moving_rate + _largest(op, X)
        made = {
            "OutState": state, "OutAccum": total, "OutScale": total / state
        }  # fmt: skip
    if op.type == "moving_average_abs_max_scale":
        return {"Out": op.assign(X), **made}
    return {"Out": _quantized(op, X, made["OutScale"], bit_length), **made}


@row("fake_dequantize_max_abs", "dequantize_abs_max")
def fake_dequantize_max_abs(op, X, Scale, *, max_range):
    """x * scale / max_range."""
    scale = op.reshape(Scale, 1)
    return op.cast(X, Scale.dtype) * scale * (1.0 / max_range)


@row("fake_channel_wise_dequantize_max_abs")
def fake_channel_wise_dequantize_max_abs(
    op, X, Scales: Many, *, quant_bits=(8,), quant_axis=0
):
    """x * scale / range, with a scale for each channel; of two scales the
    channels are dim 1, and the other one is for all.
    """
    axis = quant_axis if len(Scales) == 1 else 1
    shape = [-1 if k == axis else 1 for k in range(op.rank(X))]
    for scale, bits in zip(Scales, quant_bits, strict=False):
        X = X * op.reshape(scale, *shape) * (1.0 / (2 ** (bits - 1) - 1))
        shape = [1]
    return X
