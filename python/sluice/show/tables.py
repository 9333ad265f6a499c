"""Tables, as text and as HTML without scripts."""

from __future__ import annotations

import html
import textwrap
from typing import Any

from ..display import STYLE, Text, clean, cut

_COLOURS = {
    "strong": "font-weight:bold",
    "faint": "opacity:.75",
    "bad": "color:light-dark(#b00020,#ff8a80);font-weight:bold",
    "doubtful": "color:light-dark(#7a5200,#ffcc66)",
}
_SEEN = 25  # rows of a table that a notebook shows without scrolling


def _line(line: dict[str, str]) -> str:
    style = _COLOURS.get(line["emphasis"], "")
    text = html.escape(line["text"]).replace(" us", " µs")
    return f'<div style="white-space:pre-wrap;{style}">{text}</div>'


def table_html(table: dict[str, Any]) -> str:
    """One table of :meth:`Explanation.tables` as HTML, without scripts."""
    columns = table["columns"]
    sides = ["right" if column["right"] else "left" for column in columns]

    def cells(kind: str, texts: list[str]) -> str:
        return "".join(
            f'<{kind} style="text-align:{side};padding:1px 8px;'
            f'white-space:nowrap">{html.escape(text)}</{kind}>'
            for side, text in zip(sides, texts, strict=True)
        )

    names = [column["name"].replace("us", "µs") for column in columns]
    rows = [f"<thead><tr>{cells('th', names)}</tr></thead>"]
    for row in table["rows"]:
        style = _COLOURS.get(row["emphasis"], "")
        if len(row["cells"]) == len(columns):
            inside = cells("td", row["cells"])
        else:
            inside = (
                f'<td colspan="{len(columns)}" style="text-align:left">'
                f"{html.escape(row['cells'][0])}</td>"
            )
        rows.append(f'<tr style="{style}">{inside}</tr>')
    head = "".join(map(_line, table["head"]))
    if len(rows) > _SEEN:
        text = f"{len(rows) - 1} rows: this table scrolls"
        head += _line({"text": text, "emphasis": "faint"})
    foot = "".join(map(_line, table["foot"]))
    return (
        f'<div class="sluice-explain" style="{STYLE};font-family:monospace">'
        f'{head}<table style="margin:6px 0;border-collapse:collapse">'
        f"{''.join(rows)}</table>{foot}</div>"
    )


def _plain(lines: list[str]) -> list[dict[str, str]]:
    """Lines as a table has them."""
    return [{"text": line, "emphasis": ""} for line in lines if line]


def text_table(
    head: list[str], rows: list[list[str]], foot: list[list[str]], width: int
) -> Text:
    """Lines, columns of which the first and the last are numbers, and totals.

    The widest columns between them are cut until a row fits ``width``. Other
    lines are wrapped; those above the columns are cut to about two lines.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    while sum(widths) + 2 * len(widths) - 2 > width and max(widths[1:-1]) > 6:
        widths[widths.index(max(widths[1:-1]), 1)] -= 1

    def line(row: list[str], right: tuple[int, ...], widths: list[int]) -> str:
        cells = [
            cell.rjust(size) if i in right else cut(cell, size).ljust(size)
            for i, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    def wrapped(text: str) -> list[str]:
        """Its lines, of which all but the first are indented."""
        how = {"subsequent_indent": "  ", "break_on_hyphens": False}
        return textwrap.wrap(clean(text), width, **how)

    numbers = (0, len(widths) - 1)
    totals = [max(map(len, column)) for column in zip(*foot, strict=True)]
    below = [line(row, (1, 2), totals) for row in foot]
    blocks = [wrapped(cut(each, 2 * width - 2)) for each in head]
    blocks += [[line(row, numbers, widths)] for row in rows]
    blocks += [wrapped(each) for each in below]
    names = enumerate(rows[0])
    columns = [{"name": n, "right": i in numbers} for i, n in names]
    as_html = table_html(
        {
            "head": _plain(head),
            "columns": columns,
            "rows": [{"cells": row, "emphasis": ""} for row in rows[1:]],
            "foot": _plain(below),
        }
    )
    lines = [each for block in blocks for each in block]
    return Text("\n".join(lines), as_html)
