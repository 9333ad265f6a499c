"""What is bound to a session: its feeds, and memory for its outputs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from . import errors
from .devices import OrtDevice, place_of_device
from .options import RunOptions
from .tensors import OrtValue, OrtValueVector, borrow, check_memory, fill
from .values import NodeArg

__all__ = ["IOBinding", "SessionIOBinding"]


class _Session(Protocol):
    """The methods of a session that a binding calls."""

    def get_inputs(self) -> list[NodeArg]: ...

    def get_outputs(self) -> list[NodeArg]: ...

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: RunOptions | None = None,
    ) -> list[Any]: ...


class _Bound(NamedTuple):
    """Something bound to a name."""

    value: OrtValue
    """One without a value where the session is to give memory."""
    address: int = 0
    """Of memory that the program owns, and may have freed."""
    place: str = "cpu"

    def check(self) -> None:
        """Raise RuntimeError if memory of the host is there no longer."""
        if self.address and self.place == "cpu":
            check_memory(self.address, self.value.tensor_size_in_bytes())


@contextlib.contextmanager
def _telling(what: str) -> Iterator[None]:
    """Raise a BindingError for what cannot be bound, or run."""
    try:
        yield
    except errors.BindingError:
        raise
    except (errors.OrtException, RuntimeError, ValueError) as error:
        kind, text = errors.InvalidArgument, str(error)
        if isinstance(error, errors.OrtException):
            kind, text = type(error), errors.text_of(error)
        made = errors.in_binding(kind)(f"{what}: {text}")
        raise made from (error.__cause__ or error)


class IOBinding:
    """The feeds of a session, and memory for its outputs, by name.

    Everything that does not fit raises an error that is both an InvalidArgument
    and a RuntimeError, at once or when the session runs.
    """

    def __init__(self, session: _Session) -> None:
        self._session = session
        self._inputs: dict[str, _Bound] = {}
        self._outputs: dict[str, _Bound] = {}
        self._results: dict[str, OrtValue] = {}

    @property
    def _iobinding(self) -> IOBinding:
        """The binding of onnxruntime's extension, which is the same here."""
        return self

    def _require_input(self, name: str) -> None:
        known = [value.name for value in self._session.get_inputs()]
        if name not in known:
            raise errors.BindingError(
                f"Failed to find NodeArg with name: {name} in the def list: "
                f"the inputs are {', '.join(known)}"
            )

    def bind_cpu_input(self, name: str, arr_on_cpu: np.ndarray) -> None:
        """Feed an array; a dense one is read when the session runs."""
        self._require_input(name)
        if not isinstance(arr_on_cpu, np.ndarray):
            raise errors.BindingError(
                "Unable to create OrtValue from the given python object for "
                f"input {name}: expected an array, got "
                f"{type(arr_on_cpu).__name__}"
            )
        with _telling(f"Error when binding input {name}"):
            value = OrtValue.ortvalue_from_numpy(arr_on_cpu)
            self._inputs[name] = _Bound(value)

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Feed a value."""
        self._require_input(name)
        self._inputs[name] = _Bound(ortvalue._get_c_value())

    def bind_input(
        self,
        name: str,
        device_type: str | OrtDevice | np.ndarray,
        device_id: Any = None,
        element_type: Any = None,
        shape: Any = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Feed the memory at an address.

        As in onnxruntime's extension the second argument may be an array, or
        an OrtDevice without a number.
        """
        if isinstance(device_type, np.ndarray):
            self.bind_cpu_input(name, device_type)
            return
        self._require_input(name)
        if isinstance(device_type, OrtDevice):
            device_id, element_type, shape, buffer_ptr = (
                0, device_id, element_type, shape
            )
        if buffer_ptr is None:
            raise TypeError(f"input {name}: the address of its memory is None")
        self._inputs[name] = self._memory(
            f"Error when binding input {name}",
            (buffer_ptr, element_type, shape, device_type, device_id),
        )

    def bind_output(
        self,
        name: str,
        device_type: str | OrtDevice = "cpu",
        device_id: Any = 0,
        element_type: Any = None,
        shape: Any = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Fetch an output, into the memory at an address if there is one.

        Without an address the session gives it memory: on a device that this
        machine lacks, memory of the host.
        """
        if isinstance(device_type, OrtDevice) and device_id != 0:
            device_id, element_type, shape, buffer_ptr = (
                0, device_id, element_type, shape
            )
        self._results.pop(name, None)
        if buffer_ptr is None:
            made = device_type
            if not isinstance(made, OrtDevice):
                made = OrtDevice.make(made, device_id)
            empty = OrtValue._of(None)
            self._outputs[name] = _Bound(empty, place=made._place() or "cpu")
            return
        if element_type is None or shape is None:
            raise ValueError(
                "`element_type` and `shape` are to be provided if "
                f"pre-allocated memory is provided: output {name}"
            )
        self._outputs[name] = self._memory(
            f"Error when binding output {name}",
            (buffer_ptr, element_type, shape, device_type, device_id),
        )

    def _memory(self, what: str, memory: tuple[Any, ...]) -> _Bound:
        with _telling(what):
            value = OrtValue._of(borrow(*memory))
            place = place_of_device(memory[3], memory[4])
            return _Bound(value, int(memory[0]), place)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Fetch an output into the memory of a value of its shape."""
        self._results.pop(name, None)
        self._outputs[name] = _Bound(ortvalue._get_c_value())

    def run(self, run_options: RunOptions | None = None) -> None:
        """Run the session, and write what is bound if all of it fits."""
        if not self._outputs:
            raise errors.BindingError(
                "Error in execution: At least one output should be requested: "
                "bind_output binds one"
            )
        with _telling("Error in execution"):
            feed = {}
            for name, bound in self._inputs.items():
                bound.check()
                feed[name] = bound.value
            names = list(self._outputs)
            results = [
                OrtValue._of(result)
                for result in self._session.run(names, feed, run_options)
            ]
            for name, result in zip(names, results, strict=True):
                self._require_room(name, result)
            for name, result in zip(names, results, strict=True):
                self._results[name] = self._put(name, result)

    def _require_room(self, name: str, result: OrtValue) -> None:
        """Raise unless an output fits what is bound to its name."""
        bound = self._outputs[name]
        if not bound.value.has_value():
            return
        if bound.value.data_type() != result.data_type():
            raise errors.BindingError(
                "Unexpected output data type. Actual: "
                f"({bound.value.data_type()}) , expected: "
                f"({result.data_type()}): output {name}"
            )
        if bound.value.shape() != result.shape():
            raise errors.BindingError(
                f"The output OrtValue provided for output {name!r} has shape "
                f"{bound.value.shape()} but the computed output shape for this "
                f"run is {result.shape()}"
            )
        bound.check()

    def _put(self, name: str, result: OrtValue) -> OrtValue:
        """Write an output where it is bound, and return the value there."""
        bound = self._outputs[name]
        if bound.value.has_value():
            fill(bound.value, result)
            return bound.value
        return result._moved(bound.place)

    def synchronize_inputs(self) -> None:
        """Do nothing: runs wait for what they are fed."""

    def synchronize_outputs(self) -> None:
        """Do nothing: runs return when their outputs are there."""

    def get_outputs(self) -> list[OrtValue]:
        """The values of the bound outputs, in order of binding.

        Before a run they are what is bound, mostly without a value.
        """
        return [
            self._results.get(name, bound.value)
            for name, bound in self._outputs.items()
        ]

    def get_outputs_as_ortvaluevector(self) -> OrtValueVector:
        """:meth:`get_outputs`."""
        return OrtValueVector(self.get_outputs())

    def copy_outputs_to_cpu(self) -> list[np.ndarray]:
        """Arrays of the bound outputs, in order; later runs do not change them.

        Raises if there was no run.
        """
        missing = [name for name in self._outputs if name not in self._results]
        if missing:
            raise errors.BindingError(
                f"output {missing[0]} has no value: run_with_iobinding "
                "computes it"
            )
        return [
            np.array(self._results[name].numpy())
            if bound.value.has_value()
            else self._results[name].numpy()
            for name, bound in self._outputs.items()
        ]

    def clear_binding_inputs(self) -> None:
        """Forget the feeds."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forget the outputs, and their values."""
        self._outputs.clear()
        self._results.clear()


SessionIOBinding = IOBinding
