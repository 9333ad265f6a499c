"""Loads models."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .. import _core
from .. import errors as _errors
from ..executor import Executor
from ..program import Program
from .save import save
from .texts import RunTexts


class Value(NamedTuple):
    """An input or output of a model."""

    name: str
    dtype: _core.DType
    shape: tuple[int | str | None, ...] | None
    """Sizes; a name or None where one is known only when the model runs, None
    for an unknown rank."""


@dataclass(frozen=True)
class Metadata:
    """The metadata in a model; missing text is empty."""

    ir_version: int
    model_version: int
    producer_name: str
    producer_version: str
    domain: str
    description: str
    graph_name: str
    graph_description: str
    opsets: dict[str, int]
    """By domain; that of ONNX itself is ``""``."""
    properties: dict[str, str]
    """``metadata_props``."""


@dataclass
class Model:
    """A model as a program, with its parameters in a scope.

    Values of the graph keep their names in the program.
    """

    program: Program
    scope: _core.Scope = field(repr=False)
    inputs: list[Value]
    outputs: list[Value]
    metadata: Metadata = field(repr=False)
    parameters: list[str] = field(repr=False)
    """The names of the program's persistable variables."""
    executor: Executor = field(default_factory=Executor, repr=False)
    """The executor of :meth:`run`; by default one for the CPU."""
    map_keys: dict[str, list[int]] = field(default_factory=dict, repr=False)
    """By name of an output that is a list of dicts (ZipMap): their keys. In the
    program it is a matrix, with a column for each key."""
    texts: list[str] = field(default_factory=list, repr=False)
    """The model's own strings. In the program a string is its index, and one
    that is fed or made a number after them, in each run another one."""
    of_texts: list[str] = field(default_factory=list, repr=False)
    """The inputs and outputs whose elements, or keys of dicts, are strings."""
    replaced: list[str] = field(default_factory=list, repr=False)
    """The initialisers and inputs whose values were given to :func:`load`."""
    texts_input: str = field(default="", repr=False)
    """The input that gives ops the strings of a run, which :meth:`run` feeds;
    "" if none needs them."""
    sequence_of: dict[str, str] = field(default_factory=dict, repr=False)
    """By name of an output that is a tensor of a sequence, as "y[0]": the name
    of the sequence."""
    initialised_inputs: list[str] = field(default_factory=list, repr=False)
    """The initialisers that ``fed_initialisers`` of :func:`load` may name."""
    denotations: Mapping[str, Mapping[int, str]] = field(
        default_factory=dict, repr=False
    )
    """What sizes mean, by name of an input or output and dim, where the model
    says so: "DATA_BATCH"."""

    def run(
        self,
        feed: Mapping[str, Any],
        fetch_list: Sequence[str] | None = None,
    ) -> list[Any]:
        """Run the model and return its outputs, or ``fetch_list``.

        A list is fed as the inputs ``x[0]``, ``x[1]`` and so on, which a
        sequence has become. Absent inputs are not fed. An output is an array,
        or of ``map_keys`` a list of dicts; strings are arrays of objects.
        Raises what ``Executor.run`` raises, and InvalidArgumentError for
        elements that are no strings.
        """
        own = {v.name for v in self.inputs}
        lists = {
            name: value
            for name, value in feed.items()
            if name not in own and isinstance(value, (list, tuple))
        }
        parts = {
            f"{name}[{i}]": part
            for name, value in lists.items()
            for i, part in enumerate(value)
        }
        if not parts or own & parts.keys():
            feed = {n: v for n, v in feed.items() if n not in lists} | parts
        if fetch_list is None:
            fetch_list = [v.name for v in self.outputs]
        fetches = fetch_list
        return self._run(
            lambda fed: self.executor.run(
                self.program, fed, fetches, self.scope
            ),
            feed,
            fetches,
        )

    @functools.cached_property
    def has_tensors_only(self) -> bool:
        """Whether no input or output is a string or a map."""
        return not (self.of_texts or self.map_keys or self.texts_input)

    def _run(
        self,
        run: Callable[[Mapping[str, Any]], list[Any]],
        feed: Mapping[str, Any],
        fetches: Sequence[Any],
    ) -> list[Any]:
        """The results that ``run`` gives for a feed, as ONNX has them."""
        if self.has_tensors_only:
            return run(feed)
        texts = RunTexts(lambda: self._table)
        results = run(self._numbers(feed, texts))
        for i, fetch in enumerate(fetches):
            name = getattr(fetch, "name", fetch)
            if name in self.map_keys:
                keys = self.map_keys[name]
                if name in self.of_texts:
                    keys = [self.texts[key] for key in keys]
                results[i] = _maps(keys, results[i])
            elif name in self.of_texts:
                results[i] = texts.decode(results[i])
        return results

    def _numbers(
        self, feed: Mapping[str, Any], texts: RunTexts | None = None
    ) -> Mapping[str, Any]:
        """The feed with numbers in place of strings."""
        names = [name for name in self.of_texts if name in feed]
        if not names and not self.texts_input:
            return feed
        texts = texts or RunTexts(lambda: self._table)
        numbers = {n: texts.encode(n, feed[n]) for n in names}
        if self.texts_input:
            numbers[self.texts_input] = texts.handle()
        return {**feed, **numbers}

    @functools.cached_property
    def _table(self) -> _core._TextTable:
        table = _core._TextTable.make(None)
        table.numbers(self.texts, "texts")
        return table

    def save(self, path: str | os.PathLike[str] | Any, **options: Any) -> None:
        """Write the model like :func:`sluice.onnx.save`.

        Inputs and outputs are those of this model, in order, with its names of
        sizes. Raises UnimplementedError for a model of strings.
        """
        if self.of_texts or self.texts_input:
            names = ", ".join(self.of_texts) or self.texts_input
            raise _errors.UnimplementedError(
                f"{names}: strings are numbers in the program; a model of them "
                "cannot be written",
                "onnx.save_texts",
            )
        names = {v.name: v.shape for v in self.inputs if v.shape is not None}
        options.setdefault("size_names", names)
        save(
            self.program,
            path,
            [v.name for v in self.outputs],
            [v.name for v in self.inputs],
            scope=self.scope,
            **options,
        )


