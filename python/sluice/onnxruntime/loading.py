"""Reads and writes the model of a session, and ends what is too long."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from .. import _core, onnx
from ..errors import FailedPreconditionError
from . import environment, errors
from .options import RunOptions, SessionOptions

_FOLDER = "session.model_external_initializers_file_folder_path"


def load_model(
    source: Any, file: str, options: SessionOptions, fed: Sequence[str] = ()
) -> onnx.Model:
    """Read a model, with the initialisers and the folder of options.

    ``file`` is its name, or "", and ``fed`` are the initialisers that each run
    is fed. Raises what the constructor of a session does.
    """
    entries = options._entries
    is_ort = entries.get("session.load_model_format", "").upper() == "ORT"
    if is_ort or file.endswith(".ort"):
        raise errors.make(
            errors.Fail,
            f"{file or 'the model'} is in onnxruntime's own format (ORT); "
            "Sluice reads the .onnx file that it was made of",
        )
    given = options._initializers
    with errors.loading(), _cancelling(options):
        model = onnx.load(
            source,
            folder=entries.get(_FOLDER),
            initialisers={name: each for name, (each, _) in given.items()},
            fed_initialisers=fed,
        )
    for name, (_, needed) in given.items():
        if name in model.replaced:
            continue
        text = f"Failed to find existing initializer with name {name}."
        if needed:
            raise errors.make(errors.Fail, text)
        environment.say_once(
            f"initialiser {name}", text, options.log_severity_level
        )
    return model


def save_model(model: onnx.Model, options: SessionOptions) -> None:
    """Write the model where the options say, if they do."""
    path = options.optimized_model_filepath
    saved_as = options._entries.get("session.save_model_format", "")
    if not path:
        return
    if saved_as.upper() == "ORT" or path.endswith(".ort"):
        raise errors.make(
            errors.Fail,
            f"optimized_model_filepath {path}: Sluice writes .onnx files, not "
            "onnxruntime's own format (ORT)",
        )
    with errors.running():
        model.save(path)


@contextlib.contextmanager
def _cancelling(options: SessionOptions) -> Iterator[None]:
    """Let ``set_load_cancellation_flag`` end the import in the block."""
    try:
        with _core._CancelBlock(options._load_flag):
            yield
    except FailedPreconditionError as error:
        if error.check_id == "run.cancelled" and options._load_flag.requested():
            text = "Model loading was canceled by user request."
            raise errors.make(errors.ModelLoadCanceled, text) from error
        raise


@contextlib.contextmanager
def stopping(options: RunOptions) -> Iterator[None]:
    """Let ``options.terminate`` end the runs in the block."""
    if not isinstance(options, RunOptions):
        raise TypeError(
            f"run: run_options is {options!r}; expected a RunOptions or None"
        )
    options._say_what_is_ignored()
    text = "Exiting due to terminate flag being set to true."
    if options.terminate:
        raise errors.make(errors.Fail, text)
    try:
        with _core._CancelBlock(options._flag):
            yield
    except FailedPreconditionError as error:
        if error.check_id == "run.cancelled" and options._flag.requested():
            raise errors.make(errors.Fail, text) from error
        raise
