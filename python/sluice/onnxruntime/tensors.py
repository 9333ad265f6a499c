"""Tensors that programs make and hand over: OrtValue and lists of them."""

from __future__ import annotations

import ctypes
import errno
import math
import mmap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _core
from ..errors import SluiceError
from .absent import SparseTensor
from .devices import OrtDevice, OrtMemoryInfo, place_of_device

__all__ = ["OrtValue", "OrtValueVector", "copy_tensors"]

# By ONNX's numbers of them, as in types: "tensor(float)".
_ELEMENTS = [
    "undefined", "float", "uint8", "int8", "uint16", "int16", "int32", "int64",
    "string", "bool", "float16", "double", "uint32", "uint64", "complex64",
    "complex128", "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
    "float8e5m2fnuz", "uint4", "int4", "float4e2m1", "float8e8m0", "uint2",
    "int2",
]
NUMBERS = {name: number for number, name in enumerate(_ELEMENTS)}
DTYPES = {
    dtype.onnx_name: dtype
    for dtype in vars(_core).values()
    if isinstance(dtype, _core.DType)
}

_LIBC = ctypes.CDLL(None, use_errno=True)

Device = str | OrtDevice


def dtype_of(element_type: Any) -> _core.DType:
    """The dtype of a number of ONNX, or of anything that NumPy takes for one.

    Raises RuntimeError for one that Sluice lacks.
    """
    if not isinstance(element_type, type) and hasattr(
        element_type, "__index__"
    ):
        name = ""
        if 0 <= element_type < len(_ELEMENTS):
            name = _ELEMENTS[element_type]
        if name in DTYPES:
            return DTYPES[name]
        what = f"{element_type} ({name})" if name else element_type
        raise RuntimeError(f"tensor type {what} is not supported")
    if isinstance(element_type, _core.DType):
        return element_type
    try:
        made = np.dtype(element_type)
    except TypeError:  # perhaps one that NumPy lacks
        made = element_type
    try:
        return _core.DType(made)
    except SluiceError as error:
        raise RuntimeError(
            f"Numpy type {element_type!r} can't be converted: {error}"
        ) from error


def numpy_dtype(dtype: _core.DType) -> np.dtype:
    """NumPy's dtype. Raises RuntimeError without the package ml_dtypes."""
    try:
        return dtype.dtype
    except ImportError as error:
        raise RuntimeError(
            f"No corresponding Numpy type for Tensor Type. {dtype.onnx_name}: "
            "the package ml_dtypes has it"
        ) from error


def _dense(array: Any) -> np.ndarray:
    """The array, or a copy that is dense, aligned and of native byte order."""
    if not isinstance(array, np.ndarray) or array.dtype.kind in "OSU":
        got = type(array).__name__
        if isinstance(array, np.ndarray):
            got = f"an array of {array.dtype}"
        raise RuntimeError(
            "Creation of OrtValues is currently only supported from non-string "
            f"numpy arrays, got {got}"
        )
    dtype_of(array.dtype)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return np.require(array, requirements=["C", "A"])


def _empty(shape: Any, dtype: _core.DType) -> np.ndarray:
    if isinstance(shape, (str, bytes)) or not hasattr(shape, "__len__"):
        raise TypeError(f"shape is {shape!r}; expected a list of sizes")
    sizes = [size.__index__() for size in shape if hasattr(size, "__index__")]
    if len(sizes) != len(shape):
        raise TypeError(f"shape is {list(shape)}; expected sizes only")
    if min(sizes, default=0) < 0:
        raise RuntimeError(f"shape is {sizes}: shape.Size() must be >= 0")
    try:
        return np.zeros(sizes, numpy_dtype(dtype))
    except (MemoryError, ValueError) as error:
        raise RuntimeError(f"a tensor of shape {sizes}: {error}") from error


