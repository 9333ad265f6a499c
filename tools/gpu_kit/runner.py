"""What the parts of the GPU kit share: processes with time limits, results."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import datetime
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

PASSED, FAILED, LEFT_OUT = "passed", "failed", "left out"
_RESULTS = (
    "gpu_kit.json", "gpu_kit.log", "cuda.json", "table1.json",
    "worst_kernels.md",
)
_KEPT = 4 << 20  # bytes of an output's beginning, and of its end


def last_lines(text: str, at_most: int = 2000) -> str:
    """The end of a long text, from a line's beginning."""
    if len(text) <= at_most:
        return text
    return "...\n" + text[-at_most:].partition("\n")[2]


@dataclasses.dataclass
class Outcome:
    """How a process ended."""

    command: str = ""  # runs it again from a shell
    output: str = ""  # standard output and error, in the order written
    seconds: float = 0.0
    status: int | None = None  # of exit; negative: the signal that ended it
    timed_out: bool = False
    not_started: str = ""

    @property
    def ok(self) -> bool:
        return self.status == 0 and not self.timed_out

    @property
    def ending(self) -> str:
        if self.not_started:
            return f"not started: {self.not_started}"
        if self.timed_out:
            return f"stopped after its limit, {self.seconds:.0f} s"
        if self.status is not None and self.status < 0:
            name = signal.strsignal(-self.status)
            return f"ended by signal {-self.status} ({name})"
        return f"exit status {self.status}"

    @property
    def detail(self) -> str:
        return "" if self.ok else f"{self.ending}\n{last_lines(self.output)}"


