"""Variables of Fluid's programs, and the operators that scripts write."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Sequence
from typing import Any

from .. import _core
from ..framework import Variable as SluiceVariable
from ..layer_helper import ParamAttr
from .errors import too_early, wrong
from .translate import CODES, DTYPES

__all__ = ["Parameter", "Variable", "code_of"]


class _Desc:
    """``Variable.desc``: the sizes that a script says a variable has."""

    def __init__(self, variable: Variable) -> None:
        self._variable = variable

    def set_shape(self, shape: Sequence[int]) -> None:
        """Let :attr:`Variable.shape` be these sizes, which count for variables
        in the scope only: other values keep theirs.
        """
        program, name = self._variable.block.program, self._variable.name
        if name in program.stored:
            _, *rest = program.stored[name]
            program.stored[name] = (list(shape), *rest)
            program.edited = True
        else:
            program.declared_shapes[name] = tuple(shape)

    def shape(self) -> list[int]:
        """The sizes."""
        return list(self._variable.shape)

    def name(self) -> str:
        """The name."""
        return self._variable.name


class Variable:
    """A variable of a program: a name; its value is what ops last wrote to it.

    Attributes:
        name: its name.
        block: the block that declares it.
    """

    __array_ufunc__ = None
    declared: tuple[Any, Any] = (None, None)  # shape and dtype, by create_var
    stops: bool | None = None  # what stop_gradient will be

    def __init__(self, block: Any, name: str) -> None:
        self.block, self.name = block, name

    @property
    def value(self) -> SluiceVariable:
        """The variable of Sluice."""
        return self.block.program.translation.value(self.name)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes, -1 for unknown ones."""
        program = self.block.program
        if self.name in program.declared_shapes:
            return program.declared_shapes[self.name]
        if program.edited and self.name in program.stored:
            return tuple(program.stored[self.name][0])
        if self._unwritten():
            return tuple(self.declared[0])
        # As they were before a change, see Operator.infer_shape.
        shape = program._translation.value(self.name).shape
        kind = list if hasattr(self.block.program, "given") else tuple
        return kind(-1 if size is None else size for size in shape or ())

    def _eager(self) -> Any:
        program = self.block.program
        if not hasattr(program, "given"):
            too_early(
                f"{self!r} has a value in a run only: fetch it, or write it "
                "inside of fluid.dygraph.guard()",
                "fluid.no_eager_value",
            )
        return program

    def numpy(self) -> Any:
        """Its value, inside of ``fluid.dygraph.guard()``."""
        return self._eager().value_of(self)

    def set_value(self, value: Any) -> None:
        """Change it, inside of ``fluid.dygraph.guard()``."""
        self._eager().set_value(self, value)

    def backward(self, backward_strategy: Any = None) -> None:
        """Let :meth:`gradient` be of this loss, and of those before."""
        self._eager().losses.append(self)

    def gradient(self) -> Any:
        """The gradient of the losses; None if there is none."""
        return self._eager().gradient_of(self)

    def clear_gradient(self) -> None:
        """Forget the losses that :meth:`backward` was called of."""
        self._eager().clear_gradient(self)

    def detach(self) -> Variable:
        """The value, through which no gradient flows."""
        made = self.block.append("assign", {"X": self})
        made.stop_gradient = True
        return made

    error_clip = None

    @property
    def is_data(self) -> bool:
        """Whether it is fed."""
        return any(name == self.name for name, *_ in self.block.program.feeds)

    def _unwritten(self) -> bool:
        """Whether it has only what :meth:`Block.create_var` was given."""
        find = self.block.program._translation.find
        return self.declared[0] is not None and find(self.name) is None

    @property
    def type(self) -> int:
        """The kind of variable: that of tensors, see ``core.VarDesc``."""
        return 7

    def to_string(
        self, throw_on_error: bool = True, with_details: bool = False
    ) -> str:
        """Its name, element type and shape."""
        return repr(self)

    @property
    def desc(self) -> _Desc:
        """The description by which old scripts change shapes."""
        return _Desc(self)

    @property
    def dtype(self) -> _core.DType:
        """The element type; equal to its name, as ``"float32"``."""
        if self._unwritten() and self.declared[1] is not None:
            return getattr(_core, DTYPES[code_of(self.declared[1])])
        return self.value.dtype

    @property
    def lod_level(self) -> int:
        """The number of levels of sequences."""
        return 0 if self._unwritten() else self.value.lod_level

    @property
    def persistable(self) -> bool:
        """Whether it lives in the scope and outlives a run."""
        return self.block.program.translation.is_stored(self.name)

    @persistable.setter
    def persistable(self, kept: bool) -> None:
        # In Fluid it kept a fetched value from being overwritten, which does
        # not happen here.
        pass

    @property
    def stop_gradient(self) -> bool:
        """Whether gradients stop here; may be set, also before an op writes
        the variable.
        """
        written = self.block.program.translation.find(self.name)
        return bool(self.stops) if written is None else written.stop_gradient

    @stop_gradient.setter
    def stop_gradient(self, stop: bool) -> None:
        written = self.block.program.translation.find(self.name)
        if written is None:
            self.stops = stop
        else:
            written.stop_gradient = stop

    def astype(self, dtype: Any) -> Variable:
        """Append a cast."""
        attrs = {
            "in_dtype": CODES[self.dtype.name],
            "out_dtype": code_of(dtype),
        }
        return self.block.append("cast", {"X": self}, attrs)

    def _float(self) -> Variable:
        """The variable, an integer one as float32."""
        return self.astype("float32") if "int" in self.dtype.name else self

    def _scale(self, scale: float, bias: float) -> Variable:
        return self.block.append(
            "scale", {"X": self}, {"scale": scale, "bias": bias}
        )

    def _binary(self, type: str, other: Any, swapped: bool = False) -> Any:
        """The op, as Fluid's operators append it: with the right side in the
        dtype of the left, along the first dim if that is not known.
        """
        left = self
        if isinstance(other, numbers.Real):
            if isinstance(other, float) or type == "elementwise_div":
                left = self._float()
            other = self._number(other, left.dtype.name)
        if not isinstance(other, Variable):
            return NotImplemented
        if other.dtype != left.dtype:
            other = other.astype(left.dtype)
        x, y = (other, left) if swapped else (left, other)
        first = y.shape[:1] == (-1,) and len(x.shape) >= len(y.shape)
        return self.block.append(
            type, {"X": x, "Y": y}, {"axis": 0 if first else -1}
        )

    __hash__ = object.__hash__  # although == appends an op

    def __neg__(self) -> Any:
        return self._scale(-1.0, 0.0)

    def __getitem__(self, item: Any) -> Variable:
        """A part, by integers, slices and ``...``; integers drop their dim.
        Integers may be variables of one element.
        """
        items = list(item) if isinstance(item, tuple) else [item]
        rank, most = len(self.shape), 2**31 - 1
        if any(each is Ellipsis for each in items):
            at = [each is Ellipsis for each in items].index(True)
            items[at : at + 1] = [slice(None)] * (rank + 1 - len(items))
        kinds = (numbers.Integral, slice, Variable)
        if len(items) > rank or not all(isinstance(i, kinds) for i in items):
            wrong(
                f"{self!r}[{item!r}]: expected up to {rank} integers and "
                "slices",
                "fluid.index",
            )
        axes = [k for k, part in enumerate(items) if part != slice(None)]
        axes = axes or [0]
        starts, ends, steps = [], [], []
        for part in (items[k] for k in axes):
            if isinstance(part, slice):
                step = 1 if part.step is None else part.step
                limits = (0, most) if step > 0 else (most, -most)
                start = limits[0] if part.start is None else part.start
                end = limits[1] if part.stop is None else part.stop
            else:
                last = not isinstance(part, Variable) and part == -1
                start, end, step = part, most if last else part + 1, 1
            starts.append(start)
            ends.append(end)
            steps.append(step)
        attrs: dict[str, Any] = {
            "axes": axes,
            "decrease_axis": [k for k in axes if type(items[k]) is not slice],
        }
        inputs: dict[str, Any] = {"Input": self}
        for name, values in ("starts", starts), ("ends", ends):
            if any(isinstance(each, Variable) for each in values):
                slot = f"{name.capitalize()}TensorList"
                inputs[slot] = [self._number(each, "int64") for each in values]
                values = [-1] * len(values)
            attrs[name] = [*map(int, values)]
        if any(step != 1 for step in steps):
            attrs["strides"] = steps
        kind = "strided_slice" if "strides" in attrs else "slice"
        return self.block.append(kind, inputs, attrs)

    def _number(self, value: Any, dtype: str) -> Variable:
        """A number as a variable; a variable unchanged."""
        if isinstance(value, Variable):
            return value
        attrs = {"shape": [1], "dtype": CODES[dtype], "value": value}
        return self.block.append("fill_constant", {}, attrs)

    def __iter__(self) -> Any:
        wrong(
            f"{self!r} has no elements before it runs: use indices, or "
            "layers.unstack",
            "fluid.iterate",
        )

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"<fluid.{kind} {self.name}: {self.dtype} {self.shape}>"

    __str__ = __repr__


