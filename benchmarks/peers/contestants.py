"""Processes of contestants, and what their turns say."""

from __future__ import annotations

import json
import math
import os
import pathlib
import select
import statistics
import subprocess
import sys
import tempfile

import libraries

HERE = pathlib.Path(__file__).resolve().parent
CHECK_LIMIT, SAMPLE_LIMIT = 1200, 300  # seconds; torch.compile takes minutes
TOLERANCE = 1e-3
# How reasons begin that are no failure: see with_sluice.offered.
REFUSED = "refused: "


class FailedError(Exception):
    """A contestant that cannot run, with the reason."""


def environment(library: str, threads: int) -> dict[str, str]:
    """The variables of a contestant's process."""
    found = dict(os.environ, CUDA_VISIBLE_DEVICES="",
                 PYTHONDONTWRITEBYTECODE="1")
    if library != "sluice":
        found.pop("PYTHONPATH", None)
        found.update(libraries.thread_variables(threads))
    return found


def counting_mallocs(folder: str) -> str:
    """Compiles count_mallocs.c and returns the library."""
    library = f"{folder}/count_mallocs.so"
    command = ["cc", "-O2", "-shared", "-fPIC", "-o", library,
               str(HERE.parent / "fluid" / "count_mallocs.c")]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise FailedError(f"{REFUSED}no compiler: {error}") from None
    return library


class Contestant:
    """One way to compute a row, in a process of its own; see worker.py."""

    def __init__(self, row, name, threads, *options, module=None):
        self.name, self.library = name, name.split("_")[0]
        variables = environment(self.library, threads)
        python = sys.executable
        if self.library != "sluice":
            try:
                python = libraries.environment(self.library)
            except (OSError, RuntimeError) as error:
                raise FailedError(str(error)) from None
        self.folder = tempfile.TemporaryDirectory()
        if row == "mallocs":
            variables["LD_PRELOAD"] = counting_mallocs(self.folder.name)
        self.log = open(f"{self.folder.name}/log", "w+b")
        # Ctrl-C is for the main process, which ends this one.
        self.process = subprocess.Popen(
            [python, HERE / "worker.py", module or f"with_{self.library}", row,
             name, str(threads), *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
            env=variables, start_new_session=True,
        )

    def ask(self, word: str, *arguments, limit: float = CHECK_LIMIT):
        """Calls a method of the contestant and returns the answer."""
        line = json.dumps([word, *arguments])
        try:
            self.process.stdin.write(f"{line}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it ended, and its log says why
        ready, _, _ = select.select([self.process.stdout], [], [], limit)
        if not ready:
            raise FailedError(f"took more than {limit:.0f} s")
        answer = self.process.stdout.readline()
        if not answer:
            raise FailedError(self._last_words())
        return json.loads(answer)

    def check(self) -> dict:
        """The losses of the first steps, and the library's version."""
        return self.ask("check")

    def sample(self, seconds: float) -> float:
        """A figure of one turn."""
        return self.ask("sample", seconds, limit=SAMPLE_LIMIT)

    def close(self) -> None:
        """Ends the process."""
        self.process.kill()
        self.process.communicate()
        self.log.close()
        self.folder.cleanup()

    def _last_words(self) -> str:
        self.process.wait()
        self.log.seek(0)
        lines = self.log.read().decode(errors="replace").splitlines()
        words = [line.strip() for line in lines if line.strip()]
        # The message of an error of ours is followed by the line of its op.
        errors = [line for line in words if "Error: " in line[:60]
                  or line.startswith(REFUSED)]
        return (errors or words or [f"status {self.process.returncode}"])[-1]


def difference(ours: list[float], theirs: list[float]) -> float:
    """The largest difference, relative to ours; infinite where they differ in
    number."""
    if len(ours) != len(theirs):
        return math.inf
    found = 0.0
    for a, b in zip(ours, theirs):
        off = abs(a - b) / max(abs(a), 1e-30)
        found = max(found, off if math.isfinite(off) else math.inf)
    return found


def interval(values: list[float]) -> tuple[float, float]:
    """Bounds of the median at 95 % for any distribution: values between which
    it lies unless as many turns fell on one side as 2.5 % of tossed coins do.
    All values, where there are fewer than six."""
    values, count = sorted(values), len(values)
    outside, tail = 0, 0.0
    for k in range(count // 2):
        tail += math.comb(count, k) / 2**count
        if tail > 0.025:
            break
        outside = k
    return values[outside], values[count - 1 - outside]


def ratio(ours: list[float], theirs: list[float]) -> tuple:
    """The median of the turns' ratios, and its interval."""
    ratios = [a / b if b else math.inf for a, b in zip(ours, theirs)]
    return statistics.median(ratios), *interval(ratios)
