"""Writes the report as one HTML page."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

from sluice.errors import ResourceExhaustedError
from sluice.lab import text as words

from . import libraries
from .view import LIMITS, Limits, make_view

MOST_BYTES = 3_000_000
_FOLDER = Path(__file__).parent / "web"
_SCRIPTS = (
    "format", "data", "colour", "details", "graph", "tables", "charts",
    "memory", "changes", "main",
)  # fmt: skip


def _embedded(value: Any) -> str:
    """JSON that is safe inside a script element, for any strings."""
    text = json.dumps(
        value, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    # Names come from users. One that UTF-8 cannot encode would fail the write.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("<", "\\u003c")


def _without_script(view: dict[str, Any]) -> str:
    """A sentence, and the slowest ops as a table."""

    def escaped(text: str) -> str:
        return html.escape(re.sub(r"(?<=\d) us\b", " \u00b5s", text))

    def time(op: dict[str, Any]) -> str:
        if view["why_no_times"]:
            return "-"
        return escaped(words.time(op["measured"]["median"]))

    ops = sorted(view["ops"], key=lambda op: -op["measured"]["median"])[:200]
    rows = "".join(
        f"<tr><td>{op['number']} {escaped(op['op'])}"
        f"<td>{escaped(words.kernel(op['library'], op['variant']))}"
        f"<td>{time(op)}"
        f"<td>{escaped(op['reason'])}"
        for op in ops
    )
    summary = view["summary"]
    fault = view["fault"]
    first = f"<p>{escaped(', '.join(fault['lines']))}</p>" if fault else ""
    return (
        "<style>main, nav { display: none }</style>"
        f"{first}<p>The charts of this page need JavaScript, which is off. "
        f"A run takes {escaped(view['run_text'])}; these are the {len(ops)} "
        f"slowest of {words.count(summary['ops'], 'op')}.</p>"
        f"<p>{escaped(view['why_no_times'])}</p>"
        "<div class=scroll><table><thead><tr><th>op<th>kernel<th>time"
        f"<th>chosen because<tbody>{rows}</table></div>"
    )


def _page(view: dict[str, Any]) -> str:
    role = f", {view['role']}" if view["role"] else ""
    parts = {
        "title": html.escape(f"{view['name']}{role} - Sluice report"),
        "heading": f"{html.escape(view['name'])}"
        f'<span class="role">{html.escape(role)}</span>',
        "noscript": _without_script(view),
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
        NotFoundError: D3 is missing; names the package.
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
