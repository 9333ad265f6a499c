"""How numbers, shapes, names and objects are written."""

from __future__ import annotations

import html
import os
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._core import _shown

STYLE = "border:1px solid #8884;padding:6px;overflow:auto;max-height:560px"


def printable(text: str) -> str:
    """The text with escapes for what standard output cannot encode."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


class Text(str):
    """Text that a terminal shows as it is, and a notebook as HTML."""

    def __new__(cls, text: str, html: str = "") -> Text:  # noqa: D102
        self = super().__new__(cls, text)
        self.html = html
        return self

    def __str__(self) -> str:
        return printable(str.__str__(self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.html or preformatted(self)


class Drawing(str):
    """An SVG, which a notebook shows as a picture.

    A prompt shows the text, or the name of the file that it is in.
    """

    def __new__(  # noqa: D102
        cls, text: str, path: str | os.PathLike[str] | None = None
    ) -> Drawing:
        self = super().__new__(cls, text)
        self.path = None if path is None else os.fspath(path)
        return self

    def __repr__(self) -> str:
        if self.path is None:
            return super().__repr__()
        return f"<SVG of {len(self)} characters, written to {self.path}>"

    def _repr_svg_(self) -> str:
        return str(self)


def preformatted(text: str) -> str:
    """The text as HTML that keeps its lines."""
    return f'<pre style="{STYLE}">{html.escape(text)}</pre>'


def grouped(number: int | None) -> str:
    """A count with groups of three digits; "?" if it is unknown."""
    return "?" if number is None else f"{number:,}".replace(",", " ")


def counted(number: int, noun: str) -> str:
    """Such as "1 op" or "1 008 ops"."""
    return f"{grouped(number)} {noun}" + "s" * (number != 1)


def of_bytes(number: int) -> str:
    """Such as "459 kB"; units are powers of 1000."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 999.5:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"


def of_seconds(seconds: float) -> str:
    """Such as "570 us"; what is shorter than 1 us cannot be told."""
    if seconds < 1e-6:
        return "below 1 us"
    for unit, size in (("us", 1e-6), ("ms", 1e-3)):
        if seconds < 999.5 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def shape_text(shape: Any) -> str:
    """Such as "[?, 8]"."""
    if shape is None:
        return "?"
    return f"[{', '.join('?' if n is None else str(n) for n in shape)}]"


# The libraries of kernels: their names, and their colour in every drawing.
LIBRARIES = {
    "PLAIN": ("own kernels", "1"),
    "ONEDNN": ("oneDNN", "2"),
    "EIGEN": ("Eigen", "3"),
    "OPENBLAS": ("OpenBLAS", "4"),
    "CUBLAS": ("cuBLAS", "5"),
}


def kernel_name(library: str, variant: str) -> str:
    """Such as "plain" of an own kernel, "onednn/direct" of others."""
    if library == "PLAIN":
        return variant
    name = library.lower()
    return name if name == variant else f"{name}/{variant}"


def call_name(op: Mapping[str, Any]) -> str:
    """The name of a call in a plan's JSON, as explain() has it."""
    # Reports of older versions have no names.
    name = op.get("call") or "+".join(op["covered_ops"] or [op["op"]])
    return str(name)


def call_number(op: Mapping[str, Any]) -> str:
    """Its number there: "#6", or "+38" of a call that a pass put in."""
    return f"#{min(op['covers'])}" if op["covers"] else f"+{op['index']}"


def whole_feeds(names: Iterable[str]) -> list[str]:
    """The names without those of offsets, which are fed with their rows."""
    known = set(names)
    return [
        name
        for name in names
        if not (name.endswith("@LOD") and name.removesuffix("@LOD") in known)
    ]


# What would change a terminal or the direction of text, or is no XML.
_CONTROL = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069"
    "\\ud800-\\udfff\\ufffe\\uffff]"
)


def clean(text: str) -> str:
    """The text with control characters as ``\\x1b``."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def cut(text: str, width: int) -> str:
    """The text without its middle if it is wider; the end often tells most."""
    text = clean(text)
    if len(text) <= width:
        return text
    end = max(0, width - 2) // 2
    return f"{text[: width - 2 - end]}..{text[len(text) - end :]}"[:width]


def flag(what: str, value: Any) -> bool:
    """The value of an argument that is True or False, or 1 or 0.

    Raises:
        TypeError: it is something else.
    """
    if isinstance(value, (int, np.bool_)) and value in (0, 1):
        return bool(value)
    raise TypeError(f"{what}: expected True or False, got {_shown(value)}")


class Shown:
    """Shows public attributes in one line, in place of an address."""

    def __repr__(self) -> str:
        parts = [
            f"{name} {cut(_value_text(value), 60)}"
            for name, value in vars(self).items()
            if not name.startswith("_")
        ]
        text = f"{type(self).__name__}: {', '.join(parts)}"
        line = f"<{cut(text, 200) if parts else type(self).__name__}>"
        return printable(line)


def _value_text(value: Any) -> str:
    """A value in one line, without addresses."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {shape_text(value.shape)}"
    text = " ".join(repr(value).split())
    return type(value).__name__ if " at 0x" in text else text
