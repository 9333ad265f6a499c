"""PaddlePaddle's files of parameters: a tensor a file, or all in one.

A tensor is: uint32 version 0; uint64 number of LoD levels, each a uint64 size
in bytes and so many bytes of uint64 offsets; uint32 version 0; int32 size of a
description, and the description, a message TensorDesc; then the elements, row
by row. All numbers are little-endian. A combined file has them one after
another, without names, in the order of their names by bytes.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..errors import DataLossError, InvalidArgumentError, NotFoundError
from . import program_file
from .translate import CODES, DTYPES

Path = str | os.PathLike[str]

_LINE = 64  # bytes of a cache line


class Expected(NamedTuple):
    """The dtype and dims of a parameter in its program."""

    dtype: int
    dims: list[int]


def _damaged(where: str, what: str, check: str) -> DataLossError:
    return DataLossError(f"{where}: {what}", f"fluid.{check}")


class _Stream:
    """A file that is read once, from its begin to its end."""

    def __init__(self, path: Path) -> None:
        self.path = os.fspath(path)
        try:
            self.file = open(self.path, "rb")  # noqa: SIM115
        except OSError as error:
            raise NotFoundError(
                f"there is no file {self.path}: {error.strerror}",
                "fluid.parameters_missing",
            ) from None
        self.left = self.size = os.fstat(self.file.fileno()).st_size

    def _need(self, count: int, where: str) -> None:
        if count > self.left:
            raise _damaged(
                where,
                f"the file ends after {self.size} bytes; {count} more are "
                f"expected at {self.size - self.left}",
                "parameters_cut_off",
            )
        self.left -= count

    def take(self, count: int, where: str) -> bytes:
        """The next bytes."""
        self._need(count, where)
        return self.file.read(count)

    def array(self, count: int, where: str) -> np.ndarray:
        """The next bytes as an array of them, which begins at a cache line."""
        self._need(count, where)
        memory = np.empty(count + _LINE, np.uint8)
        first = -memory.ctypes.data % _LINE
        array = memory[first : first + count]
        self.file.readinto(array)  # type: ignore[attr-defined]
        return array

    def number(self, form: str, where: str) -> int:
        """The next number, of a form of :mod:`struct`."""
        return struct.unpack(form, self.take(struct.calcsize(form), where))[0]


def _tensor(
    stream: _Stream, where: str, expected: Expected | None
) -> np.ndarray:
    versions = [stream.number("<I", where)]
    levels = stream.number("<Q", where)
    if levels:
        raise _damaged(
            where, f"a parameter with {levels} LoD levels", "parameter_lod"
        )
    versions.append(stream.number("<I", where))
    if versions != [0, 0]:
        raise _damaged(
            where,
            f"versions {versions} of a tensor; known is 0: the file is damaged "
            "or has tensors of other sizes before this one",
            "parameter_version",
        )
    size = stream.number("<i", where)
    if size < 0:
        raise _damaged(
            where, f"a description of {size} bytes", "parameter_desc"
        )
    desc = stream.take(size, where)
    dtype, dims = program_file.parse_tensor_desc(desc, where)
    if expected is None and (dtype not in DTYPES or min(dims, default=0) < 0):
        raise _damaged(where, f"an array of {_shown(dtype, dims)}", "no_array")
    if expected is not None and Expected(dtype, dims) != expected:
        raise InvalidArgumentError(
            f"{where}: the file has {_shown(dtype, dims)}, the program "
            f"{_shown(*expected)}",
            "fluid.parameter_mismatch",
        )
    kind = np.dtype(getattr(_core, DTYPES[dtype]))
    data = stream.array(math.prod(dims) * kind.itemsize, where)
    return data.view(kind).reshape(dims)


def _shown(dtype: int, dims: Any) -> str:
    return f"{DTYPES.get(dtype, f'dtype {dtype}')} {list(dims)}"


def read(
    folder: Path, file: Path | None, expected: Mapping[str, Expected | None]
) -> Iterator[tuple[str, np.ndarray]]:
    """Read the parameters of a program, one after another.

    Args:
        folder: where each has a file of its own name, unless ``file`` is given.
        file: a combined file.
        expected: the parameters by name; None is any type and shape.

    Raises:
        NotFoundError: a file is missing.
        DataLossError: a file is damaged, cut off, or longer than expected.
        InvalidArgumentError: a parameter has another type or shape than in the
            program.
    """
    names = sorted(
        expected, key=lambda name: name.encode(errors="surrogateescape")
    )
    stream = None if file is None else _Stream(file)
    for name in names:
        each = _Stream(_path_of(folder, name)) if stream is None else stream
        where = f"{each.path}, parameter {name}"
        yield name, _tensor(each, where, expected[name])
        if stream is None:
            _ends(each, where)
    if stream is not None:
        _ends(stream, f"{stream.path}, after {len(names)} parameters")


def _path_of(folder: Path, name: str) -> str:
    if os.path.isabs(name) or ".." in name.split("/") or "\0" in name:
        raise InvalidArgumentError(
            f"parameter {name!r} would be read outside of {os.fspath(folder)}",
            "fluid.parameter_path",
        )
    return os.path.join(folder, name)


def _ends(stream: _Stream, where: str) -> None:
    stream.file.close()
    if stream.left:
        raise _damaged(
            where,
            f"{stream.left} bytes more than expected",
            "parameters_longer",
        )


def _bytes_of(array: np.ndarray) -> Iterable[bytes]:
    code = CODES[array.dtype.name]
    desc = program_file.serialize_tensor_desc(code, list(array.shape))
    yield struct.pack("<IQIi", 0, 0, 0, len(desc))
    yield desc
    yield np.ascontiguousarray(array).tobytes()


def make_folder(path: Path) -> None:
    """Make a folder, unless it is there. Raises NotFoundError."""
    try:
        os.makedirs(path or ".", exist_ok=True)
    except OSError as error:
        raise NotFoundError(
            f"the folder {os.fspath(path)} cannot be made: {error.strerror}",
            "fluid.folder",
        ) from None


def write(
    folder: Path,
    file: Path | None,
    values: Mapping[str, np.ndarray],
    program: str = "__model__",
) -> None:
    """Write parameters as :func:`read` reads them. An old file remains until
    its new one is complete.

    Raises:
        InvalidArgumentError: a parameter's file is that of another one, or
            ``program``, that of the program in the folder.
        NotFoundError: a file cannot be created.
        ResourceExhaustedError: it cannot be written.
    """
    names = sorted(
        values, key=lambda name: name.encode(errors="surrogateescape")
    )
    paths = [_path_of(folder, name) if file is None else file for name in names]
    known = {os.path.normpath(os.path.join(folder, program)): "the program"}
    for name, path in zip(names, map(os.path.normpath, paths), strict=True):
        if known.setdefault(path, file or name) not in (file, name):
            raise InvalidArgumentError(
                f"parameter {name!r} and {known[path]} would be in one file, "
                f"{path}; a name for one file of all parameters avoids that",
                "fluid.one_file_for_two",
            )
    if file is not None:
        parts = [part for n in names for part in _bytes_of(values[n])]
        _core._replace_file(file, parts)
        return
    for name, path in zip(names, paths, strict=True):
        make_folder(os.path.dirname(path))
        _core._replace_file(path, [*_bytes_of(values[name])])
