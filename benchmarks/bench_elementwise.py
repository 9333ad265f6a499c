"""Elementary functions and quantization, compared with onnxruntime.

  ./dev bench elementwise [--json FILE] [--peers] [--only-function NAME]

elementwise/<function>/<elements>: one run of a model of one node, in ms, with
one thread: the median of runs that take turns with onnxruntime's.
"""

from __future__ import annotations

import pathlib
import sys

import bench_models
import bench_report
import numpy as np
import onnx
from onnx import helper
from onnx_session import model_of, node

# Bound on our time, as a share of onnxruntime's.
AT_MOST = 1.1
SIZES = 1_001, 100_003, 10_000_019
UNARY = {
    name: (name.capitalize(), {})
    for name in ("erf", "gelu", "sin", "cos", "tanh", "sigmoid", "exp")
} | {"tanh_gelu": ("Gelu", {"approximate": "tanh"})}
QUANTIZED = {"int8": np.int8, "uint8": np.uint8}
FUNCTIONS = [
    *UNARY,
    *(f"{way}_{dtype}" for way in ("quantize", "dequantize")
      for dtype in QUANTIZED),
]


def write_model(function, elements):
    """A file with a model of y = function(x), and its feeds."""
    x = 3 * np.random.default_rng(0).standard_normal(elements, np.float32)
    way, _, integers = function.rpartition("_")
    constants, result = {}, np.float32
    if integers in QUANTIZED:
        dtype = QUANTIZED[integers]
        operator, attributes = f"{way.capitalize()}Linear", {}
        constants = {
            "scale": np.array(0.03, np.float32), "zero": np.array(3, dtype)
        }
        if way == "quantize":
            result = dtype
        else:
            x = np.clip(20 * x, 0, 127).astype(dtype)
    else:
        operator, attributes = UNARY[function]
    x_of, y_of = (
        {name: (helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [elements])}
        for name, dtype in (("x", x.dtype), ("y", result))
    )
    nodes = [node(operator, ["x", *constants], ["y"], **attributes)]
    model = model_of(nodes, x_of, y_of, constants, opset=20)
    path = pathlib.Path(bench_models.TEMPORARY.name) / f"{function}.onnx"
    onnx.save(model, path)
    return path, {"x": x}


def main() -> int:
    parser = bench_report.option_parser(__doc__, seconds=0.5)
    parser.add_argument("--only-function", choices=FUNCTIONS)
    parser.set_defaults(tune=0)
    options = parser.parse_args()
    report = bench_report.Report(options)
    chosen = [options.only_function] if options.only_function else FUNCTIONS
    peer = bench_models.process("onnxruntime") if options.peers else None
    for elements in SIZES[:1] if options.smoke else SIZES:
        for function in chosen:
            bench_models.measure(
                report, peer, f"elementwise/{function}/{elements}",
                write_model(function, elements), AT_MOST, 1, options,
            )
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
