"""The process that ``tune`` tries kernels of others in.

``python -m sluice.lab.tune_worker JOB FD``: tunes a program, prints what was
found, and writes a line of JSON to FD before each kernel is run.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import sluice as sl
from sluice import _core, display

from . import programs, worker


def _own(name: str, kernels: list[dict[str, str]]) -> bool:
    """Whether a kernel is one of those that were brought."""
    return any(
        name.startswith(f"{k['op']}/{k['variant']} ({k['place']} {k['dtype']} ")
        and name.endswith(f" {k['library']})")
        for k in kernels
    )


def _comparison(
    result: Any, kernels: list[dict[str, str]]
) -> list[tuple[str, str, str]]:
    """For each signature with such a kernel: signature, outcome, kernel."""
    rows = []
    for tuned in result.signatures:
        timed = [k for k in tuned.kernels if k.verdict == "ok" and k.rounds]
        mine = [k for k in timed if _own(k.name, kernels)]
        others = [k for k in timed if not _own(k.name, kernels)]
        if not mine or not others:
            continue
        best = min(mine, key=lambda k: k.median)
        rival = min(others, key=lambda k: k.median)
        if tuned.tie and tuned.winner.name in (best.name, rival.name):
            word = "ties with"
        else:
            word = "wins over" if best.median < rival.median else "loses to"
        rows.append(
            (
                tuned.signature,
                f"{best.name} {best.median * 1e6:.2f} us {word} "
                f"{rival.name} {rival.median * 1e6:.2f} us",
                word,
            )
        )
    return rows


def _tune(job: dict[str, Any], say: Any) -> None:
    kernels = [
        kernel for path in job["kernels"] for kernel in worker.load(path)
    ]
    program = programs.load(job["program"], job["batch"])
    if job["threads"]:
        sl.set_num_threads(job["threads"])
    fetches = program.fetch_list
    if fetches is None:
        fetches = display.unread(program.program)
    say(event="loaded")
    with sl.kernel_hints(job["hints"]):
        result = _core._tune(
            sl.Executor(job["place"]),
            program.program,
            program.feed,
            fetches,
            program.scope,
            float(job["budget"]),
            job["again"],
            None,
            lambda kernel, signature: say(
                event="kernel", kernel=kernel, signature=signature
            ),
        )
    print(result, end="")
    rows = _comparison(result, kernels)
    for signature, text, _ in rows:
        print(f"{signature}: {text}")
    wins = sum(word == "wins over" for *_, word in rows)
    print(f"your kernels win {wins} of {len(rows)} signatures that they take")


def main() -> None:
    """Do the job of the command line."""
    job = json.loads(sys.argv[1])
    with os.fdopen(int(sys.argv[2]), "w", encoding="utf-8") as pipe:

        def say(**what: Any) -> None:
            pipe.write(json.dumps(what) + "\n")
            pipe.flush()

        try:
            _tune(job, say)
        except (sl.SluiceError, OSError) as error:
            say(event="refused", message=str(error))
        else:
            say(event="end")


if __name__ == "__main__":
    main()
