"""Modules that stand for PaddlePaddle's, so that the files of its operator
tests can be imported unchanged.

Whatever a file mentions exists. A test that calls it ends with UsesPaddle: it
tests PaddlePaddle's own Python, not an op. What the cases of ops are made from
is real: element types, places, and the class OpTest.
"""

from __future__ import annotations

import collections
import enum
import importlib
import importlib.abc
import importlib.machinery
import pathlib
import sys
import types
from typing import Any

import numpy as np
from sluice.fluid.translate import CODES

# The folders of test files, in that of PaddlePaddle's unit tests, and one of
# modules that these import.
FOLDERS = ("", "sequence", "mkldnn")
MODULES = ("rnn",)


class UsesPaddle(Exception):
    """A test calls PaddlePaddle's own Python."""


class Stand(types.ModuleType):
    """A module, class or function of PaddlePaddle that does nothing.

    Attributes:
        in_test: whether a test runs; a call is UsesPaddle then. Files are
            imported before, with calls as decorators and such.
    """

    in_test = False

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        made = Stand(f"{self.__name__}.{name}")
        setattr(self, name, made)
        return made

    def __call__(self, *arguments: Any, **_: Any) -> Any:
        self._mentioned()
        if len(arguments) == 1 and callable(arguments[0]):
            return arguments[0]  # a decorator
        return Stand(self.__name__)

    def _mentioned(self) -> None:
        if Stand.in_test:
            raise UsesPaddle(self.__name__)

    def __mro_entries__(self, _: Any) -> tuple[type, ...]:
        return (object,)

    def __iter__(self) -> Any:
        return iter(())

    def __getitem__(self, _: Any) -> Stand:
        return Stand(self.__name__)

    def __setitem__(self, *_: Any) -> None:
        pass

    def __enter__(self) -> Stand:
        self._mentioned()
        return self

    def __exit__(self, *_: Any) -> bool:
        return False


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes a Stand for each module of paddle; its tests are their files."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.split(".")[0] != "paddle":
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> Any:
        leaf = spec.name.rpartition(".")[2]
        if leaf.startswith("test_") and leaf != "test_dist_base":
            return importlib.import_module(leaf)
        return Stand(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        parent, _, leaf = module.__name__.rpartition(".")
        if parent:
            setattr(sys.modules[parent], leaf, module)


# VarDesc.VarType: the codes of element types, and some that are none.
VarType = enum.IntEnum(  # type: ignore[misc]
    "VarType",
    {
        {"float16": "FP16", "float32": "FP32", "float64": "FP64",
         "bfloat16": "BF16"}.get(name, name.upper()): code
        for name, code in CODES.items()
    } | {"LOD_TENSOR": 7, "SELECTED_ROWS": 8, "RAW": 17},
)  # fmt: skip


def code_of(dtype: Any) -> Any:
    """The code of an element type of NumPy."""
    if isinstance(dtype, int):
        return dtype
    return VarType(CODES[np.dtype(dtype).name])


def probabilities(rows: int, classes: int, dtype: str = "float32") -> Any:
    """Random rows that add up to 1."""
    drawn = np.random.uniform(0.1, 1.0, (rows, classes)).astype(dtype)
    return drawn / drawn.sum(axis=1, keepdims=True)


def to_bfloat16(array: Any, data_format: str = "NCHW") -> Any:
    """The bits of bfloat16, cut, uint16."""
    bits = np.asarray(array, np.float32).view(np.uint32) >> 16
    return bits.astype(np.uint16)


def _always(value: Any) -> Any:
    return lambda *_, **__: value


def install(tests: pathlib.Path, op_test: type) -> None:
    """Put the stand-ins into sys.modules, and the tests into sys.path."""
    sys.meta_path.insert(0, Finder())
    sys.path[:0] = [str(tests / folder) for folder in (*FOLDERS, *MODULES)]
    core, framework, compat, ours = (
        importlib.import_module(f"paddle.{name}")
        for name in (
            "fluid.core", "fluid.framework", "compat",
            "fluid.tests.unittests.op_test",
        )
    )  # fmt: skip
    fluid = sys.modules["paddle.fluid"]
    core.VarDesc = types.SimpleNamespace(VarType=VarType)
    for place in ("CPUPlace", "CUDAPlace", "CUDAPinnedPlace"):
        made = type(place, (), {"__init__": lambda self, *_: None})
        setattr(core, place, made)
        setattr(fluid, place, made)
    # Classes for a GPU run too: here on the CPU.
    for name in (
        "is_compiled_with_cuda", "is_float16_supported", "op_support_gpu",
        "is_bfloat16_supported", "supports_bfloat16", "supports_bfloat16_fast",
        "supports_int8", "supports_vnni",
    ):  # fmt: skip
        setattr(core, name, _always(True))
    for name in ("rocm", "mkldnn", "ngraph", "dist", "brpc", "xpu", "npu"):
        setattr(core, f"is_compiled_with_{name}", _always(False))
    core.EnforceNotMet = AssertionError
    core.get_cuda_device_count = fluid.get_cuda_device_count = _always(1)
    core.cudnn_version = core.get_cudnn_version = _always(7600)
    core.globals = lambda: collections.defaultdict(bool)
    core.set_num_threads = _always(None)
    fluid.is_compiled_with_cuda = _always(True)
    framework.convert_np_dtype_to_dtype_ = code_of
    framework.grad_var_name = lambda name: f"{name}@GRAD"
    framework.in_dygraph_mode = _always(False)
    paddle = sys.modules["paddle"]
    for name in ("enable_static", "seed", "set_default_dtype"):
        setattr(paddle, name, _always(None))
    compat.long_type, compat.round = int, round
    compat.to_text = lambda text, *_, **__: (
        text.decode() if isinstance(text, bytes) else text
    )
    compat.to_bytes = lambda text, *_, **__: (
        text.encode() if isinstance(text, str) else text
    )
    compat.floor_division = lambda a, b: a // b
    ours.OpTest = op_test
    ours.skip_check_grad_ci = lambda reason=None: lambda case: case
    ours.randomize_probability = probabilities
    ours._set_use_system_allocator = _always(False)
    ours.convert_float_to_uint16 = to_bfloat16
    ours.convert_uint16_to_float = lambda bits: (
        np.asarray(bits, np.uint32) << 16
    ).view(np.float32)
    sys.modules["op_test"] = ours
    _old_numpy()


def _old_numpy() -> None:
    """What the tests use and newer NumPys have no longer."""
    for name, old in {
        "int": int, "float": float, "object": object, "bool": bool,
        "long": int, "product": np.prod, "alltrue": np.all,
        "sometrue": np.any, "cumproduct": np.cumprod, "float_": np.float64,
        "Inf": np.inf, "NaN": np.nan, "asscalar": lambda array: array.item(),
    }.items():  # fmt: skip
        if name not in vars(np):
            setattr(np, name, old)
