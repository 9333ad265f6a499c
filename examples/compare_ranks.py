"""Runs distributed_digits.py with several numbers of ranks, and compares them.

Unknown arguments are passed to it, such as --epochs 5.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import console

SCRIPT = Path(__file__).parent / "distributed_digits.py"


def launch(ranks: int, arguments: list[str]) -> None:
    """Run the script with mpirun; show its epochs on a bar, print the rest."""
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        raise SystemExit(
            "compare_ranks: no mpirun; Debian has it in openmpi-bin"
        )
    command = [mpirun, "-n", str(ranks)]
    if ranks > len(os.sched_getaffinity(0)):
        command.append("--oversubscribe")
    environment = {
        **os.environ,
        # All ranks are on this machine, which may have no network.
        "OMPI_MCA_btl": "^tcp",
        # Containers forbid its system call, which Open MPI would report.
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    }
    if os.geteuid() == 0:
        environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
        environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    with (
        subprocess.Popen(
            [*command, sys.executable, str(SCRIPT), *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        ) as run,
        console.progress(f"ranks: {ranks}") as bar,
    ):
        for line in run.stdout:
            if re.match("epoch .* of ", line):
                bar.set_postfix_str(line.rstrip())
            else:
                bar.write(line.rstrip())
    if run.returncode != 0:
        raise SystemExit(f"compare_ranks: {ranks} ranks failed")


def difference(result: dict, other: dict) -> float:
    """The largest difference between the losses of an epoch."""
    pairs = zip(result["losses"], other["losses"], strict=True)
    return max(abs(a - b) for a, b in pairs)


def table(results: list[dict]) -> str:
    """A table of all measurements, one column for each number of ranks."""

    def row(name: str, texts: list[str]) -> str:
        return f"{name:<28}" + "".join(f"{text:>12}" for text in texts)

    def times(key: str) -> list[str]:
        return [f"{r[key]:.2f} ms" if key in r else "-" for r in results]

    first = results[0]
    epochs = zip(*(result["losses"] for result in results), strict=True)
    return "\n".join(
        [
            row("ranks", [str(result["ranks"]) for result in results]),
            *(
                row(f"loss of epoch {number}", [f"{x:.6f}" for x in losses])
                for number, losses in enumerate(epochs, 1)
            ),
            row(
                f"largest difference to {first['ranks']}",
                ["-", *(f"{difference(r, first):.1e}" for r in results[1:])],
            ),
            row("accuracy", [f"{100 * r['accuracy']:.1f} %" for r in results]),
            row("seconds", [f"{result['seconds']:.1f}" for result in results]),
            row("per step, median", times("step_ms")),
            row(
                "gradients per step",
                [console.size(result["gradient_bytes"]) for result in results],
            ),
            row("all-reduces alone, per step", times("alone_ms")),
            row("waited for them, per step", times("wait_ms")),
            row(
                "hidden",
                [
                    f"{100 * r['hidden']:.0f} %" if "hidden" in r else "-"
                    for r in results
                ],
            ),
        ]
    )


def main() -> None:
    """Run all, print the table, and exit with an error if losses differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--ranks",
        type=int,
        nargs="+",
        default=[1, 2, 4],
        help="numbers of processes",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("build/demo"),
        help="folder of the picture",
    )
    options, arguments = parser.parse_known_args()
    options.output.mkdir(parents=True, exist_ok=True)
    print(
        f"LeNet is trained by {', '.join(map(str, options.ranks))} processes "
        "in turn: about 40 s on 2 cores;\n--epochs 2 for a look"
    )
    results = []
    for ranks in options.ranks:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "result.json"
            files = [
                f"--json={path}",
                f"--checkpoint={options.output / 'distributed.safetensors'}",
                f"--trace={options.output / f'ranks_{ranks}.json'}",
            ]
            launch(ranks, [*files, *arguments])
            results.append(json.loads(path.read_text()))
    cores = len(os.sched_getaffinity(0))
    print(f"\n{cores} cores, one thread a rank\n{table(results)}")
    # Rounding differs, and the difference grows from step to step.
    worst = max(difference(result, results[0]) for result in results)
    if not worst <= 1e-4:
        raise SystemExit(
            f"compare_ranks: losses differ by {worst:.1e}, more than 1e-4"
        )
    console.finish(
        {
            options.output / f"ranks_{ranks}.json": "a timeline of a step"
            for ranks in options.ranks
        }
        | {options.output / "distributed.safetensors": "a checkpoint"},
        "open a timeline in ui.perfetto.dev",
    )


if __name__ == "__main__":
    main()
