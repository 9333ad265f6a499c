"""Runs what a chapter trained elsewhere: PaddlePaddle, ONNX, C++, PyTorch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import console
import numpy as np
from training import STEPS, Training

import sluice as sl
import sluice.fluid as fluid

if TYPE_CHECKING:
    from chapter import Result

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "build" / "peers"
APART = 1e-4  # what losses may differ by, of the larger of the loss and 1
TORCH = PEERS / "torch" / "bin" / "python"
PADDLE = PEERS / "paddle2" / "bin" / "python"
# In the build that the package is of.
RUN_MODEL = Path(sl.__file__).parents[2] / "fluid" / "run_model"

_ONNXRUNTIME = """
import sys
import numpy as np
import onnxruntime
model, inputs, outputs = sys.argv[1:]
session = onnxruntime.InferenceSession(model)
np.savez(outputs, *session.run(None, dict(np.load(inputs))))
"""

_PADDLE = """
import sys
import numpy as np
from paddle import inference
model, inputs, outputs = sys.argv[1:]
config = inference.Config(model)
config.disable_gpu()
config.disable_glog_info()
config.disable_mkldnn()
predictor = inference.create_predictor(config)
given = dict(np.load(inputs))
for name in predictor.get_input_names():
    handle = predictor.get_input_handle(name)
    handle.copy_from_cpu(given[name])
    levels = sorted(key for key in given if key.startswith(name + "@LOD"))
    handle.set_lod([given[level].tolist() for level in levels])
