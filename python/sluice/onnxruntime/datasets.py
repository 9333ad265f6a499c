"""``onnxruntime.datasets``: the small models of onnxruntime's documentation."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile

import numpy as np

import sluice

__all__ = ["get_example"]


@functools.cache
def _folder() -> str:
    folder = tempfile.mkdtemp(prefix="sluice-examples-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _sigmoid(path: str) -> None:
    x = sluice.data("x", [3, 4, 5])
    y = sluice.layers.sigmoid(x, name="y")
    sluice.onnx.save(sluice.default_main_program(), path, [y], [x])


def _mul_1(path: str) -> None:
    x = sluice.data("X", [3, 2])
    program = sluice.default_main_program()
    weights = program.persistable("W", [3, 2], "float32")
    values = np.arange(1, 7, dtype="float32").reshape(3, 2)
    sluice.global_scope().set("W", values)
    y = sluice.layers.elementwise_mul(x, weights, name="Y")
    sluice.onnx.save(program, path, [y], [x])


_MODELS = {"sigmoid.onnx": _sigmoid, "mul_1.onnx": _mul_1}


def get_example(name: str) -> str:
    """The path of ``"sigmoid.onnx"`` or ``"mul_1.onnx"``.

    It is in a folder that is deleted when the process ends. Raises
    FileNotFoundError for another name.
    """
    if name not in _MODELS:
        known = ", ".join(_MODELS)
        raise FileNotFoundError(
            f"Unable to find example '{name}'; there are: {known}"
        )
    path = os.path.join(_folder(), name)
    if not os.path.exists(path):
        with (
            sluice.program_guard(sluice.Program(), sluice.Program()),
            sluice.unique_name.guard(),
            sluice.scope_guard(sluice.Scope()),
        ):
            _MODELS[name](path)
    return path