_EXACT = 2**24  # up to here a scale in a file has all integers
# With a number n: what the op ``scale`` multiplies by and adds.
_SCALES: dict[str, Any] = {
    "add": lambda n: (1.0, n), "radd": lambda n: (1.0, n),
    "mul": lambda n: (n, 0.0), "rmul": lambda n: (n, 0.0),
    "sub": lambda n: (1.0, -n), "rsub": lambda n: (-1.0, n),
}  # fmt: skip
_OPERATORS = {
    "elementwise_add": "add radd", "elementwise_mul": "mul rmul",
    "elementwise_sub": "sub rsub", "elementwise_div": "truediv rtruediv",
    "elementwise_pow": "pow rpow", "elementwise_floordiv": "floordiv",
    "elementwise_mod": "mod", "less_than": "lt", "less_equal": "le",
    "greater_than": "gt", "greater_equal": "ge", "equal": "eq",
    "not_equal": "ne",
}  # fmt: skip


def _operator(name: str, type: str) -> Any:
    def operator(self: Variable, other: Any) -> Any:
        small = isinstance(other, numbers.Real) and abs(other) <= _EXACT
        if (small or isinstance(other, float)) and name in _SCALES:
            x = self._float() if isinstance(other, float) else self
            return x._scale(*_SCALES[name](float(other)))
        return self._binary(type, other, name[0] == "r")

    return operator


