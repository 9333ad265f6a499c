"""Measures a program, and gathers what its report says."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import sluice as sl
from sluice import display
from sluice.errors import InvalidArgumentError

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
) -> Report:
    """Measure the plan that ``Executor.run`` would use, and report on it.

    Args:
        program: what to run; its parameters must be there.
        feed: as for ``Executor.run``.
        fetch_list: as for ``Executor.run``; what no op reads if None.
        tune: seconds for ``sl.tune`` before, so that candidates have measured
            times; None measures no kernel by itself.
        seconds: for running the plan, as a whole and op by op.
        place: where the program shall run; the CPU if None.
        scope: where parameters live; the global scope if None. It is not
            written.
        name: what the page calls the program.

    Returns:
        The report: ``save("report.html")``, ``data`` is its JSON.

    Raises:
        InvalidArgumentError: a number of seconds that is not above 0.
        SluiceError: what running the program raises.
    """
    if not isinstance(program, sl.Program):
        raise InvalidArgumentError(
            "report: program: expected a Program, got "
            f"{type(program).__name__}",
            "lab.report_program",
        )
    fetches = display.unread(program) if fetch_list is None else fetch_list
    if tune is not None:
        sl.tune(program, feed, fetches, tune, place=place, scope=scope)
    plan = sl.Executor(place).prepare(program, feed, fetches)
    (made,) = report_plans(
        [plan], program, feed, seconds=seconds, scope=scope, names=[name]
    )
    return made


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

    Their times can be compared: what disturbs one disturbs all. For plans by
    other hints, or from before and after ``sl.tune``.

    Args:
        plans: of ``Executor.prepare``, for the same feeds.
        program: that they were prepared from.
        feed: as for ``Executor.run``.
        seconds: for running all plans.
        scope: as for :func:`report`.
        names: what the pages call them; "program" if empty.

    Raises:
        InvalidArgumentError: a number of seconds that is not above 0, or no
            plans.
        SluiceError: what running the plans raises.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise InvalidArgumentError(
            "report: seconds: expected a number above 0, got "
            f"{type(seconds).__name__}",
            "lab.report_seconds",
        )
    scope = sl.global_scope() if scope is None else scope
    timed = sl._core._time_plans(
        list(plans), program, feed, scope, float(seconds)
    )
    machine = measure_machine(min(seconds / 4, _MOST_SECONDS_FOR_MACHINE))
    reports = []
    for i, one in enumerate(timed):
        plan = json.loads(one.json)
        data = {
            "schema": SCHEMA,
            "version": VERSION,
            "name": names[i] if i < len(names) else "program",
            "created": datetime.now(timezone.utc).strftime(
                "%Y-%m-%dT%H:%M:%SZ"
            ),
            "sluice": sl.__version__,
            "machine": machine,
            "assumed_machine": json.loads(
                sl._core._machine_figures(plan["threads"])
            ),
            "tuning": os.environ.get("SLUICE_TUNE", "estimate"),
            "summary": _summary(plan),
            "plan": plan,
        }
        reports.append(Report(data, one.chrome_trace))
    return reports


def _summary(plan: dict[str, Any]) -> dict[str, Any]:
    ops = plan["ops"]
    evidence: dict[str, int] = {}
    libraries: dict[str, int] = {}
    for op in ops:
        evidence[op["evidence"]] = evidence.get(op["evidence"], 0) + 1
        libraries[op["library"]] = libraries.get(op["library"], 0) + 1
    return {
        "ops": len(ops),
        "predicted_seconds": sum(op["predicted_seconds"] for op in ops),
        "measured_seconds": plan["times"]["run"]["median"],
        "op_seconds": sum(op["measured"]["median"] for op in ops),
        "evidence": evidence,
        "libraries": libraries,
        "transfer_bytes": sum(t["bytes"] for t in plan["transfers"]),
        "arena_bytes": sum(plan["arenas"].values()),
    }
