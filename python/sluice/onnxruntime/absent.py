"""Names of onnxruntime that can be imported, and say so when they are used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, ClassVar

__all__ = [
    "AdapterFormat", "LoraAdapter", "ModelCompiler", "ModelPackage",
    "ModelPackageComponentContext", "ModelPackageContext",
    "ModelPackageOptions", "ModelPackageWriteMode", "OrtEpAssignedNode",
    "OrtEpAssignedSubgraph", "OrtEpContextData", "OrtEpContextDataBuffer",
    "OrtExternalInitializerInfo", "OrtSparseFormat", "OrtSyncStream",
    "SparseCooView", "SparseCsrView", "SparseTensor",
]

MERGE = "Sluice has no adapters: merge them into the model's weights"
COMPILE = "Sluice compiles no models: load the ONNX file itself"
DENSE = "Sluice has no sparse tensors: make them dense"
PACKAGE = "Sluice has no packages of models: load the ONNX file itself"


class AbsentError(ImportError, NotImplementedError):
    """Something of onnxruntime that Sluice lacks was used."""


class Absent:
    """Something that Sluice lacks. A call raises AbsentError."""

    def __init__(self, name: str, advice: str) -> None:
        self._name, self._advice = name, advice

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self._name}.{name}", self._advice)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise AbsentError(f"onnxruntime.{self._name}: {self._advice}")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        """Classes that derive from it can be defined."""
        return ()


AdapterFormat = Absent("AdapterFormat", MERGE)
LoraAdapter = Absent("LoraAdapter", MERGE)
ModelCompiler = Absent("ModelCompiler", COMPILE)
ModelPackage = Absent("ModelPackage", PACKAGE)
ModelPackageComponentContext = Absent("ModelPackageComponentContext", PACKAGE)
ModelPackageContext = Absent("ModelPackageContext", PACKAGE)
ModelPackageOptions = Absent("ModelPackageOptions", PACKAGE)
ModelPackageWriteMode = Absent("ModelPackageWriteMode", PACKAGE)
OrtEpAssignedNode = Absent("OrtEpAssignedNode", COMPILE)
OrtEpAssignedSubgraph = Absent("OrtEpAssignedSubgraph", COMPILE)
OrtEpContextData = Absent("OrtEpContextData", COMPILE)
OrtEpContextDataBuffer = Absent("OrtEpContextDataBuffer", COMPILE)
OrtExternalInitializerInfo = Absent("OrtExternalInitializerInfo", COMPILE)
OrtSparseFormat = Absent("OrtSparseFormat", DENSE)
SparseCooView = Absent("SparseCooView", DENSE)
SparseCsrView = Absent("SparseCsrView", DENSE)
SparseTensor = Absent("SparseTensor", DENSE)
OrtSyncStream = Absent(
    "OrtSyncStream", "Sluice orders the work of its queues itself"
)


class _AbsentModule(ModuleType):
    """A module whose names are all absent."""

    _advice: str

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        after = self.__name__.partition("onnxruntime.")[2]
        return Absent(f"{after}.{name}", self._advice)


class _Finder:
    """Imports modules inside of absent packages, as absent modules."""

    advice: ClassVar[dict[str, str]] = {}

    @classmethod
    def find_spec(
        cls, name: str, path: Any = None, target: Any = None
    ) -> ModuleSpec | None:
        package = next((p for p in cls.advice if name.startswith(p + ".")), "")
        return ModuleSpec(name, cls, is_package=True) if package else None

    @classmethod
    def create_module(cls, spec: ModuleSpec) -> ModuleType:
        module = _AbsentModule(spec.name)
        names = [p for p in cls.advice if spec.name.startswith(p + ".")]
        module._advice = cls.advice[names[0]]
        return module

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Nothing is executed."""


def package(name: str, advice: str) -> Callable[[str], Absent]:
    """The ``__getattr__`` of a package that Sluice lacks.

    Modules inside of it can be imported, too. ``advice`` is a sentence that
    says what to do, for errors.
    """
    if _Finder not in sys.meta_path:
        sys.meta_path.append(_Finder)
    _Finder.advice[name] = advice
    return Absent(name.partition("onnxruntime.")[2], advice).__getattr__