predictor.run()
handles = map(predictor.get_output_handle, predictor.get_output_names())
np.savez(outputs, *(handle.copy_to_cpu() for handle in handles))
"""


def install_peers() -> None:
    """Install PyTorch, ONNX Runtime and, where this Python is not too new for
    it, PaddlePaddle 2.6.2, in environments of their own.
    """
    sys.path.append(str(ROOT / "benchmarks" / "peers"))
    from run import environment

    old = sys.version_info < (3, 13)
    for name in ("torch", "onnxruntime", *(["paddle2"] if old else [])):
        environment(name, PEERS)


def _same(results: Any, outputs: Any, tolerance: float) -> bool:
    return all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, tolerance, tolerance)
        for a, b in zip(results, outputs, strict=True)
    )


def _called(command: list[Any]) -> str:
    """What a program prints; ends with its errors if it fails."""
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{command[0]}:\n{done.stderr[-2000:]}")
    return done.stdout


def export(
    training: Training, feed: Any, outputs: list[Any], result: Result
) -> dict[Path, str]:
    """Write the trained network in all formats, and run each file."""
    network, folder = training.network, training.folder
    names = [each.name for each in network.inputs]
    files = {}
    try:
        fluid.io.save_inference_model(
            str(folder / "model"),
            names,
            network.outputs,
            training.exe,
            network.test,
        )
        again = fluid.load(folder / "model").run(feed)
        result.check(_same(again, outputs, 1e-5), "the saved model differs")
        files[folder / "model"] = "PaddlePaddle's format"
        if PADDLE.exists() and not training.task.without_paddle:
            result.paddle = _in_paddle(folder / "model", feed, outputs)
            result.check(
                result.paddle != "wrong", "PaddlePaddle computes other outputs"
            )
    except sl.UnimplementedError as error:
        result.check(error.check_id == "fluid.save_loops", str(error))
    fetches = [
        network.test.translation.value(v.name).name for v in network.outputs
    ]
    program = network.test.sluice.prune(fetches)
    arrays = _arrays(feed)
    files |= _onnx(program, names, fetches, arrays, outputs, training, result)
    cpp = folder / "cpp"
    cpp.mkdir(exist_ok=True)
    sl.io.save_program(program, cpp / "model.program")
    sl.io.save_params(cpp / "model.safetensors", program)
    for name, array in arrays.items():
        np.save(cpp / f"{name}.npy", array)
    files[cpp] = "for run_model.cc"
    if RUN_MODEL.exists():
        result.cpp = _in_cpp(cpp, fetches, outputs)
        result.check(result.cpp == "equal", "C++ computes other outputs")
    return files


def _arrays(feed: Any) -> dict[str, np.ndarray]:
    """Feeds as arrays, with offsets of sequences as ``name@LOD``."""
    arrays = {}
    for name, value in feed.items():
        arrays[name] = np.asarray(value)
        if isinstance(value, fluid.LoDTensor):
            arrays[f"{name}@LOD"] = np.array(value.lod()[0], np.int64)
    return arrays


def _elsewhere(
    python: Path, script: str, model: Path, arrays: dict[str, np.ndarray]
) -> list[np.ndarray]:
    """What another library computes with a model."""
    given, got = (
        model.parent / "inputs.npz",
        model.parent / "outputs.npz",
    )
    np.savez(given, **arrays)
    _called([python, "-c", script, model, given, got])
    with np.load(got) as file:
        return [file[name] for name in file.files]


def _in_paddle(model: Path, feed: Any, outputs: list[Any]) -> str:
    arrays = {}
    for name, value in feed.items():
        arrays[name] = np.asarray(value)
        if isinstance(value, fluid.LoDTensor):
            for i, level in enumerate(value.lod()):
                arrays[f"{name}@LOD{i}"] = np.array(level)
    made = _elsewhere(PADDLE, _PADDLE, model, arrays)
    return "ok" if _same(made, outputs, 1e-4) else "wrong"


def _onnx(
    program: Any, names: Any, fetches: Any, arrays: Any, outputs: Any,
    training: Training, result: Result,
) -> dict[Path, str]:  # fmt: skip
    path = training.folder / "model.onnx"
    reason = training.task.without_onnx
    try:
        sl.onnx.save(program, path, fetches, list(arrays))
    except sl.UnimplementedError as error:
        result.check(reason != "" and reason in str(error), f"ONNX: {error}")
        return {}
    result.check(not reason, f"ONNX has {reason} now")
    python = PEERS / "onnxruntime" / "bin" / "python"
    if python.exists():
        made = _elsewhere(python, _ONNXRUNTIME, path, arrays)
    else:
        made = sl.onnx.load(path).run(arrays)
    holds = _same(
        [a[: len(b)] for a, b in zip(made, outputs, strict=True)], outputs, 1e-4
    )
    result.check(holds, "the ONNX model computes other outputs")
    result.onnx = "ok" if holds else "wrong"
    return {path: "ONNX"}


def _in_cpp(folder: Path, fetches: list[str], outputs: list[Any]) -> str:
    text = iter(_called([RUN_MODEL, folder, *fetches]).split())
    for output in outputs:
        values = [next(text) for _ in range(int(next(text)))]
        output = np.asarray(output)
        flat = np.array(values[: output.size]).astype(output.dtype)
        if not np.array_equal(flat, output.ravel()):
            return "wrong"
    return "equal"


def twin(training: Training, start: Any, result: Result) -> np.ndarray:
    """Train the twin with the same values and batches; return its losses."""
    task = training.task
    name, _, network = task.name.partition("/")
    given, got = (
        training.folder / "twin_reads.npz",
        training.folder / "twin.npz",
    )
    start = {f"start/{name}": value for name, value in start.items()}
    np.savez(given, **start, **training.arrays)
    script = Path(__file__).parent / "twins" / f"{name}.py"
    with console.progress(f"{task.name}, its twin in PyTorch"):
        _called([TORCH, script, given, got, network])
    with np.load(got) as file:
        losses = file["losses"]
        outputs = [
            file[f"output/{i}"] for i in range(len(training.network.outputs))
        ]
    result.twin = task.score(outputs, training.test)
    ours = np.array(training.losses)[:STEPS]
    theirs = losses[:STEPS]
    apart = np.abs(ours - theirs) / np.maximum(1, np.abs(theirs))
    result.apart = float(apart.max())
    result.check(
        result.apart <= APART,
        f"the twin's losses differ by {result.apart:.1e}",
    )
    # Losses part after some hundred steps, by the order of sums.
    result.check(
        result.score >= result.twin - 0.01,
        f"the twin's score is {result.twin:.4f}",
    )
    given.unlink()
    return losses
