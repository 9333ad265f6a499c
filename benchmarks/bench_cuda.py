"""CUDA: every kernel compared with the device's limits, and training steps.

  ./dev bench cuda [--json FILE] [--peers] [--seconds S] [--program PATH]
                   [--python PATH]

cuda/*: rows of bench_cuda_kernels, see benchmarks/results/README.md;
train/mlp64/cuda, train/lenet64/cuda, infer/lenet_b1/cuda, infer/lenet_b64/cuda:
like those of bench_train.py for the CPU, with all data on the device.

With --peers also PyTorch of the interpreter --python, else of this one or of
python3; nothing is installed. If there is ncu, the ten rows farthest from their
limit get its metrics of their kernels. The page of a JSON file:
benchmarks/worst_kernels.py FILE.

Status 1: a row failed. Times of an emulated device mean nothing.
"""

from __future__ import annotations

import csv
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import types

import bench_report
import worst_kernels

FOLDER = pathlib.Path(__file__).resolve().parent
PROGRAM = "build/release/benchmarks/bench_cuda_kernels"
# Limits of the steps, in seconds.
LIMITS = {
    "program": 300,
    "kernels": 70,
    "training": 40,
    "compiled": 60,
    "ncu": 40,
}
# Seconds for a program to end itself.
GRACE = 20
METRICS = {
    "dram": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
}


def last_line(text: str) -> str:
    """The last line that is not empty: mostly why a program failed."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "it said nothing"


class TimeLeft:
    """The remaining time of --limit, for consecutive steps."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    def of(self, step: str) -> float:
        """Seconds that the step may take; 0 if none are left."""
        left = self.end - time.monotonic()
        # The kernels are first, and leave time for the other steps.
        if step == "program":
            left *= 0.6
        return max(min(LIMITS[step], left), 0.0)


def run_kernels(
    options, folder: pathlib.Path, left: TimeLeft
) -> tuple[dict, int]:
    """The output of bench_cuda_kernels, and its exit status."""
    file = folder / "kernels.json"
    limit = left.of("program")
    command = [options.program, "--json", file, "--limit", str(limit)]
    command += ["--seconds", str(options.seconds)]
    try:
        # It ends itself, unless a row hangs.
        status = subprocess.run(command, timeout=limit + GRACE).returncode
    except subprocess.TimeoutExpired:
        status = "none: it hung"
    if not file.exists():
        raise SystemExit(
            f"bench_cuda: {options.program} ended with status {status} and "
            "wrote no figures"
        )
    return json.loads(file.read_text()), status != 0


def take_over(found: dict, report: bench_report.Report) -> None:
    """Adds the rows of bench_cuda_kernels to the report."""
    for name in ("machine", "device", "emulated", "failed"):
        report.header[name] = found[name]
    report.left_out.update(found["left_out"])
    for row in found["rows"]:
        known = {
            name: row.pop(name)
            for name in ("id", "unit", "value", "limit", "at_most", "of_best")
        }
        row.pop("peers")
        report.rows.append(bench_report.Row(**known, more=row))


def training_seconds(options) -> float:
    """Seconds for each figure of a network."""
    return min(1.0, 10 * options.seconds)


def measure_training(options, report: bench_report.Report) -> None:
    """Adds the rows of the networks, and writes options.case for peers."""
    try:
        import bench_train
        import networks
    except ImportError as error:
        report.left_out["train and infer"] = f"{error}"
        return
    names = list(networks.IMAGE)
    if report.header["emulated"]:
        names.remove("lenet64")
        report.left_out["train/lenet64/cuda"] = "too much for an emulation"
    try:
        bench_train.write_cases(options.case, names)
        found = networks.figures(
            types.SimpleNamespace(seconds=training_seconds(options)),
            "sluice",
            "cuda",
            networks.load(options.case),
            {"sluice": functools.partial(bench_train.make_step, place="cuda:0")},
            {"sluice": functools.partial(bench_train.make_forward, place="cuda:0")},
        )
        for row, _, value in found:
            report.add(row, "us", value)
    except (Exception, SystemExit) as error:  # a wrong loss ends the script
        print(f"training FAILED: {error}")
        report.header["failed"]["training"] = str(error)


def variables_of_peers() -> dict[str, str]:
    """The environment without our own library paths."""
    ours = {"PYTHONPATH", "LD_LIBRARY_PATH"}
    variables = {k: v for k, v in os.environ.items() if k not in ours}
    before = os.environ.get("LIBRARY_PATH_BEFORE_KIT")  # set by run.sh
    if before is None:
        before = os.environ.get("LD_LIBRARY_PATH", "")
    return variables | {"LD_LIBRARY_PATH": before} if before else variables


def python_with_torch(options) -> str:
    """The interpreter that can import PyTorch. Raises RuntimeError."""
    if options.python:
        candidates = [options.python]
    else:
        candidates = [sys.executable, shutil.which("python3")]
    reasons = []
    for python in dict.fromkeys(filter(None, candidates)):
        tried = subprocess.run(
            [python, "-c", "import torch"],
            capture_output=True,
            text=True,
            timeout=60,
            env=variables_of_peers(),
        )
        if tried.returncode == 0:
            return python
        reasons.append(f"{python}: {last_line(tried.stderr)}")
    raise RuntimeError("; ".join(reasons))


