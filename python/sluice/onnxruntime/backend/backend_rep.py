"""A model that a backend has loaded."""

from __future__ import annotations

from typing import Any

from onnx.backend.base import BackendRep

from sluice.onnxruntime.options import RunOptions
from sluice.onnxruntime.session import InferenceSession

__all__ = ["OnnxRuntimeBackendRep"]


class OnnxRuntimeBackendRep(BackendRep):
    """A session that can be run."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session

    def run(self, inputs: Any, **kwargs: Any) -> list[Any]:
        """Run the model.

        Args:
            inputs: a list of arrays, one for each input in order, or the array
                of the only input.
            kwargs: attributes of :class:`RunOptions`; others are ignored.

        Raises:
            RuntimeError: there are more or fewer inputs, or an option is not
                permitted here.
        """
        options = RunOptions()
        for name, value in kwargs.items():
            if name == "terminate":
                raise RuntimeError(
                    "RunOptions attribute 'terminate' is not permitted via the "
                    "backend API."
                )
            if name in vars(options):
                setattr(options, name, value)
        names = [value.name for value in self._session.get_inputs()]
        given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        if len(given) != len(names):
            raise RuntimeError(
                f"Model expect {len(names)} inputs, got {len(given)}"
            )
        feed = dict(zip(names, given, strict=True))
        return self._session.run(None, feed, options)
