"""Information about this build and the machine."""

from __future__ import annotations

from typing import Any

from .. import _core

__all__ = [
    "disable_telemetry_events", "enable_telemetry_events", "get_all_providers",
    "get_available_providers", "get_build_info", "get_device",
    "get_version_string", "preload_dlls", "set_default_logger_severity",
    "set_default_logger_verbosity", "set_seed",
]

EMULATED = "EmulatedCUDAExecutionProvider"

PROVIDER_PLACES = {
    "CUDAExecutionProvider": "cuda",
    "CPUExecutionProvider": "cpu",
    EMULATED: "cuda",
}
"""The kind of place that a provider stands for, the fastest first."""

logger_severity = 2


def is_present(name: str) -> bool:
    """Whether this machine has a device for the provider, or emulates it.

    A GPU that is emulated answers to its own name only.
    """
    if name not in PROVIDER_PLACES:
        return False
    emulates = _core._config()["cuda"] == "EMULATE"
    if PROVIDER_PLACES[name] == "cuda" and emulates != (name == EMULATED):
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
    would get a slow one.
    """
    return [n for n in PROVIDER_PLACES if n != EMULATED and is_present(n)]


def get_build_info() -> str:
    """The settings of this build, as ``name=value, ...``."""
    settings = _core._config()
    return ", ".join(f"{name}={settings[name]}" for name in sorted(settings))


def get_version_string() -> str:
    """Sluice's version."""
    return _core.__version__


def preload_dlls(**options: Any) -> None:
    """Accepted; libraries are loaded when they are needed."""


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


enable_telemetry_events = disable_telemetry_events
