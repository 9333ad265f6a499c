"""Networks on a busy machine, compared with onnxruntime.

  ./dev bench busy [--json FILE] [--peers] [--only-model NAME]

busy/<load>/<network>: one image with two threads, in ms, the median of turns
with one thread and with two of onnxruntime's. The loads: quiet; one and two,
beside so many processes that spin; pinned, narrowed to one CPU after the start;
half, with half of a CPU by a control group, which root can make. Two threads may
take as long as one when the machine is quiet, and else 1.3 times as long; the
row's "one_thread" is that time. Untuned, without records.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import statistics
import subprocess
import sys

import bench_models
import bench_report

LOADS = {"quiet": 0, "one": 1, "two": 2, "pinned": 0, "half": 0}  # spinners
OF_ONE_THREAD = {"quiet": 1.0}  # else:
AT_WORST = 1.3
NETWORKS = ["resnet50", "squeezenet", "shufflenet", "bvlc_alexnet"]
TURNS = 10
CGROUPS = pathlib.Path("/sys/fs/cgroup")
PERIOD_US = 100_000  # of a control group


@contextlib.contextmanager
def spinning(count):
    """Processes that use a CPU each."""
    spinners = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(count)
    ]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


@contextlib.contextmanager
def half_a_cpu(processes):
    """Puts the processes into a control group. Raises OSError."""
    is_second = (CGROUPS / "cgroup.controllers").exists()  # version 2
    root = CGROUPS if is_second else CGROUPS / "cpu"
    group = root / "sluice_bench_busy"
    limits = {"cpu.max": f"{PERIOD_US // 2} {PERIOD_US}"} if is_second else {
        "cpu.cfs_period_us": PERIOD_US, "cpu.cfs_quota_us": PERIOD_US // 2}

    def move_to(folder):
        for process in processes:
            (folder / "cgroup.procs").write_text(str(process.pid))

    group.mkdir(exist_ok=True)
    try:
        for file, limit in limits.items():
            (group / file).write_text(str(limit))
        move_to(group)
        yield
    finally:
        with contextlib.suppress(OSError):
            move_to(root)
        group.rmdir()


def pin(processes):
    """Narrows all their threads to one CPU."""
    cpu = min(os.sched_getaffinity(0))
    for process in processes:
        for thread in os.listdir(f"/proc/{process.pid}/task"):
            os.sched_setaffinity(int(thread), {cpu})


def measure(report, load, network, contestants, options):
    """Adds a row; contestants are (process, threads) by name."""
    path = bench_models.LIGHT / f"light_{network}.onnx"
    feeds = bench_models.feeds_file(bench_models.feeds_of(path))
    times = {name: [] for name in contestants}
    processes = [one.process for one, _ in contestants.values()]
    for one, threads in contestants.values():
        one.ask("load", str(path), threads, feeds)
    around = half_a_cpu(processes) if load == "half" else spinning(LOADS[load])
    with around:
        if load == "pinned":
            pin(processes)
        least = min(contestants["ours"][0].ask("run", 2))
        count = max(1, round(options.seconds * 1e3 / TURNS / least))
        for _ in range(1 if options.smoke else TURNS):
            for name, (one, _) in contestants.items():
                times[name] += one.ask("run", count)
    medians = {name: statistics.median(found) for name, found in times.items()}
    most = OF_ONE_THREAD.get(load, AT_WORST) * medians["one_thread"]
    report.add(f"busy/{load}/{network}", "ms", medians["ours"], most, of_best=1.0)
    report.rows[-1].more["one_thread"] = medians["one_thread"]
    if "onnxruntime" in medians:
        report.rows[-1].peers["onnxruntime"] = medians["onnxruntime"]


def main() -> int:
    parser = bench_report.option_parser(__doc__, seconds=1.5)
    parser.add_argument("--only-model", choices=NETWORKS)
    options = parser.parse_args()
    os.environ["SLUICE_RECORDS"] = "off"
    report = bench_report.Report(options)
    networks, loads = [options.only_model or NETWORKS[0]], ["quiet", "one"]
    if not options.smoke:
        networks, loads = networks if options.only_model else NETWORKS, LOADS
    for load in loads:
        names = {"one_thread": ("sluice", 1), "ours": ("sluice", 2)}
        if options.peers:
            names["onnxruntime"] = ("onnxruntime", 2)
        # Anew: a process that was pinned, or in a group, may have learned it.
        with contextlib.ExitStack() as stack:
            contestants = {}
            for name, (library, threads) in names.items():
                one = bench_models.process(library)
                stack.callback(one.close)
                contestants[name] = one, threads
            try:
                for network in networks:
                    measure(report, load, network, contestants, options)
            except OSError as error:
                report.left_out[f"busy/{load}"] = str(error)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
