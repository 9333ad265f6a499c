"""Short runs of the examples, each as a separate program."""

import ast
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
import xml.etree.ElementTree as ET
from importlib.util import find_spec

import pytest
from processes import python

import sluice as sl
from ranks import needs_mpi

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run_example(name, *arguments):
    """Runs an example to its end; lines fit 80 columns but for long folders."""
    done = python(
        ROOT / "examples" / name, *map(str, arguments), cwd=ROOT, env=os.environ
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for line in done.stdout.splitlines():
        for path in arguments:
            if isinstance(path, pathlib.Path):
                line = line.replace(str(path), "build/demo")
        assert len(line) <= 80 or "--help" in arguments, line
    return done.stdout


def on_terminal(columns, command, **variables):
    """What a command prints on a terminal, and its exit status."""
    try:
        process, terminal = pty.fork()
    except OSError as error:  # as in a chroot without /dev/pts
        pytest.skip(f"no pseudo-terminals here: {error}")
    if process == 0:
        os.environ.update(variables)
        os.chdir(ROOT)
        os.execv(sys.executable, [sys.executable, *map(str, command)])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 30, columns, 0, 0))
    text = b""
    with contextlib.suppress(OSError):  # the end
        while more := os.read(terminal, 65536):
            text += more
    return text.decode(), os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def test_every_option_says_what_it_is_for():
    calls = [
        call for file in ROOT.glob("examples/**/*.py")
        for call in ast.walk(ast.parse(file.read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(".add_argument")
    ]
    assert len(calls) > 30
    assert [ast.unparse(c) for c in calls if "help" not in {k.arg for k in c.keywords}] == []


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_a_bar_counts_trainings_and_fits_the_terminal(columns, tmp_path):
    text, status = on_terminal(columns, [
        "examples/train_digits.py", "--seeds", 1, "--epochs", 1, "--cuda-epochs", 1,
        "--output", tmp_path], PYTHONIOENCODING="ascii", NO_COLOR="1")
    assert status == 0, text
    assert text.isascii() and "\x1b[3" not in text  # no blocks, no colours
    bars = [bar for bar in text.replace("\n", "\r").split("\r") if " of 6 |" in bar]
    assert bars and max(map(len, bars)) <= columns
    if columns >= 80:
        assert re.search(
            r"training 2 of 6 \|.*\| 00:\d\d left, lenet, chosen kernels, seed 1 of 1, loss ",
            text)


def test_a_bar_moves_while_one_call_takes_long():
    text, _ = on_terminal(80, ["-c", "import sys, time; sys.path.insert(0, 'examples');"
        "import console\nwith console.progress('waiting', 2, seconds=True): time.sleep(2)"])
    shares = re.findall(r"waiting \|( *[^ |]*) *\|", text)
    assert len(set(shares)) >= 3, text


@pytest.mark.parametrize("command", [
    ["train_digits.py"], ["crf_tagging.py", "--steps", "100000"], ["separate_cells.py"],
    ["tune_lenet.py"], ["../fluid/book/image_classification.py"], pytest.param(["compare_ranks.py", "--epochs", "1000"], marks=needs_mpi)])
def test_an_interrupted_example_says_so_in_one_line(command, tmp_path):
    option = "--out" if "tune_lenet.py" in command else "--output"
    output = [] if "crf_tagging.py" in command else [option, tmp_path]
    with subprocess.Popen(
        [sys.executable, ROOT / "examples" / command[0], *command[1:], *output],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as example:
        assert example.stdout.readline()
        time.sleep(1)
        os.killpg(example.pid, signal.SIGINT)
        _, errors = example.communicate(timeout=60)
    # What Open MPI says where there is no /sys.
    errors = re.sub(r"(\[hwloc/linux\]|hwloc/linux:).*\n", "", errors)
    *_, last = errors.splitlines()  # before it, what was done
    assert (example.returncode, last, "Traceback" in errors) == (130, "interrupted", False)


@pytest.mark.parametrize("count, text", [
    (0, "0 B"), (999, "999 B"), (459040, "459 kB"), (999_600, "1 MB"), (3.19e6, "3.19 MB"),
    (22116939264, "22.1 GB")])
def test_sizes_are_readable(count, text):
    sys.path.insert(0, str(ROOT / "examples"))
    import console

    assert console.size(count) == text


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
    assert ("that needs Matplotlib" in text) != has_matplotlib
    assert "training 6 of 6: maxout, oneDNN kernels, seed 1 of 1\n" in text
    for network in ("lenet", "maxout"):
        shares = re.findall(rf"^{network} +(\w+) +([0-9.]+) % \(", text, re.M)
        assert [way for way, _ in shares] == ["plain", "chosen", "oneDNN"]
        assert all(float(share) > 50 for _, share in shares), text
        if has_matplotlib:
            words = list(svg(tmp_path / f"{network}_loss.svg").itertext())
            assert {f"{network}: training loss, mean of an epoch", "ms per step",
                    "plain", "chosen", "oneDNN"} <= {word.strip() for word in words}
            assert re.search(rf"^  {tmp_path}/{network}_loss.svg +its losses", text, re.M)
        graph = svg(tmp_path / f"{network}.svg")
        words = " ".join(graph.itertext())
        assert "conv2d" in words if network == "lenet" else "maxout" in words
    if has_place(sl.CUDAPlace(0)):
        worst = re.findall(
            r"cuda:0   off the CPU: loss (\S+), logits (\S+),", text
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
    assert len(re.findall("^digits  ", text, re.M)) == 3
    assert re.search(r"^image by image .*\[\d\].* \d wrong$", text, re.M)
    for place in places:
        # Copies emissions back: 60 strings of 12 images, 10 scores of 4 bytes.
        assert re.search(
            rf"^  crf_decoding is at cpu: no kernel .* {place}.*\n(?:  .*\n)*"
            rf"  28.8 kB copied from {place} to cpu$", text, re.M), text
    assert text.count("the same tags as on the CPU") == len(places)
    assert len(text.splitlines()) < 40
    assert "manhattan_distance" not in text
    text = subprocess.run(
        [sys.executable, ROOT / "examples" / "crf_tagging.py", "--steps", "20", "--explain"],
        capture_output=True, text=True, check=False).stdout
    assert "manhattan_distance" in text


def test_cells_that_touch_come_apart(tmp_path):
    # The example itself checks the bound.
    text = run_example("separate_cells.py", "--steps", 60, "--batch", 4,
                       "--images", 6, "--bound", 0.6, "--output", tmp_path)
    losses = [float(loss) for loss in re.findall(r"loss (\S+) of emb", text)]
    assert losses[-1] < losses[0] / 5
    ((before, after),) = re.findall(
        r"^before .* overlap (\S+)$.*^after .* overlap (\S+)$", text, re.M | re.S)
    assert float(before) < 0.2 < 0.6 <= float(after)
    drawn = f"\n  {tmp_path / 'cells.png'}  embeddings" in text
    assert (tmp_path / "cells.png").exists() == drawn
    assert drawn == (find_spec("matplotlib") is not None)


def test_arguments_of_the_example_of_cells(tmp_path):
    few = ("separate_cells.py", "--steps", 1, "--images", 1, "--bound", 0)
    text = run_example(*few, "--batch", 1, "--output", tmp_path / "new" / "a.png")
    assert (tmp_path / "new" / "a.png").is_file() == ("a.png  embeddings" in text)
    help_text = run_example("separate_cells.py", "--help")
    assert "images in a training step (default: 8)" in " ".join(help_text.split())
    with pytest.raises(AssertionError, match="argument --batch: '0' is no number above 0"):
        run_example(*few, "--batch", 0)


def test_a_lenet_is_tuned_and_reported(tmp_path):
    text = run_example("tune_lenet.py", "--out", tmp_path, "--budget", 3, "--seconds", 1,
                       "--batch", 4)
    page = tmp_path / "report.html"
    assert f"\n  {page} " in text
    assert "lenet by records" in page.read_text(encoding="utf-8")
    # Terminal and page have the same sentences about the gain.
    ((verdict, before, after),) = re.findall(
        r"a training step .*: (.+)\n  (.+) by estimates,\n  (.+) by records", text)
    data = page.read_text(encoding="utf-8")
    assert all(json.dumps(said) in data for said in (verdict, before, after))


@needs_mpi
def test_ranks_train_alike_and_go_on_from_a_checkpoint(tmp_path):
    text = run_example("compare_ranks.py", "--ranks", 1, 2, "--epochs", 2,
                       "--output", tmp_path)
    for name in ("loss of epoch 1", "loss of epoch 2"):
        ((one, two),) = re.findall(rf"^{name} +(\S+) +(\S+)$", text, re.M)
        # Batches of other sizes may take other kernels, which round otherwise.
        assert float(one) == pytest.approx(float(two), rel=2e-4)
    assert re.search(r"^gradients per step +459 kB +459 kB$", text, re.M)
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
    ((share, loss),) = re.findall(r"1 rank: accuracy (\S+) %, loss (\S+),", text)
    assert float(share) > 80
    assert float(loss) < 0.3


def test_sentences_for_training_have_a_tag_for_every_word():
    sys.path.insert(0, str(ROOT / "examples"))
    import analyse_text

    sentences = analyse_text.sentences(48)
    assert sentences == analyse_text.sentences(48)
    assert len(sentences) == 48 and len(set(sentences)) > 24
    for sentence in sentences:
        tags = dict(pair.split("/") for pair in sentence.split(" "))
        assert tags["水闸"] == "nz" and all(tags)
        assert set(tags.values()) <= set(analyse_text.GLOSSES)


def test_columns_count_chinese_characters_twice():
    sys.path.insert(0, str(ROOT / "examples"))
    import analyse_text

    assert analyse_text.padded("2026年", 12) == "2026年" + 6 * " "
    assert analyse_text.tagged([["水", "闸"], ["n", "v"]]) == "水/n 闸/v"
