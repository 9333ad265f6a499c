"""Models that PaddlePaddle saved, as programs of Sluice."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..display import Shown
from ..errors import InvalidArgumentError, NotFoundError
from ..executor import Executor
from ..framework import Program, Variable, program_guard
from ..ragged import Fetched
from . import parameters, program_file
from .executor import LoDTensor, feed_value
from .translate import BLOCK_OPS, DTYPES, ROWS, Folding, Translation

Path = str | os.PathLike[str]

LOD_TENSOR = 7
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
        values: for each name of PaddlePaddle that is called otherwise in the
            program, its name there.
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
        :meth:`sluice.Executor.run`; a feed may be a LoDTensor, too.
        """
        fetches: Any = self._fetched
        if fetch_list is not None:
            fetches = [self.values.get(name, name) for name in fetch_list]
        feed = {
            name: feed_value(value, self.program.var(name))
            if isinstance(value, LoDTensor)
            else value
            for name, value in feed.items()
        }
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
    file = saved(path, params)
    program, scope = Program(), _core.Scope()
    for name, value in file.read():
        variable = program.persistable(name, value.shape, value.dtype)
        variable.stop_gradient = True
        scope.set(name, value, copy=False)
    feeds = file.feeds()
    for name, shape, code, levels in feeds:
        program.data(name, shape, DTYPES[code], lod_level=levels)
    translation = Translation(program, Folding(scope, set(file.expected)))
    fetches = file.by_column("fetch", "inputs", "X")
    with program_guard(program):
        _translate(translation, file, 0)
    for name in fetches:
        translation.value(name)
    made = {
        name: value.name
        for name, value in translation.values.items()
        if isinstance(value, Variable)
    }
    names = [name for name, *_ in feeds]
    return Model(program, scope, names, fetches, made, executor or Executor())


class _Saved(Shown):
    """A program file that was parsed and checked.

    Attributes:
        name: of the file.
        blocks: their variables and ops, as dicts.
        expected: what it says of parameters, by name.
    """

    def __init__(self, name: str, blocks: Any, params: Path | None) -> None:
        self.name, self.blocks, self._params = name, blocks, params
        self.declared = {var["name"]: var for var in blocks[0]["vars"]}
        self.expected = {
            name: parameters.Expected(var["dtype"], var["dims"])
            for name, var in self.declared.items()
            if var["persistable"] and var["kind"] not in WITHOUT_VALUE
        }

    def read(self) -> Iterator[tuple[str, np.ndarray]]:
        """The parameters, see :func:`sluice.fluid.parameters.read`."""
        folder = os.path.dirname(self.name)
        return parameters.read(folder, self._params, self.expected)

    def by_column(self, type: str, side: str, slot: str) -> list[str]:
        """The variables of the ops feed or fetch, by their columns."""
        columns: dict[int, str] = {}
        for op in self.blocks[0]["ops"]:
            if op["type"] != type:
                continue
            names = op[side].get(slot, [])
            _, col = op["attrs"].get("col", (0, 0))
            if len(names) != 1 or not isinstance(col, int) or col in columns:
                raise InvalidArgumentError(
                    f"{self.name}: an op {type} has column {col!r} and {slot} "
                    f"{names}; expected a column of its own and one variable",
                    "fluid.column",
                )
            columns[col] = names[0]
        return [columns[col] for col in sorted(columns)]

    def feeds(self) -> list[tuple[str, list[int | None], int, int]]:
        """Name, shape, code of the type, and levels of what is fed."""
        return [*map(self.feed, self.by_column("feed", "outputs", "Out"))]

    def feed(self, fed: str) -> tuple[str, list[int | None], int, int]:
        """The name, shape, type and levels of one feed."""
        var = self.declared.get(fed)
        if var is None or var["dtype"] not in DTYPES:
            raise InvalidArgumentError(
                f"{self.name}: input {fed} is not declared, or of an "
                "unknown type",
                "fluid.feed",
            )
        levels = var["lod_level"]
        if not 0 <= levels <= MOST_LEVELS:
            raise InvalidArgumentError(
                f"{self.name}: input {fed} has {levels} levels of "
                f"sequences; expected 0 to {MOST_LEVELS}",
                "fluid.feed_levels",
            )
        shape = [None if size < 0 else size for size in var["dims"]]
        return fed, shape, var["dtype"], levels


def saved(path: Path, params: Path | None) -> _Saved:
    """Parse and check a program file; raises what :func:`load` says."""
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
    return of_bytes(bytes, program_file, params)


def of_bytes(text: bytes, name: str, params: Path | None) -> _Saved:
    """Parse and check the bytes of a program; ``name`` is for errors."""
    blocks = program_file.parse_program(text, name)["blocks"]
    _check_ops([op for each in blocks for op in each["ops"]], name)
    file, where = _Saved(name, blocks, params), name
    for name, (dtype, dims) in file.expected.items():
        if dtype not in DTYPES or any(size < 0 for size in dims):
            raise InvalidArgumentError(
                f"{where}: parameter {name} has dtype {dtype} and sizes "
                f"{dims}; expected one of {DTYPES} and known sizes",
                "fluid.parameter_declared",
            )
    return file


def _files(path: str, params: Path | None) -> tuple[str, Path | None]:
    if os.path.isdir(path):
        return os.path.join(path, "__model__"), params
    if not os.path.exists(path) and os.path.exists(f"{path}.pdmodel"):
        path = f"{path}.pdmodel"
    stem, ending = os.path.splitext(path)
    if params is None and ending == ".pdmodel":
        params = f"{stem}.pdiparams"
    return path, params


class FileOp(NamedTuple):
    """An op of a program file; ``with op.named:`` names it in errors."""

    named: _of_op
    type: str
    inputs: dict[str, list[str]]
    outputs: dict[str, list[str]]
    attrs: dict[str, Any]
    inside: int | None  # the number of the block that it runs


def ops_of(file: _Saved, number: int) -> Iterator[FileOp]:
    """The ops of a block, without feed and fetch."""
    for at, op in enumerate(file.blocks[number]["ops"]):
        type = op["type"]
        if type in ("feed", "fetch"):
            continue
        attrs = {name: value for name, (_, value) in op["attrs"].items()}
        named, inside = _of_op(at, type, file.name, number), None
        if type in BLOCK_OPS:
            kind, inside = op["attrs"].get("sub_block", (None, None))
            if kind != program_file.BLOCK:
                with named:
                    raise InvalidArgumentError(
                        f"{type}: attribute sub_block is no block",
                        "fluid.sub_block",
                    )
        yield FileOp(named, type, op["inputs"], op["outputs"], attrs, inside)


def _translate(translation: Translation, file: _Saved, number: int) -> None:
    """Append the ops of a block, and of those inside of it."""
    for op in ops_of(file, number):
        with op.named:
            if op.inside is None:
                translation.append(op.type, op.inputs, op.outputs, op.attrs)
                continue
            body = partial(_translate, translation, file, op.inside)
            append = BLOCK_OPS[op.type]
            append(translation, op.inputs, op.attrs, body, op.outputs)


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
