"""Layers that are one op, and layers that are made of them.

:mod:`sluice.fluid.translate.declaration` says how a layer is declared.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ... import unique_name
from ...feed_values import unmasked
from ..errors import wrong
from ..framework import Variable, code_of
from ..layer_helper import LayerHelper
from ..translate.declaration import COMPOSITES, Attribute, Layer, read

# The names of parameters begin as Fluid's.
_STEMS = {"lookup_table": "embedding", "lookup_table_v2": "embedding"}
LAYERS: dict[str, Callable[..., Any]] = {}


def declare(path: pathlib.Path, module: dict[str, Any]) -> None:
    """Make the layers of a module.

    Args:
        path: of the stub that declares them.
        module: its globals, with the functions that add to the ops, which the
            layers replace.
    """
    for name, layer in read(path, module):
        LAYERS[name] = module[name] = _function(name, layer)


def whole(value: Any, count: int) -> list[Any]:
    """A list of this length; a shorter one is repeated."""
    several = list(value) if isinstance(value, (list, tuple)) else [value]
    return several * max(1, count // (len(several) or 1))


def as_tensor(value: Any, dtype: Any) -> Variable:
    """A number as a variable of one element; a variable in this dtype."""
    if not isinstance(value, Variable):
        return LAYERS["fill_constant"]([1], dtype, value)
    same = code_of(value.dtype) == code_of(dtype)
    return value if same else value.astype(dtype)


def assign_value(array: np.ndarray, output: Variable | None = None) -> Variable:
    """An array as a variable."""
    names = {"f": "fp32_values", "b": "bool_values"}
    slot = names.get(array.dtype.kind, f"{array.dtype}_values")
    attrs = {"shape": list(array.shape), "dtype": code_of(array.dtype)}
    attrs[slot] = unmasked(array).ravel().tolist()
    return LayerHelper("assign").append("assign_value", {}, attrs, into=output)


def number_or_tensor(
    value: Any, tensor: str | None, tensors: str | None
) -> tuple[Any, dict[str, Any]]:
    """An attribute that may be a variable, or have some: the attribute and the
    inputs.
    """
    if tensor and isinstance(value, Variable):
        return None, {tensor: value}
    if not isinstance(value, (list, tuple)):
        return value, {}
    if not any(isinstance(each, Variable) for each in value):
        return list(value), {}
    variables = [
        each if isinstance(each, Variable) else as_tensor(each, "int32")
        for each in value
    ]
    numbers = [-1 if isinstance(each, Variable) else each for each in value]
    return numbers, {tensors or "": variables}


class Appending:
    """A layer that is being appended.

    Attributes:
        helper: makes its parameters.
        inputs, attrs: of the op; a body may add to them.
        into: by slot the variable that is written, or None for a new one.
        dtype: of the parameters.
    """

    def __init__(self, layer: Layer, given: Mapping[str, Any]) -> None:
        stem = _STEMS.get(layer.op, layer.op)
        self.helper = LayerHelper(stem, given.get("name"))
        self.inputs: dict[str, Any] = {}
        self.attrs: dict[str, Any] = {}
        self.into: dict[str, Any] = {}
        for name, value in given.items():
            if name in layer.inputs:
                slot, required, many = layer.inputs[name]
                if required or value is not None:
                    self.inputs[slot] = self._input(name, value, many)
            elif value is None:
                continue
            elif name in layer.written:
                self.into[layer.written[name]] = value
            elif name in layer.attributes:
                self._take(layer.attributes[name], value)
        self.attrs |= layer.details.fixed
        x = next((v for v in given.values() if isinstance(v, Variable)), None)
        self.dtype = given.get("dtype") or getattr(x, "dtype", None)
        self._bias: tuple[list[int], int] | None = None
        if layer.body is not None:
            layer.body(self, **{name: given[name] for name in layer.wanted})

    def _input(self, name: str, value: Any, many: bool) -> Any:
        several = isinstance(value, (list, tuple)) and many
        made = assign_value(value) if isinstance(value, np.ndarray) else value
        for each in value if several else [made]:
            if not isinstance(each, Variable):
                wrong(
                    f"{self.helper.name}: {name} must be a variable, got "
                    f"{each!r}",
                    "fluid.layer_input",
                )
        return list(value) if several else made

    def _take(self, attribute: Attribute, value: Any) -> None:
        name, tensor, tensors, count = attribute
        if name in ("dtype", "out_dtype"):
            value = code_of(value)
        if count:
            value = whole(value, count)
        number, more = number_or_tensor(value, tensor, tensors)
        self.inputs |= more
        if number is not None:
            self.attrs[name] = number

    def parameter(
        self, slot: str, attr: Any, sizes: list[Any], start: Any = None
    ) -> None:
        """Create a parameter as an input, unless ``attr`` is False."""
        made = self.helper.create_parameter(
            attr, sizes, self.dtype, slot == "Bias", start
        )
        if made is not None:
            self.inputs[slot] = made

    def state(
        self, slot: str, name: str | None, sizes: list[Any], start: Any
    ) -> None:
        """Create a parameter that is not trained as an input."""
        self.inputs[slot] = self.helper.create_persistable(
            name or unique_name.generate(f"{self.helper.name}.w"),
            sizes,
            self.dtype,
            start,
            parameter=True,
        )

    def bias(self, size: int, axis: int) -> None:
        """Let a bias follow the op."""
        self._bias = [size], axis

    def returns(self, slot: str, count: int) -> None:
        """Let an output be a list of ``count`` variables."""
        self.into[slot] = [self.helper.new() for _ in range(count)]

    def append(self, layer: Layer, given: Mapping[str, Any]) -> Any:
        """Append the op, and what follows it; return the outputs."""
        if given.get("inplace"):  # the variable itself gets the result
            self.into["Out"] = self.inputs["X"]
        helper = self.helper
        into = dict.fromkeys(layer.outputs) | self.into
        into = {
            slot: helper.new() if name is None else name
            for slot, name in into.items()
        }
        helper.block.append_op(layer.op, self.inputs, into, self.attrs)
        outs = [helper.written(into[slot]) for slot in layer.outputs]
        out = outs[0] if len(outs) == 1 else tuple(outs)
        if self._bias is not None:
            out = helper.bias(out, given["bias_attr"], *self._bias)
        return helper.activation(out, given.get("act"))


def _function(name: str, layer: Layer) -> Callable[..., Any]:
    def function(*values: Any, **named: Any) -> Any:
        bound = layer.signature.bind(*values, **named)
        bound.apply_defaults()
        given = bound.arguments
        return Appending(layer, given).append(layer, given)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The op ``{layer.op}`` of Fluid."
    function.__signature__ = layer.signature  # type: ignore[attr-defined]
    function.__annotations__ = {"return": Variable}
    return function


for _name, _layer in COMPOSITES.items():
    LAYERS[_name] = _function(_name, _layer)
declare(pathlib.Path(__file__).with_name("ops.pyi"), {})
