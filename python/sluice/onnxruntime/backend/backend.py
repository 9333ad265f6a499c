"""Runs models by the interface of the package onnx for backends."""

from __future__ import annotations

from typing import Any

from onnx.backend.base import Backend

from sluice.onnxruntime import environment
from sluice.onnxruntime.backend.backend_rep import OnnxRuntimeBackendRep
from sluice.onnxruntime.options import SessionOptions
from sluice.onnxruntime.session import InferenceSession

__all__ = ["OnnxRuntimeBackend"]

# Those that write files may come from a stranger's model.
_REFUSED = (
    "enable_profiling", "optimized_model_filepath", "profile_file_prefix",
)


class OnnxRuntimeBackend(Backend):
    """Loads models as sessions, and runs them."""

    @classmethod
    def is_compatible(
        cls, model: Any, device: str | None = None, **kwargs: Any
    ) -> bool:
        """Whether this machine has the device; the model is not looked at."""
        return cls.supports_device(device or environment.get_device())

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether this machine has it: "CPU", "GPU" or "CUDA"."""
        kind = device.split(":")[0].upper()
        has_gpu = environment.get_device() == "GPU"
        return kind == "CPU" or (kind in ("GPU", "CUDA") and has_gpu)

    @classmethod
    def prepare(
        cls, model: Any, device: str | None = None, **kwargs: Any
    ) -> OnnxRuntimeBackendRep:
        """Load a model.

        Args:
            model: a path, bytes, a message of the package onnx, a session, or
                what this function returns.
            device: see :meth:`supports_device`; None for the fastest one.
            kwargs: attributes of :class:`SessionOptions`; others are ignored.

        Raises:
            RuntimeError: this machine lacks the device, or an option is not
                permitted here.
        """
        if isinstance(model, OnnxRuntimeBackendRep):
            return model
        if isinstance(model, InferenceSession):
            return OnnxRuntimeBackendRep(model)
        if device is not None and not cls.supports_device(device):
            raise RuntimeError(
                f"Incompatible device expected '{device}', got "
                f"'{environment.get_device()}'"
            )
        options = SessionOptions()
        for name, value in kwargs.items():
            if name in _REFUSED:
                raise RuntimeError(
                    f"SessionOptions attribute '{name}' is not permitted via "
                    "the backend API."
                )
            if name in vars(options):
                setattr(options, name, value)
        if hasattr(model, "SerializeToString"):
            model = model.SerializeToString()
        on_cpu = device is not None and device.upper().startswith("CPU")
        providers = environment.get_available_providers()
        if on_cpu:
            providers = ["CPUExecutionProvider"]
        return OnnxRuntimeBackendRep(
            InferenceSession(model, options, providers)
        )

    @classmethod
    def run_model(
        cls, model: Any, inputs: Any, device: str | None = None, **kwargs: Any
    ) -> list[Any]:
        """:meth:`prepare`, and run once."""
        return cls.prepare(model, device, **kwargs).run(inputs, **kwargs)

    @classmethod
    def run_node(cls, *args: Any, **kwargs: Any) -> Any:
        """Raise NotImplementedError: onnxruntime runs no single nodes."""
        raise NotImplementedError(
            "It is much more efficient to run a whole model than every node "
            "independently; sluice.onnx.backend.run_node runs one."
        )


is_compatible = OnnxRuntimeBackend.is_compatible
prepare = OnnxRuntimeBackend.prepare
run = OnnxRuntimeBackend.run_model
supports_device = OnnxRuntimeBackend.supports_device
