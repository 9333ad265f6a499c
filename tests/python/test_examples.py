"""Short runs of the examples, each as a separate program."""

import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.util import find_spec

import pytest

import sluice as sl
from ranks import needs_mpi

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run_example(name, *arguments):
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / name, *map(str, arguments)],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def has_place(place):
    try:
        sl.Executor(place)
    except sl.SluiceError:
        return False
    return True


def svg(path):
    root = ET.parse(path).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return root


def test_networks_learn_digits_and_draw_themselves(tmp_path):
    has_matplotlib = find_spec("matplotlib") is not None
    quick = ("--seeds", 1, "--epochs", 2, "--cuda-epochs", 1)
    text = run_example("train_digits.py", *quick, "--output", tmp_path)
    assert ("no curves: they need Matplotlib" in text) != has_matplotlib
    for network in ("lenet", "maxout"):
        shares = re.findall(rf"{network} +(\w+) +([0-9.]+) % right", text)
        assert [way for way, _ in shares] == ["plain", "chosen", "oneDNN"]
        assert all(float(share) > 50 for _, share in shares), text
        if has_matplotlib:
            words = list(svg(tmp_path / f"{network}_loss.svg").itertext())
            assert {"epoch", "mean loss", "plain", "chosen", "oneDNN"} <= {
                word.strip() for word in words
            }
        graph = svg(tmp_path / f"{network}.svg")
        words = " ".join(graph.itertext())
        assert "conv2d" in words if network == "lenet" else "maxout" in words
    if has_place(sl.CUDAPlace(0)):
        worst = re.findall(
            r"cuda:0  loss within (\S+) and logits within (\S+) .* 40 steps", text
        )
        assert len(worst) == 2
        # Sums in another order differ, but not by much.
        assert all(0 < float(logits) < 1e-3 for _, logits in worst), text
        assert all(float(loss) < 1e-4 for loss, _ in worst), text


def test_the_field_alone_falls_to_the_cpu():
    # The example itself checks the tags, the ten points and the places.
    text = run_example("crf_tagging.py", "--steps", 40, "--strings", 60)
    places = ["fpga:0"]
    if has_place(sl.CUDAPlace(0)):
        places.insert(0, "cuda:0")
    assert re.findall(r"^at cpu: (.*)$", text, re.M) == ["crf_decoding"] * len(
        places
    )
    for place in places:
        (there,) = re.findall(rf"^at {place}: (.*)$", text, re.M)
        assert there == "reshape, manhattan_distance, scale, reshape"
        assert re.search(rf"crf_decoding +cpu .*no kernel.* {place}", text)
        # Copies emissions back: 60 strings of 12 images, 10 scores of 4 bytes.
        assert re.search(rf"{place} +cpu +28800 ", text)
    assert text.count("the same tags as on the CPU") == len(places)


def test_cells_that_touch_come_apart(tmp_path):
    # The example itself checks the bound.
    text = run_example("separate_cells.py", "--steps", 60, "--batch", 4,
                       "--images", 6, "--bound", 0.6, "--output", tmp_path)
    losses = [float(loss) for loss in re.findall(r"loss (\S+) of emb", text)]
    assert losses[-1] < losses[0] / 5
    ((before, after),) = re.findall(
        r"before: .* union\) (\S+)$.*^after: .* union\) (\S+)$", text, re.M | re.S)
    assert float(before) < 0.2 < 0.6 <= float(after)
    drawn = "\npicture: " in text
    assert (tmp_path / "cells.png").exists() == drawn
    assert drawn == (find_spec("matplotlib") is not None)


def test_arguments_of_the_example_of_cells(tmp_path):
    few = ("separate_cells.py", "--steps", 1, "--images", 1, "--bound", 0)
    text = run_example(*few, "--batch", 1, "--output", tmp_path / "new" / "a.png")
    assert (tmp_path / "new" / "a.png").is_file() == ("\npicture: " in text)
    help_text = run_example("separate_cells.py", "--help")
    assert "images in a training step (default: 8)" in " ".join(help_text.split())
    with pytest.raises(AssertionError, match="argument --batch: '0' is no number above 0"):
        run_example(*few, "--batch", 0)


def test_a_lenet_is_tuned_and_reported(tmp_path):
    text = run_example("tune_lenet.py", "--out", tmp_path, "--budget", 3, "--seconds", 1,
                       "--batch", 4)
    page = pathlib.Path(text.split()[-1])
    assert page == tmp_path / "report.html"
    assert "lenet by records" in page.read_text(encoding="utf-8")
    # One line states the gain, and its numbers agree.
    ((before, after, ratio),) = re.findall(
        r"a training step .* ([0-9.]+) ms by estimates, ([0-9.]+) ms by records: "
        r"([0-9.]+) times as fast", text)
    assert abs(float(before) / float(after) / float(ratio) - 1) < 0.02


@needs_mpi
def test_ranks_train_alike_and_go_on_from_a_checkpoint(tmp_path):
    text = run_example("compare_ranks.py", "--ranks", 1, 2, "--epochs", 2,
                       "--output", tmp_path)
    for name in ("loss of epoch 1", "loss of epoch 2"):
        ((one, two),) = re.findall(rf"^{name} +(\S+) +(\S+)$", text, re.M)
        assert float(one) == pytest.approx(float(two), rel=1e-5)
    assert re.search(r"^gradients, bytes a step +459040 +459040$", text, re.M)
    assert re.search(r"^hidden +- +\d+ %$", text, re.M)
    processes = {
        event["pid"]
        for event in json.loads((tmp_path / "ranks_2.json").read_text())["traceEvents"]
    }
    assert processes == {0, 1}
    # One process, without mpirun.
    text = run_example("distributed_digits.py", "--epochs", 3,
                       "--resume", tmp_path / "distributed.safetensors")
    assert "goes on after 50 steps of 2 ranks" in text
    ((share, loss),) = re.findall(r"1 rank: (\S+) % right, loss (\S+),", text)
    assert float(share) > 80
    assert float(loss) < 0.3