def run_peer(command: list, limit: float) -> dict:
    """The script's last JSON line, even after a timeout. Raises RuntimeError
    with its output if there is none."""
    variables = variables_of_peers()
    with (
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as errors,
    ):
        try:
            status = subprocess.run(
                command,
                stdout=out,
                stderr=errors,
                timeout=limit,
                env=variables,
            ).returncode
            why = ""
        except subprocess.TimeoutExpired:
            status, why = 1, f"it took more than {limit:.0f} s"
        out.seek(0)
        errors.seek(0)
        said = errors.read()
        sys.stderr.write(said)
        lines = [line for line in out.read().splitlines() if line[:1] == "{"]
    found = json.loads(lines[-1]) if lines else {"rows": {}, "left_out": {}}
    if status != 0:
        found["left_out"]["torch: " + str(command[-1])] = why or last_line(said)
    return found


def measure_peers(
    options, report: bench_report.Report, folder, left: TimeLeft
) -> None:
    """Adds PyTorch's figures to the rows."""
    try:
        python = python_with_torch(options)
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        report.left_out["torch"] = f"{error}"
        return
    rows = folder / "rows.json"
    listed = subprocess.run(
        [options.program, "--list"], stdout=subprocess.PIPE, check=True
    )
    rows.write_bytes(listed.stdout)
    command = [python, FOLDER / "peers" / "cuda_torch.py"]
    command += ["--rows", rows, "--ours", folder / "kernels.json"]
    command += ["--case", options.case, "--device", options.peer_device]
    if report.header["emulated"]:
        command += ["--only", worst_kernels.SMALLEST]
    by_id = {row.id: row for row in report.rows}
    for part in ("kernels", "training", "compiled"):
        if part != "kernels" and not pathlib.Path(options.case).exists():
            continue
        limit, seconds = left.of(part), training_seconds(options)
        if limit < 20:
            report.left_out[f"torch: {part}"] = "no time left (--limit)"
            continue
        if part == "kernels":
            seconds = options.seconds
        times = ["--seconds", str(seconds), "--budget", str(limit - 10)]
        found = run_peer([*command, *times, "--part", part], limit)
        if "library" in found:
            report.header["torch"] = found["library"]
        report.left_out.update(found["left_out"])
        for row, values in found["rows"].items():
            by_id[row].peers.update(values)


def read_ncu(text: str) -> list[dict]:
    """The kernels of `ncu --csv`, each with METRICS in percent."""
    lines = text.splitlines()
    start = [i for i, line in enumerate(lines) if line.startswith('"ID"')]
    if not start:
        errors = [line for line in lines if "ERROR" in line]
        raise RuntimeError(errors[0] if errors else last_line(text))
    kernels: dict[str, dict] = {}
    for row in csv.DictReader(lines[start[0] :]):
        if not row.get("Metric Name"):
            continue
        kernel = kernels.setdefault(
            row["ID"], {"kernel": row["Kernel Name"].split("(")[0]}
        )
        for name, metric in METRICS.items():
            if row["Metric Name"] == metric:
                value = row["Metric Value"].replace(",", "")
                kernel[name] = float(value)
    return [k for k in kernels.values() if METRICS.keys() <= k.keys()]


def profile_worst(options, report: bench_report.Report, left: TimeLeft) -> None:
    """Adds ncu's metrics to the rows that are farthest from their limits."""
    ncu = shutil.which("ncu") or shutil.which("/usr/local/cuda/bin/ncu")
    if ncu is None or report.header["emulated"]:
        report.left_out["ncu"] = (
            "there is no ncu" if ncu is None else "the device is emulated"
        )
        return
    rows = {row.id: row for row in report.rows}
    limited = [
        {"id": r.id, "unit": r.unit, "value": r.value, "limit": r.limit}
        for r in report.rows
        if r.limit and not r.id.startswith("cuda/copy")
    ]
    end = time.monotonic() + left.of("ncu")
    for found in worst_kernels.worst(limited):
        command = [ncu, "--csv", "--profile-from-start", "off"]
        command += ["--launch-count", "4"]
        command += ["--metrics", ",".join(METRICS.values())]
        command += [options.program, "--profile", "--only", found["id"]]
        try:
            run = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=max(end - time.monotonic(), 1),
            )
            rows[found["id"]].more["ncu"] = read_ncu(run.stdout + run.stderr)
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
            report.left_out["ncu"] = f"{found['id']}: {error}"
            return


def parse_options():
    """Parses the command line of all benchmarks, and paths."""
    parser = bench_report.option_parser(__doc__, seconds=0.05)
    parser.add_argument(
        "--program",
        default=str(FOLDER.parent / PROGRAM),
        help="bench_cuda_kernels",
    )
    parser.add_argument(
        "--limit", type=float, default=600, help="seconds for everything"
    )
    parser.add_argument("--python", help="an interpreter that has PyTorch")
    parser.add_argument(
        "--peer-device",
        default="cuda",
        choices=("cuda", "cpu"),
        help="cpu: to try the peers without a GPU",
    )
    return parser.parse_args()


def main() -> int:
    options = parse_options()
    began = time.monotonic()
    report = bench_report.Report(options)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        options.case = str(folder / "case.npz")
        left = TimeLeft(options.limit)
        found, failed = run_kernels(options, folder, left)
        take_over(found, report)
        # Written after every step, so that a stopped run leaves its results.
        report.write()
        measure_training(options, report)
        report.write()
        if options.peers:
            measure_peers(options, report, folder, left)
            report.write()
        profile_worst(options, report, left)
    report.header["seconds"] = round(time.monotonic() - began, 1)
    return report.finish() or failed or bool(report.header["failed"])


if __name__ == "__main__":
    sys.exit(main())
