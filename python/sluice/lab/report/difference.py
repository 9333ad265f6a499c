"""Compares two reports."""

from __future__ import annotations

from typing import Any

from sluice import _lab
from sluice.display import call_name, call_number

_FACTS = ("op", "library", "variant", "dtype", "layout", "place")


def difference(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Compare two reports, op by op.

    Two ops are the same if they have the same type and output variable; several
    such ops are paired in order. Ops of a type with other output variables
    (e.g. in another layout) are also paired in order, if both reports have the
    same number of them. A time has changed when the confidence intervals of
    both medians do not overlap, and the medians differ by more than 5 % and by
    more than a thousandth of a run: two processes rarely agree more closely
    than that.

    Returns:
        ``ops``: for each op that is in one report only, or has another kernel
        or time, ``changes`` (of "added", "removed", "kernel", "dtype",
        "layout", "place", "slower", "faster"), and the op in each report as
        ``old`` and ``new`` (None if missing); largest change of seconds first.
        ``same``: the number of other ops. ``comparable``: whether machine and
        threads are the same. ``verdict``: how a run compares with one before.
        ``why_no_times``: why times of ops should not be listed, or "".
    """
    olds, news = _by_identity(old), _by_identity(new)
    _pair_renamed(olds, news)
    rows = []
    least = 1e-3 * new["plan"]["times"]["run"]["median"]
    for key in dict.fromkeys([*news, *olds]):
        row = _row(olds.get(key), news.get(key), least)
        if row["changes"]:
            rows.append(row)
    rows.sort(key=lambda row: -abs(row["seconds"]))
    return {
        "old": _head(old),
        "new": _head(new),
        "comparable": _head(old)["machine"] == _head(new)["machine"]
        and _head(old)["threads"] == _head(new)["threads"],
        "verdict": _lab._compared(*map(run_times, (new, old))),
        "why_no_times": shown(old)[1] or shown(new)[1],
        "ops": rows,
        "same": len({*olds, *news}) - len(rows),
    }


def run_times(data: dict[str, Any]) -> tuple[float, float, float, int]:
    """Median, interval and number of the runs of a report."""
    run = data["plan"]["times"]["run"]
    return run["median"], run["low"], run["high"], run["rounds"]


def shown(data: dict[str, Any]) -> tuple[str, str]:
    """The text of a run, and why the times of its ops are not listed, or ""."""
    ops = sum(op["measured"]["median"] for op in data["plan"]["ops"])
    return _lab._shown_times(run_times(data), ops)


def _head(data: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": data["name"],
        "created": data["created"],
        "machine": data["machine"]["machine"],
        "threads": data["plan"]["threads"],
        "run": data["plan"]["times"]["run"],
        "run_text": shown(data)[0],
        "predicted_seconds": data["summary"]["predicted_seconds"],
    }


def _by_identity(data: dict[str, Any]) -> dict[tuple, dict[str, Any]]:
    found: dict[tuple, dict[str, Any]] = {}
    seen: dict[tuple, int] = {}
    for op in data["plan"]["ops"]:
        outputs = op["outputs"]
        key = (op["op"], outputs[0]["var"] if outputs else "")
        nth = seen[key] = seen.get(key, 0) + 1
        found[(*key, nth)] = op
    return found


def _pair_renamed(
    olds: dict[tuple, dict[str, Any]], news: dict[tuple, dict[str, Any]]
) -> None:
    """Rename keys in `olds` to those in `news` for ops with other outputs."""

    def alone(
        ops: dict[tuple, dict[str, Any]], others: dict[tuple, dict[str, Any]]
    ) -> dict[str, list[tuple]]:
        keys: dict[str, list[tuple]] = {}
        for key in ops:
            if key not in others:
                keys.setdefault(key[0], []).append(key)
        return keys

    gone, came = alone(olds, news), alone(news, olds)
    for op, keys in gone.items():
        if len(keys) != len(came.get(op, ())):
            continue
        for before, after in zip(keys, came[op], strict=True):
            olds[after] = olds.pop(before)


def _row(
    old: dict[str, Any] | None, new: dict[str, Any] | None, least: float
) -> dict[str, Any]:
    changes = []
    if old is None or new is None:
        changes.append("added" if old is None else "removed")
    else:
        if (old["library"], old["variant"]) != (new["library"], new["variant"]):
            changes.append("kernel")
        changes += [
            fact
            for fact in ("dtype", "layout", "place")
            if old[fact] != new[fact]
        ]
        if _shorter(old["measured"], new["measured"], least):
            changes.append("slower")
        elif _shorter(new["measured"], old["measured"], least):
            changes.append("faster")
    return {
        "changes": changes,
        "seconds": _median(new) - _median(old),
        "old": _side(old),
        "new": _side(new),
    }


def _shorter(a: dict[str, float], b: dict[str, float], least: float) -> bool:
    return (
        a["high"] < b["low"]
        and b["median"] > 1.05 * a["median"]
        and b["median"] - a["median"] > least
    )


def _median(op: dict[str, Any] | None) -> float:
    return 0.0 if op is None else op["measured"]["median"]


def _side(op: dict[str, Any] | None) -> dict[str, Any] | None:
    if op is None:
        return None
    side = {fact: op[fact] for fact in _FACTS}
    side |= {"index": op["index"], "op": call_name(op)}
    side["number"] = call_number(op)
    side["output"] = op["outputs"][0]["var"] if op["outputs"] else ""
    side["measured"] = op["measured"]
    side["predicted_seconds"] = op["predicted_seconds"]
    return side
