"""Measures a program and collects the data of its report."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import sluice as sl
from sluice.errors import InvalidArgumentError
from sluice.program import unread
from sluice.show.explanation import layer_names
from sluice.show.summary import MOST_OPS

from ..machine import measure_machine
from .document import SCHEMA, VERSION, Report

_MOST_SECONDS_FOR_MACHINE = 1.5


def report(
    program: sl.Program,
    feed: Mapping[str, Any] | None = None,
    fetch_list: Sequence[Any] | None = None,
    *,
    tune: float | None = None,
    seconds: float = 3,
    place: Any = None,
    scope: sl.Scope | None = None,
    name: str = "program",
    role: str = "",
) -> Report:
    """Measure the plan that ``Executor.run`` would use, and report on it.

    Args:
        program, feed, fetch_list, place, scope: as for :func:`sluice.tune`.
        tune: seconds for a preceding ``sl.tune``, so that candidates have
            measured times; None for no tuning.
        seconds: for running the plan, as a whole and op by op.
        name: the program's name on the page.
        role: what it is, e.g. "ONNX model", for the page's heading.

    Returns:
        The report: ``save("report.html")``, ``data`` is its JSON.

    Raises:
        InvalidArgumentError: the number of seconds is not above 0.
        SluiceError: what running the program raises.
    """
    if not isinstance(program, sl.Program):
        raise InvalidArgumentError(
            "report: program: expected a Program, got "
            f"{type(program).__name__}",
            "lab.report_program",
        )
    fetches = unread(program) if fetch_list is None else fetch_list
    if tune is not None:
        sl.tune(program, feed, fetches, tune, place=place, scope=scope)
    plan = sl.Executor(place).prepare(program, feed, fetches)
    (result,) = report_plans(
        [plan], program, feed, seconds=seconds, scope=scope, names=[name]
    )
    result.data["role"] = role
    return result


def report_plans(
    plans: Sequence[sl._core.Plan],
    program: sl.Program,
    feed: Mapping[str, Any] | None = None,
    *,
    seconds: float = 3,
    scope: sl.Scope | None = None,
    names: Sequence[str] = (),
) -> list[Report]:
    """Report on several plans of one program, which take turns.

    Their times can be compared, since disturbances affect all alike. Plans may
    differ by hints, or be from before and after ``sl.tune``.

    Args:
        plans: plans of ``Executor.prepare``, for the same feeds.
        program: the program that they were prepared from.
        feed: as for ``Executor.run``.
        seconds: for running all plans.
        scope: as for :func:`report`.
        names: their names on the pages; "program" if empty.

    Raises:
        InvalidArgumentError: the number of seconds is not above 0, or there are
            no plans.
        SluiceError: what running the plans raises.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise InvalidArgumentError(
            "report: seconds: expected a number above 0, got "
            f"{type(seconds).__name__}",
            "lab.report_seconds",
        )
    scope = sl.global_scope() if scope is None else scope
    plans = list(plans)
    titles = [*names, *["program"] * (len(plans) - len(names))]
    timed = sl._lab._time_plans(
        plans, program, feed, scope, float(seconds), titles
    )
    machine = measure_machine(min(seconds / 4, _MOST_SECONDS_FOR_MACHINE))
    reports = []
    for i, one in enumerate(timed):
        plan = json.loads(one.json)
        layers = layer_names(program)
        for op in plan["ops"]:
            firsts = (layers.get(value["var"]) for value in op["outputs"])
            op["layer"] = next(firsts, None)
        sizes = Counter(op["layer"] for op in plan["ops"])
        for op in plan["ops"]:
            many = op["layer"] and sizes[op["layer"]] > MOST_OPS
            op["layer"] = list(op["layer"]) if many else None
        data = {
            "schema": SCHEMA,
            "version": VERSION,
            "name": titles[i],
            "created": datetime.now(timezone.utc).strftime(
                "%Y-%m-%dT%H:%M:%SZ"
            ),
            "sluice": sl.__version__,
            "machine": machine,
            "assumed_machine": json.loads(
                sl._lab._machine_figures(plan["threads"])
            ),
            "tuning": os.environ.get("SLUICE_TUNE", "estimate"),
            "fault": _fault(plans[i], program, feed, scope),
            "summary": _summary(plan),
            "plan": plan,
        }
        reports.append(Report(data, one.chrome_trace))
    return reports


def _fault(
    plan: sl._core.Plan, program: sl.Program, feed: Any, scope: sl.Scope
) -> dict[str, Any] | None:
    """The plan's op that makes NaN or an infinity, or leaves elements of its
    outputs, and what ``Executor.run_checked`` says: about the op as written,
    where one that fuses it is at fault.
    """
    op, text = sl._lab._find_fault(plan, program, feed, scope)
    if not text:
        return None
    as_written = sl.Executor(plan.place, passes=False).prepare(
        program, feed, plan.fetch_names
    )
    _, written = sl._lab._find_fault(as_written, program, feed, scope)
    fused = f"{text}\nonly where ops are fused: sluice.lab.bisect says which"
    return {"op": op, "text": written or fused}


def _summary(plan: dict[str, Any]) -> dict[str, Any]:
    ops = plan["ops"]
    return {
        "ops": len(ops),
        "predicted_seconds": sum(op["predicted_seconds"] for op in ops),
        "measured_seconds": plan["times"]["run"]["median"],
        "op_seconds": sum(op["measured"]["median"] for op in ops),
        "decided_by": Counter(op["decided_by"] for op in ops),
        "evidence": Counter(op["evidence"] for op in ops),
        "libraries": Counter(op["library"] for op in ops),
        "transfer_bytes": sum(t["bytes"] for t in plan["transfers"]),
        "arena_bytes": sum(plan["arenas"].values()),
    }
