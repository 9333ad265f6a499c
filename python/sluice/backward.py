"""Appends the ops that compute gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .program import Program, Variable, require_list, require_variable
from .tracebacks import caller_location


def append_backward(
    loss: Variable,
    parameter_list: Iterable[Variable | str] | None = None,
    no_grad_set: Iterable[Variable | str] | None = None,
) -> list[tuple[Variable, Variable]]:
    """Append the ops that compute the gradients of ``loss``.

    Args:
        loss: a float variable of one element.
        parameter_list: variables to get gradients; all parameters if None.
        no_grad_set: variables where gradients stop.

    Returns:
        (parameter, gradient) pairs.

    Raises:
        InvalidArgumentError: the loss is not a scalar, or an op on the path has
            no gradient.
    """
    arguments = backward_arguments(loss, parameter_list, no_grad_set)
    pairs = loss.program._append_backward(*arguments, caller_location())
    return [
        (Variable(loss.program, p), Variable(loss.program, g)) for p, g in pairs
    ]


def backward_arguments(
    loss: Variable, parameter_list: Any, no_grad_set: Any
) -> tuple[str, list[str], list[str], dict[str, Any]]:
    """Check the arguments of functions that append gradients, and add the ops
    that clip these, by variable.
    """
    require_variable("append_backward: loss", loss)
    return (
        loss.name,
        _name_list(loss.program, "parameter_list", parameter_list),
        _name_list(loss.program, "no_grad_set", no_grad_set),
        _error_clip_ops(loss.program),
    )


def _error_clip_ops(program: Program) -> dict[str, Any]:
    """The ops that gradients go through, by variable."""
    clips = program._error_clips
    if not clips:
        return {}
    # A part of a program may lack some.
    known = {v["name"] for block in program._blocks() for v in block["vars"]}
    return {name: clips[name]._op() for name in clips if name in known}


def _name_list(program: Program, what: str, variables: Any) -> list[str]:
    what = f"append_backward: {what}"
    if variables is None:
        return []
    require_list(what, variables, "python.variable_list")
    return [program._name(what, variable) for variable in variables]
