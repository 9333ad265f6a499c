"""Models that PaddlePaddle saved, as programs of Sluice."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .. import _core
from ..errors import InvalidArgumentError, NotFoundError
from ..executor import Executor
from ..framework import Program, Variable, program_guard
from ..ragged import Fetched
from . import parameters
from .translate import BLOCK_OPS, DTYPES, ROWS, Folding, Translation

__all__ = ["Model", "load"]

Path = str | os.PathLike[str]

LOD_TENSOR = 7
BLOCK = 8  # the type of attributes
MOST_LEVELS = 8
# Kinds of variables that hold no tensor: feed, fetch, scopes, places, readers.
WITHOUT_VALUE = (9, 10, 11, 12, 14, 15, 17)


@dataclass
class Model:
    """A model for inference, with its parameters in a scope.

    Attributes:
        program: of Sluice.
        scope: has the parameters.
        feeds: the names of the inputs, in their order.
        fetches: those of the outputs.
        values: for each name of PaddlePaddle that of the variable in the
            program.
        executor: what :meth:`run` uses.
    """

    program: Program
    scope: _core.Scope = field(repr=False)
    feeds: list[str]
    fetches: list[str]
    values: dict[str, str] = field(repr=False)
    executor: Executor = field(default_factory=Executor, repr=False)

    def __post_init__(self) -> None:
        fetches: Any = [self.values.get(name, name) for name in self.fetches]
        if self.program._ragged:
            fetches = Fetched(self.program, fetches)
        self._fetched = fetches

    def run(
        self, feed: Mapping[str, Any], fetch_list: Sequence[str] | None = None
    ) -> list[Any]:
        """Run the model; return its outputs, or ``fetch_list``, of
        PaddlePaddle's names. Feeds and results are as for
        :meth:`sluice.Executor.run`.
        """
        fetches: Any = self._fetched
        if fetch_list is not None:
            fetches = [self.values.get(name, name) for name in fetch_list]
        return self.executor.run(self.program, feed, fetches, self.scope)


def load(
    path: Path, params: Path | None = None, executor: Executor | None = None
) -> Model:
    """Load a model that ``save_inference_model`` wrote.

    PaddlePaddle is not needed. Programs of Fluid 1.x and PaddlePaddle 2.x are
    known by what their ops carry, not by their versions.

    Args:
        path: a folder with ``__model__`` and a file for each parameter; a
            program file, such as ``inference.pdmodel``; or the beginning of
            the names of both files, ``inference``.
        params: the file of all parameters; by default the one that is called
            as the program file, with ``.pdiparams``.
        executor: what runs the model; by default one for the CPU.

    Raises:
        NotFoundError: a file is missing, or an op has no translation; names all
            of these.
        DataLossError: a file is damaged.
        InvalidArgumentError: the files do not fit each other.
        UnimplementedError: an op has an attribute that Sluice does not have.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidArgumentError(
            f"load: expected a folder or a file, got {_core._shown(path)}; "
            "Fluid's load(program, path) is fluid.io.load_persistables here",
            "fluid.load_path",
        )
    program_file, params = _files(os.fspath(path), params)
    try:
        with open(program_file, "rb") as opened:
            bytes = opened.read()
    except (FileNotFoundError, IsADirectoryError):
        raise NotFoundError(
            f"there is no file {program_file}", "fluid.program_missing"
        ) from None
    parsed = _core._fluid_parse_program(bytes, program_file)
    blocks = parsed["blocks"]
    _check_ops([op for each in blocks for op in each["ops"]], program_file)
    block = blocks[0]
    declared = {var["name"]: var for var in block["vars"]}
    expected = {
        name: parameters.Expected(var["dtype"], var["dims"])
        for name, var in declared.items()
        if var["persistable"] and var["kind"] not in WITHOUT_VALUE
    }
    for name, (dtype, dims) in expected.items():
        if dtype not in DTYPES or any(size < 0 for size in dims):
            raise InvalidArgumentError(
                f"{program_file}: parameter {name} has dtype {dtype} and sizes "
                f"{dims}; expected one of {DTYPES} and known sizes",
                "fluid.parameter_declared",
            )
    program, scope = Program(), _core.Scope()
    folder = os.path.dirname(program_file)
    for name, value in parameters.read(folder, params, expected):
        variable = program.persistable(name, value.shape, value.dtype)
        variable.stop_gradient = True
        scope.set(name, value, copy=False)
    feeds = _declare_feeds(program, block["ops"], declared, program_file)
    translation = Translation(program, Folding(scope, set(expected)))
    fetches = _by_column(block["ops"], "fetch", "inputs", "X", program_file)
    with program_guard(program):
        _translate(translation, blocks, 0, program_file)
    for name in fetches:
        translation.value(name)
    made = {
        name: value.name
        for name, value in translation.values.items()
        if isinstance(value, Variable)
    }
    return Model(program, scope, feeds, fetches, made, executor or Executor())


