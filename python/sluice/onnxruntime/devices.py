"""Devices and their memory, by onnxruntime's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from ..display import Shown
from . import environment

__all__ = [
    "ArenaExtendStrategy", "OrtAllocatorType", "OrtArenaCfg",
    "OrtCompileApiFlags", "OrtDevice", "OrtDeviceMemoryType",
    "OrtDeviceVendorId", "OrtEpDevice", "OrtExecutionProviderDevicePolicy",
    "OrtHardwareDevice", "OrtHardwareDeviceType", "OrtMemType", "OrtMemoryInfo",
    "OrtMemoryInfoDeviceType", "create_and_register_allocator",
    "create_and_register_allocator_v2", "get_ep_devices",
    "get_hardware_devices", "kNextPowerOfTwo", "kSameAsRequested",
]


class OrtMemType(IntEnum):
    """Which memory an allocator is for."""

    CPU_INPUT = -2
    CPU_OUTPUT = -1
    CPU = -1
    DEFAULT = 0


class OrtAllocatorType(IntEnum):
    """Kinds of allocators; Sluice's cache blocks by their size."""

    INVALID = -1
    ORT_DEVICE_ALLOCATOR = 0
    ORT_ARENA_ALLOCATOR = 1


class OrtDeviceMemoryType(IntEnum):
    """Whether the host can read memory of a device."""

    DEFAULT = 0
    HOST_ACCESSIBLE = 5


class ArenaExtendStrategy(IntEnum):
    """How onnxruntime's arenas grow."""

    kNextPowerOfTwo = 0
    kSameAsRequested = 1


kNextPowerOfTwo, kSameAsRequested = ArenaExtendStrategy


class OrtMemoryInfoDeviceType(IntEnum):
    """Kinds of devices that have memory."""

    CPU = 0
    GPU = 1
    NPU = 3
    FPGA = 2


class OrtHardwareDeviceType(IntEnum):
    """Kinds of devices."""

    CPU = 0
    GPU = 1
    NPU = 2


class OrtExecutionProviderDevicePolicy(IntEnum):
    """Which providers a session prefers."""

    DEFAULT = 0
    PREFER_CPU = 1
    PREFER_NPU = 2
    PREFER_GPU = 3
    MAX_PERFORMANCE = 4
    MAX_EFFICIENCY = 5
    MIN_OVERALL_POWER = 6


class OrtCompileApiFlags(IntEnum):
    """Flags of compilers, which Sluice lacks."""

    NONE = 0
    ERROR_IF_NO_NODES_COMPILED = 1
    ERROR_IF_OUTPUT_FILE_EXISTS = 2


class OrtDeviceVendorId(IntEnum):
    """Vendors by their PCI id."""

    NONE = 0
    AMD = 0x1002
    NVIDIA = 0x10DE
    ARM = 0x13B5
    MICROSOFT = 0x1414
    HUAWEI = 0x19E5
    QUALCOMM = 0x5143
    INTEL = 0x8086


_TYPES = {
    "cpu": 0, "cuda": 1, "gpu": 1, "dml": 1, "webgpu": 1, "fpga": 2, "npu": 3,
    "cann": 3,
}
_VENDORS = {
    "cuda": OrtDeviceVendorId.NVIDIA,
    "dml": OrtDeviceVendorId.MICROSOFT,
    "cann": OrtDeviceVendorId.HUAWEI,
}


def type_number(name: str) -> int:
    """The number of a type of devices. Raises RuntimeError for no such name."""
    if name not in _TYPES:
        raise RuntimeError(
            f"Unsupported device type: {name!r}; expected one of "
            f"{', '.join(_TYPES)}"
        )
    return _TYPES[name]