class OrtValue:
    """A tensor in the memory of the host or of a GPU."""

    _session = None
    _held: np.ndarray | _core.Tensor | list[Any] | None

    def __init__(
        self, ortvalue: OrtValue, numpy_obj: Any = None, session: Any = None
    ) -> None:
        if not isinstance(ortvalue, OrtValue):
            raise ValueError(
                "`Provided ortvalue` needs to be of type `onnxruntime.capi."
                "onnxruntime_pybind11_state.OrtValue`; ortvalue_from_numpy "
                "makes one of an array"
            )
        self._held = ortvalue._held

    @classmethod
    def _of(cls, held: Any) -> OrtValue:
        value = cls.__new__(cls)
        value._held = held
        return value

    @classmethod
    def _at(cls, array: np.ndarray, place: str) -> OrtValue:
        return cls._of(array if place == "cpu" else _core.Tensor(array, place))

    @classmethod
    def ortvalue_from_numpy(
        cls,
        numpy_obj: np.ndarray,
        /,
        device_type: Device = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        """One that shares the memory of a dense array, or has a copy of it.

        Raises RuntimeError for anything but an array, for dtypes that Sluice
        lacks, and for a device that is not there.
        """
        place = place_of_device(device_type, device_id, vendor_id)
        return cls._at(_dense(numpy_obj), place)

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(
        cls, data: np.ndarray, /, onnx_element_type: int
    ) -> OrtValue:
        """One of the bytes of an array, as elements of another dtype.

        Raises RuntimeError if these have another size.
        """
        dtype = dtype_of(onnx_element_type)
        if data.dtype.itemsize != dtype.itemsize:
            raise RuntimeError(
                f"elements of {data.dtype} have {data.dtype.itemsize} bytes, "
                f"those of type {onnx_element_type} ({dtype.onnx_name}) have "
                f"{dtype.itemsize}"
            )
        return cls._of(_dense(data).view(numpy_dtype(dtype)))

    @classmethod
    def ortvalue_from_shape_and_type(
        cls,
        shape: Sequence[int],
        element_type: Any,
        device_type: Device = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
        memory_info: OrtMemoryInfo | None = None,
    ) -> OrtValue:
        """Zeros of this shape and dtype, a NumPy one or a number of ONNX."""
        if memory_info is not None:
            is_cpu = memory_info.name != "Cuda"
            device_type = "cpu" if is_cpu else "cuda"
            device_id = memory_info.device_id
        place = place_of_device(device_type, device_id, vendor_id)
        return cls._at(_empty(shape, dtype_of(element_type)), place)

    ortvalue_from_shape_and_onnx_type = ortvalue_from_shape_and_type

    @staticmethod
    def ort_value_from_sparse_tensor(sparse_tensor: Any) -> OrtValue:
        """Raise AbsentError: Sluice has no sparse tensors."""
        return SparseTensor(sparse_tensor)

    @classmethod
    def from_dlpack(cls, data: Any, /) -> OrtValue:
        """One that shares the memory of a tensor of another library.

        Raises TypeError for anything without ``__dlpack__`` that is no capsule,
        and RuntimeError for a tensor that is not dense or of a dtype that
        Sluice lacks.
        """
        if not hasattr(data, "__dlpack__") and type(data).__name__ != (
            "PyCapsule"
        ):
            raise TypeError(
                "from_dlpack expected a valid DLPack capsule named 'dltensor', "
                f"or an object with __dlpack__, got {type(data).__name__}"
            )
        try:
            tensor = _core.from_dlpack(data)
        except SluiceError as error:
            raise RuntimeError(f"from_dlpack: {error}") from error
        on_host = str(tensor.place) == "cpu"
        return cls._of(tensor.numpy() if on_host else tensor)

    def as_sparse_tensor(self) -> Any:
        """Raise RuntimeError: it holds a dense one."""
        raise RuntimeError("the OrtValue holds no sparse tensor")

    def _tensor(self) -> np.ndarray | _core.Tensor:
        """The tensor in it. Raises RuntimeError if it has none."""
        if self._held is None:
            raise RuntimeError("the OrtValue has no value yet")
        if isinstance(self._held, list):
            raise RuntimeError(
                "Only OrtValues that are Tensors are convertible to Numpy "
                "objects; this one is a list, which session.run returns"
            )
        return self._held

    def _moved(self, place: str) -> OrtValue:
        """Itself, or a copy at another place."""
        held = self._tensor()
        here = "cpu" if isinstance(held, np.ndarray) else str(held.place)
        if here == place:
            return self
        if place == "cpu":
            return self._of(self.numpy())
        return self._of(_core.Tensor(held, place))

    def numpy(self) -> np.ndarray:
        """An array: the memory itself on the host, a copy from a GPU.

        Raises RuntimeError if it has no value yet, or is a list of dicts.
        """
        held = self._tensor()
        return held if isinstance(held, np.ndarray) else held.numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy:
            return np.array(self.numpy(), dtype=dtype)
        return np.asarray(self.numpy(), dtype=dtype)

    def shape(self) -> list[int]:
        """Its sizes."""
        return [int(size) for size in self._tensor().shape]

    def _element(self) -> str:
        """ONNX's name of the dtype."""
        dtype = self._tensor().dtype
        is_text = isinstance(dtype, np.dtype) and dtype.kind in "OU"
        return "string" if is_text else _core.DType(dtype).onnx_name

    def data_type(self) -> str:
        """Its type, as ``"tensor(float)"``."""
        return f"tensor({self._element()})"

    def element_type(self) -> int:
        """ONNX's number of its dtype."""
        return NUMBERS[self._element()]

    def tensor_size_in_bytes(self) -> int:
        """The bytes of all elements."""
        return int(self._tensor().nbytes)

    def device_name(self) -> str:
        """``"cpu"`` or ``"cuda"``."""
        is_tensor = isinstance(self._held, _core.Tensor)
        return str(self._held.place).split(":")[0] if is_tensor else "cpu"

    def data_ptr(self) -> int:
        """The address of its first element."""
        held = self._tensor()
        if isinstance(held, np.ndarray):
            return int(held.ctypes.data)
        return int(held._address)

    def has_value(self) -> bool:
        """False for an output that no run has computed yet."""
        return self._held is not None

    def is_tensor(self) -> bool:
        """Whether it holds a tensor."""
        return self.has_value() and not isinstance(self._held, list)

    def is_sparse_tensor(self) -> bool:
        """False: Sluice has no sparse tensors."""
        return False

    def is_tensor_sequence(self) -> bool:
        """Whether it holds a list of tensors."""
        held = self._held
        is_list = isinstance(held, list) and bool(held)
        return is_list and not isinstance(held[0], dict)

    def update_inplace(self, data: np.ndarray | OrtValue) -> None:
        """Copy as many elements of the same dtype into its memory.

        Raises TypeError for anything but an array or OrtValue, and RuntimeError
        for another dtype or number of elements.
        """
        if not isinstance(data, (np.ndarray, OrtValue)):
            raise TypeError(
                "data must be a numpy.ndarray or an OrtValue, got "
                f"{type(data).__name__}"
            )
        source = data if isinstance(data, OrtValue) else self._of(_dense(data))
        if source.data_type() != self.data_type():
            raise RuntimeError(
                f"the OrtValue is {self.data_type()}, the data are "
                f"{source.data_type()}"
            )
        if np.prod(source.shape()) != np.prod(self.shape()):
            raise RuntimeError(
                "The input size of numpy arrays does not match the size of the "
                f"OrtValue: {source.shape()} and {self.shape()}"
            )
        fill(self, source)

    def _exchanged(self) -> _core.Tensor:
        held = self._tensor()
        try:
            return _core.from_dlpack(held)
        except SluiceError as error:
            raise BufferError(f"DLPack: {error}") from error

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        return self._exchanged().__dlpack__(
            stream=stream,
            max_version=max_version,
            dl_device=dl_device,
            copy=copy,
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        if isinstance(self._held, _core.Tensor):
            return self._held.__dlpack_device__()
        return (1, 0)

    def to_dlpack(self) -> Any:
        """A capsule for DLPack that shares the memory."""
        return self.__dlpack__()

    @property
    def _ortvalue(self) -> OrtValue:
        """The value of onnxruntime's extension, which is the same here."""
        return self

    def _get_c_value(self) -> OrtValue:
        return self

    def __repr__(self) -> str:
        if not self.has_value():
            return "<OrtValue: no value yet>"
        return (
            f"<OrtValue: {self.data_type()} {self.shape()} at "
            f"{self.device_name()}>"
        )


def fill(target: OrtValue, source: OrtValue) -> None:
    """Copy elements into memory with room for as many, of the same dtype."""
    held, given = target._tensor(), source._tensor()
    if isinstance(held, _core.Tensor):
        if isinstance(given, np.ndarray):
            given = _core.Tensor(given)
        held._copy_from(given)
        return
    if not held.flags.writeable:
        raise RuntimeError("the OrtValue is of an array that is read-only")
    if isinstance(given, _core.Tensor):
        given = given.numpy()
    np.copyto(held, given.reshape(held.shape))


def copy_tensors(
    src: Sequence[OrtValue], dst: Sequence[OrtValue], stream: Any = None
) -> None:
    """:meth:`OrtValue.update_inplace` for several."""
    for source, target in zip(src, dst, strict=True):
        target.update_inplace(source)


class OrtValueVector(list):
    """A list of values, with the methods of onnxruntime's."""

    def push_back(self, value: Any, is_bool: bool = False) -> None:
        """Append a value, or what DLPack exchanges."""
        if not isinstance(value, OrtValue):
            value = OrtValue.from_dlpack(value)
        self.append(value)

    def push_back_batch(
        self,
        tensors: Sequence[Any],
        data_ptrs: Sequence[int],
        element_types: Sequence[Any],
        shapes: Sequence[Sequence[int]],
        devices: Sequence[OrtDevice],
    ) -> None:
        """Append tensors by their addresses; ``tensors`` must stay alive."""
        for address, kind, shape, device in zip(
            data_ptrs, element_types, shapes, devices, strict=True
        ):
            memory = borrow(address, kind, shape, device)
            self.append(OrtValue._of(memory))

    def reserve(self, size: int) -> None:
        """Do nothing: lists grow."""

    def shrink_to_fit(self) -> None:
        """Do nothing: lists have no room to spare."""

    def element_type_at(self, index: int) -> int:
        """ONNX's number of the dtype of one."""
        return self[index].element_type()

    def dlpack_at(self, index: int) -> Any:
        """A capsule for DLPack of one."""
        return self[index].to_dlpack()

    def to_dlpacks(
        self, to_tensor: Callable[[Any], Any] | None = None
    ) -> list[Any]:
        """Capsules for DLPack, or what the function makes of them."""
        capsules = [value.to_dlpack() for value in self]
        return capsules if to_tensor is None else [*map(to_tensor, capsules)]


def borrow(
    address: int,
    element_type: Any,
    shape: Sequence[int],
    device: Device,
    device_id: int | None = 0,
) -> np.ndarray | _core.Tensor:
    """The memory at an address, which the caller keeps alive.

    Raises RuntimeError for sizes below 0, for no device or dtype of Sluice, and
    for an address of the host where no memory is.
    """
    place = place_of_device(device, device_id)
    sizes = [int(size) for size in shape]
    if min(sizes, default=0) < 0:
        raise RuntimeError(f"shape is {sizes}: shape.Size() must >=0")
    dtype = dtype_of(element_type)
    if not isinstance(address, int) or address < 0:
        raise TypeError(f"the address of memory is {address!r}")
    if place == "cpu":
        check_memory(address, math.prod(sizes) * dtype.itemsize)
    tensor = _core._borrow(address, dtype, sizes, place)
    return tensor.numpy() if place == "cpu" else tensor


def check_memory(address: int, size: int) -> None:
    """Raise RuntimeError if the process has no memory at an address any more.

    Memory that was freed and is used again for something else is not found.
    """
    first = address - address % mmap.PAGESIZE
    pages = -(-(address + size - first) // mmap.PAGESIZE)
    if size == 0:
        return
    found = (ctypes.c_ubyte * pages)()
    failed = _LIBC.mincore(
        ctypes.c_void_p(first),
        ctypes.c_size_t(pages * mmap.PAGESIZE),
        found,
    )
    if address == 0 or (failed and ctypes.get_errno() == errno.ENOMEM):
        raise RuntimeError(
            f"there are no {size} bytes of memory at address {address:#x}: "
            "what owns the memory must stay alive until after the run"
        )
