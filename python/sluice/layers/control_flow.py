"""Ops that run blocks: conditionals and loops."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..defaults import default_main_program
from ..errors import argument_error
from ..program import Program, Variable, require_variable
from .carried import Carried, same_count, step_of, values_of
from .tensor_array import TensorArray

__all__ = ["cond", "scan", "while_loop"]

Variables = Sequence[Variable]


def _list(what: str, value: Any) -> list[Variable]:
    """The variables that a block returns: one, or a list of them."""
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    return [require_variable(what, each) for each in values]


def _unpacked(outputs: dict[str, Any], output: str) -> list[Variable]:
    value = outputs.get(output, [])
    return value if isinstance(value, list) else [value]


@contextlib.contextmanager
def _new_blocks(program: Program) -> Iterator[None]:
    """Remove blocks that were begun inside if something is raised."""
    first = len(program._blocks())
    try:
        yield
    except BaseException:
        program._drop_blocks(first)
        raise


def _block_data(
    program: Program, stem: str, shapes: Sequence[Any], like: Variables
) -> list[Variable]:
    block = program._current_block()
    return [
        program.data(f"block_{block}.{stem}_{i}", shape, variable.dtype)
        for i, (shape, variable) in enumerate(zip(shapes, like, strict=True))
    ]


def _carried_data(
    program: Program, shapes: Sequence[Any], first: Variables
) -> list[Variable]:
    """The block's variables of what a loop carries, ragged as at first."""
    variables = _block_data(program, "carried", shapes, first)
    inside = dict(zip(_names(first), _names(variables), strict=True))
    for variable, like in zip(variables, first, strict=True):
        offsets = like.offsets
        if offsets is not None:
            name = inside.get(offsets.name, offsets.name)
            program._set_offsets(variable.name, name)
    return variables


def _names(variables: Variables) -> list[str]:
    return [variable.name for variable in variables]


def cond(
    pred: Variable,
    true_fn: Callable[[], Any],
    false_fn: Callable[[], Any],
) -> Any:
    """Run the ops of ``true_fn`` if ``pred`` is true, else ``false_fn``'s.

    Both are called once, immediately. The ops that they append become blocks,
    which may read all outer variables. Only the chosen block runs. A ragged
    result has the offsets that both functions' results have; if the functions
    make new ones, return these, too: ``[rows, rows.offsets]``.

    Args:
        pred: bool, one element.
        true_fn: returns a variable, or a list of them.
        false_fn: returns the same number, of the same dtypes.

    Returns:
        A variable, or a list of them, like ``true_fn``.

    Raises:
        InvalidArgumentError: the functions return different numbers of
            variables, other dtypes, or rows of other offsets.
    """
    program = require_variable("cond: pred", pred).program
    attrs: dict[str, Any] = {}
    single = False
    with _new_blocks(program):
        for name, function in (("then", true_fn), ("else", false_fn)):
            attrs[f"{name}_block"] = program._begin_block()
            value = function()
            what = f"cond: what {name}_block gives"
            if name == "then":
                single = isinstance(value, (Variable, TensorArray))
                branch = Carried(what, values_of(what, value))
                outputs = branch.variables
            else:
                other = values_of(what, value)
                same = len(other) == len(branch.values)
                outputs = (
                    branch.same(what, other)
                    if same
                    else Carried(what, other).variables  # the op refuses them
                )
            attrs[f"{name}_outputs"] = _names(outputs)
            program._end_block()
        op_outputs = program.append_op("if", inputs={"Cond": pred}, attrs=attrs)
    results = branch.values_from(_unpacked(op_outputs, "Out"))
    return results[0] if single else results


