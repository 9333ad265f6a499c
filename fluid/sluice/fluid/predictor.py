"""PaddlePaddle's predictors: ``fluid.core`` of 1.x, by the order of inputs, and
``paddle.inference`` of 2.x, by their names.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import set_num_threads
from ..display import Shown
from ..errors import InvalidArgumentError, NotFoundError
from ..executor import Executor
from ..ragged import Ragged
from .model_files import Model, load
from .places import CUDAPlace, place_of

__all__ = [
    "AnalysisConfig", "Config", "PaddleBuf", "PaddleDType", "PaddleTensor",
    "Predictor", "create_predictor",
]  # fmt: skip


def _rows(array: Any, lod: Sequence[Sequence[int]]) -> Any:
    if len(lod) == 1:
        return array, lod[0]
    return (array, [np.diff(level).tolist() for level in lod]) if lod else array


class PaddleDType(enum.IntEnum):
    """The element types of a :class:`PaddleTensor`."""

    FLOAT32 = 0
    INT64 = 1
    INT32 = 2
    UINT8 = 3


class PaddleBuf(Shown):
    """The elements of a tensor, one after another."""

    def __init__(self, array: Any = ()) -> None:
        self._array = np.array(array)

    def _list(self) -> list[Any]:
        return self._array.ravel().tolist()

    float_data = int32_data = int64_data = _list

    def length(self) -> int:
        """The bytes of the elements."""
        return self._array.nbytes


class PaddleTensor:
    """An array with a name and a LoD, for :meth:`Predictor.run`.

    Attributes:
        name: its name, which nothing needs.
        lod: the offsets of each level.
    """

    def __init__(self, data: Any = None, name: str = "") -> None:
        self._array = np.array([] if data is None else data)
        self._shape: list[int] | None = None
        self._dtype: np.dtype | None = None
        self.name = name
        self.lod: list[list[int]] = []

    def __repr__(self) -> str:
        lod = f", lod {self.lod}" if self.lod else ""
        return f"<PaddleTensor {self.name}: {self.dtype} {self.shape}{lod}>"

    @property
    def data(self) -> PaddleBuf:
        """The elements, by ``int64_data()`` and the like; may be set to an
        array or a :class:`PaddleBuf`.
        """
        return PaddleBuf(self._array)

    @data.setter
    def data(self, data: Any) -> None:
        buffer = data._array if isinstance(data, PaddleBuf) else np.array(data)
        self._array = buffer

    @property
    def shape(self) -> list[int]:
        """The sizes; may be set before or after the elements."""
        return list(self._array.shape) if self._shape is None else self._shape

    @shape.setter
    def shape(self, shape: Sequence[int]) -> None:
        self._shape = list(shape)

    @property
    def dtype(self) -> np.dtype:
        """The type of the elements; may be set to a :class:`PaddleDType`
        before or after them.
        """
        return self._array.dtype if self._dtype is None else self._dtype

    @dtype.setter
    def dtype(self, dtype: PaddleDType) -> None:
        self._dtype = np.dtype(PaddleDType(dtype).name.lower())

    def as_ndarray(self) -> np.ndarray:
        """The array."""
        if math.prod(self.shape) != self._array.size:
            raise InvalidArgumentError(
                f"PaddleTensor {self.name}: {self._array.size} elements do not "
                f"have the shape {self.shape}",
                "fluid.tensor_shape",
            )
        return self._array.reshape(self.shape).astype(self.dtype, copy=False)


class Config(Shown):
    """Which model a predictor loads, and where it runs.

    Switches of PaddlePaddle's own optimisations are accepted and change
    nothing: Sluice chooses kernels itself, see ``explain``.

    Args:
        model: a folder with ``__model__``, or a program file.
        params: the file of parameters, if it is one file.
    """

    def __init__(self, model: Any = None, params: Any = None) -> None:
        self._model, self._params = model, params
        self._device: int | None = None
        self._threads = 0

    def set_model(self, model: Any, params: Any = None) -> None:
        """Say which model."""
        self._model, self._params = model, params

    def set_prog_file(self, path: Any) -> None:
        """Say which program file."""
        self._model = path

    def set_params_file(self, path: Any) -> None:
        """Say which file of parameters."""
        self._params = path

    def prog_file(self) -> Any:
        """The program file."""
        return self._model

    def params_file(self) -> Any:
        """The file of parameters."""
        return self._params

    def disable_gpu(self) -> None:
        """Run on the CPU."""
        self._device = None

    def enable_use_gpu(
        self,
        memory_pool_init_size_mb: int = 0,
        device_id: int = 0,
        precision_mode: Any = None,
    ) -> None:
        """Run at ``fluid.CUDAPlace(device_id)``."""
        self._device = device_id

    def use_gpu(self) -> bool:
        """Whether it runs on a CUDA device."""
        return self._device is not None

    def gpu_device_id(self) -> int:
        """The number of the device."""
        return self._device or 0

    def set_cpu_math_library_num_threads(self, threads: int) -> None:
        """Set the threads of the process; the number counts for all models."""
        self._threads = threads

    def cpu_math_library_num_threads(self) -> int:
        """The number that was set."""
        return self._threads or 1

    def _hint(self, *_: Any, **__: Any) -> None:
        """Nothing: a switch of how PaddlePaddle computes."""

    delete_pass = disable_glog_info = disable_mkldnn = enable_memory_optim = (
        _hint
    )
    enable_mkldnn = switch_ir_optim = switch_specify_input_names = _hint
    switch_use_feed_fetch_ops = enable_mkldnn_bfloat16 = _hint
    set_mkldnn_cache_capacity = exp_disable_tensorrt_ops = _hint

    def ir_optim(self) -> bool:
        """True: programs are always optimised."""
        return True

    def to_native_config(self) -> Config:
        """Return itself; old scripts call this."""
        return self

    def _place(self) -> Any:
        if self._device is None:
            return None
        return place_of(CUDAPlace(self._device))


AnalysisConfig = Config


class _Handle(Shown):
    """An input or an output of a predictor."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._array: Any = None
        self._lod: list[list[int]] = []

    def name(self) -> str:
        """Its name."""
        return self._name

    def reshape(self, shape: Sequence[int]) -> None:
        """Nothing: copy_from_cpu sets the shape."""

    def copy_from_cpu(self, array: Any) -> None:
        """Take a copy of an array."""
        self._array = np.array(array)

    def share_external_data(self, array: Any) -> None:
        """Take an array, which must not change before the run."""
        self._array = np.asarray(array)

    def copy_to_cpu(self) -> np.ndarray:
        """A copy of the value of the last run."""
        return np.array(self._value())

    def _value(self) -> Any:
        if self._array is None:
            raise InvalidArgumentError(
                f"{self._name} has no value yet: run the predictor first",
                "fluid.handle_value",
            )
        return self._array

    def shape(self) -> list[int]:
        """The sizes of the value."""
        return list(np.shape(self._value()))

    def type(self) -> np.dtype:
        """The type of the elements."""
        return np.asarray(self._value()).dtype

    def lod(self) -> list[list[int]]:
        """The offsets of each level."""
        return self._lod

    def set_lod(self, lod: Sequence[Sequence[int]]) -> None:
        """Set the offsets of each level."""
        self._lod = [list(level) for level in lod]


