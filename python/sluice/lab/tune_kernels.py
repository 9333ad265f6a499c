"""Tunes a program with additional kernels from files."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from sluice.compiling import compile_library
from sluice.kernel_sources import ENDINGS

from . import text
from .supervise import Worker, ended
from .verdicts import Verdict
from .verify import verify
from .worker import GRADIENT

# Seconds of comparisons that one step may take beyond the budget.
_PATIENCE = 30
# What the process that tunes is told of the command.
_OPTIONS = (
    "program", "batch", "kernels", "budget", "again", "all", "place", "threads",
)  # fmt: skip


def _hints(verdicts: list[Verdict]) -> str:
    """Hints that exclude wrong kernels and keep ops of the others unfused."""
    wrong, right = [], []
    for verdict in verdicts:
        rule = f"library={verdict.library}, variant={verdict.variant}"
        side = wrong if verdict.verdict == "WRONG" else right
        side.append((verdict.op, rule))
    hints = [f"{op}: exclude {rule}" for op, rule in wrong]
    hints += [
        f"{op}: prefer {rule}" for op, rule in right if (op, rule) not in wrong
    ]
    return "; ".join(dict.fromkeys(hints))


def run(arguments: argparse.Namespace) -> int:
    """Verify the kernels, then tune with those that are right."""
    verifications = []
    for path in arguments.kernels:
        verification = verify(path, budget=_PATIENCE)
        text.show(verification)
        if verification.refusal:
            return 1
        verifications.append(verification)
    verdicts = [
        verdict
        for verification in verifications
        for verdict in verification.verdicts
        if verdict.variant != GRADIENT
    ]
    hints = _hints(verdicts)
    wrong = [v.kernel for v in verdicts if v.verdict == "WRONG"]
    status = 0 if all(verifications) else 1
    while True:
        job = {name: getattr(arguments, name) for name in _OPTIONS}
        job |= {"hints": hints, "wrong": list(dict.fromkeys(wrong))}
        outcome, failed, records = _tune_once(job)
        if outcome is not None:
            break
        status = 1
        # It was excluded and still failed, so no hint will help.
        if not failed or failed in hints.split("; "):
            return status
        hints = f"{failed}; {hints}" if hints else failed
    print(f"records: {records}")
    for line in _advice(arguments.kernels, outcome):
        print(line)
    return status


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
        str(compile_library(path))
        if path.endswith(ENDINGS)
        else os.path.abspath(path)
        for path in files
        if not path.endswith(".py")
    ]
    environment = []
    if libraries:
        environment.append(f"SLUICE_KERNEL_PATH={':'.join(libraries)}")
    if won:
        environment.append(f"SLUICE_KERNEL_HINTS='{'; '.join(won)}'")
    steps = [f"import {path}" for path in files if path.endswith(".py")]
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
