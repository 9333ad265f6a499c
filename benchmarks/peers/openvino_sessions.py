"""OpenVINO with as much of onnxruntime's interface as models.py calls; float32
is computed in float32."""

import io

import numpy as np
import openvino

__version__ = openvino.__version__


class SessionOptions:
    """The number of threads."""

    intra_op_num_threads = 1


class InferenceSession:
    """A model that is compiled for the CPU."""

    def __init__(self, model, options, providers=None):
        core = openvino.Core()
        read = core.read_model(io.BytesIO(model) if isinstance(model, bytes) else model)
        self._compiled = core.compile_model(read, "CPU", {
            "INFERENCE_NUM_THREADS": options.intra_op_num_threads,
            "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY"})
        self._request = self._compiled.create_infer_request()

    def run(self, names, feeds):
        """The arrays of all outputs, as copies, like onnxruntime's."""
        found = self._request.infer(feeds, share_inputs=True)
        return [np.array(found[one]) for one in self._compiled.outputs]

    def get_outputs(self):
        """The outputs, each with a `name`."""
        return [_Named(one.get_any_name()) for one in self._compiled.outputs]


class _Named:
    def __init__(self, name):
        self.name = name
