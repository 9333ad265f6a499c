"""A session's description of its model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..onnx.load import Metadata, Model, Value

__all__ = ["ModelMetadata", "NodeArg"]


@dataclass(frozen=True)
class NodeArg:
    """An input or output."""

    name: str
    type: str
    """As ``"tensor(float)"``, or that of lists of dicts."""
    shape: list[int | str | None]
    """Sizes; a name or None where one is known only when the model runs."""

    @staticmethod
    def of(
        value: Value, sizes: Mapping[str, int], model: Model
    ) -> NodeArg:
        """Convert a value of a model; ``sizes`` are known by name."""
        of_texts = value.name in model.of_texts
        if value.name in model.map_keys:
            key = "string" if of_texts else "int64"
            return NodeArg(value.name, f"seq(map({key},tensor(float)))", [])
        element = "string" if of_texts else value.dtype.onnx_name
        return NodeArg(
            value.name,
            f"tensor({element})",
            [sizes.get(size, size) for size in value.shape or ()],
        )

    def __str__(self) -> str:
        return (
            f"NodeArg(name='{self.name}', type='{self.type}', "
            f"shape={self.shape})"
        )


@dataclass(frozen=True)
class ModelMetadata:
    """The model's statements about itself."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def of(metadata: Metadata) -> ModelMetadata:
        """Convert metadata of ``sluice.onnx``."""
        return ModelMetadata(
            metadata.producer_name,
            metadata.graph_name,
            metadata.domain,
            metadata.description,
            metadata.graph_description,
            metadata.model_version,
            dict(metadata.properties),
        )