def _maps(keys: list[Any], rows: Any) -> list[dict[Any, float]]:
    """A dict for each row, in the order of the keys."""
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return [{keys[i]: row[i] for i in order} for row in rows.tolist()]


def load(
    source: Any,
    *,
    folder: str | os.PathLike[str] | None = None,
    name: str | None = None,
    scope: _core.Scope | None = None,
    place: Any = None,
    limits: Mapping[str, float] | None = None,
    sequence_lengths: Mapping[str, int] | None = None,
    absent_inputs: Sequence[str] = (),
    initialisers: Mapping[str, Any] | None = None,
    fed_initialisers: Sequence[str] = (),
) -> Model:
    """Read an ONNX model.

    Args:
        source: the path of a file, the bytes of one, or a message of the
            package onnx (anything with ``SerializeToString``).
        folder: the folder of external data; by default the file's folder.
        name: the model's name in errors; by default the file's name.
        scope: the scope for its parameters; a new one if None.
        place: where :meth:`Model.run` runs it; the CPU if None.
        limits: bounds on the cost of the import: ``memory_bytes`` (by default
            2**30), beyond which it is refused, and ``folded_operations`` (4e9),
            beyond which constants are computed at run time. Each byte of the
            model adds ``memory_bytes_per_file_byte`` (64) and
            ``folded_operations_per_file_byte`` (4000).
        sequence_lengths: how many tensors the inputs have that are sequences,
            by name. They are inputs ``x[0]``, ``x[1]`` and so on;
            :meth:`Model.run` takes a list for ``x``, too.
        absent_inputs: the inputs that are optional and have no value. The
            others are fed like those that are not optional.
        initialisers: arrays by the name of an initialiser, instead of the
            values in the file, or by the name of an input, which is a constant
            then and may decide how long sequences are and how often loops over
            them run. Their memory is shared and must not change.

    Raises:
        NotFoundError: a file cannot be read.
        DataLossError: it is truncated or not a model, or the bytes of an
            initialiser do not match its shape.
        InvalidArgumentError: the model is invalid: values that are assigned
            twice or used before, attributes of a wrong type, external data
            outside of its folder. Names the node.
        UnimplementedError: Sluice lacks a dtype, an operator or a form of one;
            lists all such nodes.
        ResourceExhaustedError: the import would need more memory than there is,
            or than ``limits`` allow.
    """
    program = Program()
    scope = _core.Scope() if scope is None else scope
    if hasattr(source, "SerializeToString"):
        source = source.SerializeToString()
    is_bytes = isinstance(source, (bytes, bytearray, memoryview))
    given = {key: _shared(each) for key, each in (initialisers or {}).items()}
    inputs, outputs, metadata, parameters, *more = _core._load_onnx(
        program,
        scope,
        bytes(source) if is_bytes else source,
        is_bytes,
        folder,
        name,
        limits,
        dict(sequence_lengths or {}),
        list(absent_inputs),
        given,
        list(fed_initialisers),
    )
    return Model(
        program,
        scope,
        [Value(*value) for *value, _ in inputs],
        [Value(*value) for *value, _ in outputs],
        Metadata(**metadata),
        parameters,
        Executor(place),
        *more,
        denotations={each[0]: each[3] for each in (*inputs, *outputs)},
    )


def _shared(array: Any) -> _core.Tensor:
    """The array as a tensor on the host, with its memory if that can be."""
    flags = getattr(array, "flags", None)
    if flags is None or (flags.c_contiguous and flags.writeable):
        return _core.from_dlpack(array)
    return _core.Tensor(array)
