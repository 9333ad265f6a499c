"""Arrays of variables of one shape and dtype, which loops write and read.

Names are Fluid's. An array is a stack of variables with room for a fixed number
of elements, its capacity, and a length; docs/control_flow.md says more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import _core
from ..defaults import default_main_program
from ..errors import UnimplementedError, argument_error
from ..feed_values import positive
from ..indexing import constant
from ..layer_helper import index_of, make, ranked_shape, reshape_sizes
from ..program import Program, Variable

__all__ = [
    "array_length", "array_read", "array_write", "create_array",
    "tensor_array_to_tensor",
]


class Joined(NamedTuple):
    """The outputs of tensor_array_to_tensor."""

    out: Variable
    index: Variable


def _number(what: str, i: Any, program: Program) -> Variable:
    """The number of an element as a variable of one int64."""
    if not isinstance(i, Variable):
        if isinstance(i, bool) or not isinstance(i, int):
            raise argument_error(
                f"{what}: i must be an integer or a variable of one, got "
                f"{_core._shown(i)}",
                "python.array_index",
            )
        return constant(program, [i], "int64")
    if i.dtype != "int64":
        i = make("cast", i, dtype="int64")
    return i if i.shape == (1,) else make("reshape", i, shape=[1])


def _levels(x: Variable) -> list[Variable]:
    """The rows of a variable and the offsets of its levels, inner first."""
    return [x, *x.lod[::-1]]


class TensorArray:
    """Variables of one shape and dtype, each with a number from 0 on.

    :func:`create_array` makes one. ``while_loop``, ``scan`` and ``cond`` take
    and return them like variables.

    Attributes:
        dtype: of the elements.
        capacity: how many elements it has room for.
    """

    def __init__(
        self, dtype: Any, capacity: int, length: Variable, stacks: list[Any]
    ) -> None:
        self.dtype = dtype
        self.capacity = capacity
        self.program = length.program
        self._length = length
        # Of the elements, and of the offsets of their rows, inner first.
        self._stacks: list[Variable] = stacks
        self._block = self.program._current_block()

    def __repr__(self) -> str:
        shape = self._stacks[0].shape if self._stacks else None
        of = "?" if shape is None else list(shape[1:])
        return f"<array of {self.capacity} of {self.dtype} {of}>"

    def _parts(self) -> list[Variable]:
        return [self._length, *self._stacks]

    def _shapes(self) -> list[Any]:
        """The shapes of its parts in a loop."""
        return [part.shape for part in self._parts()]

    def _with(self, parts: Sequence[Variable]) -> TensorArray:
        """The array that other variables make."""
        return TensorArray(self.dtype, self.capacity, parts[0], list(parts[1:]))

    def _append(self, type: str, number: Variable, **inputs: Any) -> Variable:
        inputs = {"I": number, **inputs}
        return self.program.append_op(
            type, inputs, attrs={"capacity": self.capacity}
        )["Out"]

    def _begin(self, like: Variable) -> None:
        """Give it elements of zeros like a variable."""
        first = constant(self.program, [0], "int64")
        for part in _levels(like):
            stack = self._append("array_write", first, X=part)
            self._stacks.append(self._append("array_write", first, Array=stack))

    def _write(self, x: Variable, number: Variable) -> None:
        parts = _levels(x)
        if self._stacks and len(parts) != len(self._stacks):
            raise argument_error(
                f"array_write: x has {x.lod_level} levels of sequences, the "
                f"array's elements have {len(self._stacks) - 1}",
                "python.array_levels",
            )
        stacks = self._stacks or [None] * len(parts)
        self._stacks = [
            self._append("array_write", number, Array=stack, X=part)
            for stack, part in zip(stacks, parts, strict=True)
        ]
        self._length = make(
            "elementwise_max", {"X": self._length, "Y": number + 1}
        )

    def _read(self, number: Variable) -> Variable:
        value = None
        for stack in self._stacks[::-1]:
            inputs = {"Array": stack, "Length": self._length, "Offsets": value}
            value = self._append("array_read", number, **inputs)
        return value  # type: ignore[return-value]


def _array(what: str, value: Any) -> TensorArray:
    if isinstance(value, TensorArray):
        return value
    raise argument_error(
        f"{what}: expected an array that create_array makes, got "
        f"{_core._shown(value)}",
        "python.array",
    )


def _filled(what: str, array: Any) -> TensorArray:
    if not _array(what, array)._stacks:
        raise argument_error(
            f"{what}: the array has no element yet, and so its elements no "
            "shape: write one first, or give create_array a shape",
            "python.array_without_shape",
        )
    return array


def create_array(
    dtype: Any,
    initialized_list: Sequence[Variable] | None = None,
    capacity: int = 128,
    shape: Sequence[int] | Variable | None = None,
) -> TensorArray:
    """Make an array without elements.

    Args:
        dtype: of the elements.
        initialized_list: the first elements.
        capacity: how many elements it has room for. Its memory is that of so
            many.
        shape: of the elements; or a variable that has their shape and levels of
            sequences. By default that of the first one written, which must then
            be written before a loop takes the array.

    Returns:
        The array.
    """
    first = list(initialized_list or [])
    like = shape if isinstance(shape, Variable) else None
    variables = [each for each in [like, *first] if isinstance(each, Variable)]
    program = variables[0].program if variables else default_main_program()
    room = positive("create_array: capacity", capacity)
    length = constant(program, [0], "int64")
    array = TensorArray(_core.DType(dtype), room, length, [])
    if like is not None:
        _same_dtype("create_array: shape", array, like)
        array._begin(like)
    elif shape is not None:
        fill = {"shape": [room, *shape], "dtype": dtype, "value": 0.0}
        array._stacks = [make("fill_constant", {}, None, program, **fill)]
    for i, each in enumerate(first):
        array_write(each, i, array)
    return array


def _same_dtype(what: str, array: TensorArray, x: Variable) -> None:
    if x.dtype != array.dtype:
        raise argument_error(
            f"{what}: the array has elements of {array.dtype}, got {x!r}",
            "python.array_dtype",
        )


def array_write(
    x: Variable, i: int | Variable, array: TensorArray | None = None
) -> TensorArray:
    """Write element number ``i`` of an array.

    The length of the array becomes at least i + 1. Elements before it that were
    not written are zeros, and sequences in them empty.

    Args:
        x: the element; ragged in all elements or in none.
        i: an integer, or a variable of one.
        array: is changed; a new one if None.

    Returns:
        The array.

    Raises:
        InvalidArgumentError: ``x`` has another shape, dtype or levels than the
            array's elements; or the array is of the ops around this block.
        OutOfRangeError: at run time, for an ``i`` below 0 or from the capacity
            on.
    """
    array = create_array(x.dtype) if array is None else array
    _same_dtype("array_write: x", _array("array_write: array", array), x)
    if array._block != array.program._current_block():
        raise argument_error(
            "array_write: the array is not of this block, and a block writes "
            "variables of its own only; give the array to while_loop or scan "
            "as a variable that is carried on, and return it",
            "python.array_block",
        )
    array._write(x, _number("array_write", i, array.program))
    return array


def array_read(array: TensorArray, i: int | Variable) -> Variable:
    """Element number ``i`` of an array.

    Args:
        array: which.
        i: an integer, or a variable of one.

    Returns:
        The element; ragged if it was so when it was written.

    Raises:
        OutOfRangeError: at run time, for an ``i`` below 0 or from the length
            on.
    """
    array = _filled("array_read", array)
    return array._read(_number("array_read", i, array.program))


def array_length(array: TensorArray) -> Variable:
    """How many elements an array has at this point: [1], int64."""
    return _array("array_length", array)._length


def tensor_array_to_tensor(
    input: TensorArray,
    axis: int = 1,
    name: str | None = None,
    use_stack: bool = False,
) -> Joined:
    """All elements of an array, side by side.

    A shape that depends on the length is known once the run knows the length:
    at once where it depends on numbers alone, after the loop where a loop
    writes.

    Args:
        input: an array of elements that are not ragged.
        axis: where they are joined, or the new dim.
        name: of the result.
        use_stack: whether along a new dim.

    Returns:
        out, and index, [length] int32: the size of each element along ``axis``;
        1 with ``use_stack``.

    Raises:
        UnimplementedError: the elements are ragged, or a size after ``axis`` is
            unknown.
    """
    what = "tensor_array_to_tensor"
    array = _filled(what, input)
    if len(array._stacks) > 1:
        raise argument_error(
            f"{what}: the elements are ragged; write them after sequence_pad",
            "python.array_of_sequences",
            UnimplementedError,
        )
    stack, length = array._stacks[0], array._length
    shape = ranked_shape(f"{what}: input", stack, 1)
    at = index_of(f"{what}: axis", axis, len(shape) - (not use_stack))
    all_of_it = make(
        "slice", {"X": stack, "Ends": length}, starts=[0], axes=[0]
    )
    order = list(range(1, len(shape)))
    order.insert(at, 0)
    named = name if use_stack else None
    if at or named:
        all_of_it = make("transpose", all_of_it, named, axis=order)
    if use_stack:
        size = constant(stack.program, [1], "int32")
    else:
        sizes = [*shape[1 : at + 1], None, *shape[at + 2 :]]
        all_of_it = make(
            "reshape", all_of_it, name, shape=_merged(what, sizes, at)
        )
        size = make("shape", stack)
        size = make("slice", size, starts=[at + 1], ends=[at + 2], axes=[0])
        size = make("cast", size, dtype="int32")
    index = make("expand", {"X": size, "Shape": length})
    return Joined(all_of_it, index)


def _merged(what: str, sizes: list[int | None], at: int) -> list[int]:
    """Attribute shape of a reshape that keeps the dims before ``at``."""
    rest = reshape_sizes(f"{what}: axis {at}", [None, None, *sizes[at + 1 :]])
    return [0] * at + rest[1:]
