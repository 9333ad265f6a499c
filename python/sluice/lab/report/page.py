"""Writes the report as one HTML page."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from sluice.errors import ResourceExhaustedError

from . import libraries
from .view import LIMITS, Limits, make_view

MOST_BYTES = 3_000_000
_FOLDER = Path(__file__).parent / "web"
_SCRIPTS = (
    "format",
    "data",
    "colour",
    "details",
    "graph",
    "tables",
    "charts",
    "memory",
    "changes",
    "main",
)


def _embedded(value: Any) -> str:
    """JSON that is safe inside a script element, for any strings."""
    text = json.dumps(
        value, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    # Names come from users. One that UTF-8 cannot encode would fail the write.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("<", "\\u003c")


def _page(view: dict[str, Any]) -> str:
    parts = {
        "title": html.escape(f"{view['name']} - Sluice report"),
        "style": (_FOLDER / "page.css").read_text(encoding="utf-8"),
        "licence": libraries.D3_LICENCE,
        "d3": libraries.d3(),
        "scripts": "\n".join(
            (_FOLDER / f"{name}.js").read_text(encoding="utf-8")
            for name in _SCRIPTS
        ),
        "data": _embedded(view),
    }
    text = (_FOLDER / "page.html").read_text(encoding="utf-8")
    # Inserts from the last mark to the first, so that no inserted part is
    # searched for marks.
    marks = sorted(parts, key=lambda name: -text.index(f"@{name}@"))
    for name in marks:
        at = text.index(f"@{name}@")
        text = text[:at] + parts[name] + text[at + len(name) + 2 :]
    return text


def to_html(data: dict[str, Any], changes: dict[str, Any] | None) -> str:
    """The page; with fewer details if it would be 3 MB or more.

    Raises:
        NotFoundError: D3 or Graphviz is missing; names the package.
        ResourceExhaustedError: it is 3 MB or more with the fewest details.
    """
    limits: Limits = LIMITS
    while True:
        page = _page(make_view(data, changes, limits))
        if len(page.encode("utf-8")) < MOST_BYTES:
            return page
        if limits.ops <= 1:
            raise ResourceExhaustedError(
                "report: the page would be 3 MB or more even with one op",
                "lab.report_size",
            )
        limits = limits.halved()
