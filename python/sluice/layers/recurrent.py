"""Recurrent layers with parameters, and single steps of them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from ..errors import InvalidArgumentError, argument_error
from ..feed_values import positive
from ..initializer import Initializer, Uniform
from ..layer_helper import LayerHelper, ParamAttr
from ..program import Variable, require_variable
from . import ops
from .nn import dropout, fc

_GATES = {"simple_rnn": 1, "gru": 3, "lstm": 4}
_FIRST = "InitialH", "InitialC"  # the latter of lstm only


def lstm(
    input: Variable,
    init_h: Variable | None = None,
    init_c: Variable | None = None,
    max_len: int | None = None,
    hidden_size: int | None = None,
    num_layers: int = 1,
    dropout_prob: float = 0.0,
    is_bidirec: bool = False,
    is_test: bool = False,
    name: str | None = None,
    default_initializer: Initializer | None = None,
    seed: int = -1,
    *,
    direction: str = "forward",
    time_major: bool = True,
    sequence_length: Variable | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_peepholes: bool = False,
    activations: Sequence[str] = (),
    clip: float = 0.0,
) -> tuple[Variable, Variable, Variable]:
    """Layers of long short-term memory, each over the outputs of the one
    before: Fluid's layer of this name, which calls cuDNN there.

    Args:
        input: [T, B, I]: T steps of a batch of B rows; I must be known. Or
            ragged rows [N, I] of B sequences, whose steps are their rows.
        init_h: [num_layers * D, B, hidden_size]: the states before the first
            step; 0 if None. D is 2 for two directions, else 1.
        init_c: the same of the cells.
        max_len: the most steps that ``input`` may have, if not None; not for
            ragged rows.
        hidden_size: units of a layer; that of ``init_h`` if None.
        num_layers: how many layers.
        dropout_prob: the share of a layer's outputs that become 0 before the
            next layer.
        is_bidirec: the same as ``direction="bidirectional"``.
        is_test: without dropout; ``clone(for_test=True)`` sets this.
        name: the layer's name.
        default_initializer: of the weights; uniform between -1 and 1 /
            sqrt(hidden_size) if None.
        seed: of the dropout; -1: the program's.
        direction: ``"forward"``, ``"reverse"`` or ``"bidirectional"``.
        time_major: False: input and output are [B, T, ...]. Ragged rows are
            the same either way.
        sequence_length: [B], int32 or int64: the steps of each row. Outputs
            past them are 0, and the last states are those after them. Not for
            ragged rows, which have lengths of their own.
        param_attr: for the weights. With the name n, those of layer l are named
            ``n.w<l>``, [D, 4 * hidden_size, I], ``n.r<l>`` for the states and
            ``n.p<l>`` for peepholes.
        bias_attr: for the biases [D, 8 * hidden_size], with the name n
            ``n.b<l>``; zeros by default, False for none.
        use_peepholes: whether gates see the cells.
        activations: for each direction the ops of the gates, of the new
            cells and of the outputs; sigmoid, tanh and tanh if empty.
        clip: what gates are computed of is cut to [-clip, clip]; 0: it is not.

    Returns:
        The outputs [T, B, D * hidden_size], or ragged as ``input``; the last
        states and the last cells, both [num_layers * D, B, hidden_size].

    Raises:
        InvalidArgumentError: a size is unknown or does not fit.
        OutOfRangeError: at run time, for a length below 0 or above T.
    """
    steps = (input.shape or (None,))[0 if time_major else 1 :][:1]
    if max_len is not None and input.offsets is not None:
        raise _refused("lstm", "max_len", max_len)
    if max_len is not None and steps and (steps[0] or 0) > max_len:
        raise argument_error(
            f"lstm: input has {steps[0]} steps; expected at most max_len = "
            f"{max_len}",
            "python.max_len",
        )
    out, last_h, last_c = _stack("lstm", (init_h, init_c), locals())
    return out, last_h, last_c


def gru(
    input: Variable,
    init_h: Variable | None = None,
    hidden_size: int | None = None,
    num_layers: int = 1,
    dropout_prob: float = 0.0,
    is_bidirec: bool = False,
    is_test: bool = False,
    name: str | None = None,
    default_initializer: Initializer | None = None,
    seed: int = -1,
    *,
    direction: str = "forward",
    time_major: bool = True,
    sequence_length: Variable | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    linear_before_reset: bool = True,
    activations: Sequence[str] = (),
    clip: float = 0.0,
) -> tuple[Variable, Variable]:
    """Layers of gated recurrent units. Arguments are those of :func:`lstm`.

    Args:
        linear_before_reset: whether the reset gate multiplies the product with
            the state, as in PyTorch and cuDNN, or the state itself, as in
            Fluid's dynamic_gru.

    Returns:
        The outputs [T, B, D * hidden_size], or ragged as ``input``, and the
        last states [num_layers * D, B, hidden_size].

    Raises:
        InvalidArgumentError: a size is unknown or does not fit.
        OutOfRangeError: at run time, for a length below 0 or above T.
    """
    out, last_h = _stack("gru", (init_h,), locals())
    return out, last_h


def simple_rnn(
    input: Variable,
    init_h: Variable | None = None,
    hidden_size: int | None = None,
    num_layers: int = 1,
    dropout_prob: float = 0.0,
    is_bidirec: bool = False,
    is_test: bool = False,
    name: str | None = None,
    default_initializer: Initializer | None = None,
    seed: int = -1,
    *,
    direction: str = "forward",
    time_major: bool = True,
    sequence_length: Variable | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    activations: Sequence[str] = (),
    clip: float = 0.0,
) -> tuple[Variable, Variable]:
    """Recurrent layers ``h = tanh(x W' + h R' + bias)``.

    Arguments and results are those of :func:`gru`; ``activations`` names
    another function for each direction.
    """
    out, last_h = _stack("simple_rnn", (init_h,), locals())
    return out, last_h


def _stack(
    op: str,
    states: tuple[Variable | None, ...],
    options: dict[str, Any],
) -> list[Variable]:
    """Append the layers. ``options`` are the arguments that all cells have.
    Returns the outputs and the last states.
    """
    x = options["input"]
    require_variable(f"{op}: input", x)
    hidden = _hidden_size(op, states, options["hidden_size"])
    count = positive(f"{op}: num_layers", options["num_layers"])
    both = "bidirectional"
    direction = both if options["is_bidirec"] else options["direction"]
    ways = 2 if direction == both else 1
    ragged = x.offsets is not None
    lens = _lengths(op, ragged, options["sequence_length"])
    first = not options["time_major"] and not ragged
    attrs = {
        "direction": direction,
        "batch_first": first,
        "activations": list(options["activations"]),
        "clip": options["clip"],
    }
    if op == "gru":
        attrs["linear_before_reset"] = options["linear_before_reset"]
    helper = LayerHelper(op, options["name"], x.program)
    lasts: list[list[Variable]] = [[] for _ in states]
    for layer in range(count):
        if layer and options["dropout_prob"]:
            seed = max(options["seed"], 0)
            x = dropout(x, options["dropout_prob"], options["is_test"], seed)
        inputs = _parameters(helper, op, x, hidden, ways, layer, options)
        inputs |= {"X": x, "SequenceLens": lens}
        for argument, state in zip(_FIRST, states, strict=False):
            if state is None:
                continue
            if count > 1:
                rows = {"starts": [layer * ways], "ends": [(layer + 1) * ways]}
                state = ops.slice(state, axes=[0], **rows)
            inputs[argument] = _swap_first_dims(state) if first else state
        names = ["LastH", "LastC"][: len(states)]
        # The gradient op reads Reserve; else it computes the layer again.
        outputs = {n: f"{helper.name}.{n}{layer}" for n in (*names, "Reserve")}
        results = helper.append_op(op, inputs, outputs, attrs)
        for last, argument in zip(lasts, names, strict=True):
            state = results[argument]
            last.append(_swap_first_dims(state) if first else state)
        x = (
            ops.reshape(results["Y"], shape=[0, ways * hidden])
            if ragged
            else _joined(results["Y"], ways, hidden, first)
        )
    return [x, *(ops.concat(s, axis=0) if count > 1 else s[0] for s in lasts)]


def _hidden_size(
    op: str, states: tuple[Variable | None, ...], size: int | None
) -> int:
    """The units of a layer; those of an initial state if ``size`` is None."""
    for state in states:
        if state is not None:
            require_variable(f"{op}: an initial state", state)
            if size is None and state.shape:
                size = state.shape[-1]
    return positive(f"{op}: hidden_size", size)


def _lengths(op: str, ragged: bool, lens: Variable | None) -> Variable | None:
    """The steps of each row as the op takes them, int32."""
    if ragged and lens is not None:
        raise _refused(op, "sequence_length", lens)
    if lens is None or lens.dtype == "int32":
        return lens
    # Beyond int32 is beyond every sequence: the op refuses both.
    lens = ops.clip(lens, min=-(2.0**31), max=2.0**31 - 1)
    return ops.cast(lens, dtype="int32")


def _refused(op: str, argument: str, value: Any) -> InvalidArgumentError:
    """The error for an argument that only padded rows have."""
    return argument_error(
        f"{op}: input is ragged, and its offsets are its lengths; leave out "
        f"{argument}, got {value!r}",
        "python.ragged_lengths",
    )


def _parameters(
    helper: LayerHelper,
    op: str,
    x: Variable,
    hidden: int,
    ways: int,
    layer: int,
    options: dict[str, Any],
) -> dict[str, Any]:
    """The parameters of one layer, by argument of the op."""
    size = (x.shape or (None,))[-1]
    gates = _GATES[op] * hidden
    limit = 1.0 / math.sqrt(hidden)
    start = options["default_initializer"] or Uniform(-limit, limit)
    shapes = {
        "W": [ways, gates, size],
        "R": [ways, gates, hidden],
        "Peephole": [ways, 3 * hidden],
        "Bias": [ways, 2 * gates],
    }
    if not options.get("use_peepholes"):
        del shapes["Peephole"]
    parameters = {}
    for argument, shape in shapes.items():
        bias = argument == "Bias"
        attr = ParamAttr.of(options["bias_attr" if bias else "param_attr"])
        if attr is None:
            continue
        if attr.name is not None:
            own = f"{attr.name}.{argument[0].lower()}{layer}"
            attr = dataclasses.replace(attr, name=own)
        parameters[argument] = helper.create_parameter(
            attr, shape, x.dtype, None if bias else start, is_bias=bias
        )
    return parameters


def _swap_first_dims(state: Variable) -> Variable:
    """[B, D, H] of [D, B, H], and the reverse."""
    return ops.transpose(state, axis=[1, 0, 2])


def _joined(y: Variable, ways: int, hidden: int, first: bool) -> Variable:
    """[T, B, D * H] of [T, D, B, H]; with ``first`` [B, T, D * H] of [B, T, D,
    H].
    """
    if ways == 1:
        return ops.squeeze(y, axes=[2 if first else 1])
    if not first:
        y = ops.transpose(y, axis=[0, 2, 1, 3])
    return ops.reshape(y, shape=[0, 0, ways * hidden])


def lstm_unit(
    x_t: Variable,
    hidden_t_prev: Variable,
    cell_t_prev: Variable,
    forget_bias: float = 0.0,
    param_attr: Any = None,
    bias_attr: Any = None,
    name: str | None = None,
) -> tuple[Variable, Variable]:
    """One step of long short-term memory, by Fluid's formula.

    The gates i, f, o and j are four parts of ``fc([x_t, hidden_t_prev])``. The
    new cells are ``c = c_prev * sigmoid(f + forget_bias) + sigmoid(i) *
    tanh(j)``, the new state is ``tanh(c) * sigmoid(o)``.

    Args:
        x_t: [B, I]: the step's input.
        hidden_t_prev: [B, H]: the state before.
        cell_t_prev: [B, H]: the cells before.
        forget_bias: added to the forget gate.
        param_attr: for the weight [I + H, 4 * H].
        bias_attr: for the bias [4 * H]; False for none.
        name: the layer's name.

    Returns:
        The state and the cells after the step, both [B, H].

    Raises:
        InvalidArgumentError: a size is unknown or does not fit.
    """
    for what, x in (("x_t", x_t), ("hidden_t_prev", hidden_t_prev)):
        require_variable(f"lstm_unit: {what}", x)
    size = _units("lstm_unit: cell_t_prev", cell_t_prev)
    if _units("lstm_unit: hidden_t_prev", hidden_t_prev) != size:
        raise argument_error(
            f"lstm_unit: hidden_t_prev {hidden_t_prev!r} must have the {size} "
            "units of cell_t_prev",
            "python.lstm_unit",
        )
    both = ops.concat([x_t, hidden_t_prev], axis=1)
    gates = fc(both, 4 * size, 1, param_attr, bias_attr, name=name)
    i, f, o, j = (_part(gates, part * size, size) for part in range(4))
    kept = ops.sigmoid(ops.scale(f, bias=forget_bias) if forget_bias else f)
    cell = kept * cell_t_prev + ops.sigmoid(i) * ops.tanh(j)
    return ops.sigmoid(o) * ops.tanh(cell), cell


def gru_unit(
    input: Variable,
    hidden: Variable,
    size: int,
    param_attr: Any = None,
    bias_attr: Any = None,
    activation: str = "tanh",
    gate_activation: str = "sigmoid",
    origin_mode: bool = False,
) -> tuple[Variable, Variable, Variable]:
    """One step of gated recurrent units, by Fluid's formula.

    With the three parts of ``input``, u = gate_activation(input_u + h W_u +
    b_u), r = gate_activation(input_r + h W_r + b_r) and c = activation(input_c
    + (r * h) W_c + b_c). The new state is ``(1 - u) * h + u * c``, with
    ``origin_mode`` ``u * h + (1 - u) * c``.

    Args:
        input: [B, 3 * H]: the products of the step's input.
        hidden: [B, H]: the state before.
        size: 3 * H.
        param_attr: for the weight [H, 3 * H], whose memory is W_u and W_r
            together, [H, 2 * H], and then W_c, [H, H].
        bias_attr: for the bias [1, 3 * H]; False for none.
        activation: the op of c.
        gate_activation: the op of u and r.
        origin_mode: which of the two formulas.

    Returns:
        The new state [B, H], r * h, and the three gates [B, 3 * H].

    Raises:
        InvalidArgumentError: a size is unknown or does not fit.
    """
    require_variable("gru_unit: input", input)
    units = _units("gru_unit: hidden", hidden)
    if size != 3 * units or _units("gru_unit: input", input) != size:
        raise argument_error(
            f"gru_unit: size and the columns of input {input!r} must be 3 "
            f"times the {units} units of hidden, got size = "
            f"{_core._shown(size)}",
            "python.gru_unit",
        )
    helper = LayerHelper("gru_unit", None, input.program)
    weight = helper.create_parameter(param_attr, [units, size], input.dtype)
    bias = helper.create_parameter(
        bias_attr, [1, size], input.dtype, is_bias=True
    )
    x = helper.append_bias(input, bias)
    flat = ops.reshape(weight, shape=[units * size])
    both = 2 * units * units
    w_gates = ops.slice(flat, axes=[0], starts=[0], ends=[both])
    w_last = ops.slice(flat, axes=[0], starts=[both], ends=[units * size])
    product = ops.mul(hidden, ops.reshape(w_gates, shape=[units, 2 * units]))
    gates = _part(x, 0, 2 * units) + product
    gates = helper.append_activation(gates, gate_activation)
    u, r = (_part(gates, first, units) for first in (0, units))
    reset = r * hidden
    product = ops.mul(reset, ops.reshape(w_last, shape=[units, units]))
    c = _part(x, 2 * units, units) + product
    c = helper.append_activation(c, activation)
    old, new = (hidden, c) if origin_mode else (c, hidden)
    return new + u * (old - new), reset, ops.concat([gates, c], axis=1)


def _units(what: str, x: Variable) -> int:
    """The columns of a matrix."""
    require_variable(what, x)
    if x.shape is None or len(x.shape) != 2 or x.shape[1] is None:
        raise argument_error(
            f"{what} must be a matrix with a known number of columns, got "
            f"{x!r}",
            "python.units",
        )
    return x.shape[1]


def _part(x: Variable, first: int, size: int) -> Variable:
    return ops.slice(x, axes=[1], starts=[first], ends=[first + size])
