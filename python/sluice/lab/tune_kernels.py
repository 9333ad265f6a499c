"""Tuning a program together with kernels that somebody brings."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from sluice import _core

from .supervise import Worker, ended
from .verdicts import Verification
from .verify import verify
from .worker import GRADIENT

# Comparisons beyond the budget that one step may take.
_PATIENCE = 30


def _hints(verifications: list[Verification]) -> str:
    """Hints that keep wrong kernels out, and ops of the others unfused."""
    wrong: dict[str, None] = {}
    right: dict[str, None] = {}
    for verification in verifications:
        for verdict in verification.verdicts:
            if verdict.variant == GRADIENT:
                continue
            rule = f"library={verdict.library}, variant={verdict.variant}"
            if verdict.verdict == "WRONG":
                wrong[f"{verdict.op}: exclude {rule}"] = None
            else:
                right[f"{verdict.op}: prefer {rule}"] = None
    excluded = {rule.replace(": exclude ", ": prefer ") for rule in wrong}
    return "; ".join([*wrong, *(r for r in right if r not in excluded)])


def run(arguments: argparse.Namespace) -> int:
    """Verify the kernels, then tune with those that are right."""
    verifications = []
    for path in arguments.kernels:
        verification = verify(path, budget=_PATIENCE)
        print(verification)
        if verification.refusal:
            return 1
        verifications.append(verification)
    hints = _hints(verifications)
    status = 0 if all(verifications) else 1
    while True:
        job = {
            "program": arguments.program,
            "batch": arguments.batch,
            "kernels": arguments.kernels,
            "budget": arguments.budget,
            "again": arguments.again,
            "place": arguments.place,
            "threads": arguments.threads,
            "hints": hints,
        }
        failed = _tune_once(job)
        if failed is None:
            break
        status = 1
        # It was kept out, and still this happened: no hint will help.
        if not failed or failed in hints.split("; "):
            return status
        hints = f"{failed}; {hints}" if hints else failed
    user = _core._record_files()["user"]
    print(f"records: {user or 'in memory only, as SLUICE_RECORDS says'}")
    use = "; ".join(rule for rule in hints.split("; ") if ": prefer " in rule)
    libraries = [p for p in arguments.kernels if p.endswith(".so")]
    if use and libraries:
        paths = ":".join(os.path.abspath(path) for path in libraries)
        print(
            f"to use them in a program: SLUICE_KERNEL_PATH={paths} "
            f"SLUICE_KERNEL_HINTS='{use}'"
        )
    return status


def _tune_once(job: dict[str, Any]) -> str | None:
    """None when it came to an end; else a hint without the kernel that ended
    or held up the process, "" where none did."""
    patience = job["budget"] + _PATIENCE
    step: dict[str, Any] = {}
    with Worker("sluice.lab.tune_worker", job, capture=False) as worker:
        for event in worker.events(patience):
            if event["event"] == "end":
                return None
            if event["event"] == "refused":
                print(f"sluice-lab: {event['message']}", file=sys.stderr)
                return ""
            if event["event"] == "silence":
                worker.kill()
                break
            step = event
        status = worker.wait()
    message = (
        f"no end after {patience:g} s"
        if step and status == -9 and worker.killed
        else ended(status)
    )
    kernel = step.get("kernel", "")
    where = f"{kernel} on {step['signature']}" if kernel else "the program"
    print(f"FAIL {where}: {message}", file=sys.stderr)
    return _exclude(kernel)


def _exclude(kernel: str) -> str:
    """The hint that keeps "relu/mine (cpu float32 any MINE)" out."""
    if not kernel:
        return ""
    name, _, key = kernel.partition(" (")
    op, _, variant = name.partition("/")
    library = key.rstrip(")").split()[-1]
    return f"{op}: exclude library={library}, variant={variant}"
