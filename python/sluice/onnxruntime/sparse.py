"""Sparse tensors, which models get as dense ones."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from .. import _core
from .devices import OrtDevice

__all__ = [
    "OrtSparseFormat", "SparseCooView", "SparseCsrView", "SparseTensor",
]


class OrtSparseFormat(IntEnum):
    """How the places of elements are written."""

    ORT_SPARSE_UNDEFINED = 0
    ORT_SPARSE_COO = 1
    ORT_SPARSE_CSRC = 2
    ORT_SPARSE_BLOCK_SPARSE = 4


class SparseCooView:
    """The places of elements in the format COO."""

    def __init__(self, indices: np.ndarray) -> None:
        self._indices = indices

    def indices(self) -> np.ndarray:
        """Row-major numbers, or a row of indices for each element."""
        return self._indices


class SparseCsrView:
    """The places of elements in the format CSR."""

    def __init__(self, inner: np.ndarray, outer: np.ndarray) -> None:
        self._inner, self._outer = inner, outer

    def inner(self) -> np.ndarray:
        """The column of each element."""
        return self._inner

    def outer(self) -> np.ndarray:
        """Where each row begins among the elements, and where the last ends."""
        return self._outer


class SparseTensor:
    """The elements of a tensor that are not 0, and their places, on the host.

    A session is fed it in an OrtValue, and makes it dense.
    """

    def __init__(self, sparse_tensor: SparseTensor) -> None:
        if not isinstance(sparse_tensor, SparseTensor):
            raise ValueError(
                "`Provided object` needs to be of type `onnxruntime.capi."
                "onnxruntime_pybind11_state.SparseTensor`"
            )
        self._shape = sparse_tensor._shape
        self._values = sparse_tensor._values
        self._view = sparse_tensor._view

    @classmethod
    def _of(cls, shape: Any, values: Any, view: Any) -> SparseTensor:
        made = cls.__new__(cls)
        made._shape = [int(size) for size in shape]
        made._values, made._view = np.ascontiguousarray(values), view
        if made._values.ndim != 1:
            raise RuntimeError(
                f"values have shape {list(made._values.shape)}; expected a "
                "list of elements"
            )
        return made

    @classmethod
    def sparse_coo_from_numpy(
        cls,
        dense_shape: Sequence[int],
        values: np.ndarray,
        coo_indices: np.ndarray,
        ort_device: OrtDevice,
    ) -> SparseTensor:
        """One whose elements have row-major numbers, or rows of indices.

        Raises RuntimeError unless there are as many as elements, or as many
        pairs.
        """
        indices = np.ascontiguousarray(coo_indices, "int64")
        made = cls._of(dense_shape, values, SparseCooView(indices))
        if indices.size not in (len(made._values), 2 * len(made._values)):
            raise RuntimeError(
                f"Index size: {indices.size} must be equal to or twice the "
                f"values size: {len(made._values)}"
            )
        return made

    @classmethod
    def sparse_csr_from_numpy(
        cls,
        dense_shape: Sequence[int],
        values: np.ndarray,
        inner_indices: np.ndarray,
        outer_indices: np.ndarray,
        ort_device: OrtDevice,
    ) -> SparseTensor:
        """A matrix whose elements are sorted by rows.

        Raises RuntimeError unless there is an inner index for each element,
        and an outer one more than rows.
        """
        inner = np.ascontiguousarray(inner_indices, "int64")
        outer = np.ascontiguousarray(outer_indices, "int64")
        made = cls._of(dense_shape, values, SparseCsrView(inner, outer))
        rows = made._shape[0] if len(made._shape) == 2 else -1
        if len(inner) != len(made._values) or len(outer) != rows + 1:
            raise RuntimeError(
                f"a matrix of shape {made._shape} with {len(made._values)} "
                f"elements has {len(inner)} inner and {len(outer)} outer "
                "indices"
            )
        return made

    def values(self) -> np.ndarray:
        """The elements."""
        return self._values

    def as_coo_view(self) -> SparseCooView:
        """Their places. Raises RuntimeError in another format."""
        if not isinstance(self._view, SparseCooView):
            raise RuntimeError(
                "This sparse tensor does not contain COO format"
            )
        return self._view

    def as_csrc_view(self) -> SparseCsrView:
        """Their places. Raises RuntimeError in another format."""
        if not isinstance(self._view, SparseCsrView):
            raise RuntimeError(
                "This sparse tensor does not contain CSR(C) format"
            )
        return self._view

    def as_blocksparse_view(self) -> None:
        """Raise RuntimeError: blocks are not supported."""
        raise RuntimeError(
            "This sparse tensor does not contain BlockSparse format"
        )

    get_coo_data, get_csrc_data = as_coo_view, as_csrc_view
    get_blocksparse_data = as_blocksparse_view

    def to_cuda(self, ort_device: OrtDevice) -> SparseTensor:
        """Raise RuntimeError: sparse tensors are on the host."""
        raise RuntimeError("sparse tensors of Sluice are on the host")

    def format(self) -> OrtSparseFormat:
        """How the places are written."""
        if isinstance(self._view, SparseCooView):
            return OrtSparseFormat.ORT_SPARSE_COO
        return OrtSparseFormat.ORT_SPARSE_CSRC

    def dense_shape(self) -> list[int]:
        """The shape with all elements."""
        return list(self._shape)

    def data_type(self) -> str:
        """Its type, as ``"sparse_tensor(float)"``."""
        dtype = _core.DType(self._values.dtype)
        return f"sparse_tensor({dtype.onnx_name})"

    def device_name(self) -> str:
        """Always ``"cpu"``."""
        return "cpu"

    def _get_c_tensor(self) -> SparseTensor:
        return self

    def _dense(self) -> np.ndarray:
        """All elements. Raises RuntimeError for a place outside."""
        dense = np.zeros(self._shape, self._values.dtype)
        try:
            if isinstance(self._view, SparseCsrView):
                counts = np.diff(self._view.outer())
                rows = np.repeat(np.arange(self._shape[0]), counts)
                dense[rows, self._view.inner()] = self._values
            elif self._view.indices().size == len(self._values):
                dense.reshape(-1)[self._view.indices()] = self._values
            else:
                places = self._view.indices().reshape(-1, 2)
                dense[places[:, 0], places[:, 1]] = self._values
        except (IndexError, ValueError) as error:
            raise RuntimeError(
                f"a sparse tensor of shape {self._shape}: {error}"
            ) from error
        return dense
