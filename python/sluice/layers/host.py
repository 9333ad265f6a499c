"""Layers that act outside of the program: Print, and functions in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import python_kernels
from ..layer_helper import make
from ..program import Variable, require_variable

__all__ = ["Print", "py_func"]


def Print(
    input: Variable,
    first_n: int = -1,
    message: str | None = None,
    summarize: int = 20,
    print_tensor_name: bool = True,
    print_tensor_type: bool = True,
    print_tensor_shape: bool = True,
    print_phase: str = "both",
) -> Variable:
    """Return the variable; when it is computed, write a line to stderr.

    A program runs only what the fetched variables depend on: go on with the
    result, or fetch it. The gradient is printed as well.

    Args:
        input: a variable of any shape.
        first_n: how often to print; -1: always. Each set of shapes counts for
            itself.
        message: the beginning of the line.
        summarize: how many values to print; -1: all.
        print_tensor_name: print the variable's name.
        print_tensor_type: print the dtype.
        print_tensor_shape: print the shape.
        print_phase: ``"forward"``, ``"backward"`` or ``"both"``.
    """
    attrs = locals() | {"message": message or ""}
    return make("print", attrs.pop("input"), **attrs)


def py_func(
    func: Callable[..., Any],
    x: Variable | Sequence[Variable],
    out: Any,
    backward_func: Callable[..., Any] | None = None,
    skip_vars_in_backward_input: Sequence[Variable] = (),
) -> Any:
    """Call a Python function with arrays, whenever the program runs.

    >>> def tanh(x):
    ...     return np.tanh(x)
    >>> def tanh_grad(x, y, dy):
    ...     return dy * (1 - y * y)
    >>> y = sl.layers.py_func(tanh, x, (x.shape, x.dtype), tanh_grad)

    The function gets read-only NumPy views, which it must not keep, and
    returns an array for each output. An exception becomes an error of the run
    that names the function and its line, with the exception as its cause. A
    saved program does not contain the function.

    Args:
        func: a function of one array for each of ``x``.
        x: a variable, or several.
        out: the shape and dtype of the result, ``([None, 3], "float32")``, or
            a list of them. None is the size of the first of ``x`` in that dim.
        backward_func: a function of the arrays of x, those of the outputs, and
            the gradients of the outputs. It returns the gradient of each float
            of ``x``. Without it, no gradient passes.
        skip_vars_in_backward_input: variables of ``x`` that ``backward_func``
            does not get.

    Returns:
        A variable, or a list like ``out``.

    Raises:
        InvalidArgumentError: an argument is not what is said here.
        InternalError: at run time, if the function raises an exception, or
            returns arrays of other shapes or dtypes.
    """
    xs = list(x) if isinstance(x, (list, tuple)) else [x]
    skip = skip_vars_in_backward_input
    for each in xs:
        require_variable("py_func: x", each)
    skipped = {require_variable("py_func: x", v).name for v in skip}
    several = isinstance(out, list)
    op = python_kernels.py_func_op(
        func,
        [each.dtype for each in xs],
        out if several else [out],
        backward_func,
        [each.name in skipped for each in xs],
    )
    program = xs[0].program
    results = program.append_op(op, {f"X{i}": v for i, v in enumerate(xs)})
    outputs = list(results.values())
    if backward_func is None:
        for variable in outputs:
            variable.stop_gradient = True
    return outputs if several else outputs[0]
