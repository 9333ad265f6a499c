"""Information about this build and the machine."""

from __future__ import annotations

from .. import _core

__all__ = [
    "disable_telemetry_events", "enable_telemetry_events", "get_all_providers",
    "get_available_providers", "get_device", "set_default_logger_severity",
    "set_default_logger_verbosity", "set_seed",
]

PROVIDER_PLACES = {
    "CUDAExecutionProvider": "cuda",
    "CPUExecutionProvider": "cpu",
}
"""The kind of place that a provider stands for, the fastest first."""

logger_severity = 2


def is_emulated(name: str) -> bool:
    """Whether the provider's device is emulated on the CPU in this build."""
    return PROVIDER_PLACES[name] == "cuda" and _core._config()["cuda"] == (
        "EMULATE"
    )


def is_present(name: str) -> bool:
    """Whether this machine has a device for the provider, or emulates it."""
    if name not in PROVIDER_PLACES:
        return False
    try:
        return _core.device_count(PROVIDER_PLACES[name]) > 0
    except Exception:  # no module or no driver
        return False


def get_all_providers() -> list[str]:
    """All providers that Sluice supports, the fastest first."""
    return list(PROVIDER_PLACES)


def get_available_providers() -> list[str]:
    """The providers that this machine has, the fastest first.

    An emulated GPU is left out, because programs that use the first provider
    would get a slow one. A session that names it runs on it.
    """
    return [
        name
        for name in PROVIDER_PLACES
        if is_present(name) and not is_emulated(name)
    ]


def get_device() -> str:
    """``"GPU"`` if there is one, else ``"CPU"``."""
    available = get_available_providers()
    return "GPU" if "CUDAExecutionProvider" in available else "CPU"


def set_default_logger_severity(severity: int) -> None:
    """Set the level from which sessions warn: 0 verbose to 4 fatal."""
    global logger_severity
    severity = int(severity)
    if not 0 <= severity <= 4:
        raise ValueError(f"severity is {severity}; expected 0 to 4")
    logger_severity = severity


def set_default_logger_verbosity(level: int) -> None:
    """Accepted; Sluice has one level."""


def set_seed(seed: int) -> None:
    """Accepted; models contain the seeds of their random ops."""


def disable_telemetry_events() -> None:
    """Accepted; Sluice never sends anything."""


def enable_telemetry_events() -> None:
    """Accepted; Sluice never sends anything."""
