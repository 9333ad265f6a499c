"""Checkpoints of Fluid 1.6 and later: ``fluid.save`` and what reads it.

``PATH.pdparams`` has the parameters and ``PATH.pdopt`` the other stored
variables, each a pickled dict of arrays by name. Fluid writes ``PATH.pdmodel``,
too, and never reads it; Sluice does not write it.
"""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import _core
from .. import executor as sluice_executor
from ..errors import DataLossError, NotFoundError
from ..framework import created
from . import io
from .errors import wrong
from .framework import Parameter, Program, code_of
from .parameters import Expected, make_folder, read
from .translate import DTYPES

__all__ = ["load_program_state", "restore", "save", "set_program_state"]

_ENDINGS = ".pdparams", ".pdopt"
# What arrays are made of; any other class could run code.
_CLASSES = {
    *((f"numpy.{core}.multiarray", name)
      for core in ("core", "_core") for name in ("_reconstruct", "scalar")),
    *(("numpy", name) for name in ("ndarray", "dtype")),
    ("_codecs", "encode"), ("collections", "OrderedDict"),
}  # fmt: skip


class _Arrays(pickle.Unpickler):
    """Reads arrays and plain values."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _CLASSES:
            raise pickle.UnpicklingError(f"it has a {module}.{name}")
        return super().find_class(module, name)


def _read(path: str) -> dict[str, np.ndarray]:
    try:
        with open(path, "rb") as file:
            values = _Arrays(file, encoding="latin1").load()
        return {
            name: np.asarray(value)
            for name, value in values.items()
            if isinstance(name, str) and name != "StructuredToParameterName@@"
        }
    except OSError:
        raise
    except Exception as error:  # pickle raises whatever the bytes lead to
        raise DataLossError(
            f"{path}: not a pickled dict of arrays: {error}{created()}",
            "fluid.pickled_state",
        ) from error


def save(program: Program, model_path: str) -> None:
    """Write the stored variables of a program to ``model_path.pdparams`` and
    ``model_path.pdopt``. An old file remains until its new one is complete.

    Raises:
        NotFoundError: a file cannot be created.
        ResourceExhaustedError: it cannot be written.
        FailedPreconditionError: a variable has no value yet.
        InvalidArgumentError: ``model_path`` ends in a folder.
    """
    folder, name = os.path.split(model_path)
    if not name:
        wrong(
            f"fluid.save: {model_path!r} has no name after the folder",
            "fluid.save_path",
        )
    make_folder(folder)
    values = io._values(io._chosen(program, None, io.is_persistable))
    of_layers = _parameters(program)
    for ending, chosen in zip(_ENDINGS, (True, False), strict=True):
        part = {n: v for n, v in values.items() if (n in of_layers) is chosen}
        text = pickle.dumps(part, protocol=2)
        _core._replace_file(model_path + ending, [text])


def _parameters(program: Program) -> set[str]:
    return {v.name for v in program.list_vars() if isinstance(v, Parameter)}


def load_program_state(
    model_path: str, var_list: Any = None
) -> dict[str, np.ndarray]:
    """Arrays by name, of a checkpoint of :func:`save`, of a folder with a file
    for each variable, or of one file of all.

    Args:
        model_path: the path without ending, a folder or a file.
        var_list: variables of a folder or a file to read; all that a folder
            has if None. A file of all needs them.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: a file is damaged.
        InvalidArgumentError: ``var_list`` is missing, or is not what is there.
    """
    base = model_path.removesuffix(_ENDINGS[0]).removesuffix(_ENDINGS[1])
    found = [base + end for end in _ENDINGS if os.path.isfile(base + end)]
    if found:
        return {n: v for path in found for n, v in _read(path).items()}
    if not os.path.exists(model_path):
        raise NotFoundError(
            f"{model_path}: neither {base}.pdparams nor such a file or folder "
            f"is there{created()}",
            "fluid.no_state",
        )
    folder, file = os.path.split(model_path)
    if os.path.isdir(model_path):
        folder, file = model_path, ""
    if var_list is None and file:
        wrong(
            f"load_program_state: {model_path} holds all variables without "
            "their names; give var_list, such as program.list_vars()",
            "fluid.state_var_list",
        )
    if var_list is None:
        paths = [
            os.path.relpath(os.path.join(at, name), folder)
            for at, _, names in os.walk(folder)
            for name in names
            if not name.startswith("__model__") and not name.endswith(".saving")
        ]
        expected: dict[str, Expected | None] = dict.fromkeys(paths)
    else:
        expected = {
            v.name: Expected(code_of(v.dtype), list(v.shape))
            for v in var_list
            if v.persistable
        }
    whole = os.path.join(folder, file) if file else None
    return dict(read(folder, whole, expected))


def set_program_state(
    program: Program, state_dict: Mapping[str, np.ndarray]
) -> None:
    """Give the stored variables of a program the arrays of their names.

    Variables without an array keep their values; an array without a variable
    is named in a warning.

    Raises:
        InvalidArgumentError: an array has another shape or dtype.
    """
    expected = io._chosen(program, None, io.is_persistable)
    checked = {}
    for name, (code, sizes) in expected.items():
        if name not in state_dict:
            continue
        value = np.asarray(state_dict[name])
        same = list(value.shape) == sizes or (not value.shape and sizes == [1])
        if not same or value.dtype.name != DTYPES[code]:
            wrong(
                f"{name}: the program has {DTYPES[code]} {sizes}, the state "
                f"{value.dtype} {list(value.shape)}",
                "fluid.state_shape",
            )
        checked[name] = np.array(value, order="C").reshape(sizes)
    scope = sluice_executor.global_scope()
    for name, value in checked.items():
        scope[name] = value
    unused = [name for name in state_dict if name not in expected]
    if unused:
        warnings.warn(
            f"set_program_state: the program has no {', '.join(unused)}",
            stacklevel=2,
        )


def restore(
    program: Program,
    model_path: str,
    executor: Any = None,
    var_list: Any = None,
) -> None:
    """``fluid.load``: give the stored variables of a program the values of a
    checkpoint; all of them, or those of ``var_list``.

    Raises:
        NotFoundError: the file is missing, or lacks a variable.
        DataLossError: the file is damaged.
        InvalidArgumentError: a variable has another shape or dtype.
    """
    wanted = list(io._chosen(program, var_list, io.is_persistable))
    listed = program.list_vars() if var_list is None else var_list
    state = load_program_state(model_path, listed)
    missing = [name for name in wanted if name not in state]
    if missing:
        raise NotFoundError(
            f"{model_path} has no {', '.join(missing)}; "
            "load_program_state and set_program_state take what is there"
            f"{created()}",
            "fluid.state_missing",
        )
    set_program_state(program, {name: state[name] for name in wanted})
