"""One exception class for each kind of error that Sluice raises.

Every class is a :class:`SluiceError` and also the built-in exception that
Python programmers would catch in its place.
"""

from __future__ import annotations

__all__ = [
    "DataLossError",
    "DeviceLostError",
    "FailedPreconditionError",
    "InternalError",
    "InvalidArgumentError",
    "NotFoundError",
    "OutOfRangeError",
    "ResourceExhaustedError",
    "SluiceError",
    "UnimplementedError",
]

# What to do about it, by the id of the check that failed.
_HINTS = {
    "feed.dtype": "convert it first, e.g. x.astype('float32')",
    "feed.missing": "pass it in feed={...}",
    "run.uninitialised": "run the startup program in this scope first: "
    "exe.run(sluice.default_startup_program())",
    "python.device_array": "tensor.numpy() copies it to the host",
    "executor.no_plan": "exe.run(program, ...) first",
}


class SluiceError(Exception):
    """Base of all errors; ``str(error)`` names what was expected and got.

    Attributes:
        check_id: the check that failed, e.g. ``"crop.offset_range"``.
    """

    def __init__(self, message: str = "", check_id: str = "") -> None:
        super().__init__(message)
        self.check_id = check_id

    def __str__(self) -> str:
        message = str(self.args[0]) if self.args else ""
        hint = _HINTS.get(self.check_id)
        return f"{message}\nhint: {hint}" if hint else message

    def __reduce__(self) -> tuple:
        return type(self), (*self.args, self.check_id)


class InvalidArgumentError(SluiceError, ValueError):
    """Something was passed that can never work."""


class OutOfRangeError(SluiceError, IndexError):
    """An index, label or offset beyond its bounds."""


class NotFoundError(SluiceError, KeyError):
    """An unknown op, attribute, variable, kernel or file."""


class FailedPreconditionError(SluiceError, RuntimeError):
    """The right call at the wrong moment."""


class UnimplementedError(SluiceError, NotImplementedError):
    """Known, but not in this build."""


class ResourceExhaustedError(SluiceError, MemoryError):
    """No memory, threads or disk space."""


class DataLossError(SluiceError, OSError):
    """A damaged file."""


class DeviceLostError(SluiceError, RuntimeError):
    """The device reported a fault that it keeps."""


class InternalError(SluiceError, RuntimeError):
    """A bug in Sluice or in a kernel."""


# In the order of platform::ErrorCode.
BY_CODE = (
    InvalidArgumentError,
    OutOfRangeError,
    NotFoundError,
    FailedPreconditionError,
    UnimplementedError,
    ResourceExhaustedError,
    DataLossError,
    DeviceLostError,
    InternalError,
)