for _type, _both in _OPERATORS.items():
    for _name in _both.split():
        setattr(Variable, f"__{_name}__", _operator(_name, _type))


class _Factors(dict):
    """``Parameter.optimize_attr``: what is set counts for optimizers."""

    def __init__(self, parameter: Parameter) -> None:
        super().__init__(learning_rate=parameter._attr().learning_rate)
        self._parameter = parameter

    def __deepcopy__(self, _: Any) -> dict[str, float]:
        return dict(self)

    def __setitem__(self, key: str, value: float) -> None:
        super().__setitem__(key, value)
        self._parameter._set_attr(**{key: value})


class Parameter(Variable):
    """A variable that a layer made, such as a weight or a running mean."""

    def _attr(self) -> ParamAttr:
        attrs = self.block.program.sluice._param_attrs
        return attrs.get(self.name) or ParamAttr(name=self.name)

    def _set_attr(self, **values: Any) -> None:
        attrs = self.block.program.sluice._param_attrs
        attrs[self.name] = dataclasses.replace(self._attr(), **values)

    @property
    def optimize_attr(self) -> dict[str, Any]:
        """``"learning_rate"``, a factor of the optimizer's; may be set."""
        return _Factors(self)

    @property
    def regularizer(self) -> Any:
        """Its own decay, or None; may be set before ``minimize``."""
        return self._attr().regularizer

    @regularizer.setter
    def regularizer(self, decay: Any) -> None:
        self._set_attr(regularizer=decay)

    @property
    def gradient_clip_attr(self) -> Any:
        """Its own clip, or None; may be set before ``minimize``."""
        return self._attr().gradient_clip

    @gradient_clip_attr.setter
    def gradient_clip_attr(self, clip: Any) -> None:
        self._set_attr(gradient_clip=clip)

    @property
    def do_model_average(self) -> bool:
        """Whether averages of parameters take it."""
        return self._attr().do_model_average

    @property
    def trainable(self) -> bool:
        """Whether optimizers change it; may be set before ``minimize``."""
        return not self.stop_gradient

    @trainable.setter
    def trainable(self, is_trained: bool) -> None:
        self.stop_gradient = not is_trained


def code_of(dtype: Any) -> int:
    """The code of VarType of an element type."""
    if isinstance(dtype, int):
        return dtype
    name = getattr(dtype, "name", dtype)
    if name not in CODES:
        import numpy as np

        name = np.dtype(dtype).name
    return CODES[name]
