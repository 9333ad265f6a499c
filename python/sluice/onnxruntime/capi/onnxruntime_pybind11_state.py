"""The names that clients of onnxruntime import from its extension.

Imports are absolute, since this module is also ``onnxruntime.capi...`` where
``sys.modules["onnxruntime"]`` is ``sluice.onnxruntime``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sluice.onnxruntime import (
    absent,
    binding,
    devices,
    environment,
    errors,
    options,
    session,
    tensors,
    values,
)
from sluice.onnxruntime.absent import *  # noqa: F403
from sluice.onnxruntime.absent import Absent
from sluice.onnxruntime.binding import *  # noqa: F403
from sluice.onnxruntime.devices import *  # noqa: F403
from sluice.onnxruntime.environment import *  # noqa: F403
from sluice.onnxruntime.errors import *  # noqa: F403
from sluice.onnxruntime.options import *  # noqa: F403
from sluice.onnxruntime.tensors import *  # noqa: F403
from sluice.onnxruntime.values import *  # noqa: F403

_TOOLS = "it is a tool of the package onnxruntime, for a process of its own"
_TABLES = "docs/onnx.md and ./dev kernels say what Sluice has"

_ABSENT = {
    name: Absent(name, advice)
    for advice, names in (
        (
            _TABLES,
            "get_all_operator_schema get_all_opkernel_def opkernel schemadef "
            "get_registered_ep_kernel_defs get_compatibility_info_from_model "
            "get_compatibility_info_from_model_bytes "
            "get_hardware_device_ep_incompatibility_details "
            "get_model_compatibility_for_ep_devices get_session_initializer "
            "OrtCompiledModelCompatibility OrtDeviceEpIncompatibilityReason "
            "SessionObjectInitializer SparseBlockSparseView",
        ),
        (
            _TOOLS,
            "quantize_matmul_2bits quantize_matmul_4bits quantize_matmul_8bits "
            "quantize_matmul_bnb4 quantize_qdq_matmul_2bits "
            "quantize_qdq_matmul_4bits pack_fp4_weights_for_cuda_moe_gemm",
        ),
    )
    for name in names.split()
}
globals().update(_ABSENT)


class InferenceSession(session.InferenceSession):
    """A session as onnxruntime's extension makes it: of a path or bytes.

    :meth:`initialize_session` says on which providers it runs.
    """

    def __init__(
        self,
        sess_options: options.SessionOptions | None,
        path_or_bytes: Any,
        is_path: bool = True,
        read_config_from_model: bool = False,
    ) -> None:
        super().__init__(path_or_bytes, sess_options)

    def initialize_session(
        self,
        providers: Sequence[str] = (),
        provider_options: Sequence[dict[str, Any]] = (),
        disabled_optimizers: Any = (),
    ) -> None:
        """Choose providers; the CPU if there are none."""
        self.set_providers(
            list(providers) or None, list(provider_options) or None
        )

    inputs_meta = property(session.InferenceSession.get_inputs)
    outputs_meta = property(session.InferenceSession.get_outputs)
    model_meta = property(session.InferenceSession.get_modelmeta)
    overridable_initializers = property(
        session.InferenceSession.get_overridable_initializers
    )
    session_options = property(session.InferenceSession.get_session_options)


__all__ = [
    "InferenceSession", *_ABSENT, *absent.__all__,
    *binding.__all__, *devices.__all__,
    *environment.__all__, *errors.__all__, *options.__all__,
    *tensors.__all__, *values.__all__,
]
