"""Information about this build and the machine, and what is said about it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

from .. import _core

__all__ = [
    "disable_telemetry_events", "enable_telemetry_events", "get_all_providers",
    "get_available_providers", "get_build_info", "get_device",
    "get_version_string", "has_collective_ops", "preload_dlls",
    "print_debug_info", "register_execution_provider_library",
    "set_default_logger_callback", "set_default_logger_severity",
    "set_default_logger_verbosity", "set_global_thread_pool_sizes", "set_seed",
    "unregister_execution_provider_library",
]

INTERFACE = "1.32.0"
"""The version of onnxruntime whose interface this is. Clients compare it."""

EMULATED = "EmulatedCUDAExecutionProvider"

PROVIDER_PLACES = {
    "CUDAExecutionProvider": "cuda",
    "CPUExecutionProvider": "cpu",
    EMULATED: "cuda",
}
"""The kind of place that a provider stands for, the fastest first."""

logger_severity = 2
global_threads = 0
"""Threads of sessions whose options have ``use_per_session_threads=False``."""

_callback: Callable[..., Any] | None = None
_said: set[str] = set()
"""What was said once, and is not said again."""


def say_once(subject: str, text: str, severity: int = -1) -> None:
    """Warn about something that has no effect here, once in this process.

    ``severity`` is the level from which the session or run warns, -1 for that
    of :func:`set_default_logger_severity`. The warning is at the line that
    called into the package.
    """
    level = logger_severity if severity < 0 else severity
    if level > 2 or subject in _said:
        return
    _said.add(subject)
    if _callback is not None:
        _callback(2, "sluice", "", subject, text)
        return
    depth, frame = 2, sys._getframe(1)  # 1 is this function
    while frame.f_back is not None and _is_ours(frame):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text, stacklevel=depth)


def _is_ours(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__", "")
    return name.partition(".")[0] in ("sluice", "onnxruntime")


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
    pairs = [f"{name}={settings[name]}" for name in sorted(settings)]
    return ", ".join([f"ORT Build Info: sluice={_core.__version__}", *pairs])


def get_version_string() -> str:
    """The version of onnxruntime whose interface this is.

    :func:`get_build_info` has Sluice's own.
    """
    return INTERFACE


def print_debug_info() -> None:
    """Print what reports of errors need."""
    print(f"onnxruntime version: {INTERFACE}, implemented by Sluice")
    print(get_build_info())
    print(f"available providers: {', '.join(get_available_providers())}")


def preload_dlls(
    cuda: bool = True,
    cudnn: bool = True,
    msvc: bool = True,
    directory: Any = None,
) -> None:
    """Do nothing: libraries are loaded when they are needed."""


def get_device() -> str:
    """``"GPU"`` if there is one, else ``"CPU"``."""
    available = get_available_providers()
    return "GPU" if "CUDAExecutionProvider" in available else "CPU"


def has_collective_ops() -> bool:
    """False: no operator of a model is one of several processes."""
    return False


def set_default_logger_severity(severity: int) -> None:
    """Set the level from which sessions warn: 0 verbose to 4 fatal."""
    global logger_severity
    if not hasattr(severity, "__index__"):
        raise TypeError(f"severity is {severity!r}; expected 0 to 4")
    if not 0 <= severity <= 4:
        raise RuntimeError(
            f"Invalid logging severity {severity}. 0:Verbose, 1:Info, "
            "2:Warning, 3:Error, 4:Fatal"
        )
    logger_severity = int(severity)


def set_default_logger_verbosity(level: int) -> None:
    """Accepted: messages have one level of detail; says so once."""
    if level > 0:
        say_once("verbosity", "Sluice's messages have one level of detail")


def set_default_logger_callback(callback: Callable[..., Any] | None) -> None:
    """Have messages passed to a function, instead of being warnings.

    It gets the severity, the category, the id of the logger, what the message
    is about, and the message. None makes them warnings again.
    """
    global _callback
    if callback is not None and not callable(callback):
        raise TypeError(f"callback is {callback!r}; expected a function")
    _callback = callback


def set_global_thread_pool_sizes(
    intra_op_num_threads: int, inter_op_num_threads: int
) -> None:
    """Set the threads of sessions with ``use_per_session_threads=False``.

    The second number has no effect: ops run one after the other.
    """
    global global_threads
    global_threads = max(0, int(intra_op_num_threads))


def set_seed(seed: int) -> None:
    """Accepted; says once that no operator here draws numbers."""
    if not hasattr(seed, "__index__"):
        raise TypeError(f"seed is {seed!r}; expected an integer")
    say_once(
        "seed",
        "set_seed has no effect: Sluice runs no operator of ONNX that draws "
        "random numbers without a seed of its own",
    )


def register_execution_provider_library(name: str, path: str) -> None:
    """Raise RuntimeError: such libraries are onnxruntime's own."""
    raise RuntimeError(
        f"{path} is a library for onnxruntime; Sluice takes its own: "
        "sluice.load_device_plugin(path)"
    )


def unregister_execution_provider_library(name: str) -> None:
    """Raise RuntimeError: none can be registered."""
    raise RuntimeError(f"{name}: no library of that name is registered")


def disable_telemetry_events() -> None:
    """Do nothing: Sluice never sends anything."""


def enable_telemetry_events() -> None:
    """Do nothing: Sluice never sends anything."""