class Predictor(Shown):
    """A loaded model.

    Attributes:
        model: the program and its parameters, for ``explain`` and the like.
    """

    def __init__(self, config: Config) -> None:
        if config._threads:
            set_num_threads(config._threads)
        executor = Executor(config._place())
        self.model: Model = load(config._model, config._params, executor)
        self._inputs = {name: _Handle(name) for name in self.model.feeds}
        self._outputs = {name: _Handle(name) for name in self.model.fetches}

    def get_input_names(self) -> list[str]:
        """The names of the inputs, in their order."""
        return list(self._inputs)

    def get_output_names(self) -> list[str]:
        """The names of the outputs, in their order."""
        return list(self._outputs)

    def get_input_handle(self, name: str) -> _Handle:
        """The handle that sets the value of an input."""
        return self._handle(self._inputs, "input", name)

    def get_output_handle(self, name: str) -> _Handle:
        """The handle of an output, which has its value after a run."""
        return self._handle(self._outputs, "output", name)

    get_input_tensor, get_output_tensor = get_input_handle, get_output_handle

    @staticmethod
    def _handle(handles: dict[str, _Handle], kind: str, name: str) -> _Handle:
        if name in handles:
            return handles[name]
        raise NotFoundError(
            f"there is no {kind} {name!r}; {kind}s are {', '.join(handles)}",
            "fluid.handle",
        )

    def run(self, inputs: Sequence[Any] | None = None) -> Any:
        """Run the model.

        Args:
            inputs: :class:`PaddleTensor` in the order of the inputs, as in
                Fluid 1.x. By default the values of the input handles.

        Returns:
            Tensors in the order of the outputs; True for handles.
        """
        if inputs is None:
            feed = {
                name: _rows(handle._value(), handle._lod)
                for name, handle in self._inputs.items()
            }
        else:
            if len(inputs) != len(self._inputs):
                raise InvalidArgumentError(
                    f"run: expected {len(self._inputs)} tensors for "
                    f"{', '.join(self._inputs)}, got {len(inputs)}",
                    "fluid.predictor_inputs",
                )
            feed = {
                name: _rows(tensor.as_ndarray(), tensor.lod)
                for name, tensor in zip(self._inputs, inputs, strict=True)
            }
        results = self.model.run(feed)
        tensors = []
        for handle, value in zip(self._outputs.values(), results, strict=True):
            made = PaddleTensor(np.asarray(value), handle.name())
            made.lod = value.lod if isinstance(value, Ragged) else []
            if inputs is None:
                handle._array, handle._lod = made._array, made.lod
            tensors.append(made)
        return True if inputs is None else tensors

    zero_copy_run = run

    def try_shrink_memory(self) -> int:
        """Nothing: plans keep the memory that they need."""
        return 0

    clear_intermediate_tensor = try_shrink_memory


def create_predictor(config: Config) -> Predictor:
    """Load the model of a configuration."""
    return Predictor(config)
