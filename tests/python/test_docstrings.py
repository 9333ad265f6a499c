"""Runs the examples (`>>>`) of the package's docstrings."""

import ast
import contextlib
import doctest
import pathlib

import numpy as np
import pytest

import sluice as sl

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python/sluice"
WITH_DOCSTRING = ast.Module | ast.ClassDef | ast.FunctionDef


def examples():
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            text = isinstance(node, WITH_DOCSTRING) and ast.get_docstring(node)
            if text and ">>> " in text:
                name = getattr(node, "name", path.parent.name)
                yield pytest.param(path, text, id=f"{path.stem}-{name}")


@pytest.fixture
def names(exe, tmp_path, monkeypatch):
    """What examples take for granted: a small network, and files of it."""
    monkeypatch.chdir(tmp_path)
    program = sl.Program()
    with sl.program_guard(program, sl.default_startup_program()):
        image = sl.data("data", [None, 3])
        y = sl.layers.softmax(sl.layers.fc(image, 2))
    x = sl.data("rows", [None, 3])
    loss = sl.layers.mean(sl.layers.fc(x, 2))
    test_program = sl.default_main_program().clone(for_test=True)
    sl.optimizer.Momentum(0.1).minimize(loss)
    exe.run(sl.default_startup_program())
    for file in ("resnet50.onnx", "net.onnx"):
        sl.onnx.save(program, file, [y])
    feed = {"rows": np.ones((2, 3), "float32")}
    return {
        **{
            "sl": sl,
            "np": np,
            "exe": exe,
            "x": x,
            "image": np.ones((1, 3), "f4"),
        },
        **{"program": program, "y": y, "test_program": test_program},
        **{"feed": feed, "loss": loss, "LayerHelper": sl.LayerHelper},
        "Ragged": sl.Ragged,
    }


@pytest.mark.parametrize(("path", "text"), examples())
def test_the_example_runs(names, path, text):
    parsed = doctest.DocTestParser().get_doctest(
        text, names, path.name, path, 0
    )
    assert parsed.examples
    for example in parsed.examples:
        if not example.want:  # what it prints is not shown
            example.want = "...\n" if "print(" in example.source else ""
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    own = (sl.Program(), sl.Program()) if "import sluice" in text else ()
    with sl.program_guard(*own) if own else contextlib.nullcontext():
        result = runner.run(parsed, out=said.append, clear_globs=False)
    assert result.failed == 0, "".join(said)
