"""Runs the programs in the docstrings of PaddlePaddle's Fluid on Sluice, and
compares with tests/fluid/docstrings_1.8.txt; see suite.py.

A program is a Python code block that imports paddle. It runs as a script does
under `python -m sluice.fluid`, in a process and a folder of its own.
"""

from __future__ import annotations

import ast
import collections
import gzip
import math
import multiprocessing
import os
import pathlib
import re
import signal
import struct
import tempfile
import textwrap
import warnings
from collections.abc import Iterator
from typing import Any

SECONDS = 60  # for a program
LIST = pathlib.Path(__file__).parents[2] / "fluid" / "docstrings_1.8.txt"
# Folders of fluid whose programs are not for its static graphs.
FOLDERS = "contrib", "dygraph", "incubate", "transpiler", "tests"
MODULES = "communicator", "data_feed_desc", "dataset"  # for parameter servers
HEAD = (
    "Programs in the docstrings of Fluid 1.8 that do not run on Sluice, by",
    "reason. ./dev fluid_suite FOLDER --docstrings [--write] compares.",
)


def _blocks(text: str) -> Iterator[str]:
    """The Python code blocks of a docstring."""
    lines, at = text.expandtabs().splitlines(), 0
    while at < len(lines):
        head = re.match(r"(\s*)\.\. code-block:: *python", lines[at])
        at += 1
        if head is None:
            continue
        body = []
        for line in lines[at:]:
            if line.strip() and len(line) - len(line.lstrip()) <= len(head[1]):
                break
            body.append(line)
        at += len(body)
        yield textwrap.dedent("\n".join(body)).strip() + "\n"


def _documented(tree: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """The names and docstrings of what is defined in a module."""
    kinds = ast.Module, ast.ClassDef, ast.FunctionDef
    if isinstance(tree, kinds):
        yield name, ast.get_docstring(tree, clean=False) or ""
    for child in ast.iter_child_nodes(tree):
        inner = getattr(child, "name", "")
        yield from _documented(child, f"{name}.{inner}" if inner else name)


def programs(fluid: pathlib.Path) -> dict[str, str]:
    """The programs by name: module, what it documents, and a number."""
    found: dict[str, str] = {}
    for path in sorted(fluid.rglob("*.py")):
        parts = path.relative_to(fluid).with_suffix("").parts
        if parts[0] in FOLDERS or parts[-1] in MODULES:
            continue
        tree = ast.parse(path.read_text("utf-8"))
        for name, text in _documented(tree, ".".join(parts)):
            for block in _blocks(text):
                if re.search(r"(import|from) paddle", block):
                    count = sum(k.rpartition("#")[0] == name for k in found)
                    found[f"{name}#{count + 1}"] = block
    return found


def _write_datasets(home: pathlib.Path) -> None:
    """Files of the formats that readers of paddle.dataset read, of zeros and
    numbers that rise.
    """
    (home / "uci_housing").mkdir(parents=True)
    (home / "mnist").mkdir()
    rows = (" ".join(map(str, range(k, k + 14))) for k in range(50))
    (home / "uci_housing" / "housing.data").write_text("\n".join(rows))
    for part in "train", "t10k":
        for kind, sizes in (
            ("images-idx3", (100, 28, 28)),
            ("labels-idx1", (100,)),
        ):
            data = struct.pack(f">I{len(sizes)}I", 0x800 + len(sizes), *sizes)
            with gzip.open(
                home / "mnist" / f"{part}-{kind}-ubyte.gz", "wb"
            ) as f:
                f.write(data + bytes(math.prod(sizes)))


def _run(name: str, text: str, pipe: Any) -> None:
    """Run a program; send why it fails, or nothing."""
    warnings.simplefilter("ignore")
    signal.alarm(SECONDS)
    with open(os.devnull, "w") as devnull:
        os.dup2(devnull.fileno(), 1)
        os.dup2(devnull.fileno(), 2)
    fault = ""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        _write_datasets(pathlib.Path(folder))
        try:
            import numpy as np
            import sluice.fluid.as_paddle  # noqa: F401

            sluice.fluid.datasets.DATA_HOME = folder

            np.random.seed(1)
            code = compile(text, name, "exec", dont_inherit=True)
            exec(code, {"__name__": "__main__", "__file__": "example.py"})
        except BaseException as error:
            kind = type(error).__name__
            fault = f"{kind}: {' '.join(str(error).split()) or kind}"
        os.chdir("/")
    pipe.send(fault)
    os._exit(0)


def outcome(context: Any, name: str, text: str) -> str:
    """Why a program does not run; nothing if it does."""
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(name, text, theirs))
    process.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        return "the process ends"
    finally:
        process.join()


def _reason(fault: str) -> str:
    """Why a program does not run, from its error."""
    kind, _, text = fault.partition(": ")
    text = re.split(r" created at| hint: | in op \d|; it has| \(", text)[0]
    if kind == "UnimplementedError":
        return "left out: " + re.sub(r"^fluid[\w.]*: ", "", text)
    if kind in ("IndentationError", "NameError", "SyntaxError"):
        return f"the example is wrong: {kind}"
    return textwrap.shorten(f"refused: {text or kind}", 150, placeholder=" ...")


def read() -> dict[str, str]:
    """The reasons of the list by program."""
    reasons, reason = {}, ""
    for line in LIST.read_text("utf-8").splitlines() if LIST.exists() else []:
        if line.startswith("  "):
            reasons[line.strip()] = reason
        elif not line.startswith("#"):
            reason = line
    return reasons


def text_of(reasons: dict[str, str], right: int, all_: int) -> str:
    """The text of a list."""
    groups = collections.defaultdict(list)
    for name, reason in reasons.items():
        groups[reason].append(name)
    lines = [f"# {line}" for line in (*HEAD, f"{right} of {all_} run")]
    for reason, names in sorted(groups.items()):
        lines += [reason, *(f"  {name}" for name in sorted(names))]
    return "\n".join(lines) + "\n"


def check(fluid: pathlib.Path, only: str, write: bool) -> bool:
    """Run the programs; whether they are as listed."""
    chosen = {n: t for n, t in programs(fluid).items() if re.search(only, n)}
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sluice.fluid"])
    old, new = read(), {}
    for name, text in chosen.items():
        fault = outcome(context, name, text)
        if only:
            print(f"{name} | {fault or 'runs'}", flush=True)
        if fault:
            new[name] = _reason(fault)
    right = len(chosen) - len(new)
    print(f"{right} of {len(chosen)} programs run")
    if only:
        return True
    for name in sorted(new.keys() | old.keys()):
        if new.get(name) != old.get(name):
            print(f"{name}: {new.get(name, 'runs, or is gone')}")
    if write:
        LIST.write_text(text_of(new, right, len(chosen)), "utf-8")
    return write or new == old
