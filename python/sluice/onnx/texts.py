"""Strings, which are numbers in a program."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from ..errors import InvalidArgumentError


class _Handle(np.ndarray):
    """A table's handle, which keeps the table."""

    texts: RunTexts


class RunTexts:
    """The strings of one run: those of the model, then what is fed or made."""

    def __init__(self, known: Callable[[], _core._TextTable]) -> None:
        self._known = known

    @functools.cached_property
    def _table(self) -> _core._TextTable:
        return _core._TextTable.make(self._known())

    def encode(self, name: str, value: Any) -> np.ndarray:
        """The numbers of an array of strings, or of bytes in UTF-8."""
        array = np.asarray(value)
        if array.dtype.kind not in "OSU":
            raise InvalidArgumentError(
                f"feed {name} has dtype {array.dtype}; expected strings",
                "onnx.feed_texts",
            )
        texts = [_text(name, text) for text in array.ravel().tolist()]
        numbers = self._table.numbers(texts, f"feed {name}")
        return np.array(numbers, "int64").reshape(array.shape)

    def decode(self, numbers: np.ndarray) -> np.ndarray:
        """An array of the strings."""
        array = np.empty(numbers.shape, object)
        array.ravel()[:] = self._table.texts(numbers.ravel().tolist())
        return array

    def handle(self) -> np.ndarray:
        """What ops take the table by, while the array is there."""
        handle = np.array(self._table.handle).view(_Handle)
        handle.texts = self
        return handle


def _text(name: str, text: Any) -> str:
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            raise InvalidArgumentError(
                f"feed {name} has the bytes {text!r}, which are no UTF-8",
                "onnx.feed_texts",
            ) from error
    if not isinstance(text, str):
        raise InvalidArgumentError(
            f"feed {name} has {text!r} among its strings",
            "onnx.feed_texts",
        )
    return text