def _files(path: str, params: Path | None) -> tuple[str, Path | None]:
    if os.path.isdir(path):
        return os.path.join(path, "__model__"), params
    if not os.path.exists(path) and os.path.exists(f"{path}.pdmodel"):
        path = f"{path}.pdmodel"
    stem, ending = os.path.splitext(path)
    if params is None and ending == ".pdmodel":
        params = f"{stem}.pdiparams"
    return path, params


def _translate(
    translation: Translation, blocks: Any, number: int, name: str
) -> None:
    """Append the ops of a block, and of those inside of it."""
    for at, op in enumerate(blocks[number]["ops"]):
        type = op["type"]
        if type in ("feed", "fetch"):
            continue
        attrs = {name: value for name, (_, value) in op["attrs"].items()}
        with _of_op(at, type, name, number):
            if type in BLOCK_OPS:
                inside = op["attrs"].get("sub_block", (None, None))
                if inside[0] != BLOCK:
                    raise InvalidArgumentError(
                        f"{type}: attribute sub_block is no block",
                        "fluid.sub_block",
                    )
                BLOCK_OPS[type](
                    translation,
                    op["inputs"],
                    attrs,
                    partial(_translate, translation, blocks, inside[1], name),
                    op["outputs"],
                )
                continue
            translation.append(type, op["inputs"], op["outputs"], attrs)


def _check_ops(ops: Sequence[Any], name: str) -> None:
    """Name all ops that have no translation."""
    from difflib import get_close_matches

    unknown = {op["type"] for op in ops} - {*ROWS, *BLOCK_OPS, "feed", "fetch"}
    if not unknown:
        return
    texts = []
    for type in sorted(unknown):
        near = get_close_matches(type, ROWS, 2)
        texts.append(type + (f" (similar: {', '.join(near)})" if near else ""))
    raise NotFoundError(
        f"{name} has ops that Sluice does not know: {'; '.join(texts)}",
        "fluid.unknown_ops",
    )


def _by_column(
    ops: Sequence[Any], type: str, side: str, slot: str, name: str
) -> list[str]:
    """The variables of the ops feed or fetch, by their columns."""
    columns: dict[int, str] = {}
    for op in ops:
        if op["type"] != type:
            continue
        names, (_, col) = op[side].get(slot, []), op["attrs"].get("col", (0, 0))
        if len(names) != 1 or not isinstance(col, int) or col in columns:
            raise InvalidArgumentError(
                f"{name}: an op {type} has column {col!r} and {slot} {names}; "
                "expected a column of its own and one variable",
                "fluid.column",
            )
        columns[col] = names[0]
    return [columns[col] for col in sorted(columns)]


def _declare_feeds(
    program: Program, ops: Sequence[Any], declared: Mapping[str, Any], name: str
) -> list[str]:
    """Declare the variables that are fed; return them by their columns."""
    feeds = _by_column(ops, "feed", "outputs", "Out", name)
    for fed in feeds:
        var = declared.get(fed)
        if var is None or var["dtype"] not in DTYPES:
            raise InvalidArgumentError(
                f"{name}: input {fed} is not declared, or of an unknown type",
                "fluid.feed",
            )
        shape = [None if size < 0 else size for size in var["dims"]]
        levels = var["lod_level"]
        if not 0 <= levels <= MOST_LEVELS:
            raise InvalidArgumentError(
                f"{name}: input {fed} has {levels} levels of sequences; "
                f"expected 0 to {MOST_LEVELS}",
                "fluid.feed_levels",
            )
        program.data(fed, shape, DTYPES[var["dtype"]], lod_level=levels)
    return feeds


class _of_op:
    """Names the op of a file in errors."""

    def __init__(self, at: int, type: str, name: str, block: int) -> None:
        of = f"block {block} of {name}" if block else name
        self.text = f"\nin op {at} ({type}) of {of}"

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, _: Any) -> None:
        from ..errors import SluiceError

        if isinstance(error, SluiceError) and error.args:
            error.args = (f"{error.args[0]}{self.text}", *error.args[1:])
