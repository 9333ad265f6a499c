"""Kills, stops or fails one of several ranks at random moments.

    ranks.py [--moments N] [--ranks N ...] [--seed N]

Each time the training must end within the promised time, name the rank and the
reason, and leave a checkpoint from which one rank continues.
"""

import argparse
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python"))
SCRIPT = ROOT / "tests/python/ranks/enduring.py"
STALL_SECONDS = 2
# How a rank fails, its error message, and seconds until all have ended.
WAYS = {
    "kill": (signal.SIGKILL, "process rank {} ", 5),
    "raise": (signal.SIGUSR1, "rank {}: RuntimeError: no more data", 5),
    "stop": (signal.SIGSTOP, "rank {} has not come to it", STALL_SECONDS + 5),
}


def command(ranks, path, what):
    return [
        "mpirun", "-n", str(ranks), "--oversubscribe",
        "--mca", "btl_vader_single_copy_mechanism", "none",
        sys.executable, str(SCRIPT), str(path), what,
    ]


def environment():
    return {
        **os.environ,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "SLUICE_STALL_SECONDS": str(STALL_SECONDS),
        "SLUICE_STALL_ABORT": "1",
        "SLUICE_RECORDS": "off",
    }


def one(ranks, way, victim, delay, path):
    """Makes one rank fail; returns the seconds, and an error or ""."""
    signal_number, _, seconds = WAYS[way]
    with subprocess.Popen(
        command(ranks, path, "train"), env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as job:
        # mpirun forwards the output of ranks in pieces, not in lines.
        text, processes = "", {}
        while len(processes) < ranks:
            text += os.read(job.stdout.fileno(), 4096).decode()
            found = re.findall(r"rank (\d+) pid (\d+) step \d", text)
            processes = {int(rank): int(pid) for rank, pid in found}
        time.sleep(delay)
        os.kill(processes[victim], signal_number)
        begin = time.monotonic()
        try:
            _, said = job.communicate(timeout=seconds + 15)
        except subprocess.TimeoutExpired:
            for process in [job.pid, *processes.values()]:
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            _, said = job.communicate()
        return time.monotonic() - begin, said, job.returncode


def problem(ranks, way, victim, delay, path):
    _, said_of_it, seconds = WAYS[way]
    took, said, status = one(ranks, way, victim, delay, path)
    if took > seconds:
        return took, f"ended after {took:.1f} s; expected {seconds} s\n{said}"
    if status == 0:
        return took, f"ended without an error\n{said}"
    if said_of_it.format(victim) not in said:
        return took, f"does not say which rank it was\n{said}"
    if not path.exists():
        return took, ""  # nothing had been saved yet
    if [file for file in path.parent.iterdir() if file != path]:
        left = sorted(file.name for file in path.parent.iterdir())
        # The unfinished file of a killed rank remains beside the checkpoint.
        if way != "kill" or victim != 0:
            return took, f"files are left: {left}"
    again = subprocess.run(
        command(1, path, "load"), env=environment(), capture_output=True,
        text=True, timeout=60, check=False,
    )
    if again.returncode != 0 or "rank 0 done" not in again.stdout:
        return took, f"the checkpoint is lost\n{again.stderr}"
    return took, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--moments", type=int, default=50)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else time.time_ns() % 10**6
    print(f"seed {seed}", flush=True)
    rng = random.Random(seed)
    failed = 0
    slowest = dict.fromkeys(WAYS, 0.0)
    for moment in range(options.moments):
        ranks = options.ranks[moment % len(options.ranks)]
        way = [*WAYS][moment // len(options.ranks) % len(WAYS)]
        victim = rng.randrange(ranks)
        delay = rng.random() * 0.6
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "training.safetensors"
            took, text = problem(ranks, way, victim, delay, path)
        slowest[way] = max(slowest[way], took)
        what = f"{way} rank {victim} of {ranks} after {delay:.2f} s"
        print(f"{moment}: {what}: {took:.1f} s {text or 'ok'}", flush=True)
        failed += bool(text)
    print(f"{options.moments - failed} passed, {failed} failed; slowest:",
          ", ".join(f"{way} {took:.1f} s" for way, took in slowest.items()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
