"""Values that are bound to a session: OrtValue and IOBinding."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from .. import _core
from . import environment, errors

__all__ = ["IOBinding", "OrtValue"]


def _check_device(device_type: str) -> None:
    """Raise RuntimeError for a device that this machine lacks."""
    names = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
    if names.get(device_type) not in environment.get_available_providers():
        raise RuntimeError(f"device {device_type!r}: this machine has none")


class OrtValue:
    """An array in the memory of the host; runs copy it to their device."""

    def __init__(self, array: Any) -> None:
        self._array = np.asarray(array)

    @classmethod
    def ortvalue_from_numpy(
        cls, numpy_obj: Any, device_type: str = "cpu", device_id: int = 0
    ) -> OrtValue:
        """Wrap an array. Raises RuntimeError for a device that is not there."""
        _check_device(device_type)
        return cls(numpy_obj)

    @classmethod
    def ortvalue_from_shape_and_type(
        cls, shape: Sequence[int], element_type: Any = np.float32, *device: Any
    ) -> OrtValue:
        """Zeros of this shape and dtype."""
        return cls.ortvalue_from_numpy(np.zeros(shape, element_type), *device)

    def numpy(self) -> np.ndarray[Any, Any]:
        """The array itself."""
        return self._array

    def shape(self) -> list[int]:
        """Its sizes."""
        return list(self._array.shape)

    def data_type(self) -> str:
        """Its type, as ``"tensor(float)"``."""
        return f"tensor({_core.DType(str(self._array.dtype)).onnx_name})"

    def device_name(self) -> str:
        """Always ``"cpu"``."""
        return "cpu"

    def data_ptr(self) -> int:
        """The address of its first element."""
        return int(self._array.ctypes.data)

    def has_value(self) -> bool:
        """Always true, as :meth:`is_tensor`."""
        return True

    is_tensor = has_value

    def update_inplace(self, np_arr: Any) -> None:
        """Copy an array of the same shape and dtype into it."""
        np.copyto(self._array, np_arr, casting="no")


class _Session(Protocol):
    """The method of a session that a binding calls."""

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any]
    ) -> list[Any]: ...


class IOBinding:
    """The feeds of a session, and memory for its outputs, by name."""

    def __init__(self, session: _Session) -> None:
        self._session = session
        self._inputs: dict[str, Any] = {}
        self._bound: dict[str, Any] = {}  # arrays to fill, or None
        self._results: dict[str, Any] = {}

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Feed an array."""
        self._inputs[name] = np.asarray(arr_on_cpu)

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Feed a value."""
        self._inputs[name] = ortvalue.numpy()

    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: Any,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None:
        """Feed the memory of the host at an address."""
        self._inputs[name] = _at(device_type, element_type, shape, buffer_ptr)

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] = (),
        buffer_ptr: int | None = None,
    ) -> None:
        """Fetch an output, into the memory at an address if there is one."""
        _check_device(device_type)
        self._bound[name] = None
        if buffer_ptr is not None:
            memory = _at(device_type, element_type, shape, buffer_ptr)
            self._bound[name] = memory

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Fetch an output into a value of its shape."""
        self._bound[name] = ortvalue.numpy()

    def run(self) -> None:
        """Run the session. Raises InvalidArgument for memory that is unlike."""
        results = self._session.run(list(self._bound), self._inputs)
        for (name, bound), result in zip(
            self._bound.items(), results, strict=True
        ):
            self._results[name] = result if bound is None else bound
            if bound is None:
                continue
            if bound.shape != result.shape or bound.dtype != result.dtype:
                raise errors.InvalidArgument(
                    f"[Sluice] : InvalidArgument : output {name} is "
                    f"{result.dtype} {list(result.shape)}; {bound.dtype} "
                    f"{list(bound.shape)} is bound"
                )
            np.copyto(bound, result)

    def synchronize_inputs(self) -> None:
        """Nothing to wait for, as in :meth:`synchronize_outputs`."""

    synchronize_outputs = synchronize_inputs

    def get_outputs(self) -> list[OrtValue]:
        """The values of the bound outputs, in order."""
        return [OrtValue(value) for value in self.copy_outputs_to_cpu()]

    def copy_outputs_to_cpu(self) -> list[Any]:
        """Arrays of the bound outputs, in order."""
        return [self._results[name] for name in self._bound]

    def clear_binding_inputs(self) -> None:
        """Forget the feeds."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forget the outputs."""
        self._bound.clear()


def _at(
    device_type: str, element_type: Any, shape: Sequence[int], address: int
) -> np.ndarray[Any, Any]:
    """The memory of the host at an address, as an array."""
    if device_type != "cpu":
        raise RuntimeError(f"bind an OrtValue for device {device_type!r}")
    dtype = np.dtype(element_type)
    count = int(np.prod(shape, dtype=np.int64))
    memory = (ctypes.c_byte * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(memory, dtype, count).reshape(shape)
