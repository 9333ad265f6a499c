"""The interface of the onnx package's backends, for its test suite:

    import sluice.onnx.backend as backend
    outputs = backend.run_model(model, inputs)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count, takewhile
from typing import Any

import numpy as np
from onnx.backend.base import Backend, BackendRep

import onnx

from ..errors import UnimplementedError
from .load import Model, load

__all__ = [
    "SluiceBackend", "SluiceBackendRep", "is_compatible", "prepare",
    "run_model", "run_node", "supports_device",
]


# Of arrays whose values a model is loaded for, and of models that are kept.
_MOST_ELEMENTS = 64
_MOST_LOADED = 32


def _is_sequence(type_proto: onnx.TypeProto) -> bool:
    if type_proto.HasField("optional_type"):
        type_proto = type_proto.optional_type.elem_type
    return type_proto.HasField("sequence_type")


def _sequence(name: str, tensors: Mapping[str, Any]) -> list[Any]:
    """The tensors ``name[0]``, ``name[1]`` and so on."""
    parts = (f"{name}[{i}]" for i in count())
    return [tensors[x] for x in takewhile(tensors.__contains__, parts)]


class SluiceBackendRep(BackendRep):
    """A model that can run.

    One with sequences as inputs is loaded for each number of their tensors,
    one with optional inputs for each set of those that have a value. Where the
    length of a sequence depends on the values of inputs, the model is loaded
    for these values: those of all inputs that are few integers or bools.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        self._proto = model
        known = {tensor.name for tensor in model.graph.initializer}
        fed = [v for v in model.graph.input if v.name not in known]
        self._inputs = [value.name for value in fed]
        self._outputs = [value.name for value in model.graph.output]
        self._optional = {
            v.name for v in fed if v.type.HasField("optional_type")
        }
        self._sequences = {v.name for v in fed if _is_sequence(v.type)}
        self._needs_values = False
        self._loaded: dict[Any, Model] = {}
        several = self._optional | self._sequences
        self.model = None if several else self._load({})

    def _load(self, inputs: Mapping[str, Any]) -> Model | None:
        """The model for these inputs; None if it needs values and has none."""
        lengths = {
            name: len(inputs[name])
            for name in self._sequences
            if inputs.get(name) is not None
        }
        absent = [n for n in self._optional if inputs.get(n) is None]
        values = self._values(inputs) if self._needs_values else {}
        key = (
            tuple(lengths.items()),
            tuple(absent),
            tuple((n, v.shape, v.tobytes()) for n, v in values.items()),
        )
        if key in self._loaded:
            return self._loaded[key]
        if len(self._loaded) >= _MOST_LOADED:
            self._loaded.clear()
        try:
            model = load(
                self._proto,
                sequence_lengths=lengths,
                absent_inputs=absent,
                initialisers=values,
            )
        except UnimplementedError as error:
            late = error.check_id == "onnx.late_sequence"
            if self._needs_values or not late:
                raise
            self._needs_values = True
            return self._load(inputs) if inputs else None
        return self._loaded.setdefault(key, model)

    @staticmethod
    def _values(inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        arrays = {
            name: np.asarray(value)
            for name, value in inputs.items()
            if not isinstance(value, (list, tuple, type(None)))
        }
        return {
            name: array.copy()
            for name, array in arrays.items()
            if array.dtype.kind in "biu" and array.size <= _MOST_ELEMENTS
        }

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run the model.

        Args:
            inputs: an array for each input, in order, or a list for a
                sequence, or None for an optional value; one array for one
                input; or these by name.
            kwargs: accepted, and not used.

        Returns:
            An array for each output, in order, or a list for a sequence.
        """
        if not isinstance(inputs, dict):
            if isinstance(inputs, np.ndarray):
                inputs = [inputs]
            inputs = dict(zip(self._inputs, inputs, strict=False))
        model = self._load(inputs)
        names = [value.name for value in model.outputs]
        feed = {
            name: value
            for name, value in inputs.items()
            if value is not None and name not in model.replaced
        }
        given = dict(zip(names, model.run(feed), strict=True))
        return tuple(
            given[name] if name in given else _sequence(name, given)
            for name in self._outputs
        )


class SluiceBackend(Backend):
    """Runs models and single nodes on the CPU."""

    @classmethod
    def prepare(
        cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any
    ) -> SluiceBackendRep:
        """Load a model."""
        return SluiceBackendRep(model)

    @classmethod
    def run_model(
        cls,
        model: onnx.ModelProto,
        inputs: Any,
        device: str = "CPU",
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Load a model and run it once."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Run a node as a separate model."""
        arrays = [np.asarray(value) for value in inputs]
        graph = onnx.helper.make_graph(
            [node],
            "node",
            [
                onnx.helper.make_tensor_value_info(
                    name,
                    onnx.helper.np_dtype_to_tensor_dtype(array.dtype),
                    array.shape,
                )
                for name, array in zip(node.input, arrays, strict=True)
            ],
            [onnx.ValueInfoProto(name=name) for name in node.output],
        )
        return cls.run_model(onnx.helper.make_model(graph), arrays, device)

    @classmethod
    def is_compatible(
        cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any
    ) -> bool:
        """Whether the model can be loaded."""
        try:
            cls.prepare(model, device)
        except UnimplementedError:
            return False
        return True

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether models run on the device: "CPU" only."""
        return device.split(":")[0].upper() == "CPU"


is_compatible = SluiceBackend.is_compatible
prepare = SluiceBackend.prepare
run_model = SluiceBackend.run_model
run_node = SluiceBackend.run_node
supports_device = SluiceBackend.supports_device
