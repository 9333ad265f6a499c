"""Recurrent layers of Fluid over ragged rows, and loops over their steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..errors import InvalidArgumentError, argument_error
from ..feed_values import positive
from ..layer_helper import LayerHelper, ParamAttr, make, number_like, where
from ..program import Variable, require_variable
from . import ops
from .carried import Carried, step_of
from .control_flow import _block_data, _list, _loop, _names, _new_blocks
from .recurrent import _part
from .sequence import require_ragged
from .tensor import zeros_like

__all__ = ["dynamic_gru", "dynamic_lstm", "dynamic_lstmp", "sequence_scan"]

_ACTIVATIONS = ("sigmoid", "tanh", "relu", "identity")
_ARGUMENTS = ("gate", "candidate", "cell", "proj")


def dynamic_lstm(
    input: Variable,
    size: int,
    h_0: Variable | None = None,
    c_0: Variable | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_peepholes: bool = True,
    is_reverse: bool = False,
    gate_activation: str = "sigmoid",
    cell_activation: str = "tanh",
    candidate_activation: str = "tanh",
    dtype: Any = None,
    name: str | None = None,
) -> tuple[Variable, Variable]:
    """Long short-term memory over products of ragged rows, by Fluid's formula.

    With the parts c, i, f and o of ``input + h W + b``, the gates are i =
    gate(i + c_prev * w_i), f = gate(f + c_prev * w_f) and o = gate(o + c_new *
    w_o), the new cells c_new = candidate(c) * i + c_prev * f, and the new state
    is o * cell(c_new).

    Args:
        input: [N, 4 * H], ragged: the products of each row with weights, of
            ``fc`` without an activation.
        size: 4 * H.
        h_0: [B, H]: the states before the first step; 0 if None.
        c_0: [B, H]: the cells before it; given with ``h_0`` only.
        param_attr: for the weight [H, 4 * H].
        bias_attr: for the bias [1, 7 * H]: b_c, b_i, b_f, b_o, w_i, w_f and
            w_o; [1, 4 * H] without peepholes.
        use_peepholes: whether gates see the cells.
        is_reverse: whether each sequence is read from its last row on.
        gate_activation: ``"sigmoid"``, ``"tanh"``, ``"relu"`` or
            ``"identity"``.
        cell_activation: the same, of the cells in the state.
        candidate_activation: the same, of c.
        dtype: that of ``input``, if not None.
        name: the layer's name.

    Returns:
        The states and the cells after each step, both [N, H] and ragged as
        ``input``.

    Raises:
        InvalidArgumentError: a size, an activation or ``dtype`` does not fit,
            ``input`` is not ragged, or ``bias_attr`` is False.
    """
    units = _units_of("dynamic_lstm", input, size, 4)
    _check_lstm("dynamic_lstm", input, dtype, bias_attr, h_0, c_0)
    helper = LayerHelper("dynamic_lstm", name, input.program)
    weight = helper.create_parameter(param_attr, [units, size], input.dtype)
    width = 7 * units if use_peepholes else size
    bias = _bias(helper, bias_attr, width, input)
    inputs = {
        "X": input,
        "R": make("unsqueeze", ops.transpose(weight, axis=[1, 0]), axes=[0]),
        "Bias": _with_zeros(_part(bias, 0, size) if use_peepholes else bias),
        "InitialH": _first("dynamic_lstm: h_0", h_0),
        "InitialC": _first("dynamic_lstm: c_0", c_0),
    }  # fmt: skip
    if use_peepholes:  # the op's are of i, o and f
        parts = [_part(bias, k * units, units) for k in (4, 6, 5)]
        inputs["Peephole"] = ops.concat(parts, axis=1)
    outputs = {n: f"{helper.name}.{n}" for n in ("Cells", "Reserve")}
    kinds = gate_activation, candidate_activation, cell_activation
    attrs = {
        "direction": "reverse" if is_reverse else "forward",
        "gate_order": "cifo",
        "activations": _activations("dynamic_lstm", *kinds),
    }
    results = helper.append_op("lstm", inputs, outputs, attrs)
    hidden, cell = (
        ops.reshape(results[n], shape=[0, units]) for n in ("Y", "Cells")
    )
    return hidden, cell


def dynamic_lstmp(
    input: Variable,
    size: int,
    proj_size: int,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_peepholes: bool = True,
    is_reverse: bool = False,
    gate_activation: str = "sigmoid",
    cell_activation: str = "tanh",
    candidate_activation: str = "tanh",
    proj_activation: str = "tanh",
    dtype: Any = None,
    name: str | None = None,
    h_0: Variable | None = None,
    c_0: Variable | None = None,
    cell_clip: float | None = None,
    proj_clip: float | None = None,
) -> tuple[Variable, Variable]:
    """:func:`dynamic_lstm` whose states are projected: ``r = proj(h P)`` takes
    the place of h in the gates. It is a :func:`sequence_scan`. Other arguments
    are those of :func:`dynamic_lstm`.

    Args:
        input: [N, 4 * H], ragged.
        size: 4 * H.
        proj_size: the columns of a projection.
        param_attr: for the weight [proj_size, 4 * H], and P, [H, proj_size].
            With a name, P is ``<name>.proj``.
        proj_activation: the op of the projections. (Fluid takes
            ``cell_activation`` for them, unless this is ``"identity"``.)
        h_0: [B, proj_size]: the projections before the first step.
        c_0: [B, H]: the cells before it.
        cell_clip: cells are cut to [-cell_clip, cell_clip], if not None.
        proj_clip: the same of the projections.

    Returns:
        The projections [N, proj_size] and the cells [N, H], ragged as
        ``input``.

    Raises:
        InvalidArgumentError: as for :func:`dynamic_lstm`.
    """
    units = _units_of("dynamic_lstmp", input, size, 4)
    _check_lstm("dynamic_lstmp", input, dtype, bias_attr, h_0, c_0)
    columns = positive("dynamic_lstmp: proj_size", proj_size)
    kinds = gate_activation, candidate_activation, cell_activation
    helper = LayerHelper("dynamic_lstmp", name, input.program)
    attr = ParamAttr.of(param_attr)
    other = attr
    if attr is not None and attr.name is not None:
        other = dataclasses.replace(attr, name=f"{attr.name}.proj")
    weight = helper.create_parameter(attr, [columns, size], input.dtype)
    to_columns = helper.create_parameter(other, [units, columns], input.dtype)
    width = 7 * units if use_peepholes else size
    bias = _bias(helper, bias_attr, width, input)
    return lstmp(
        input,
        [weight, to_columns, bias],
        [h_0, c_0],
        _activations("dynamic_lstmp", *kinds, proj_activation),
        [cell_clip, proj_clip],
        use_peepholes,
        is_reverse,
    )


def lstmp(
    input: Variable,
    parameters: Sequence[Variable],
    first: Sequence[Variable | None],
    activations: Sequence[str],
    clips: Sequence[float | None],
    use_peepholes: bool,
    is_reverse: bool,
) -> tuple[Variable, Variable]:
    """The steps of :func:`dynamic_lstmp`, with weight, projection and bias."""
    weight, to_columns, bias = parameters
    units, columns = (size or 0 for size in to_columns.shape or ())
    cell_clip, proj_clip = clips
    gate, candidate, cell, project = (
        partial(make, kind) for kind in activations
    )

    def part(x: Variable, k: int) -> Variable:
        return _part(x, k * units, units)

    def peep(x: Variable, cells: Variable, k: int) -> Variable:
        return gate({"X": x + cells * part(bias, k) if use_peepholes else x})

    def clipped(x: Variable, most: float | None) -> Variable:
        return ops.clip(x, min=-most, max=most) if most else x

    def step(
        carried: list[Variable], rows: list[Variable]
    ) -> tuple[list[Variable], list[Variable]]:
        before, cells = carried
        z = rows[0] + ops.mul(before, weight) + _part(bias, 0, 4 * units)
        kept = peep(part(z, 2), cells, 5) * cells
        fresh = candidate({"X": part(z, 0)}) * peep(part(z, 1), cells, 4)
        new = clipped(fresh + kept, cell_clip)
        hidden = peep(part(z, 3), new, 6) * cell({"X": new})
        out = clipped(project({"X": ops.mul(hidden, to_columns)}), proj_clip)
        return [out, new], [out, new]

    sizes = (columns, units)
    start = [n if x is None else x for n, x in zip(sizes, first, strict=True)]
    _, (projection, cells) = sequence_scan(step, start, [input], is_reverse)
    return projection, cells


def dynamic_gru(
    input: Variable,
    size: int,
    param_attr: Any = None,
    bias_attr: Any = None,
    is_reverse: bool = False,
    gate_activation: str = "sigmoid",
    candidate_activation: str = "tanh",
    h_0: Variable | None = None,
    origin_mode: bool = False,
) -> Variable:
    """Gated recurrent units over products of ragged rows: :func:`gru_unit` at
    each step.

    Args:
        input: [N, 3 * H], ragged: the products of each row with weights.
        size: H.
        param_attr: for the weight [H, 3 * H], whose memory is that of the
            update and reset gates, [H, 2 * H], and then of the candidate,
            [H, H].
        bias_attr: for the bias [1, 3 * H]; False for none.
        is_reverse: whether each sequence is read from its last row on.
        gate_activation: ``"sigmoid"``, ``"tanh"``, ``"relu"`` or
            ``"identity"``.
        candidate_activation: the same, of the candidate.
        h_0: [B, H]: the states before the first step; 0 if None.
        origin_mode: False: the update gate u makes ``(1 - u) * h_prev + u *
            c``; True: ``u * h_prev + (1 - u) * c``.

    Returns:
        The states after each step, [N, H], ragged as ``input``.

    Raises:
        InvalidArgumentError: a size or an activation does not fit, or ``input``
            is not ragged.
    """
    columns = 3 * positive("dynamic_gru: size", size)
    _units_of("dynamic_gru", input, columns, 3)
    helper = LayerHelper("dynamic_gru", None, input.program)
    weight = helper.create_parameter(param_attr, [size, columns], input.dtype)
    bias = _bias(helper, bias_attr, columns, input)
    flat = ops.reshape(weight, shape=[size * columns])
    transposed = []
    for begin, gates in ((0, 2 * size), (2 * size * size, size)):
        ends = [begin + size * gates]
        part = ops.slice(flat, axes=[0], starts=[begin], ends=ends)
        part = ops.reshape(part, shape=[size, gates])
        transposed.append(ops.transpose(part, axis=[1, 0]))
    inputs = {
        "X": input,
        "R": make("unsqueeze", ops.concat(transposed, axis=0), axes=[0]),
        "Bias": None if bias is None else _with_zeros(bias),
        "InitialH": _first("dynamic_gru: h_0", h_0),
    }
    attrs = {
        "direction": "reverse" if is_reverse else "forward",
        "update_takes_new": not origin_mode,
        "activations": _activations(
            "dynamic_gru", gate_activation, candidate_activation
        ),
    }
    outputs = {"Reserve": f"{helper.name}.Reserve"}
    results = helper.append_op("gru", inputs, outputs, attrs)
    return ops.reshape(results["Y"], shape=[0, size])


def _bias(helper: LayerHelper, attr: Any, columns: int, x: Variable) -> Any:
    return helper.create_parameter(attr, [1, columns], x.dtype, is_bias=True)


def _wrong(layer: str, what: str) -> InvalidArgumentError:
    return argument_error(f"{layer}: {what}", "python.dynamic_recurrent")


def _units_of(layer: str, x: Variable, size: int, gates: int) -> int:
    """The units of a layer whose input has ``size`` columns."""
    require_ragged(layer, x)
    size = positive(f"{layer}: size", size)
    columns = (x.shape or (None,))[-1]
    if size % gates or len(x.shape or ()) != 2 or columns not in (None, size):
        raise _wrong(
            layer,
            f"input must have {gates} columns for each unit, {size}, got {x!r}",
        )
    return size // gates


def _check_lstm(
    layer: str, input: Variable, dtype: Any, bias_attr: Any, h_0: Any, c_0: Any
) -> None:
    if dtype is not None and input.dtype != dtype:
        raise _wrong(layer, f"dtype is {dtype!r}, input {input!r}")
    if bias_attr is False:
        raise _wrong(layer, "bias_attr cannot be False")
    if (h_0 is None) != (c_0 is None):
        raise _wrong(layer, "give h_0 and c_0, or neither")


def _activations(layer: str, *names: str) -> list[str]:
    for argument, value in zip(_ARGUMENTS, names, strict=False):
        if value not in _ACTIVATIONS:
            known = ", ".join(_ACTIVATIONS)
            what = f"{argument}_activation must be one of {known}"
            raise _wrong(layer, f"{what}, got {value!r}")
    return ["affine" if a == "identity" else a for a in names]


def _with_zeros(bias: Variable) -> Variable:
    """The op's biases: those of the input, then those of the states."""
    return ops.concat([bias, zeros_like(bias)], axis=1)


