"""The process in which ``tune`` tries foreign kernels.

``python -m sluice.lab.tune_worker JOB FD``: tunes a program, prints the result,
and writes a line of JSON to FD before each kernel runs.
"""

from __future__ import annotations

import math
from typing import Any

import sluice as sl
from sluice import _lab
from sluice.program import unread

from . import programs, text, worker
from .records import kept
from .supervise import reporting


def _rule(kernel: Any, op: str) -> str:
    """The hint that requires a kernel."""
    return f"{op}: prefer library={kernel.library}, variant={kernel.variant}"


def _outcome(tuned: Any, kernels: list[dict[str, str]]) -> dict[str, str]:
    """The winner of a signature that one of these kernels supports; else {}."""
    timed = [k for k in tuned.kernels if k.verdict == "ok" and k.rounds]
    mine = [k for k in timed if k._kernel in kernels]
    others = [k for k in timed if k._kernel not in kernels]
    if not mine or not others:
        return {}
    best = min(mine, key=lambda k: k.median)
    rival = min(others, key=lambda k: k.median)
    if tuned.tie and tuned.winner.name in (best.name, rival.name):
        word = "ties with"
    else:
        word = "wins over" if best.median < rival.median else "loses to"
    times = [text.time(k.median) for k in (best, rival)]
    return {
        "text": f"{best.name} {times[0]} {word} {rival.name} {times[1]}",
        "word": word,
        "rule": _rule(best, tuned.op),
    }


def _table(result: Any, kernels: list[dict[str, str]], all: bool) -> str:
    """A table of signatures with their kernels, the fastest first.

    Only signatures that these kernels support, unless ``all``.

    The result's own table would show the hints of this process as the plan's
    previous choice.
    """
    lines = []
    left_out = 0
    for tuned in result.signatures:
        if not all and not any(k._kernel in kernels for k in tuned.kernels):
            left_out += 1
            continue
        lines.append(text.wrap(tuned.signature))
        for k in sorted(
            tuned.kernels, key=lambda k: k.median if k.rounds else math.inf
        ):
            time = text.time(k.median) if k.rounds else "-"
            own = "  yours" if k._kernel in kernels else ""
            wrong = "  WRONG" if k.verdict == "wrong" else ""
            lines.append(f"  {k.name:40} {time:>8}{own}{wrong}")
            if k.message:
                lines.append(text.wrap(k.message, 4, 6))
        outcome = _outcome(tuned, kernels)
        if outcome:
            lines.append(f"  {outcome['text']}")
    if left_out:
        others = text.count(left_out, "signature")
        lines.append(f"... {others} without kernels of yours: --all")
    found = [t for t in result.signatures if t.winner is not None]
    measured = text.count(len(found), "signature")
    last = f"{measured} measured in {text.time(result.seconds)}"
    if result.known:
        last += f", {result.known} known already"
    if result.left_out:
        why = ": other programs had the CPUs" if result.disturbed else ""
        last += f", {result.left_out} left out{why or ' for want of time'}"
    return "\n".join([*lines, last])


def _right(kernels: list[dict[str, str]], wrong: list[str]) -> bool:
    """Whether a kernel exists that is not in ``wrong``."""
    names = {
        f"{k['op']}/{k['variant']} ({k['place']} {k['library']})"
        for k in kernels
        if k["variant"] != worker.GRADIENT
    }
    return bool(names.difference(wrong))


def _summary(
    outcomes: list[dict[str, str]], known: int, right: bool, wrong: list[str]
) -> str:
    """The outcome for the kernels; ``right``: not all of them are wrong."""
    if wrong and not right:
        return f"your kernels are wrong, and were left out: {', '.join(wrong)}"
    words = [outcome["word"] for outcome in outcomes]
    if words:
        message = (
            f"your kernels win {words.count('wins over')} of "
            f"{text.count(len(words), 'signature')} that they take"
        )
        ties = words.count("ties with")
        if ties:
            message += f", and tie in {ties}"
    elif known:
        message = (
            "your kernels were not measured: --again measures also what has "
            "records"
        )
    else:
        message = "your kernels were raced for no signature of this program"
    if wrong:
        message += "; left out, because they are wrong: "
        message += ", ".join(wrong)
    return message


def _tune(job: dict[str, Any], say: Any) -> dict[str, list[str]]:
    kernels = [
        kernel for path in job["kernels"] for kernel in worker.load(path)
    ]
    program = programs.load(job["program"], job["batch"])
    if job["threads"]:
        sl.set_num_threads(job["threads"])
    fetches = program.fetch_list
    if fetches is None:
        fetches = unread(program.program)
    say("loaded")
    with sl.kernel_hints(job["hints"]):
        result = _lab._tune(
            sl.Executor(job["place"]),
            program.program,
            program.feed,
            fetches,
            program.scope,
            float(job["budget"]),
            job["again"],
            None,
            lambda kernel, signature: say(
                "kernel", kernel=kernel, signature=signature
            ),
        )
    text.show(_table(result, kernels, job["all"]), r"^.*  yours.*$")
    outcomes = [_outcome(tuned, kernels) for tuned in result.signatures]
    outcomes = [outcome for outcome in outcomes if outcome]
    right = _right(kernels, job["wrong"])
    print(text.wrap(_summary(outcomes, result.known, right, job["wrong"])))
    by_word: dict[str, list[str]] = {}
    for outcome in outcomes:
        rules = by_word.setdefault(outcome["word"], [])
        if outcome["rule"] not in rules:
            rules.append(outcome["rule"])
    return by_word


def main() -> None:
    """Do the job of the command line."""
    with reporting() as (job, say):
        try:
            outcome = _tune(job, say)
        except (sl.SluiceError, OSError) as error:
            say("refused", message=str(error))
        else:
            say("end", outcome=outcome, kept=kept())


if __name__ == "__main__":
    main()
