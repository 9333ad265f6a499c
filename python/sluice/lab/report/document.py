"""A report as a value, and its file formats."""

from __future__ import annotations

import html
import json
import os
from typing import Any

from sluice.errors import DataLossError, InvalidArgumentError, NotFoundError
from sluice.lab import text as words
from sluice.show.plan_drawing import draw

from . import graph, memory
from .difference import difference

SCHEMA = "sluice.report"
VERSION = 1


class Report:
    """A plan with all known data and times; a value.

    Args:
        data: the content of the JSON file; see docs/measurements.md.
        chrome_trace: JSON for Perfetto, of the medians and of a real run; ""
            if there is none.
    """

    def __init__(self, data: dict[str, Any], chrome_trace: str = ""):
        self.data = data
        self.chrome_trace = chrome_trace

    def __repr__(self) -> str:
        summary = self.data["summary"]
        measured = summary["measured_seconds"]
        took = f", a run takes {words.time(measured)}" if measured else ""
        return (
            f"<Report {self.data['name']}: "
            f"{words.count(summary['ops'], 'op')}{took}; .save('FILE.html')>"
        )

    def _repr_html_(self) -> str:
        """The page in a frame, for notebooks."""
        try:
            page = self.to_html()
        except NotFoundError as error:
            return f"<pre>{html.escape(f'{self!r}{chr(10)}{error}')}</pre>"
        return (
            f'<iframe srcdoc="{html.escape(page)}" title="Sluice report" '
            'width="100%" height="800" style="border:0"></iframe>'
        )

    def to_json(self) -> str:
        """The report as JSON, which :func:`read` accepts."""
        return json.dumps(self.data, ensure_ascii=False, allow_nan=False)

    def to_html(self, against: Report | None = None) -> str:
        """One self-contained page of less than 3 MB.

        Args:
            against: an older report; the page shows the changes since then.

        Raises:
            NotFoundError: D3 is missing; names the package.
        """
        from .page import to_html

        changes = None
        if against is not None:
            changes = difference(against.data, self.data)
        return to_html(self.data, changes)

    def draw(self) -> str:
        """The plan as SVG, as ``Plan.draw`` has it, with measured times."""
        return draw(self.data["plan"])

    def save(
        self, path: str | os.PathLike[str], against: Report | None = None
    ) -> None:
        """Write ``*.html``, ``*.json``, ``*.svg``, or a Chrome trace.

        The extension decides: a trace is ``*.trace`` or ``*.trace.json``.

        Raises:
            InvalidArgumentError: the extension is unknown.
            OSError: the file cannot be written.
        """
        name = os.fspath(path)
        if name.endswith((".trace", ".trace.json")):
            text = self.chrome_trace
        elif name.endswith(".json"):
            text = self.to_json()
        elif name.endswith(".svg"):
            text = self.draw()
        elif name.endswith((".html", ".htm")):
            text = self.to_html(against)
        else:
            raise InvalidArgumentError(
                f"report: {name!r}: expected a name that ends with .html, "
                ".json, .svg or .trace.json",
                "lab.report_path",
            )
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)


def read(path: str | os.PathLike[str]) -> Report:
    """Read a report that was saved as JSON.

    Raises:
        OSError: the file cannot be read.
        DataLossError: it is not JSON, or members are missing.
        InvalidArgumentError: it is not a report, or of another version.
    """
    name = os.fspath(path)
    with open(name, encoding="utf-8") as file:
        try:
            data = json.load(file)
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise DataLossError(
                f"{name}: expected a report as JSON: {error}",
                "lab.report_json",
            ) from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise InvalidArgumentError(
            f'{name}: expected a report, with "schema": "{SCHEMA}"',
            "lab.report_schema",
        )
    if data.get("version") != VERSION:
        raise InvalidArgumentError(
            f"{name}: a report of version {data.get('version')}; this Sluice "
            f"reads version {VERSION}",
            "lab.report_version",
        )
    _check(data, name)
    return Report(data)


def _check(data: dict[str, Any], name: str) -> None:
    """Access the members that pages need, without any library."""
    try:
        difference(data, data)
        graph.make(data["plan"], 600)
        draw(data["plan"])
        memory.over_time(data["plan"], 100, 100)
        for op in data["plan"]["ops"]:
            lists = data["plan"]["candidate_lists"][op["candidate_list"]]
            lists["candidates"][op["chosen"]]["work"]["flops"]
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise DataLossError(
            f"{name}: a report of which something is missing or of another "
            f"kind: {type(error).__name__} {error}",
            "lab.report_member",
        ) from None