def _first(what: str, state: Variable | None) -> Variable | None:
    """[1, B, H] of [B, H]."""
    if state is None:
        return None
    return make("unsqueeze", require_variable(what, state), axes=[0])


def sequence_scan(
    fn: Callable[[list[Variable], list[Variable]], tuple[Any, Any]],
    init: Sequence[Any],
    xs: Sequence[Variable],
    reverse: bool = False,
    recompute: bool = False,
) -> tuple[list[Variable], list[Variable]]:
    """Call ``fn`` for each step of ragged rows: Fluid's DynamicRNN.

    Step t has row t of each of the B sequences. A sequence that has ended keeps
    what it carries, and what ``fn`` gives for it is dropped; until the longest
    one ends, its elements are the largest numbers of each column.

    Args:
        fn: gets the carried variables and the rows of the step, [B, ...], as
            lists; returns the next carried variables and the variables to
            collect, all [B, ...].
        init: the initial carried variables, [B, ...]; or sizes for zeros: 8 is
            [B, 8], (2, 3) is [B, 2, 3].
        xs: ragged rows, all of the same offsets.
        reverse: whether each sequence is read from its last row on.
        recompute: whether the gradient computes each step again instead of
            keeping what it reads: less memory, more time.

    Returns:
        The carried variables after the last row of each sequence, and the
        collected ones as rows that are ragged as ``xs``.

    Raises:
        InvalidArgumentError: ``xs`` is empty, not ragged or of different
            offsets, or ``fn`` returns other carried variables than it gets.
    """
    rows = _cut_alike(_list("sequence_scan: xs", xs))
    like, program = rows[0], rows[0].program
    # At least one step, from which the loop knows its shapes.
    longest = make("sequence_longest", like)
    one = number_like(longest, 1.0)
    longest = make("elementwise_max", {"X": longest, "Y": one})
    padded = [_padded(x, longest, reverse) for x in rows]
    length = padded[0]["Length"]
    first = [_start(i, value, like, length) for i, value in enumerate(init)]
    with _new_blocks(program):
        block = program._begin_block()
        step = program.data(f"block_{block}.step", [], "int64")
        shapes = [each.shape for each in first]
        carried = _block_data(program, "carried", shapes, first)
        shapes = [each.shape and (None, *each.shape[1:]) for each in rows]
        elements = _block_data(program, "element", shapes, rows)
        following, outputs = step_of("sequence_scan", fn, carried, elements)
        what = "sequence_scan: what fn carries on"
        following = _list(what, following)
        following = Carried(what, first).same(what, following, carried)
        outputs = _list("sequence_scan: what fn collects", outputs)
        goes_on = make("greater_than", {"X": length, "Y": step})
        following = [
            _where(goes_on, new, old)
            for new, old in zip(following, carried, strict=True)
        ]
        last, stacked = _loop(
            program,
            {"Carried": first, "Sequences": [each["Out"] for each in padded]},
            (block, carried, following),
            iteration=step.name,
            slices=_names(elements),
            stacked=_names(outputs),
            sequence_axes=[1] * len(rows),
            stacked_axes=[1] * len(outputs),
            recompute=recompute,
        )
    collected = [
        make("sequence_unpad_as", {"X": each, "Y": like}) for each in stacked
    ]
    if reverse:
        collected = [make("sequence_reverse", x) for x in collected]
    return last, collected


