"""Runs PaddlePaddle's tests of Fluid's ops through the translation, and compares
with the lists in tests/fluid.

  ./dev fluid_suite FOLDER [RELEASE] [--only REGEX] [--write] [--docstrings]

FOLDER is a checkout of PaddlePaddle of that release, 1.8.3 or 2.1; the tests
are not part of Sluice. Exits with 1 if a class is better or worse than listed.
--write rewrites the list: counts are new, reasons stay, and classes that are
not right get a reason where the tool knows one, else "?". A list with a "?" is
wrong: somebody must look at the class. --only picks files, and prints what is
not right. --docstrings runs the programs in the docstrings of fluid instead;
FOLDER may be an unpacked wheel then, see docstrings.py. Tensors that a test
feeds for sizes, such as those of interp, unsqueeze2, crop_tensor, concat and
linspace, are constants here: programs that compute them may be refused.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import importlib
import multiprocessing
import os
import pathlib
import re
import signal
import sys
import unittest
import warnings
from collections.abc import Iterable
from typing import Any

import suite_lists
from suite_lists import Outcome

SECONDS = 60  # of CPU time for a class, whatever else the machine does
OTHERS = ("test_downpoursgd.py",)  # of no op; needs protobuf
TESTS = pathlib.Path("python/paddle/fluid/tests/unittests")


class TooLong(Exception):
    """A class takes more than SECONDS."""


def _alarm(*_: Any) -> None:
    raise TooLong


def run_class(case: Any, where: str) -> list[Outcome]:
    """The worst of the outputs and of the gradients of a class of tests."""
    from sluice.fluid.translate import ROWS
    from suite_op_test import OpTest
    from suite_paddle import Stand, UsesPaddle

    OpTest.found = []
    fault, test = "", None
    signal.signal(signal.SIGPROF, _alarm)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        case.setUpClass()
        for name in unittest.TestLoader().getTestCaseNames(case):
            test = case(name)
            method, before = getattr(test, name), len(OpTest.found)
            try:
                Stand.in_test = True
                test.setUp()
                if not getattr(method, "__unittest_skip__", False):
                    method()
                    # It expects what is refused in it.
                    OpTest.found[before:] = [
                        (check, op, "right", "")
                        if kind == "refused"
                        else (check, op, kind, text)
                        for check, op, kind, text in OpTest.found[before:]
                    ]
            except (UsesPaddle, unittest.SkipTest):
                pass
            except AssertionError as error:
                if len(OpTest.found) == before:
                    fault = f"the test fails: {error}"
            finally:
                Stand.in_test = False
    except TooLong:
        fault = f"takes more than {SECONDS} s"
    except Exception as error:
        fault = f"the test fails: {type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    worst: dict[str, Outcome] = {}
    for check, op, kind, text in OpTest.found:
        made = Outcome(where, op, check, kind, " ".join(text.split()))
        if check not in worst or made.rank > worst[check].rank:
            worst[check] = made
    if fault:
        op = str(getattr(test, "op_type", ""))
        kind = "wrong" if op in ROWS else "absent"
        worst["output"] = Outcome(where, op, "output", kind, fault)
    return list(worst.values())


def run_file(tests: pathlib.Path, path: str) -> list[Outcome]:
    """What each class of a file gives. Runs in a process of its own."""
    import numpy as np
    import sluice as sl
    import suite_paddle
    from suite_op_test import OpTest

    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    sl.set_num_threads(1)
    with open(os.devnull, "w") as devnull:  # for what the tests print
        os.dup2(devnull.fileno(), 1)
        os.dup2(devnull.fileno(), 2)
    suite_paddle.install(tests, OpTest)
    file = pathlib.Path(path).with_suffix("")
    try:
        module = importlib.import_module(file.name)
    except Exception as error:
        text = f"cannot be imported: {type(error).__name__}: {error}"
        return [Outcome(str(file), file.name, "output", "wrong", text)]
    made: list[Outcome] = []
    for name, case in list(vars(module).items()):
        if (
            isinstance(case, type)
            and issubclass(case, OpTest)
            and case.__module__ == module.__name__
            and case.__name__ == name
            and not getattr(case, "__unittest_skip__", False)
        ):
            made += run_class(case, f"{file}.{name}")
    return made


def files(tests: pathlib.Path, only: str) -> list[str]:
    """The files with tests of ops."""
    from suite_paddle import FOLDERS

    found = [
        path
        for folder in FOLDERS
        for path in sorted((tests / folder).glob("test_*.py"))
        if re.search(only, path.name)
        and "OpTest" in path.read_text("utf-8")
        and path.name not in OTHERS
    ]
    if not found:
        sys.exit(f"{tests}: no such folder, or no file with tests of ops in it")
    return [str(path.relative_to(tests)) for path in found]


def outcomes(tests: pathlib.Path, only: str) -> Iterable[Outcome]:
    """What all classes give, by name."""
    # A process for each file: they change what they import.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sluice", "suite_op_test"])
    jobs = int(os.environ.get("JOBS", os.cpu_count() or 1))
    with concurrent.futures.ProcessPoolExecutor(
        jobs, context, max_tasks_per_child=1
    ) as pool:
        futures = {
            path: pool.submit(run_file, tests, path)
            for path in files(tests, only)
        }
        for path, future in futures.items():
            try:
                yield from future.result()
            except concurrent.futures.process.BrokenProcessPool:
                sys.exit(f"{path}, or a file after it, ends the process")


def main() -> None:
    """Run, print and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument(
        "release", nargs="?", default="1.8.3", choices=suite_lists.RELEASES
    )
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--docstrings", action="store_true")
    given = parser.parse_args()
    if given.docstrings:
        import docstrings

        fluid = given.folder / "python/paddle/fluid"
        fluid = fluid if fluid.is_dir() else given.folder / "paddle/fluid"
        sys.exit(not docstrings.check(fluid, given.only, given.write))
    found = list(outcomes((given.folder / TESTS).resolve(), given.only))
    if given.only:
        for one in found:
            print(*dataclasses.astuple(one), sep=" | ")
        return
    path = suite_lists.path_of(given.release)
    old = suite_lists.read(path) if path.exists() else {}
    new = suite_lists.made_of(found, old)
    print(suite_lists.summary(new))
    changes = suite_lists.changes(old, new)
    print("\n".join(changes) or f"{path.name} is up to date")
    if given.write:
        path.write_text(suite_lists.text_of(given.release, new), "utf-8")
    elif changes:
        sys.exit(1)


if __name__ == "__main__":
    main()
