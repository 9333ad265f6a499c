"""Calls functions on all ranks, and shares their results and errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from .. import _core, errors
from ..errors import FailedPreconditionError, SluiceError


def together(
    what: str, action: Callable[[], Any], ranks: range | None = None
) -> list[Any]:
    """Call a function on some ranks; all ranks wait until all have ended.

    Args:
        what: the name of the public function that all ranks called.
        action: returns a value for JSON; must not call collectives.
        ranks: the ranks that call it; all if None.

    Returns:
        The results by rank; None for ranks that did not call it.

    Raises:
        SluiceError: on every rank if it raised on one. The class and the check
            id are those of the first such rank.
        FailedPreconditionError: likewise for an exception of another class; the
            ranks call different functions, or one has ended; :func:`init` was
            not called.
    """
    _core._require_joined(what)
    result = error = None
    try:
        if ranks is None or _core._world_rank() in ranks:
            result = action()
    except Exception as raised:
        if _core._world_size() == 1:
            raise
        error = raised
    answer = {"result": result, "error": _described(error)}
    answers = [
        json.loads(text)
        for text in _core._exchange(what, json.dumps(answer).encode())
    ]
    failed = {
        rank: answer["error"]
        for rank, answer in enumerate(answers)
        if answer["error"]
    }
    if failed:
        raise _of_ranks(what, failed) from error
    return [answer["result"] for answer in answers]


def ranks_by_value(values: Mapping[int, Any]) -> list[tuple[Any, str]]:
    """Each value once, with the names of the ranks that have it."""
    ranks: dict[Any, list[int]] = {}
    for rank, value in values.items():
        ranks.setdefault(value, []).append(rank)
    return [(value, _core._name_ranks(own)) for value, own in ranks.items()]


def _described(error: Exception | None) -> dict[str, str] | None:
    if error is None:
        return None
    if not isinstance(error, SluiceError):
        return {"type": "", "message": text_of(error)}
    return {
        "type": type(error).__name__,
        # The hint is left out: the class adds it itself.
        "message": str(error.args[0]) if error.args else "",
        "check_id": error.check_id,
    }


def text_of(error: BaseException) -> str:
    """The class and message of any exception, encodable as UTF-8."""
    try:
        message = str(error)
    except Exception as raised:
        message = f"its __str__ raises {type(raised).__name__}"
    text = f"{type(error).__name__}: {message}"
    return text.encode("utf-8", "backslashreplace").decode()


def _of_ranks(what: str, failed: dict[int, dict[str, str]]) -> SluiceError:
    messages = {
        rank: error["message"].removeprefix(f"{what}: ")
        for rank, error in failed.items()
    }
    lines = [f"{ranks}: {each}" for each, ranks in ranks_by_value(messages)]
    text = f"{what}: " + "\n".join(lines)
    first = next(iter(failed.values()))
    if first["type"] not in errors.__all__:
        return FailedPreconditionError(text, "distributed.other_rank")
    return getattr(errors, first["type"])(text, first["check_id"])
