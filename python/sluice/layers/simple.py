"""Layers without parameters that differ from a single op."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import InvalidArgumentError
from ..framework import Variable, caller_location, created, require_variable
from .sequence import reduce_rows

__all__ = ["accuracy", "einsum", "topk"]


class TopK(NamedTuple):
    """The outputs of topk."""

    values: Variable
    indices: Variable


def topk(input: Variable, k: int = 1) -> TopK:
    """The k largest elements of each row, and their indices.

    Args:
        input: [..., columns].
        k: at most the number of columns.

    Returns:
        values and indices (int64), both [..., k].
    """
    made = input.program.append_op("top_k", {"X": input}, attrs={"k": k})
    return TopK(made["Out"], made["Indices"])


def accuracy(input: Variable, label: Variable, k: int = 1) -> Variable:
    """The share of rows whose label is among the k largest elements.

    Args:
        input: [N, classes] of scores.
        label: [N, 1] int64.
        k: at most the number of classes.

    Returns:
        A float32 variable of one element.
    """
    indices = topk(input, k).indices
    if input.lod_level:  # the share of true rows
        append = input.program.append_op
        equal = append("equal", {"X": indices, "Y": label})["Out"]
        right = append("cast", {"X": equal}, attrs={"dtype": "float32"})
        right = append("reduce_max", {"X": right["Out"]}, attrs={"dim": [1]})
        return reduce_rows("mean", right["Out"], {})
    inputs = {"Indices": indices, "Label": label}
    return input.program.append_op("accuracy", inputs)["Accuracy"]


def einsum(equation: str, *operands: Variable) -> Variable:
    """A sum of products in the notation of :func:`numpy.einsum`.

    ``einsum("bij,bjk->bik", a, b)`` is a batch of matrix products. A letter
    names a dim, and ``...`` the unnamed dims. Dims that the output lacks are
    summed. Without ``->`` the output has the dims of ``...`` and then, sorted,
    the letters that occur once. A letter that occurs twice in a term means the
    diagonal. Terms are multiplied from left to right.

    Args:
        equation: a term for each operand, and the output.
        operands: of one dtype and known ranks.

    Returns:
        A new variable.

    Raises:
        InvalidArgumentError: the equation does not match the operands.
        UnimplementedError: an operand's rank, or the size of a diagonal, is
            unknown.
    """
    if not operands:
        raise InvalidArgumentError(
            "einsum: expected an operand for each term of the equation, got "
            f"none{created()}",
            "python.einsum_operands",
        )
    program = require_variable("einsum: operand 0", operands[0]).program
    names = [
        program._name(f"einsum: operand {i}", operand)
        for i, operand in enumerate(operands)
    ]
    return Variable(
        program, program._append_einsum(equation, names, caller_location())
    )
