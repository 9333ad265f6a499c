"""What onnxruntime says about itself and the machine."""

from __future__ import annotations

from .. import _core

__all__ = [
    "PROVIDER_PLACES",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_device",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_seed",
]

PROVIDER_PLACES = {
    "CUDAExecutionProvider": "cuda",
    "CPUExecutionProvider": "cpu",
}
"""The kind of place that a provider stands for, the fastest first."""

logger_severity = 2


def _has_cuda() -> bool:
    try:
        return _core.device_count("cuda") > 0
    except Exception:  # no module for it, or no driver
        return False


def get_all_providers() -> list[str]:
    """All providers that Sluice knows, the fastest first."""
    return list(PROVIDER_PLACES)


def get_available_providers() -> list[str]:
    """Those that this machine has, the fastest first."""
    return [
        name
        for name, kind in PROVIDER_PLACES.items()
        if kind == "cpu" or _has_cuda()
    ]


def get_device() -> str:
    """``"GPU"`` where there is one, else ``"CPU"``."""
    return "GPU" if _has_cuda() else "CPU"


def set_default_logger_severity(severity: int) -> None:
    """Set from which level on sessions warn: 0 verbose to 4 fatal."""
    global logger_severity
    severity = int(severity)
    if not 0 <= severity <= 4:
        raise ValueError(f"severity is {severity}; expected 0 to 4")
    logger_severity = severity


def set_default_logger_verbosity(level: int) -> None:
    """Accepted; Sluice has one level."""


def set_seed(seed: int) -> None:
    """Accepted; models hold the seeds of their random ops."""


def disable_telemetry_events() -> None:
    """Accepted; Sluice never sends anything."""


def enable_telemetry_events() -> None:
    """Accepted; Sluice never sends anything."""
