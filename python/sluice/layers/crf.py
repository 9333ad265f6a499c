"""Linear-chain conditional random fields over ragged or padded sequences."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidArgumentError
from ..framework import Variable, created, require_variable
from ..layer_helper import LayerHelper

__all__ = ["crf_decoding", "linear_chain_crf"]


def _append(
    op: str,
    input: Variable,
    label: Variable | None,
    length: Variable | None,
    param_attr: Any,
    name: str | None = None,
) -> Any:
    """Append an op with its parameter, the transitions; return its outputs."""
    require_variable(f"{op}: input", input)
    tags = (input.shape or (None,))[-1]
    if tags is None:
        raise InvalidArgumentError(
            f"{op}: the number of tags must be known, got {input!r}{created()}",
            "python.crf_tags",
        )
    helper = LayerHelper(op, name, input.program)
    inputs = {"Emission": input, "Label": label, "Length": length}
    inputs["Transition"] = helper.create_parameter(
        param_attr, [tags + 2, tags], input.dtype
    )
    return helper.append_op(op, inputs)


def linear_chain_crf(
    input: Variable,
    label: Variable,
    length: Variable | None = None,
    param_attr: Any = None,
    name: str | None = None,
) -> Variable:
    """Negative log-likelihood of tag sequences.

    Args:
        input: emissions: ragged [rows, N], or padded [B, T, N].
        label: tags, int64: ragged [rows, 1], or padded [B, T].
        length: lengths of padded sequences, [B], int64.
        param_attr: attribute of the transitions [N + 2, N]: from the start, to
            the end, and from tag to tag. It needs a name for decoding.
        name: the layer's name.

    Returns:
        The cost of each sequence, [B, 1].

    Raises:
        InvalidArgumentError: N is unknown.
        OutOfRangeError: at run time, for a length outside of [0, T].
    """
    made = _append("linear_chain_crf", input, label, length, param_attr, name)
    return made["LogLikelihood"]


def crf_decoding(
    input: Variable,
    length: Variable | None = None,
    param_attr: Any = None,
    label: Variable | None = None,
) -> Variable:
    """The likeliest tags of each sequence, by Viterbi's algorithm.

    Args:
        input: emissions: ragged [rows, N], or padded [B, T, N].
        length: lengths of padded sequences, [B], int64.
        param_attr: the name (or attribute) of the transitions.
        label: tags; if given, returns where they are right.

    Returns:
        Tags, int64: ragged [rows, 1], or [B, T] with zeros after the end.
    """
    made = _append("crf_decoding", input, label, length, param_attr)
    return made["ViterbiPath"]
