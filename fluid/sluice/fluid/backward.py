"""``fluid.backward``: gradients without an optimizer."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from ..errors import SluiceError
from ..framework import append_backward as sluice_backward
from .framework import Block, Parameter, Program, Variable
from .layers import assign, reduce_sum, sums


def names_of(variables: Any) -> Any:
    """The names of variables or names, or None."""
    if variables is None:
        return None
    several = isinstance(variables, (list, tuple, set, frozenset))
    return [
        getattr(each, "name", each)
        for each in (variables if several else [variables])
    ]


def trained(block: Block, parameters: Any) -> list[str] | None:
    """The names of the parameters, without those that are not trained."""
    names = names_of(parameters)
    return names and [
        name
        for name in names
        if not isinstance(block.vars.get(name), Parameter)
        or block.vars[name].trainable
    ]


@contextlib.contextmanager
def untrained(parameters: Any) -> Iterator[None]:
    """As in Fluid, a loss may depend on no parameter, unless they are named;
    there is a warning.
    """
    try:
        yield
    except SluiceError as error:
        if parameters is not None or error.check_id != "backward.no_path":
            raise
        warnings.warn(f"nothing is trained: {error}", stacklevel=4)


def append_backward(
    loss: Variable,
    parameter_list: Any = None,
    no_grad_set: Any = None,
    callbacks: Any = None,
    checkpoints: Any = None,
) -> list[tuple[Variable, Variable]]:
    """Append the gradients of a loss; return (parameter, gradient) pairs.

    Args:
        loss: a float variable of one element.
        parameter_list: parameters or names, of which those that are not
            trained are left out; all if None.
        no_grad_set: variables where gradients stop.
        callbacks, checkpoints: have no effect.
    """
    program = loss.block.program
    pairs: Any = []
    chosen, stops = names_of(parameter_list), names_of(no_grad_set)

    def again(copy: Program) -> None:
        append_backward(copy.block0.var(loss.name), chosen, stops)

    with program.training(again), untrained(parameter_list):
        found = trained(loss.block, chosen)
        pairs = sluice_backward(loss.value, found, stops)
    block = loss.block
    return [(block.var(p.name), block.adopt(g)) for p, g in pairs]


def gradients(
    targets: Any,
    inputs: Any,
    target_gradients: Any = None,
    no_grad_set: Any = None,
) -> list[Variable | None]:
    """The gradients of the sum of targets, or of their products with
    ``target_gradients``, for each of the inputs; None for an input that no
    target depends on.
    """
    targets = targets if isinstance(targets, (list, tuple)) else [targets]
    given = target_gradients
    given = (
        given if isinstance(given, (list, tuple)) else [given] * len(targets)
    )
    parts = []
    for target, grad in zip(targets, given, strict=True):
        if grad is not None:
            grad = assign(grad)
            grad.stop_gradient = True
            target = target * grad
        parts.append(reduce_sum(target))
    names = names_of(inputs)
    reached = {*names_of(targets)}
    known = targets[0].block.vars
    for op in reversed(targets[0].block.ops):
        if any(
            name in reached and not known[name].stop_gradient
            for name in op.output_arg_names
        ):
            reached.update(op.input_arg_names)
    reaching = [name for name in names if name in reached]
    if not reaching:
        return [None] * len(names)
    pairs = append_backward(sums(parts), reaching, no_grad_set)
    found = {variable.name: gradient for variable, gradient in pairs}
    return [found.get(name) for name in names]