class OrtDevice:
    """A device: its type, its kind of memory, its vendor and its number.

    It is made by :meth:`make`, or as in onnxruntime's extension by
    ``OrtDevice(type, memory, number)`` or ``(type, memory, vendor, number)``.
    """

    def __init__(self, *values: Any) -> None:
        if len(values) == 1 and isinstance(values[0], OrtDevice):
            values = values[0]._values
        if len(values) == 3:
            values = (values[0], values[1], 0, values[2])
        if len(values) != 4:
            raise ValueError(
                "`Provided object` needs to be of type `onnxruntime.capi."
                "onnxruntime_pybind11_state.OrtDevice`; OrtDevice.make("
                "'cpu', 0) makes one"
            )
        self._values = tuple(int(value or 0) for value in values)

    @staticmethod
    def make(
        ort_device_name: str, device_id: int, vendor_id: int = -1
    ) -> OrtDevice:
        """A device by the name of its type, such as ``"cpu"`` or ``"cuda"``.

        Raises RuntimeError for an unknown name.
        """
        kind = type_number(ort_device_name)
        if vendor_id < 0:
            vendor_id = _VENDORS.get(ort_device_name, OrtDeviceVendorId.NONE)
        return OrtDevice(kind, 0, vendor_id, device_id)

    def device_type(self) -> int:
        """The number of its type: 0 a CPU, 1 a GPU, 2 an FPGA, 3 an NPU."""
        return self._values[0]

    def device_mem_type(self) -> int:
        """The number of its kind of memory."""
        return self._values[1]

    def device_vendor_id(self) -> int:
        """The PCI id of its vendor, or 0."""
        return self._values[2]

    def device_id(self) -> int:
        """Its number among those of its type."""
        return self._values[3]

    mem_type, vendor_id = device_mem_type, device_vendor_id

    def _get_c_device(self) -> OrtDevice:
        return self

    def __repr__(self) -> str:
        return f"<OrtDevice: {self._place() or 'no device of this machine'}>"

    def _place(self) -> str:
        """Its place in Sluice, or "" if this machine has no such device."""
        kind, _, vendor, number = self._values
        if kind == 0:
            return "cpu"
        known = vendor in (OrtDeviceVendorId.NONE, OrtDeviceVendorId.NVIDIA)
        here = "CUDAExecutionProvider" in environment.get_available_providers()
        return f"cuda:{number}" if kind == 1 and known and here else ""


for _name, _number in (*_TYPES.items(), ("default_memory", 0)):
    setattr(OrtDevice, _name, staticmethod(lambda number=_number: number))


def place_of_device(
    device: str | OrtDevice, device_id: int | None, vendor_id: int = -1
) -> str:
    """The place of a device. Raises RuntimeError for one that is not there."""
    made = device
    if not isinstance(made, OrtDevice):
        made = OrtDevice.make(made, device_id or 0, vendor_id)
    place = made._place()
    if not place:
        what = repr(device) if isinstance(device, str) else made._values
        raise RuntimeError(
            f"device {what}: Can't allocate memory on it: this machine has "
            "none; get_available_providers() says what it has"
        )
    return place


class OrtMemoryInfo(Shown):
    """Says whose memory an allocator gives."""

    def __init__(
        self,
        name: str,
        allocator_type: OrtAllocatorType,
        device_id: int,
        mem_type: OrtMemType,
    ) -> None:
        kinds = {"Cpu": 0, "Cuda": OrtDeviceVendorId.NVIDIA, "CudaPinned": 0}
        if name not in kinds:
            raise RuntimeError(
                f"Specified device {name!r} is not supported; expected "
                f"{', '.join(kinds)}"
            )
        self.name = name
        self.allocator_type = OrtAllocatorType(allocator_type)
        self.device_id = int(device_id)
        self.mem_type = OrtMemType(mem_type)
        self.device_mem_type = OrtDeviceMemoryType.DEFAULT
        self.device_vendor_id = int(kinds[name])

    @staticmethod
    def create_v2(
        name: str,
        device_type: OrtMemoryInfoDeviceType,
        vendor_id: int,
        device_id: int,
        mem_type: OrtDeviceMemoryType,
        alignment: int,
        allocator_type: OrtAllocatorType,
    ) -> OrtMemoryInfo:
        """One with any name; the CPU or a GPU has the memory."""
        kind = "Cpu" if device_type == OrtMemoryInfoDeviceType.CPU else "Cuda"
        made = OrtMemoryInfo(
            kind, allocator_type, device_id, OrtMemType.DEFAULT
        )
        made.name, made.device_vendor_id = name, int(vendor_id)
        made.device_mem_type = OrtDeviceMemoryType(mem_type)
        return made


