"""Tracebacks without frames of this package, and names of notebook cells."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from types import FrameType, TracebackType
from typing import Any

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_REAL_PACKAGE = os.path.dirname(os.path.realpath(__file__)) + os.sep
# The end of a ``with`` block is called from contextlib.
_OWN = (_PACKAGE, _REAL_PACKAGE, "<sluice", contextlib.__file__)
# Files of this package whose programs count as a user's.
USERS_FILES: set[str] = set()

_CELL = re.compile(r"ipykernel_\d+/\d+\.py$|^<ipython-input-(\d+)-")


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython and ipython.get_ipython()


def source_name(file: str) -> str:
    """The file; "cell In[3]" for the source of a notebook's cell."""
    cell = _CELL.search(file) if "ipy" in file else None
    if cell is None:
        return file
    compiled = getattr(_shell(), "compile", None)
    counts = getattr(compiled, "_filename_map", {})
    return f"cell In[{cell[1] or counts.get(file, '?')}]"


def answer(error: BaseException) -> BaseException:
    """Mark an error as an answer to the user, as every SluiceError is."""
    error._is_answer = True  # type: ignore[attr-defined]
    error._render_traceback_ = lambda: render(error)  # type: ignore[attr-defined]
    return error


def is_users(file: str) -> bool:
    """Whether a source file is a user's, as those in USERS_FILES are."""
    return not file.startswith(_OWN) or file in USERS_FILES


def _is_users_frame(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    # __init__ of a dataclass has no file, or that of `python -c`.
    package = str(frame.f_globals.get("__package__")).partition(".")[0]
    return is_users(file) and (file != "<string>" or package != "sluice")


def caller_location() -> tuple[str, int]:
    """File and line of the innermost frame outside of this package."""
    frame = sys._getframe(1)
    while frame is not None:
        if _is_users_frame(frame):
            return source_name(frame.f_code.co_filename), frame.f_lineno
        frame = frame.f_back
    return "", 0


def created() -> str:
    """The location for the end of an error's message, as the core adds it."""
    file, line = caller_location()
    if file.startswith("cell "):
        return f"\ncreated in {file}, line {line}"
    return f"\ncreated at {file}:{line}"


def without_own_frames(error: BaseException) -> None:
    """Leave this package's frames out of the tracebacks of an error."""
    wants_all = os.environ.get("SLUICE_FULL_TRACEBACK") == "1"
    if wants_all or not getattr(error, "_is_answer", False):
        return
    frames: list[TracebackType] = []
    trace = error.__traceback__
    while trace is not None:
        if _is_users_frame(trace.tb_frame):
            frames.append(trace)
        trace = trace.tb_next
    if not frames:
        return
    for frame, inner in zip(frames, [*frames[1:], None], strict=True):
        frame.tb_next = inner
    error.__traceback__ = frames[0]
    for other in (error.__cause__, error.__context__):
        if other is not None and other is not error:
            without_own_frames(other)


def render(error: BaseException) -> list[str]:
    """The traceback that IPython shows (``_render_traceback_``)."""
    without_own_frames(error)
    return _shell().InteractiveTB.structured_traceback(
        type(error), error, error.__traceback__, tb_offset=1
    )


def install() -> None:
    """Leave own frames out of what ends a program, whoever prints it."""
    before = sys.excepthook

    def hook(
        kind: type[BaseException],
        error: BaseException,
        trace: TracebackType | None,
    ) -> None:
        without_own_frames(error)
        before(kind, error, error.__traceback__ or trace)

    sys.excepthook = hook
