"""Strings, which are numbers in a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InvalidArgumentError


class RunTexts:
    """The strings of one run: those of the model, then what is fed."""

    def __init__(self, known: Sequence[str]) -> None:
        self._texts = known
        self._numbers: dict[str, int] = {}

    def encode(self, name: str, value: Any) -> np.ndarray:
        """The numbers of an array of strings, or of bytes in UTF-8."""
        if not self._numbers:
            self._texts = list(self._texts)
            self._numbers = {text: i for i, text in enumerate(self._texts)}
        array = np.asarray(value)
        if array.dtype.kind not in "OSU":
            raise InvalidArgumentError(
                f"feed {name} has dtype {array.dtype}; expected strings",
                "onnx.feed_texts",
            )
        numbers = [self._number(name, text) for text in array.ravel().tolist()]
        return np.array(numbers, "int64").reshape(array.shape)

    def _number(self, name: str, text: Any) -> int:
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
        number = self._numbers.setdefault(text, len(self._texts))
        if number == len(self._texts):
            self._texts.append(text)
        return number

    def decode(self, numbers: np.ndarray) -> np.ndarray:
        """An array of the strings."""
        array = np.empty(numbers.shape, object)
        array.ravel()[:] = [self._texts[i] for i in numbers.ravel().tolist()]
        return array