def _cut_alike(xs: list[Variable]) -> list[Variable]:
    """``xs``, which must be ragged rows of the same offsets."""
    rows = [require_ragged("sequence_scan", x, "each of xs") for x in xs]
    if not rows:
        raise _wrong("sequence_scan", "xs is empty; expected ragged rows")
    for x in rows:
        if x.offsets.name != rows[0].offsets.name:  # type: ignore[union-attr]
            raise _wrong(
                "sequence_scan",
                f"{x!r} is cut by other offsets than {rows[0]!r}; if they are "
                f"equal, give it these by lod_reset",
            )
    return rows


def _padded(x: Variable, longest: Variable, reverse: bool) -> dict[str, Any]:
    """Rows as [B, T, ...]. Not with zeros: 1 / x of padding would be infinite,
    and 0 times that in a gradient NaN.
    """
    fill = (
        make("sequence_reduce", x, pooltype="MAX")
        if x.dtype in ("float32", "float64", "int32", "int64")
        else number_like(x, 0.0)
    )
    x = make("sequence_reverse", x) if reverse else x
    inputs = {"X": x, "PadValue": fill, "PaddedLength": longest}
    return x.program.append_op("sequence_pad", inputs)


def _start(i: int, value: Any, like: Variable, length: Variable) -> Variable:
    """An initial carried variable; zeros for sizes."""
    if isinstance(value, Variable):
        return value
    what = f"sequence_scan: init[{i}]"
    dims = value if isinstance(value, (list, tuple)) else [value]
    sizes = [1, *(positive(what, size) for size in dims)]
    dtype = like.dtype if "float" in str(like.dtype) else "float32"
    attrs = {"shape": sizes, "dtype": dtype, "value": 0.0}
    zero = make("fill_constant", {}, None, like.program, **attrs)
    # A row for each sequence.
    none = make("less_than", {"X": length, "Y": number_like(length, 0.0)})
    return _where(none, zero, zero)


def _where(condition: Variable, x: Variable, y: Variable) -> Variable:
    """x where the condition of its row holds, else y."""
    axes = list(range(1, len(x.shape or ())))
    if axes:
        condition = make("unsqueeze", condition, axes=axes)
    return where(condition, x, y)
