"""Shows the records of kernels."""

from __future__ import annotations

import json
from typing import Any

from sluice import _core, _lab

from . import text


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


def records_table(op: str | None = None) -> str:
    """The records as text: each signature with its kernels."""
    by_signature: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for record in records(op):
        key = (record["signature"], record.get("threads", 1))
        by_signature.setdefault(key, []).append(record)
    lines = []
    for (signature, threads), kernels in sorted(by_signature.items()):
        noun = "thread" if threads == 1 else "threads"
        lines.append(f"{signature}, {threads} {noun}")
        kernels.sort(key=lambda record: record.get("median") or float("inf"))
        for record in kernels:
            median = record.get("median", 0)
            time = f"{text.time(median) if median else '':>12}"
            message = record.get("message", "")
            lines.append(
                f"  {time}  {record['kernel']}  {record.get('date', '')}"
                + (f"  WRONG: {message}" if message else "")
            )
    total = sum(map(len, by_signature.values()))
    lines.append(f"{total} records of {len(by_signature)} signatures")
    return "\n".join(lines)


def files() -> str:
    """The files that records are read from and written to, with problems."""
    found = _lab._record_files()
    lines = [f"read: {path}" for path in found["system"]]
    lines.append(f"read and written: {found['user'] or 'nothing'}")
    return "\n".join(lines + found["remarks"])