def while_loop(
    cond: Callable[..., Variable],
    body: Callable[..., Any],
    loop_vars: Variables,
    shapes: Sequence[Sequence[int | None]] | None = None,
    limit: int = 10_000_000,
    max_trips: int = 0,
    recompute: bool = False,
) -> list[Variable]:
    """Repeat ``loop_vars = body(*loop_vars)`` while ``cond(*loop_vars)``.

    Ragged variables keep their offsets; to change them, carry the offsets on
    as well.

    Args:
        cond: returns a bool variable of one element; called with the variables
            before the loop, and with those that ``body`` returns.
        body: returns as many variables as it gets, of the same dtypes.
        loop_vars: their initial values.
        shapes: shapes of variables, with None for sizes that change between
            iterations. By default shapes do not change.
        limit: more iterations are an error.
        max_trips: if above 0, likewise; a gradient through the loop needs it,
            because it keeps values of so many iterations.
        recompute: whether the gradient computes each iteration again instead
            of keeping what it reads: less memory, more time.

    Returns:
        The final values of the variables.

    Raises:
        InvalidArgumentError: ``body`` returns other variables than it gets.
    """
    what = "while_loop: loop_vars"
    first = Carried(what, values_of(what, loop_vars))
    variables = first.variables
    program = variables[0].program if variables else default_main_program()
    if shapes is not None:
        same_count("while_loop: shapes", len(shapes), len(first.values))
    (begins,) = _list("while_loop: what cond gives", [cond(*first.values)])
    with _new_blocks(program):
        block = program._begin_block()
        carried = _carried_data(program, first.shapes(shapes), variables)
        what = "while_loop: what body gives"
        results = values_of(what, body(*first.values_from(carried)))
        following = first.same(what, results, carried)
        (goes_on,) = _list("while_loop: what cond gives", [cond(*results)])
        return _append_loop(
            begins, first, (block, carried, following), goes_on,
            limit=limit, max_trips=max_trips, recompute=recompute,
        )  # fmt: skip


def _append_loop(
    begins: Variable,
    first: Carried,
    inside: tuple[int, list[Variable], list[Variable]],
    goes_on: Variable,
    **attrs: Any,
) -> list[Variable]:
    """End the block and append the loop of :func:`while_loop`."""
    inputs = {"Cond": begins, "Carried": first.variables}
    attrs["condition_out"] = goes_on.name
    last, _ = _loop(begins.program, inputs, inside, **attrs)
    return first.values_from(last)


def _loop(
    program: Program,
    inputs: dict[str, Any],
    inside: tuple[int, list[Variable], list[Variable]],
    **attrs: Any,
) -> tuple[list[Variable], list[Variable]]:
    """End the block of ``inside``, which has the carried variables as it gets
    and as it gives them, and append its loop; return what that carries and
    stacks.
    """
    block, carried, following = inside
    program._end_block()
    attrs |= {"block": block, "carried": _names(carried)}
    attrs["carried_out"] = _names(following)
    outputs = program.append_op("loop", inputs, attrs=attrs)
    return _unpacked(outputs, "Out"), _unpacked(outputs, "Stacked")


def scan(
    fn: Callable[[list[Variable], list[Variable]], tuple[Any, Any]],
    init: Variables,
    xs: Variables,
    reverse: bool = False,
    recompute: bool = False,
) -> tuple[list[Variable], list[Variable]]:
    """Call ``fn`` for each element of ``xs`` along the first axis.

    :func:`sequence_scan` is the same for ragged rows.

    Args:
        fn: gets the carried variables and one element of each of ``xs``, as
            lists; returns the next carried variables and the variables to
            stack.
        init: the initial carried variables.
        xs: the sequences; all have the same length.
        reverse: whether to go from the last element to the first.
        recompute: whether the gradient computes each step again instead of
            keeping what it reads: less memory, more time.

    Returns:
        The last carried variables, and the stacked variables, whose new first
        axis is that of ``xs``.

    Raises:
        InvalidArgumentError: ``fn`` returns other carried variables than it
            gets, or ``xs`` is empty.
    """
    first = Carried("scan: init", values_of("scan: init", init))
    sequences = _list("scan: xs", xs)
    if not sequences:
        raise argument_error(
            "scan: xs is empty; expected a sequence", "python.scan_xs"
        )
    program = sequences[0].program
    with _new_blocks(program):
        block = program._begin_block()
        carried = _carried_data(program, first.shapes(None), first.variables)
        elements = _block_data(
            program,
            "element",
            [each.shape and each.shape[1:] for each in sequences],
            sequences,
        )
        before = first.values_from(carried)
        results, outputs = step_of("scan", fn, before, elements)
        what = "scan: what fn carries on"
        following = first.same(what, values_of(what, results), carried)
        outputs = _list("scan: what fn stacks", outputs)
        last, stacked = _loop(
            program,
            {"Carried": first.variables, "Sequences": sequences},
            (block, carried, following),
            slices=_names(elements),
            stacked=_names(outputs),
            sequence_reversed=[int(reverse)] * len(sequences),
            stacked_reversed=[int(reverse)] * len(outputs),
            recompute=recompute,
        )
    return first.values_from(last), stacked
