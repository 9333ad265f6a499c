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


def _sequence(name: str, tensors: Mapping[str, Any]) -> list[Any]:
    """The tensors ``name[0]``, ``name[1]`` and so on."""
    parts = (f"{name}[{i}]" for i in count())
    return [tensors[x] for x in takewhile(tensors.__contains__, parts)]


class SluiceBackendRep(BackendRep):
    """A model that can run.

    One with sequences as inputs is loaded for each number of their tensors.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        self._proto = model
        known = {tensor.name for tensor in model.graph.initializer}
        fed = [v for v in model.graph.input if v.name not in known]
        self._inputs = [value.name for value in fed]
        self._outputs = [value.name for value in model.graph.output]
        self._sequences = {
            v.name for v in fed if v.type.HasField("sequence_type")
        }
        self._loaded: dict[tuple[tuple[str, int], ...], Model] = {}
        self.model = None if self._sequences else self._load({})

    def _load(self, inputs: Mapping[str, Any]) -> Model:
        lengths = tuple(
            (name, len(value))
            for name, value in inputs.items()
            if name in self._sequences
        )
        if lengths not in self._loaded:
            self._loaded[lengths] = load(
                self._proto, sequence_lengths=dict(lengths)
            )
        return self._loaded[lengths]

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run the model.

        Args:
            inputs: an array for each input, in order, or a list for a
                sequence; one array for one input; or these by name.
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
        given = dict(zip(names, model.run(inputs), strict=True))
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
