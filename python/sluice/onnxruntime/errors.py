"""onnxruntime's errors, and the conversion of Sluice's errors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from .. import errors

__all__ = [
    "EPFail", "EngineError", "Fail", "InvalidArgument", "InvalidGraph",
    "InvalidProtobuf", "ModelLoaded", "NoModel", "NoSuchFile", "NotImplemented",
    "OrtException", "RuntimeException",
]


class OrtException(Exception):
    """Base of all errors; ``__cause__`` is Sluice's own error."""


class Fail(OrtException):
    """Any error without a class of its own."""


class InvalidArgument(OrtException):
    """A feed or an output of a wrong name, dtype or shape."""


class NoSuchFile(OrtException):
    """A file does not exist or cannot be read."""


class RuntimeException(OrtException):
    """A device failed or memory ran out."""


class InvalidProtobuf(OrtException):
    """The bytes are truncated or not a model."""


class NotImplemented(OrtException):
    """Sluice lacks an operator, dtype or opset."""


class InvalidGraph(OrtException):
    """The model contradicts itself."""


class NotRaised(OrtException):
    """Errors that onnxruntime raises, and Sluice does not."""


EPFail = EngineError = ModelLoaded = NoModel = NotRaised

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
    "onnx.no_graph": InvalidArgument,
    "onnx.too_large": InvalidProtobuf,
}


def loading() -> contextlib.AbstractContextManager[None]:
    """Convert Sluice's errors of loading a model."""
    return _translating(_LOADING)


def running() -> contextlib.AbstractContextManager[None]:
    """Convert Sluice's errors of a run."""
    return _translating(_RUNNING)


@contextlib.contextmanager
def _translating(
    table: tuple[tuple[type[Exception], type[OrtException]], ...],
) -> Iterator[None]:
    try:
        yield
    except errors.SluiceError as error:
        kind = _BY_CHECK.get(error.check_id)
        if kind is None:
            kind = next(to for cause, to in table if isinstance(error, cause))
        text = f"[Sluice] : {kind.__name__} : {error}"
        raise kind(text) from error
