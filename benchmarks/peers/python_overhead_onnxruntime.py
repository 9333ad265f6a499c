"""ONNX Runtime: a model of one op with one small feed and one fetch."""

import peer_timing

options = peer_timing.arguments()
import numpy as np  # noqa: E402
from onnx_session import floats, model_of, node, session_of  # noqa: E402

session = session_of(model_of(
    [node("Mul", ["x", "two"], ["y"])], {"x": floats(None, 4)},
    {"y": floats(None, 4)}, {"two": np.array(2, np.float32)}), options.threads)
feed, names = {"x": np.ones((2, 4), np.float32)}, ["y"]
np.testing.assert_array_equal(session.run(names, feed)[0], feed["x"] * 2)
seconds = peer_timing.median_of_many(lambda: session.run(names, feed),
                                     options.seconds)
peer_timing.report({"python/run_us": {"onnxruntime": seconds * 1e6}})
