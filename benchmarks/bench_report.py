"""The shared parts of benchmarks in Python: command line, timing, and the table
that they print and write, like bench_util.h for C++.

  bench_report.py PROGRAM --peers [--json FILE] [argument of PROGRAM...]

runs a benchmark in C++, and measures its peers.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

FOLDER = pathlib.Path(__file__).resolve().parent
PEERS = FOLDER / "peers"
sys.path.append(str(PEERS))

import libraries  # noqa: E402


@dataclass
class Row:
    """One figure; less is better, unless the unit is per second or there is an
    `at_least`. `limit` is the machine's limit, `at_most` or `at_least` the
    bound, and `of_best` a bound as a share of the best peer's time. `more` is
    copied to the JSON file."""

    id: str
    unit: str
    value: float
    at_most: float | None = None
    of_best: float | None = None
    peers: dict[str, float] = field(default_factory=dict)
    limit: float | None = None
    more: dict = field(default_factory=dict)
    at_least: float | None = None

    @property
    def more_is_better(self) -> bool:
        """Whether larger figures are better."""
        return self.unit.endswith("/s") or self.at_least is not None

    @property
    def best(self) -> float:
        """The best peer's figure."""
        return (max if self.more_is_better else min)(self.peers.values())

    @property
    def share(self) -> float:
        """The share of the best peer's time."""
        if self.more_is_better:
            return self.best / self.value
        return self.value / self.best

    def missed(self) -> str:
        """By how much it misses its bound; "" if it does not."""
        if self.at_most is not None and not self.value <= self.at_most:
            return f"{self.value:.4g} {self.unit}, at most {self.at_most:.4g}"
        if self.at_least is not None and not self.value >= self.at_least:
            return f"{self.value:.4g} {self.unit}, at least {self.at_least:.4g}"
        if self.of_best is not None and self.peers:
            if not self.share <= self.of_best:
                return (
                    f"{self.share:.2f} of the best, at most {self.of_best:.4g}"
                )
        return ""

    def __str__(self) -> str:
        text = f"{self.id:28} {self.value:10.4g} {self.unit}"
        if self.at_most is not None:
            return f"{text}  of at most {self.at_most:.4g}"
        if self.at_least is not None:
            return f"{text}  of at least {self.at_least:.4g}"
        return text


class _Smoke(argparse.Action):
    """Makes each figure a single call, unless --seconds follows."""

    def __init__(self, **kwargs) -> None:
        super().__init__(nargs=0, default=False, **kwargs)

    def __call__(self, parser, namespace, values, option_string=None) -> None:
        namespace.smoke, namespace.seconds = True, 0.0


def option_parser(about: str, seconds: float) -> argparse.ArgumentParser:
    """The command line of all benchmarks."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--json", help="write the rows to this file")
    parser.add_argument(
        "--peers",
        action="store_true",
        help="measure other libraries, too; installs them on first use",
    )
    parser.add_argument("--only", help="the only peer to measure")
    parser.add_argument(
        "--seconds", type=float, default=seconds, help="for each figure"
    )
    parser.add_argument(
        "--smoke",
        action=_Smoke,
        help="run everything once, with small sizes, as a test: bounds of\n"
        "time do not count",
    )
    return parser


def parse_options(about: str, seconds: float) -> argparse.Namespace:
    """Parses the command line of a benchmark."""
    return option_parser(about, seconds).parse_args()


def machine() -> str:
    """The computer's name, like that of bench_util.cc."""
    import sluice

    found = sluice.show_config("dicts")
    count = len(os.sched_getaffinity(0))
    return f"{found['cpu']}, {count} CPUs, {found['instruction_set']}"


class Report:
    """The rows of a benchmark, and the skipped rows with reasons."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.rows: list[Row] = []
        self.left_out: dict[str, str] = {}
        # Members of the JSON file about all rows, besides the machine.
        self.header: dict = {}

    def add(self, *args, **kwargs) -> None:
        """Adds a Row and prints it."""
        self.rows.append(Row(*args, **kwargs))
        print(self.rows[-1], flush=True)

    def measure_peers(self, suite: str, *arguments: str) -> None:
        """Measures the suite's peers (peers/<suite>_*.py) with these arguments,
        and adds their figures to the rows with the same id. Libraries that fail
        are left out, with the reason."""
        if not self.options.peers:
            return
        only = self.options.only
        rows, left_out = libraries.measure(suite, arguments, only)
        self.left_out.update(left_out)
        for row in self.rows:
            row.peers.update(rows.get(row.id, {}))

    def finish(self) -> int:
        """Prints the rows with peers, and writes the JSON file in the form of
        bench_util.h. Returns the exit status: 1 if a figure is not finite, or
        misses its bound outside of a smoke run."""
        for row in self.rows:
            for peer, value in sorted(row.peers.items(), key=lambda p: p[1]):
                print(
                    f"{row}  {row.value / value:.2f} of {peer}, {value:.4g}"
                )
            if row.of_best is not None and row.peers:
                print(
                    f"{row.id:28} {row.share:10.2f} of the best, "
                    f"at most {row.of_best}"
                )
        for what, why in self.left_out.items():
            print(f"left out: {what}: {why}")
        missed = [row for row in self.rows if row.missed()]
        for row in missed:
            print(f"MISSED: {row.id}: {row.missed()}")
        wrong = [row for row in self.rows if not math.isfinite(row.value)]
        for row in wrong:
            print(f"WRONG: {row.id} is not finite")
        self.write()
        return 1 if wrong or (missed and not self.options.smoke) else 0

    def write(self) -> None:
        """Writes the JSON file, if requested."""
        if not self.options.json:
            return
        rows = [
            {
                "id": row.id,
                "unit": row.unit,
                "value": row.value,
                "limit": row.limit,
                "at_most": row.at_most,
                "of_best": row.of_best,
                "peers": row.peers,
                **({} if row.at_least is None else {"at_least": row.at_least}),
                **row.more,
            }
            for row in self.rows
        ]
        every = {
            **(self.header or {"machine": machine()}),
            "rows": rows,
            "left_out": self.left_out,
        }
        text = json.dumps(every, indent=1) + "\n"
        path = pathlib.Path(self.options.json)
        path.with_name(path.name + ".new").write_text(text)
        path.with_name(path.name + ".new").replace(path)


def main() -> int:
    """Runs a program, and its peers."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("program")
    parser.add_argument("--json")
    parser.add_argument("--peers", action="store_true")
    options, arguments = parser.parse_known_args()
    options.only, options.smoke = None, "--smoke" in arguments
    with tempfile.NamedTemporaryFile("r") as file:
        command = [options.program, "--json", file.name, *arguments]
        status = subprocess.run(command).returncode
        text = file.read()
    if not text:  # it wrote no rows
        return status or 1
    found = json.loads(text)
    report = Report(options)
    report.header["machine"] = found["machine"]
    report.left_out = found["left_out"]
    report.rows = [Row(**row) for row in found["rows"]]
    if "suite" in found:
        suite = found["suite"]
        report.measure_peers(suite["name"], *suite["arguments"])
    return report.finish() or status


if __name__ == "__main__":
    sys.exit(main())