class Kit:
    """Where things are, which libraries are used, and what was found out.

    ``add`` and ``run`` may be called from several threads.

    Args:
        folder: of the kit.
        output: a folder for the results; those of earlier runs get numbers.
        libraries: folders with cuBLAS and the driver, or "".
        python: the Python with NumPy that the user names, or "".
        jobs: processes at once.
        limit: seconds for everything.

    Raises:
        OSError: the results cannot be written.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        output: pathlib.Path,
        libraries: str = "",
        python: str = "",
        jobs: int = 1,
        limit: float = 580.0,
    ) -> None:
        self.folder, self.output = folder, output
        self.libraries, self.python = libraries, python
        self.jobs, self.limit = jobs, limit
        self.mode = "emulated"
        self.failures = 0
        self.about: dict[str, Any] = {
            "started": datetime.datetime.now(datetime.timezone.utc).isoformat(
                timespec="seconds"
            ),
            "limit_seconds": limit,
            "jobs": jobs,
        }
        self._begin = time.monotonic()
        self._part_ends = 0.0
        self._parts: list[dict[str, Any]] = []
        self._items: list[dict[str, Any]] = []
        self._lock = threading.RLock()
        self._running: set[int] = set()
        output.mkdir(parents=True, exist_ok=True)
        _number_earlier_results(output)
        self._log = open(output / "gpu_kit.log", "w", encoding="utf-8")
        self.scratch = pathlib.Path(tempfile.mkdtemp(dir=output))

    @property
    def on_gpu(self) -> bool:
        return self.mode == "gpu"

    def program(self, name: str) -> str:
        """The path of a program that exists once."""
        return str(self.folder / "bin" / name)

    def mode_program(self, name: str) -> str:
        """The path of a program that exists once for each mode."""
        return str(self.folder / self.mode / "bin" / name)

    def seconds_left(self) -> float:
        """What is left of the current part."""
        return self._part_ends - self._elapsed()

    def print(self, text: str) -> None:
        with self._lock:
            print(text, flush=True)
            print(text, file=self._log, flush=True)

    def shell(self, command: Sequence[str], mode: str = "") -> str:
        run = str(self.folder / "run.sh")
        return shlex.join([run, "--exec", mode or self.mode, *command])

    def run(
        self, command: Sequence[str], seconds: float, mode: str = ""
    ) -> Outcome:
        """Run a program with the libraries of ``mode``.

        It is killed after ``seconds``, or when the part ends, with all that it
        has started. Its output goes to the log.
        """
        paths = [self.folder / (mode or self.mode) / "lib", self.folder / "lib"]
        libraries = ":".join([*map(str, paths), self.libraries]).rstrip(":")
        environment = {
            **{k: v for k, v in os.environ.items() if k[:6] != "GTEST_"},
            "LD_LIBRARY_PATH": libraries,
            "PYTHONPATH": str(self.folder / "python"),
            "SLUICE_TEST_CASES": f"{self.python or 'python3'}:{self.folder}/cases",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        limit = min(seconds, self.seconds_left())
        outcome = Outcome(not_started="no time left of the part")
        if limit > 0:
            outcome = self._run(list(command), environment, limit)
        outcome.command = self.shell(command, mode)
        with self._lock:
            print(
                f"\n$ {outcome.command}\n{outcome.output}"
                f"[{outcome.ending}, {outcome.seconds:.1f} s]",
                file=self._log,
                flush=True,
            )
        return outcome

    def _run(
        self, command: list[str], environment: dict[str, str], limit: float
    ) -> Outcome:
        begin = time.monotonic()
        # A file, and no pipe: a process that it started may keep that open.
        with tempfile.TemporaryFile(dir=self.scratch) as output:
            try:
                process = subprocess.Popen(
                    command,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                return Outcome(not_started=f"{command[0]}: {error.strerror}")
            outcome = Outcome()
            with self._lock:
                self._running.add(process.pid)
            try:
                outcome.status = process.wait(limit)
            except subprocess.TimeoutExpired:
                outcome.timed_out = True
            _kill(process.pid)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)  # a driver may keep it for longer
            with self._lock:
                self._running.discard(process.pid)
            outcome.seconds = time.monotonic() - begin
            outcome.output = _kept(output)
            return outcome

    def kill_all(self) -> None:
        """Kill what runs: nothing may be left on the GPU."""
        with self._lock:
            for group in self._running:
                _kill(group)

    def add(
        self,
        name: str,
        status: str,
        seconds: float = 0.0,
        detail: str = "",
        figures: Any = None,
        command: str = "",
    ) -> None:
        """Report one thing that the part tried."""
        if status != PASSED:
            text = f": {last_lines(detail, 600)}" if detail else ""
            self.print(f"  {status}: {name}{text}")
        item = {"name": name, "status": status, "seconds": seconds}
        if detail:
            item["detail"] = detail
        if figures is not None:
            item["figures"] = figures
        if command and status == FAILED:
            item["command"] = command
        with self._lock:
            self._items.append(item)

    def fail(
        self, name: str, detail: str, outcome: Outcome | None = None
    ) -> None:
        """Report a failure, which the program of ``outcome`` showed."""
        at = outcome or Outcome()
        self.add(name, FAILED, at.seconds, detail, command=at.command)

    def report(self, name: str, outcome: Outcome, figures: Any = None) -> None:
        """Report that a program has passed or failed."""
        self.add(
            name,
            PASSED if outcome.ok else FAILED,
            outcome.seconds,
            outcome.detail,
            figures,
            outcome.command,
        )

    def run_part(
        self, number: int, name: str, seconds: float, body: Callable[[], None]
    ) -> None:
        """Run a part, which ends after ``seconds`` or with the whole kit."""
        begin = self._elapsed()
        self._part_ends = min(self.limit, begin + seconds)
        self._items = []
        self.print(f"part {number}: {name}")
        if self.seconds_left() <= 0:
            text = f"no time left of the {self.limit:.0f} s for all parts"
            self.fail("everything", f"{text} (--limit)")
        else:
            try:
                body()
            except Exception as error:  # noqa: BLE001  the other parts go on
                self.fail("the part itself", repr(error))
        counts = {
            status: sum(item["status"] == status for item in self._items)
            for status in (PASSED, FAILED, LEFT_OUT)
        }
        self.failures += counts[FAILED]
        took = self._elapsed() - begin
        self.print(
            "  "
            + ", ".join(f"{n} {status}" for status, n in counts.items())
            + f" in {took:.1f} s"
        )
        self._parts.append(
            {
                "part": number,
                "name": name,
                "mode": self.mode,
                "seconds": took,
                "limit_seconds": seconds,
                **{k.replace(" ", "_"): n for k, n in counts.items()},
                "items": self._items,
            }
        )
        self._write(finished=False)

    def parallel(
        self, what: str, tasks: Iterable[Any], work: Callable[[Any], None]
    ) -> None:
        """Call ``work`` for each task, several at a time.

        Those that the part has no time for are one failed item, ``what``.
        """
        tasks = list(tasks)
        left = 0

        def one(task: Any) -> bool:
            if self.seconds_left() <= 0:
                return False
            try:
                work(task)
            except Exception as error:  # noqa: BLE001
                self.fail(what, repr(error))
            return True

        said = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for done, ran in enumerate(pool.map(one, tasks), 1):
                left += not ran
                if time.monotonic() - said > 10:
                    said = time.monotonic()
                    self.print(f"  {what}: {done} of {len(tasks)}")
        if left:
            text = f"the time of the part is over: {left} of {len(tasks)}"
            self.fail(what, f"{text} were not run")

    def finish(self) -> int:
        """Print where the results are; the number of failures."""
        self._write(finished=True)
        shutil.rmtree(self.scratch, ignore_errors=True)
        device = (
            f"on {self.about.get('gpu', 'a GPU')}"
            if self.on_gpu
            else "ON THE EMULATION: no GPU was used"
        )
        self.print(
            f"{self.failures} failed, {device}; {self.output / 'gpu_kit.json'} "
            f"and {self.output / 'gpu_kit.log'}"
        )
        self._log.close()
        return self.failures

    def _elapsed(self) -> float:
        return time.monotonic() - self._begin

    def _write(self, finished: bool) -> None:
        # After every part, so that a run that is stopped leaves what it has.
        path = self.output / "gpu_kit.json"
        new = path.with_suffix(".json.new")
        content = {
            "kit": self.about,
            "mode": self.mode,
            "finished": finished,
            "failures": self.failures,
            "parts": self._parts,
        }
        new.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        new.replace(path)


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _kept(output: Any) -> str:
    """A file as text; of a long one the beginning and the end."""
    size = output.seek(0, os.SEEK_END)
    output.seek(0)
    if size <= 2 * _KEPT:
        return output.read().decode(errors="replace")
    first = output.read(_KEPT)
    output.seek(-_KEPT, os.SEEK_END)
    return (first + b"\n[...]\n" + output.read()).decode(errors="replace")


def _number_earlier_results(folder: pathlib.Path) -> None:
    """gpu_kit.json of an earlier run becomes gpu_kit.json.1, and so on."""
    number = 1
    while any((folder / f"{name}.{number}").exists() for name in _RESULTS):
        number += 1
    for name in _RESULTS:
        if (folder / name).exists():
            (folder / name).rename(folder / f"{name}.{number}")


_MARK = re.compile(
    r"\[ +(RUN|OK|FAILED|SKIPPED) +\] (\S+?)(?:,.*)?(?: \((\d+) ms\))?$"
)


def parse_tests(output: str) -> list[dict[str, Any]]:
    """The results of the tests in what GoogleTest prints, in order.

    The last one is failed, without an end, where the program died in it.
    """
    items: list[dict[str, Any]] = []
    running = None
    for line in output.splitlines():
        found = _MARK.match(line)
        kind, test, ms = found.groups() if found else ("", "", None)
        if kind == "RUN":
            running = test
            items.append(
                {"name": test, "status": FAILED, "seconds": 0.0, "detail": ""}
            )
        elif running is None:
            continue
        elif kind and test == running:
            status = {"OK": PASSED, "SKIPPED": LEFT_OUT}.get(kind, FAILED)
            items[-1].update(status=status, seconds=int(ms or 0) / 1000)
            if status == PASSED:
                items[-1]["detail"] = ""
            running = None
        else:
            items[-1]["detail"] = last_lines(items[-1]["detail"] + line + "\n")
    return items


def run_tests(
    kit: Kit,
    program: str,
    pattern: str = "*",
    options: Sequence[str] = (),
    one_process_each: bool = False,
    seconds: float = 60.0,
) -> None:
    """Run the tests of a GoogleTest program, and report each.

    After one that fails, dies or hangs the others go on in a new process: it
    may have lost the device. ``seconds`` is the limit of a process.
    """

    def command(filter_: str) -> list[str]:
        return [program, f"--gtest_filter={filter_}", "--gtest_color=no", *options]

    listed = kit.run([*command(pattern), "--gtest_list_tests"], 60)
    left = _listed(listed.output) if listed.ok else []
    if not left:
        text = f"it lists no tests ({listed.ending}):\n{last_lines(listed.output)}"
        kit.fail(f"{program} {pattern}", text, listed)
    while left:
        if kit.seconds_left() <= 0:
            text = f"the time of the part is over, {len(left)} tests were not run"
            kit.fail(program, f"{text}, {left[0]} the first of them")
            return
        batch = left[:1] if one_process_each else left
        outcome = kit.run(
            [*command(":".join(batch)), "--gtest_fail_fast"], seconds
        )
        items = parse_tests(outcome.output)
        # Those after a failure are reported as skipped, and have yet to run.
        for i, item in enumerate(items):
            if item["status"] == FAILED:
                del items[i + 1 :]
                break
        for item in items:
            shell = kit.shell(command(item["name"]))
            _report_test(kit, item, outcome, items, shell)
        if not outcome.ok and all(i["status"] != FAILED for i in items):
            text = f"{outcome.ending} although no test failed:\n"
            kit.fail(program, text + last_lines(outcome.output), outcome)
        seen = {item["name"].rpartition(" ")[2] for item in items}
        rest = [test for test in left if test not in seen]
        if len(rest) == len(left):
            text = f"{len(left)} tests were listed and did not run"
            text += f" ({outcome.ending}): {', '.join(left)}"
            kit.fail(program, text, outcome)
            return
        left = rest


def _report_test(
    kit: Kit,
    item: dict[str, Any],
    outcome: Outcome,
    items: list[dict[str, Any]],
    command: str,
) -> None:
    status, detail = item["status"], item["detail"]
    died = outcome.timed_out or (outcome.status or 0) < 0
    if status == FAILED and item is items[-1] and died:
        detail = f"{outcome.ending}\n{detail}"
    # A test that is skipped for want of a GPU would hide that it is gone.
    if status == LEFT_OUT and kit.on_gpu and "emulat" not in detail:
        status, detail = FAILED, f"skipped on a GPU: {detail}"
    kit.add(item["name"], status, item["seconds"], detail, command=command)


def _listed(output: str) -> list[str]:
    """The names in what --gtest_list_tests prints."""
    tests, suite = [], ""
    for line in output.splitlines():
        name = line.partition("#")[0].rstrip()
        if name.endswith(".") and not name.startswith(" "):
            suite = name
        elif (
            name.startswith("  ") and suite and "DISABLED_" not in suite + name
        ):
            tests.append(suite + name.strip())
    return tests
