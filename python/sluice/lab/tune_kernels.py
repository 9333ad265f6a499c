"""Tunes a program with additional kernels from files."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from . import text
from .supervise import Worker, ended
from .verdicts import Verification
from .verify import verify
from .worker import GRADIENT

# Seconds of comparisons that one step may take beyond the budget.
_PATIENCE = 30


def _hints(verifications: list[Verification]) -> str:
    """Hints that exclude wrong kernels and keep ops of the others unfused."""
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
        text.show(verification)
        if verification.refusal:
            return 1
        verifications.append(verification)
    hints = _hints(verifications)
    wrong = _wrong(verifications)
    status = 0 if all(verifications) else 1
    while True:
        job = {
            "program": arguments.program,
            "batch": arguments.batch,
            "kernels": arguments.kernels,
            "budget": arguments.budget,
            "again": arguments.again,
            "all": arguments.all,
            "place": arguments.place,
            "threads": arguments.threads,
            "hints": hints,
            "wrong": wrong,
        }
        outcome, failed, kept = _tune_once(job)
        if outcome is not None:
            break
        status = 1
        # It was excluded and still failed, so no hint will help.
        if not failed or failed in hints.split("; "):
            return status
        hints = f"{failed}; {hints}" if hints else failed
    print(f"records: {kept}")
    for line in _advice(arguments.kernels, outcome):
        print(line)
    return status


def _wrong(verifications: list[Verification]) -> list[str]:
    """Names of the excluded kernels, each once."""
    return list(
        dict.fromkeys(
            f"{verdict.op}/{verdict.variant} "
            f"({verdict.place} {verdict.library})"
            for verification in verifications
            for verdict in verification.verdicts
            if verdict.verdict == "WRONG" and verdict.variant != GRADIENT
        )
    )


def _advice(files: list[str], by_word: dict[str, list[str]]) -> list[str]:
    """Instructions for using the kernels; the last lines are to be copied.

    ``by_word`` has hints that require kernels, by outcome.
    """
    if not by_word:
        return []
    won, lost = by_word.get("wins over", []), by_word.get("loses to", [])
    lines = []
    if not won:
        lines.append("they win nowhere: without a hint plans use the others")
    elif set(won) & set(lost):
        lines.append(
            "the hint takes them where they lose, too: without it plans choose "
            "by the records"
        )
    libraries = [
        os.path.abspath(path) for path in files if path.endswith(".so")
    ]
    environment = []
    if libraries:
        environment.append(f"SLUICE_KERNEL_PATH={':'.join(libraries)}")
    if won:
        environment.append(f"SLUICE_KERNEL_HINTS='{'; '.join(won)}'")
    steps = [f"import {path}" for path in files if not path.endswith(".so")]
    steps += [" ".join(environment)] if environment else []
    lines.append("to use them in a program: " + ", ".join(steps))
    return lines


def _tune_once(
    job: dict[str, Any],
) -> tuple[dict[str, list[str]] | None, str, str]:
    """Hints that require kernels, by outcome, if tuning ended normally.

    Then the last is where records are. Else None, and a hint that excludes the
    kernel that crashed or hung, or "".
    """
    patience = job["budget"] + _PATIENCE
    step: dict[str, Any] = {}
    with Worker("sluice.lab.tune_worker", job, capture=False) as worker:
        for event in worker.events(patience):
            if event["event"] == "end":
                return event["outcome"], "", event["kept"]
            if event["event"] == "refused":
                print(f"sluice-lab: {event['message']}", file=sys.stderr)
                return None, "", ""
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
    kernel = step.get("kernel")
    where, excluded = "the program", ""
    if kernel:
        where = (
            f"{kernel['op']}/{kernel['variant']} ({kernel['place']} "
            f"{kernel['dtype']} {kernel['library']}) "
            f"on {step['signature']}"
        )
        excluded = (
            f"{kernel['op']}: exclude library={kernel['library']}, "
            f"variant={kernel['variant']}"
        )
    print(f"FAIL {where}: {message}", file=sys.stderr)
    return None, excluded, ""
