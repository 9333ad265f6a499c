"""ONNX Runtime: a chain of 1,000 Add of 4x4 float32; ns per op."""

import peer_timing

options = peer_timing.arguments()
import numpy as np  # noqa: E402
from onnx_session import floats, model_of, node, session_of  # noqa: E402

OPS = 1000
# Every op adds the input x to the sum so far. The optimizer would remove them.
session = session_of(model_of(
    [node("Add", ["x" if i == 0 else f"t{i - 1}", "x"], [f"t{i}"])
     for i in range(OPS)],
    {"x": floats(4, 4)}, {f"t{OPS - 1}": floats(4, 4)}), optimize=False)
x = np.full((4, 4), 1e-3, np.float32)
(result,) = session.run(None, {"x": x})
np.testing.assert_allclose(result, 1e-3 * (OPS + 1), rtol=1e-4)
seconds = peer_timing.median_seconds(lambda: session.run(None, {"x": x}))
peer_timing.report({"dispatch/chain1000": {"onnxruntime": seconds / OPS * 1e9}})
