"""Where the execution provider for ONNX Runtime is."""

from __future__ import annotations

from pathlib import Path

from .. import _core
from .. import errors as _errors


def execution_provider() -> str:
    """The path of the library that makes Sluice a provider of ONNX Runtime.

    `onnxruntime.register_execution_provider_library("Sluice", path)` takes it.

    >>> sl.onnx.execution_provider().rpartition("/")[2]
    'libsluice_onnxruntime.so'

    Raises NotFoundError for a build without ONNX.
    """
    folder = Path(_core._config()["plugin_folders"][-1]).parent
    library = folder / "libsluice_onnxruntime.so"
    if not library.exists():
        raise _errors.NotFoundError(
            f"there is no {library}: this Sluice was built without ONNX"
        )
    return str(library)