class OrtArenaCfg(Shown):
    """Settings of onnxruntime's arenas, as numbers or a dict by name."""

    def __init__(
        self,
        max_mem: int | Mapping[str, int] = 0,
        arena_extend_strategy: int = -1,
        initial_chunk_size_bytes: int = -1,
        max_dead_bytes_per_chunk: int = -1,
    ) -> None:
        given = dict(max_mem) if isinstance(max_mem, Mapping) else {}
        self.max_mem = 0 if given else max_mem
        self.arena_extend_strategy = arena_extend_strategy
        self.initial_chunk_size_bytes = initial_chunk_size_bytes
        self.max_dead_bytes_per_chunk = max_dead_bytes_per_chunk
        self.initial_growth_chunk_size_bytes = -1
        self.max_power_of_two_extend_bytes = -1
        for name, value in given.items():
            if name not in self.__dict__:
                raise RuntimeError(f"Invalid OrtArenaCfg option: {name}")
            setattr(self, name, value)


def create_and_register_allocator(
    mem_info: OrtMemoryInfo, arena_cfg: OrtArenaCfg | None = None
) -> None:
    """Accepted; says once that Sluice has allocators of its own."""
    environment.say_once(
        "allocator", "Sluice allocates memory itself: no allocator is made"
    )


def create_and_register_allocator_v2(
    provider_type: str,
    mem_info: OrtMemoryInfo,
    options: Mapping[str, str] | None = None,
    arena_cfg: OrtArenaCfg | None = None,
) -> None:
    """:func:`create_and_register_allocator`, for a provider."""
    create_and_register_allocator(mem_info, arena_cfg)


class OrtHardwareDevice(Shown):
    """A device of this machine."""

    def __init__(self, kind: OrtHardwareDeviceType) -> None:
        self.type = kind
        is_gpu = kind == OrtHardwareDeviceType.GPU
        self.vendor = "NVIDIA" if is_gpu else ""
        self.vendor_id = int(OrtDeviceVendorId.NVIDIA) if is_gpu else 0
        self.device_id = 0
        self.metadata: dict[str, str] = {}


class OrtEpDevice(Shown):
    """A provider, and the device that it runs on."""

    def __init__(self, ep_name: str) -> None:
        kind = environment.PROVIDER_PLACES[ep_name]
        is_cpu = kind == "cpu"
        self.ep_name = ep_name
        self.ep_vendor = "Sluice"
        self.ep_metadata = {"version": environment.INTERFACE}
        self.ep_options: dict[str, str] = {}
        self.device = OrtHardwareDevice(
            OrtHardwareDeviceType.CPU if is_cpu else OrtHardwareDeviceType.GPU
        )

    def memory_info(self, memory_type: OrtDeviceMemoryType) -> OrtMemoryInfo:
        """Its memory."""
        is_cpu = self.device.type == OrtHardwareDeviceType.CPU
        return OrtMemoryInfo(
            "Cpu" if is_cpu else "Cuda",
            OrtAllocatorType.ORT_DEVICE_ALLOCATOR,
            0,
            OrtMemType.DEFAULT,
        )


def get_ep_devices() -> Sequence[OrtEpDevice]:
    """The available providers, the fastest first, with their devices."""
    return [OrtEpDevice(n) for n in environment.get_available_providers()]


def get_hardware_devices() -> Sequence[OrtHardwareDevice]:
    """The devices of the available providers."""
    return [provider.device for provider in get_ep_devices()]
