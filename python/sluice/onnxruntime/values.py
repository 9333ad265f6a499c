"""A session's description of its model."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _core
from ..errors import SluiceError
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
    _rank_known: bool = field(default=True, repr=False, compare=False)

    @staticmethod
    def of(value: Value, sizes: Mapping[Any, int], model: Model) -> NodeArg:
        """Convert a value of a model.

        ``sizes`` that the model leaves open are by name, or by number of dim.
        """
        of_texts = value.name in model.of_texts
        if value.name in model.map_keys:
            key = "string" if of_texts else "int64"
            return NodeArg(value.name, f"seq(map({key},tensor(float)))", [])
        element = "string" if of_texts else value.dtype.onnx_name
        return NodeArg(
            value.name,
            f"tensor({element})",
            [
                size
                if isinstance(size, int)
                else sizes.get(dim, sizes.get(size, size))
                for dim, size in enumerate(value.shape or ())
            ],
            value.shape is not None,
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


def _type_of(given: Any) -> str:
    """The type of an array or tensor of any library; "" for a list."""
    if not hasattr(given, "dtype"):
        return ""
    if getattr(given.dtype, "kind", "") in ("O", "S", "U"):
        return "tensor(string)"
    # PyTorch's dtypes have no name: torch.float32.
    name = getattr(given.dtype, "name", str(given.dtype).rpartition(".")[2])
    with contextlib.suppress(SluiceError):
        name = _core.DType(name).onnx_name
    return f"tensor({name})"


def wrong_feed(inputs: Sequence[NodeArg], feed: Mapping[str, Any]) -> str:
    """onnxruntime's sentence for the first feed that does not fit; "" if none.

    Lists have no dtype that could be wrong.
    """
    for value in inputs:
        given = feed.get(value.name)
        dtype = _type_of(given)
        if dtype not in ("", value.type):
            return (
                f"Unexpected input data type. Actual: ({dtype}) , expected: "
                f"({value.type}): input {value.name}"
            )
        try:
            shape = list(np.shape(given))
        except ValueError:  # rows of unequal length
            continue
        if not value._rank_known:
            continue
        if len(shape) != len(value.shape):
            return (
                f"Invalid rank for input: {value.name} Got: {len(shape)} "
                f"Expected: {len(value.shape)} Please fix either the "
                "inputs/outputs or the model."
            )
        lines = [
            f"\n index: {dim} Got: {size} Expected: {expected}"
            for dim, (size, expected) in enumerate(
                zip(shape, value.shape, strict=True)
            )
            if isinstance(expected, int) and size != expected
        ]
        if lines:
            return (
                f"Got invalid dimensions for input: {value.name} for the "
                f"following indices{''.join(lines)}\n Please fix either the "
                "inputs/outputs or the model."
            )
    return ""
