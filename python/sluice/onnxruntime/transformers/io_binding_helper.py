"""Types of tensors, which clients convert for their bindings."""

from __future__ import annotations

from typing import Any

import numpy as np

from sluice.onnxruntime.session import InferenceSession
from sluice.onnxruntime.tensors import DTYPES, NUMBERS, numpy_dtype
from sluice.onnxruntime.values import NodeArg

__all__ = ["TypeHelper"]


def _torch_name(ort_type: str) -> str:
    """PyTorch's name of a dtype: that of NumPy, or of ml_dtypes."""
    return str(TypeHelper._dtype(ort_type).name)


class TypeHelper:
    """Converts types such as ``"tensor(float)"``.

    Raises ValueError for one that is not known.
    """

    @staticmethod
    def _dtype(ort_type: str) -> Any:
        name = ort_type.removeprefix("tensor(").removesuffix(")")
        if name not in DTYPES or ort_type != f"tensor({name})":
            raise ValueError(f"{ort_type} not found in map")
        return DTYPES[name]

    @staticmethod
    def _type_of(values: list[NodeArg], kind: str, name: str) -> str:
        for value in values:
            if value.name == name:
                return value.type
        raise ValueError(f"{kind} name {name} not found")

    @staticmethod
    def get_input_type(ort_session: InferenceSession, name: str) -> str:
        """The type of an input."""
        return TypeHelper._type_of(ort_session.get_inputs(), "input", name)

    @staticmethod
    def get_output_type(ort_session: InferenceSession, name: str) -> str:
        """The type of an output."""
        return TypeHelper._type_of(ort_session.get_outputs(), "output", name)

    @staticmethod
    def ort_type_to_numpy_type(ort_type: str) -> Any:
        """NumPy's type; ``bool`` for booleans."""
        kind = numpy_dtype(TypeHelper._dtype(ort_type)).type
        return bool if kind is np.bool_ else kind

    @staticmethod
    def ort_type_to_onnx_type(ort_type: str) -> int:
        """ONNX's number."""
        return NUMBERS[TypeHelper._dtype(ort_type).onnx_name]

    @staticmethod
    def ort_type_to_torch_type(ort_type: str) -> Any:
        """PyTorch's dtype."""
        import torch

        return getattr(torch, _torch_name(ort_type))

    @staticmethod
    def numpy_type_to_torch_type(numpy_type: Any) -> Any:
        """PyTorch's dtype of a NumPy type."""
        import torch

        return getattr(torch, np.dtype(numpy_type).name)

    @staticmethod
    def torch_type_to_numpy_type(torch_type: Any) -> Any:
        """NumPy's type of a dtype of PyTorch."""
        kind = np.dtype(str(torch_type).removeprefix("torch.")).type
        return bool if kind is np.bool_ else kind

    @staticmethod
    def get_io_numpy_type_map(ort_session: InferenceSession) -> dict[str, Any]:
        """NumPy's types of all inputs and outputs, by name."""
        values = [*ort_session.get_inputs(), *ort_session.get_outputs()]
        return {
            value.name: TypeHelper.ort_type_to_numpy_type(value.type)
            for value in values
        }

    @staticmethod
    def get_io_onnx_type_map(ort_session: InferenceSession) -> dict[str, int]:
        """ONNX's numbers of the types of all inputs and outputs, by name."""
        values = [*ort_session.get_inputs(), *ort_session.get_outputs()]
        return {
            value.name: TypeHelper.ort_type_to_onnx_type(value.type)
            for value in values
        }
