"""Names of onnxruntime that can be imported, and say so when they are used."""

from __future__ import annotations

from typing import Any

__all__ = [
    "LoraAdapter", "OrtAllocatorType", "OrtDevice", "OrtMemType",
    "SparseTensor",
]


class Absent:
    """Something that Sluice lacks. A call raises NotImplementedError."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self._name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"onnxruntime.{self._name}: Sluice has no such thing, but runs "
            "models that onnxruntime has made with it"
        )

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        """Classes that derive from it can be defined."""
        return ()


LoraAdapter = Absent("LoraAdapter")
OrtAllocatorType = Absent("OrtAllocatorType")
OrtDevice = Absent("OrtDevice")
OrtMemType = Absent("OrtMemType")
SparseTensor = Absent("SparseTensor")
