"""Loads programs for the laboratory: networks, scripts, files."""

from __future__ import annotations

import difflib
import os
import runpy
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import sluice as sl
from sluice.errors import InvalidArgumentError, NotFoundError
from sluice.ragged import offsets_of

from . import networks, text
from .arrays import check_size, numpy_dtype
from .networks import NETWORKS, Job

ROWS = 12  # of each sequence that is made up


def load(name: str, batch: int = 32) -> Job:
    """Make a program ready to run.

    Args:
        name: one of NETWORKS; a Python script, ``*.py``, that defines
            ``program`` and ``feed`` (and optionally ``fetch_list``, ``startup``
            and ``scope``); an ONNX model, ``*.onnx``; a model of PaddlePaddle,
            ``*.pdmodel`` or a folder with ``__model__``; or a file of
            ``sl.io.save_program``.
        batch: the value of unknown sizes of the program.

    Raises:
        NotFoundError: there is no such network or file.
        InvalidArgumentError: the script does not define them.
        SluiceError: what loading the file raises.
    """
    if name in NETWORKS:
        return networks.build(name, batch)
    if not os.path.exists(name):
        near = difflib.get_close_matches(name, NETWORKS)
        raise NotFoundError(
            f"program {name!r}: there is no such file, and the networks are "
            + ", ".join(NETWORKS)
            + (f"; did you mean {near[0]}?" if near else ""),
            "lab.program",
        )
    if name.endswith(".py"):
        return _from_script(name)
    outputs: list[str] | None = None
    if name.endswith(".onnx"):
        model = sl.onnx.load(name)
        outputs = [output.name for output in model.outputs]
        program, scope = model.program, model.scope
    elif name.endswith(".pdmodel") or os.path.isdir(name):
        model = sl.fluid.load(name)
        outputs = [model.values.get(fetch, fetch) for fetch in model.fetches]
        program, scope = model.program, model.scope
    else:
        program = sl.io.load_program(name)
        scope = values(program)
    return Job(name, program, make_feed(program, batch), outputs, scope)


def call(
    function: Callable[..., Any], parsed: Any, *sets: str, **more: Any
) -> Any:
    """Call a function of a program with the one that a command names."""
    job = load(parsed.program, parsed.batch)
    text.doing(
        f"{parsed.command}: runs {parsed.program}, with a budget of "
        f"{parsed.budget:g} s"
    )
    return function(
        job.program, job.feed, *sets, job.fetch_list, scope=job.scope, **more
    )


def role(name: str) -> str:
    """The kind of the program of this name, in words."""
    if name in NETWORKS:
        return "built-in network"
    kinds = {".py": "script", ".onnx": "ONNX model"}
    kinds |= {".pdmodel": "model of PaddlePaddle"}
    if os.path.isdir(name):
        return "model of Fluid"
    return kinds.get(os.path.splitext(name)[1], "saved program")


def run_script(path: str, scope: sl.Scope | None = None) -> dict[str, Any]:
    """Run a Python file like ``python FILE``, with its own default programs.

    It finds modules in its folder, also those that its kernels import later.

    Args:
        path: the file; its ``__name__`` is not ``"__main__"``.
        scope: its global scope; a new one if None.

    Returns:
        Its definitions by name.
    """
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    with (
        sl.program_guard(sl.Program(), sl.Program()),
        sl.scope_guard(sl.Scope() if scope is None else scope),
    ):
        try:
            return runpy.run_path(path)
        except SystemExit as error:
            raise InvalidArgumentError(
                f"{path} ends the process: exit({error.code!r})",
                "lab.script_exits",
            ) from error


def _from_script(path: str) -> Job:
    scope = sl.Scope()
    found = run_script(path, scope)
    program = found.get("program")
    if not isinstance(program, sl.Program):
        raise _not_defined(path, "program", "a sluice.Program", program)
    feed = found.get("feed", found.get("feeds"))
    if not isinstance(feed, Mapping):
        raise _not_defined(path, "feed", "a dict of arrays", feed)
    scope = found.get("scope", scope)
    startup = found.get("startup")
    if isinstance(startup, sl.Program):
        sl.Executor().run(startup, scope=scope)
    fetches = found.get("fetch_list")
    return Job(path, program, dict(feed), fetches, scope)


def _not_defined(path: str, name: str, what: str, got: Any) -> Exception:
    kind = "nothing" if got is None else type(got).__name__
    return InvalidArgumentError(
        f"{path}: expected it to define {name!r} as {what}, got {kind}",
        "lab.script",
    )


def make_feed(program: sl.Program, batch: int) -> dict[str, Any]:
    """Values for all data variables; ``batch`` for unknown sizes.

    Floats are random, in [0, 1); integers are 0, which is a valid index of
    every table and class. Of ragged variables there are ``batch`` sequences of
    ``ROWS`` rows.
    """
    random = np.random.default_rng(0)
    feed: dict[str, Any] = {}
    data = [var for var in program._blocks()[0]["vars"] if var["is_data"]]
    offsets = {var["offsets"] for var in data}
    for var in data:
        levels = len(offsets_of(program, var["name"]))
        if var["name"] in offsets:
            continue
        if not levels:
            feed[var["name"]] = _array(random, var, batch)
            continue
        rows = _array(random, var, batch * ROWS)
        lengths = [[1] * batch] * (levels - 1) + [[ROWS] * batch]
        feed[var["name"]] = (rows, lengths)
    return feed


def values(program: sl.Program) -> sl.Scope:
    """A scope with random values for all parameters.

    Floats are small and above 0, because some are variances.
    """
    random = np.random.default_rng(1)
    scope = sl.Scope()
    for var in program._blocks()[0]["vars"]:
        if var["persistable"]:
            scope[var["name"]] = _array(random, var, 1) * np.asarray(
                0.1, var["dtype"].dtype
            )
    return scope


def _array(random: np.random.Generator, var: dict, batch: int) -> np.ndarray:
    if var["shape"] is None:
        raise InvalidArgumentError(
            f"variable {var['name']}: its rank is not known, so no value can "
            "be made up for it; a script, *.py, can define `feed`",
            "lab.unknown_rank",
        )
    shape = [batch if size is None else size for size in var["shape"]]
    dtype = numpy_dtype(var["dtype"].name, var["name"])
    check_size(var["name"], shape, dtype)
    if dtype.kind in "iub":
        return np.zeros(shape, dtype)
    return random.random(shape).astype(dtype)
