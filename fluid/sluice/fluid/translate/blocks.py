"""Ops with blocks, ``while`` and ``conditional_block``, and arrays.

An op with a block writes variables around it. Here its block is translated as
one that gives their new values.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ... import layers, unique_name
from ...framework import Variable
from ...indexing import constant
from ...layers.carried import Carried, values_of
from ...layers.control_flow import _append_loop, _carried_data, _new_blocks
from ...layers.tensor_array import TensorArray, _number
from ..errors import unknown, wrong
from .declaration import FluidOp
from .table import Many, row

CAPACITY = 128  # elements of an array, unless create_array says another


class Array(TensorArray):
    """An array whose elements may have different numbers of rows.

    A dense element that had fewer rows than others cannot be read any more.
    """

    # What variables have.
    shape: Any = ()
    lod_level, persistable, stop_gradient = 0, False, False
    _rows: Variable | None = None  # [capacity]: of each dense element

    def _parts(self) -> list[Variable]:
        rows = [] if self._rows is None else [self._rows]
        return [self._length, *rows, *self._stacks]

    def _with(self, parts: Sequence[Variable]) -> Array:
        length, *stacks = parts
        made = Array(self.dtype, self.capacity, length, stacks)
        if self._rows is not None:
            made._rows = stacks.pop(0)
            made._stacks = stacks
        return made

    def _shapes(self) -> list[Any]:
        """What a loop may assume: the rows of elements may change."""
        stacks = [part.shape for part in self._stacks]
        return [
            *(part.shape for part in self._parts()[: -len(stacks) or None]),
            *((s[0], None, *s[2:]) if len(s) > 1 else s for s in stacks),
        ]

    def _append(self, type: str, number: Variable, **inputs: Any) -> Variable:
        attrs: dict[str, Any] = {"capacity": self.capacity}
        if type == "array_write":
            attrs["grows"] = True
        elif self._rows is not None and len(self._stacks) == 1:
            inputs["Rows"] = self._rows
        inputs = {"I": number, **inputs}
        return self.program.append_op(type, inputs, attrs=attrs)["Out"]

    def _write(self, x: Variable, number: Variable) -> None:
        if len(self._stacks) == 1 and x.lod_level:
            # The first element was dense: so is this one, with all rows that a
            # ragged variable has room for.
            length = layers.elementwise_max(self._length, number + 1)
            (stack,) = self._stacks
            stack = self._append("array_write", number, Array=stack, X=x)
            self._length, self._stacks = length, [stack]
            self._count(stack, 1, number)
            return
        super()._write(x, number)
        if x.shape and not x.lod_level:
            self._count(x, 0, number)

    def _count(self, x: Variable, axis: int, number: Variable) -> None:
        """Note how many rows an element has, size ``axis`` of x."""
        sizes = layers.cast(layers.shape(x), dtype="int64")
        count = layers.reshape(sizes[axis : axis + 1], [])
        self._rows = self._append(
            "array_write", number, Array=self._rows, X=count
        )

    def form(self) -> ArrayForm:
        """What its elements are like."""
        shapes = [part.shape for part in self._stacks]
        return ArrayForm(self.dtype, shapes, self._rows is not None)

    def of(self, form: ArrayForm) -> Array:
        """The same array, which has a shape even without elements."""
        room = self.capacity
        made = self._with(self._parts())
        if form.counts and self._rows is None:
            made._rows = constant(self.program, [0] * room, "int64")
        if made._stacks:
            return made
        for at, known in enumerate(form.shapes):
            shape = [room, *known[1:]]
            if len(shape) > 1 and (at or shape[1] is None):
                shape[1] = int(at > 0)  # no row; offsets begin with a 0
            dtype = "int64" if at else form.dtype
            made._stacks.append(
                layers.fill_constant(shape=shape, dtype=dtype, value=0.0)
            )
        return made


class ArrayForm(NamedTuple):
    """What the elements of an array are like."""

    dtype: Any
    shapes: list[Any]  # of the stacks
    counts: bool  # whether rows are counted

    def like(self, other: ArrayForm) -> bool:
        """Whether both have elements of as many levels, and count their rows
        or not.
        """
        return (
            len(self.shapes) == len(other.shapes)
            and self.counts == other.counts
        )


class Form(NamedTuple):
    """What a variable is like."""

    shape: Any
    dtype: Any
    lod_level: int


def form_of(value: Any) -> Form | ArrayForm | None:
    """The form of a variable or an array; None for None."""
    if isinstance(value, Array):
        return value.form()
    if value is None:
        return None
    return Form(value.shape, value.dtype, value.lod_level)


def new_array(program: Any, dtype: Any, capacity: int = CAPACITY) -> Array:
    """An array without elements."""
    return Array(dtype, capacity, constant(program, [0], "int64"), [])


@contextlib.contextmanager
def scratch_block(translation: Any) -> Iterator[None]:
    """Translate ops into a block that is dropped again."""
    program, values = translation.program, translation.values
    before, first = dict(values), len(program._blocks())
    program._begin_block()
    try:
        with translation.inside():
            yield
        program._end_block()
    finally:
        program._drop_blocks(first)
        values.clear()
        values.update(before)


Body = Callable[[], None]


def _results(translation: Any, body: Body, names: Sequence[str]) -> list[Any]:
    """What the block makes of variables; they are as before afterwards."""
    values = translation.values
    before = dict(values)
    with translation.inside():
        body()
    made = [translation.value(name) for name in names]
    values.clear()
    values.update(before)
    return made


def append_while(
    translation: Any, cond: str, body: Body, written: Sequence[str]
) -> None:
    """Append a loop that runs while ``cond`` is true.

    Its block is translated once, with variables like those before it for what
    it carries; again only if it makes other shapes or arrays of them. What it
    made is known for the next time.

    Args:
        translation: gets it.
        cond: a variable, bool [1].
        body: translates the ops of the block.
        written: the names that they write; those that are there before are
            carried on, and arrays.
    """
    program, values = translation.program, translation.values
    forms = translation.forms_of(written)
    fits = False
    while not fits:
        first = _carried(translation, written, forms)
        if cond not in first:
            wrong(
                f"while: the block never writes {cond}, so the loop would not "
                "end",
                "fluid.while_endless",
            )
        shapes = [
            None
            if isinstance(value, Array)
            else _widest(value, forms.get(name))
            for name, value in first.items()
        ]
        what = "while_loop: loop_vars"
        loop = Carried(what, values_of(what, [*first.values()]))
        with _new_blocks(program):
            number, block = len(program._blocks()), program._begin_block()
            inside = _carried_data(program, loop.shapes(shapes), loop.variables)
            before = dict(values)
            try:
                values.update(zip(first, loop.values_from(inside), strict=True))
                with translation.inside():
                    body()
                results = {name: translation.value(name) for name in first}
                after = {name: form_of(values.get(name)) for name in written}
            finally:
                values.clear()
                values.update(before)
            fits = _fits(first, shapes, after, forms)
            if not fits:
                program._end_block()
                program._drop_blocks(number)
                continue
            following = loop.same("while", [*results.values()], inside)
            made = _append_loop(
                first[cond], loop, (block, inside, following), results[cond],
                limit=10_000_000, max_trips=0, recompute=False,
            )  # fmt: skip
    for name, value in zip(first, made, strict=True):
        translation.write(name, value)


def _carried(
    translation: Any, written: Sequence[str], forms: dict[str, Any]
) -> dict[str, Any]:
    """By name what a loop carries: what is there before it, and arrays, in the
    forms that are known of the block.
    """
    carried = {}
    for name in dict.fromkeys(written):
        value, form = translation.find(name), forms.get(name)
        if isinstance(form, ArrayForm):
            if value is None:
                value = new_array(translation.program, form.dtype)
            if isinstance(value, Array):
                value = value.of(form)
        # An array without elements has no shape yet.
        if value is None or (isinstance(value, Array) and not value._stacks):
            continue
        carried[name] = value
    return carried


def _fits(
    first: dict[str, Any],
    shapes: Sequence[Any],
    after: dict[str, Any],
    forms: dict[str, Any],
) -> bool:
    """Whether a block makes what it began with; if not, ``forms`` get what it
    has to begin with.
    """
    fits, used = True, dict(zip(first, shapes, strict=True))
    for name, form in after.items():
        value = first.get(name)
        if isinstance(form, ArrayForm):
            same = isinstance(value, Array) and value.form().like(form)
            if form.shapes and not same:
                fits, forms[name] = False, form
        elif name in first and form is not None:
            shape = _shape_of_both(used[name], form.shape)
            if shape != used[name]:
                fits, forms[name] = False, form._replace(shape=shape)
    return fits


def _widest(value: Variable, form: Any) -> Any:
    """The shape of a variable, with None where a block makes another size."""
    shape = value.shape if form is None else form.shape
    return _shape_of_both(value.shape, shape)


def _shape_of_both(one: Any, other: Any) -> Any:
    if one is None or other is None or len(one) != len(other):
        return one
    pairs = zip(one, other, strict=True)
    return tuple(a if a == b else None for a, b in pairs)


def declare(translation: Any, forms: dict[str, Any]) -> bool:
    """Let names that are there stand for other variables, as a block makes
    them, without its ops. Returns False where one is of another kind.
    """
    made = {}
    for name, form in forms.items():
        value = translation.find(name)
        if isinstance(form, ArrayForm) and isinstance(value, Array):
            made[name] = value.of(form)
            continue
        now = form_of(value)
        if not isinstance(form, Form) or not isinstance(now, Form):
            return False
        if form[1:] != now[1:]:
            return False
        shape = _shape_of_both(now.shape, form.shape)
        made[name] = _stand_in(translation.program, name, value, shape)
    translation.values.update(made)
    return True


def _stand_in(program: Any, name: str, like: Variable, shape: Any) -> Variable:
    """A variable of a block that is dropped, ragged as another one."""
    name = unique_name.generate(f"{name}.stand_in")
    made = program.data(name, shape, like.dtype)
    made.stop_gradient = like.stop_gradient
    if like.lod_level:
        program._set_offsets(name, like.offsets.name)
    return made


def append_cond(
    translation: Any,
    cond: str,
    bodies: Sequence[tuple[Body, Sequence[str]]],
    names: Sequence[str],
) -> None:
    """Append two blocks, of which one runs; an empty one leaves all as it is.

    Args:
        translation: gets them.
        cond: a variable, bool [1].
        bodies: for true and for false what translates the ops of the block, and
            the names of its results.
        names: what the results are called.
    """
    pred = translation.value(cond)
    known = [translation.find(name) is not None for name in names]
    first: list[Any] = []

    def of(number: int) -> list[Any]:
        body, results = bodies[number]
        if number == 0 or results is not names:
            made = _results(translation, body, results)
            first[:] = first or made
            return made
        return [
            translation.value(name) if there else _nothing(first[at])
            for at, (name, there) in enumerate(zip(names, known, strict=True))
        ]

    made = layers.cond(pred, lambda: of(0), lambda: of(1))
    for name, value in zip(names, made, strict=True):
        translation.write(name, value)


def _nothing(like: Any) -> Variable:
    """What a variable has that the block did not write: zeros, no rows."""
    sizes = [size or 0 for size in like.shape or ()]
    return layers.fill_constant(shape=sizes, dtype=like.dtype, value=0.0)


def no_ops() -> None:
    """The body of an empty block."""


def _condition(type: str, inputs: Any, slot: str) -> str:
    names = inputs.get(slot, [])
    if len(names) != 1:
        wrong(
            f"{type}: input {slot} has {len(names)} variables, not one",
            "fluid.condition_slot",
        )
    return names[0]


# How ops with a block are appended: (translation, inputs, attributes, body,
# outputs) -> None.
def _while(t: Any, inputs: Any, attrs: Any, body: Body, outputs: Any) -> None:
    cond = _condition("while", inputs, "Condition")
    append_while(t, cond, body, outputs.get("Out", []))


def _conditional(
    t: Any, inputs: Any, attrs: Any, body: Body, outputs: Any
) -> None:
    cond = _condition("conditional_block", inputs, "Cond")
    names = outputs.get("Out", [])
    if not attrs.get("is_scalar_condition"):
        unknown(
            "conditional_block: is_scalar_condition is false",
            "fluid.conditional_block",
        )
    append_cond(t, cond, [(body, names), (no_ops, names)], names)


BLOCK_OPS = {
    "while": _while,
    "conditional_block": _conditional,
    "conditional_block_infer": _conditional,
}


@row("select_input")
def select_input(op, X: Many, Mask):
    """The variable that a number names."""
    made = X[-1]
    for at in range(len(X) - 2, -1, -1):
        mine = op.equal(Mask, op.constant(at, Mask.dtype))
        made = layers.cond(mine, lambda at=at: X[at], lambda made=made: made)
    return made


@row("split_lod_tensor", outputs="OutTrue OutFalse")
def split_lod_tensor(op, X, Mask, *, level=0):
    """The rows where a bool is true, and the others."""
    if X.lod_level:
        op.refuse("rows of sequences")
    mask = op.reshape(Mask, -1)
    other = op.logical_not(mask)
    return {
        slot: op.gather(X, Index=op.reshape(op.nonzero(chosen), -1))
        for slot, chosen in (("OutTrue", mask), ("OutFalse", other))
    }


@row("merge_lod_tensor", "merge_lod_tensor_infer")
def merge_lod_tensor(op, X, Mask, InTrue, InFalse, *, level=0):
    """Rows of both, in the order that a bool of each says."""
    mask = op.reshape(Mask, -1)
    true = op.cast(mask, "int64")
    before = op.cumsum(true, axis=0, exclusive=True)
    number = op.fill_any_like(true, value=1.0, dtype="int64")
    number = op.cumsum(number, axis=0, exclusive=True)
    after = op.reduce_sum(true, keep_dim=True) + number - before
    places = op.where(Condition=mask, X=before, Y=after)
    both = op.concat([InTrue, InFalse], axis=0)
    return op.gather(both, Index=places)


@row("write_to_array")
def write_to_array(op, X, I):  # noqa: E741
    """An array with another element."""
    (name,) = op.outputs["Out"]
    array = op.values.get(name)
    if array is None and not op.program.has_var(name):
        array = new_array(op.program, X.dtype)
    if not isinstance(array, Array):
        op.wrong(f"{name} is no array")
    if array.dtype != X.dtype:
        op.wrong(f"{name} has elements of {array.dtype}, got {X!r}")
    array = array._with(array._parts())
    array._write(X, _number("write_to_array", I, op.program))
    return array


def _written(op: Any, array: Any) -> Array:
    if not isinstance(array, Array) or not array._stacks:
        op.wrong("X is no array that has an element")
    return array


@FluidOp("read_from_array", array="X")
def array_read(op, array, i):
    """An element of an array."""
    number = _number("read_from_array", i, op.program)
    return _written(op, array)._read(number)


@FluidOp("lod_array_length", array="X")
def array_length(op, array):
    """How many elements an array has."""
    if not isinstance(array, Array):
        op.wrong("X is no array")
    return array._length


@FluidOp(outputs="Out OutIndex", defaults={"axis": 0})
def tensor_array_to_tensor(op, input, axis=1, name=None, use_stack=False):
    """All elements, side by side."""
    array = _written(op, input)
    made = layers.tensor_array_to_tensor(array, axis, None, use_stack)
    return {"Out": made.out, "OutIndex": made.index}


@FluidOp(outputs="SentenceIds SentenceScores")
def beam_search_decode(op, ids, scores, beam_size: int, end_id: int, name=None):
    """The sentences that the steps of a beam search found."""
    arrays = _written(op, ids), _written(op, scores)
    made = layers.beam_search_decode(*arrays, beam_size, end_id)
    return {"SentenceIds": made.ids, "SentenceScores": made.scores}


@FluidOp("print", defaults={"message": "", "print_phase": "BOTH"}, input="In")
def Print(
    op, input, first_n=-1, message: str | None = None, summarize=20,
    print_tensor_name=True, print_tensor_type=True, print_tensor_shape=True,
    print_tensor_lod=True, print_phase="both",
):  # fmt: skip
    """The variable, which runs print; also for those who read the input."""
    (name,) = op.inputs["In"]
    if print_tensor_name:
        message = f"{message} {name}".strip()
    shown = print_tensor_type, print_tensor_shape, print_phase.lower()
    out = layers.Print(input, first_n, message, summarize, False, *shown)
    op.values[name] = out
    return out
