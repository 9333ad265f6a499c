"""Shows the records of kernels."""

from __future__ import annotations

import json
from typing import Any

from sluice import _core, _lab

from . import text

# Signatures that are listed unless all are.
_NEWEST = 10


def records(op: str | None = None) -> list[dict[str, Any]]:
    """The records of this process, of one op or of all, as dicts.

    Raises NotFoundError, with similar names, for an op that neither a record
    nor this build has.
    """
    found = [json.loads(line) for line in _lab._records()]
    if op is None:
        return found
    mine = [record for record in found if record["op"] == op]
    if not mine:
        _core._schema(op)
    return mine


def kept() -> str:
    """Where measurements of this process are: a file, or memory, and why."""
    files = _lab._record_files()
    if any("kept in memory only" in remark for remark in files["remarks"]):
        return f"in memory only, as {files['user']} cannot be written"
    return files["user"] or "in memory only, as SLUICE_RECORDS says"


def _lines(signature: str, threads: int, kernels: list[Any]) -> list[str]:
    """A signature, and its kernels, the fastest first and marked."""
    kernels.sort(key=lambda record: record.get("median") or float("inf"))
    rows, messages = [], []
    for i, record in enumerate(kernels):
        parts, name = _core._kernel_parts(record["kernel"]), record["kernel"]
        if parts:
            name = text.kernel(parts["library"], parts["variant"])
            name += f" at {parts['place']}" * (parts["place"] != "cpu")
        median = record.get("median", 0)
        message = record.get("message", "")
        rows.append(
            [
                "*" if i == 0 and median and not message else " ",
                f"{name:24}",
                f"{text.time(median) if median else '':>8}",
                record.get("date", "")[:10],
                "WRONG" if message else "",
            ]
        )
        if message:
            messages.append(text.wrap(f"{name} WRONG: {message}", 4, 6))
    head = text.wrap(f"{signature}, {text.count(threads, 'thread')}")
    table = ["  " + row for row in text.table(rows, str.ljust)]
    return [head, *table, *messages]


def records_table(op: str | None = None, all: bool = False) -> str:
    """The records as text, by op and signature; the newest ops first.

    Only the newest signatures, unless ``all``.
    """
    by_signature: dict[tuple[str, int], list[dict[str, Any]]] = {}
    newest: dict[str, str] = {}
    for record in records(op):
        key = (record["signature"], record.get("threads", 1))
        by_signature.setdefault(key, []).append(record)
        name, date = record["op"], record.get("date", "")
        newest[name] = max(newest.get(name, ""), date)
    total = sum(map(len, by_signature.values()))
    signatures = text.count(len(by_signature), "signature")
    lines = [
        f"{text.count(total, 'record')} of {signatures} of "
        f"{text.count(len(newest), 'op')}"
    ]
    if by_signature:
        lines[0] += "; * is the fastest kernel"

    def date(kernels: list[Any]) -> str:
        return max(record.get("date", "") for record in kernels)

    # Sorting is stable: by name, then by date, then by the newest of the op.
    groups = sorted(by_signature.items())
    groups.sort(key=lambda group: date(group[1]), reverse=True)
    groups.sort(key=lambda group: newest[group[1][0]["op"]], reverse=True)
    shown = groups if all else groups[:_NEWEST]
    for (signature, threads), kernels in shown:
        lines += _lines(signature, threads, kernels)
    if len(shown) < len(groups):
        more = text.count(len(groups) - len(shown), "older signature")
        lines.append(f"... {more}: --all")
    return "\n".join(lines)


def files() -> str:
    """The files that records are read from and written to, with problems."""
    found = _lab._record_files()
    lines = [f"read: {path}" for path in found["system"]]
    lines.append(f"read and written: {found['user'] or 'nothing'}")
    return "\n".join(lines + found["remarks"])
