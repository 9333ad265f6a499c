"""onnxruntime's errors, and the conversion of Sluice's errors."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable

from .. import errors

__all__ = [
    "DeviceReset", "EPFail", "EngineError", "Fail", "InvalidArgument",
    "InvalidGraph", "InvalidProtobuf", "ModelLoadCanceled", "ModelLoaded",
    "ModelRequiresCompilation", "NoModel", "NoSuchFile", "NotFound",
    "NotImplemented", "OrtException", "RuntimeException",
]


class OrtException(Exception):
    """Base of all errors; ``__cause__`` is Sluice's own error.

    ``status`` is how onnxruntime's texts begin, which clients may look for.
    """

    status = "1 : FAIL"


class Fail(OrtException):
    """Any error without a class of its own."""


class InvalidArgument(OrtException):
    """A feed or an output of a wrong name, dtype or shape."""

    status = "2 : INVALID_ARGUMENT"


class BindingError(InvalidArgument, RuntimeError):
    """What is bound does not fit; onnxruntime raises RuntimeError."""


class NoSuchFile(OrtException):
    """A file does not exist or cannot be read."""

    status = "3 : NO_SUCHFILE"


class RuntimeException(OrtException):
    """A device failed or memory ran out."""

    status = "6 : RUNTIME_EXCEPTION"


class InvalidProtobuf(OrtException):
    """The bytes are truncated or not a model."""

    status = "7 : INVALID_PROTOBUF"


class NotImplemented(OrtException):
    """Sluice lacks an operator, dtype or opset."""

    status = "9 : NOT_IMPLEMENTED"


class InvalidGraph(OrtException):
    """The model contradicts itself."""

    status = "10 : INVALID_GRAPH"


class ModelLoadCanceled(OrtException):
    """The options' flag has ended the import."""

    status = "12 : MODEL_LOAD_CANCELED"


# Those that onnxruntime raises, and Sluice does not.
class NoModel(OrtException):
    """Never raised."""


class EngineError(OrtException):
    """Never raised."""


class ModelLoaded(OrtException):
    """Never raised."""


class EPFail(OrtException):
    """Never raised."""


class ModelRequiresCompilation(OrtException):
    """Never raised."""


class NotFound(OrtException):
    """Never raised."""


class DeviceReset(OrtException):
    """Never raised."""


_WHEREVER = (
    (errors.UnimplementedError, NotImplemented),
    (errors.ResourceExhaustedError, RuntimeException),
    (errors.DeviceLostError, RuntimeException),
)
_LOADING = (
    *_WHEREVER,
    (errors.NotFoundError, NoSuchFile),
    (errors.DataLossError, InvalidProtobuf),
    (errors.InvalidArgumentError, InvalidGraph),
    (errors.OutOfRangeError, InvalidGraph),
    (errors.SluiceError, Fail),
)
_RUNNING = (
    *_WHEREVER,
    (errors.InvalidArgumentError, InvalidArgument),
    (errors.OutOfRangeError, InvalidArgument),
    (errors.NotFoundError, InvalidArgument),
    (errors.SluiceError, Fail),
)
_BY_CHECK = {
    "onnx.given_initialiser": Fail,
    "onnx.no_graph": InvalidArgument,
    "onnx.too_large": InvalidProtobuf,
}


def make(kind: type[OrtException], text: str) -> OrtException:
    """An error with the text that onnxruntime's have before their own."""
    return kind(f"[ONNXRuntimeError] : {kind.status} : {text}")


def text_of(error: OrtException) -> str:
    """The text of an error without what :func:`make` has put before it."""
    return str(error).removeprefix(f"[ONNXRuntimeError] : {error.status} : ")


@functools.cache
def in_binding(kind: type[OrtException]) -> type[OrtException]:
    """The class for an error of a run on what is bound."""
    if issubclass(kind, InvalidArgument):
        return BindingError
    return type(kind.__name__, (kind, RuntimeError), {"__doc__": kind.__doc__})


class _Translating:
    """``with`` this, errors of Sluice become those of a table.

    A class: what :mod:`contextlib` makes of a generator takes as long as a run
    of a small model.
    """

    __slots__ = ("_explain", "_table")

    def __init__(
        self,
        table: tuple[tuple[type[Exception], type[OrtException]], ...],
        explain: Callable[[], str] | None = None,
    ) -> None:
        self._table = table
        self._explain = explain

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        _type: type[BaseException] | None,
        error: BaseException | None,
        _traceback: types.TracebackType | None,
    ) -> None:
        if not isinstance(error, errors.SluiceError):
            return
        kind = _BY_CHECK.get(error.check_id)
        if kind is None:
            kind = next(
                to for cause, to in self._table if isinstance(error, cause)
            )
        said = ""
        if self._explain is not None and kind is InvalidArgument:
            said = self._explain()
        raise make(kind, f"{said}\n{error}" if said else str(error)) from error


def loading() -> _Translating:
    """Convert Sluice's errors of loading a model."""
    return _Translating(_LOADING)


def running(explain: Callable[[], str] | None = None) -> _Translating:
    """Convert Sluice's errors of a run.

    ``explain`` returns a sentence of onnxruntime's for a wrong feed, or "".
    """
    return _Translating(_RUNNING, explain)
