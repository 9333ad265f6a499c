"""The chapters of fluid/book, each as a separate program, in short."""

import pathlib
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

import sluice as sl
from test_examples import ROOT, run_example

BOOK = ROOT / "fluid" / "book"


@pytest.mark.parametrize("chapter", sorted(
    path.stem for path in (BOOK / "twins").glob("*.py") if path.stem != "twin"))
def test_a_chapter_learns_goes_on_and_runs_elsewhere(chapter, tmp_path):
    # With --quick the chapter itself checks that the loss falls, that the second
    # pass from a checkpoint gives the same bits, and that each file that it
    # writes gives the outputs of the training's program.
    text = run_example(f"../fluid/book/{chapter}.py", "--quick", "--output", tmp_path)
    lines = re.findall(rf"^({chapter}\S*) +-?\d\.\d+ .* (\S+) +(\S+) +\S+$", text, re.M)
    assert lines, text
    runs_in_cpp = pathlib.Path(sl.__file__).parents[2] / "fluid" / "run_model"
    for name, onnx, cpp in lines:
        assert cpp == ("equal" if runs_in_cpp.exists() else "-")
        assert (tmp_path / name / "model.onnx").exists() == (onnx == "ok")
        assert (tmp_path / name / "losses.svg").exists() == bool(find_spec("matplotlib"))


@pytest.mark.parametrize("chapter", ["fit_a_line", "gan"])
def test_a_chapter_goes_on_after_its_last_whole_pass(chapter, tmp_path):
    def run(*options):
        text = run_example(f"../fluid/book/{chapter}.py", "--quick", *options, "--output", tmp_path)
        return text, re.findall(rf"^{chapter} +(\S+)", text, re.M)

    _, score = run()
    # As if it had been ended while it wrote its last checkpoint.
    (tmp_path / chapter / "checkpoint_0" / "step-000000002.safetensors").unlink()
    text, again = run("--resume")
    assert "goes on after pass 1\n" in text
    assert score == again


@pytest.mark.skipif(not (ROOT / "build" / "peers" / "torch").exists(), reason="no PyTorch")
def test_chapters_follow_their_twins(tmp_path):
    # The examples themselves check the losses of 20 steps and the scores.
    text = run_example("../fluid/book", "--quick", "--peers", "--output", tmp_path,
                       "fit_a_line", "word2vec", "gan")
    apart = [float(line.split()[4]) for line in text.splitlines()[1:]]
    assert len(apart) == 3 and all(0 <= each <= 1e-4 for each in apart)


def test_a_chapter_says_what_it_misses(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.path.insert(0, 'fluid/book');"
         "import chapter, fit_a_line; (task,) = fit_a_line.TASKS;"
         "task.passes, task.without_onnx = 1, 'mul'; chapter.main('text', task)",
         "--output", tmp_path], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.fullmatch(
        r"fit_a_line ...\nfit_a_line: ONNX has mul now\nfit_a_line: score -?[0-9.]+\n", done.stderr)
