"""The interface of the onnx package's backends, for its test suite:

    import sluice.onnx.backend as backend
    outputs = backend.run_model(model, inputs)
"""

from __future__ import annotations

from collections.abc import Sequence
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


class SluiceBackendRep(BackendRep):
    """A model that can run."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run the model.

        Args:
            inputs: an array for each input, in order; one array for one input;
                or arrays by name.
            kwargs: accepted, and not used.

        Returns:
            An array for each output, in order.
        """
        if not isinstance(inputs, dict):
            if isinstance(inputs, np.ndarray):
                inputs = [inputs]
            names = [value.name for value in self.model.inputs]
            inputs = dict(zip(names, inputs, strict=False))
        return tuple(self.model.run(inputs))


class SluiceBackend(Backend):
    """Runs models and single nodes on the CPU."""

    @classmethod
    def prepare(
        cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any
    ) -> SluiceBackendRep:
        """Load a model."""
        return SluiceBackendRep(load(model.SerializeToString()))

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
