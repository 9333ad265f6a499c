"""Runs the pages that are notebooks (docs/notebooks.py), each in a new kernel."""

import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
MISSING = [name for name in ("jupytext", "nbclient", "ipykernel") if not find_spec(name)]
if MISSING and os.environ.get("DEMAND"):
    raise RuntimeError(f"notebooks are not tested without Python's {MISSING}, and DEMAND is set")
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"without Python's {MISSING}")
if not MISSING:
    sys.path.append(str(ROOT / "docs"))
    import nbformat
    import notebooks
    from nbclient.exceptions import CellExecutionError

PAGES = [ROOT / "docs/ten_minutes.md", *sorted(ROOT.glob("docs/notebooks/*.md"))]
# What the cells of a page print.
PRINTS = {
    "ten_minutes": [
        r"\A\(32, 10\)\n",
        r"\(estimates; tuning measures\)",
        r"(?s)^0 +conv2d\S* +\S+ .*^0 +conv2d\S* +plain .*hint requires variant=plain",
        "^all results (within bound|equal)$",
        "^[0-9]+ signatures? measured",
        r"^\[Kernel\(op='relu', .*variant='mine'\)\]$",
    ],
    "my_kernel": [
        "^FAIL relu/mine .*: NaN$",
        r"with NaNs in the inputs Out\[\d, \d\] is 0, relu/plain .* gives nan$",
        r"^relu/mine \(cpu PYTHON\) +float32 +\d+ +ok$",
        r"(?s)fast_relu\.cc is not right, .*with NaNs in the inputs Out\[\d, \d\] is 0, relu/plain",
        r"^\[Kernel\(op='relu', .*library='MINE', variant='fast'\)\]$",
        r"^python/mine +[\d.-]",
        r"^mine/fast +[\d.-]",
        "relu +mine/fast .*hint requir.*ariant=fast",
        "^<Comparison: .*; results (within bound|equal)>$",
        r"(?s)<Comparison.*^ +1 +relu\+pool2d +plain ",
    ],
    "train_save_run": [
        r"^right: \[0\.(8[5-9]|9)",
        "^<Program: 6 ops, 1 610 parameters; feed image>$",
        r"^arg_max_1\.Out \[(\d ?){10}\]$",
        r"^(\d ){10}$",
    ],
    "faster_onnx": [
        r"(?s)^ +0 +conv2d\+bn .*^ +2 +relu\+pool2d ",
        "^[0-9]+ signatures? measured",
        r"(?s)^16 images, as written: \d+ us$.*^16 images, tuned, 1 thread: \d+ us$",
    ],
}


def printed(notebook):
    """What the cells print, and their last values as text."""
    text = ""
    for output in [output for cell in notebook.cells for output in cell.get("outputs", ())]:
        assert output.get("name") != "stderr", output
        data = output.get("data", {})
        pre = re.match("(?s)<pre[^>]*>(.*)</pre>$", data.get("text/html", ""))
        last = html.unescape(pre[1]) if pre else data.get("text/plain", "")
        text += output.get("text") or last + "\n"
    return text


def kinds_of_lines(explained):
    """How each line of an explanation begins, and its ops, fused or not; without
    hints, which it has where kernels are near each other."""
    lines = explained.strip().splitlines()[1:]
    lines = [x for x in lines if not x.startswith(("to force", "  with"))]
    kinds = [x.split() if x[:1] == "#" else x.split(" ")[0] for x in lines if not x[:1].isdigit()]
    return kinds + "+".join(re.findall(r"^\d+ +([a-z]\w+(?:\+\w+)*) ", explained, re.M)).split("+")


def compiles_sluice():
    tools = all(map(shutil.which, ("g++", "pkg-config")))
    return tools and not subprocess.call(["pkg-config", "--exists", "sluice"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_prints_what_its_page_says(page, tmp_path):
    installs = re.search(r"(?m)^```sh\n[^`]*(\./dev|install )", page.read_text())
    assert not installs, "a block of sh runs; commands to be read are in a block without a name"
    if "pkg-config" in page.read_text() and not compiles_sluice():
        assert not os.environ.get("DEMAND"), "pkg-config finds no sluice, and DEMAND is set"
        pytest.skip("pkg-config finds no sluice: PKG_CONFIG_PATH=build/release has one")
    notebook = notebooks.run(page, tmp_path)
    text = printed(notebook)
    for pattern in PRINTS[page.stem]:
        assert re.search(pattern, text, re.M), (pattern, text)
    if page.stem == "ten_minutes":
        sample = notebooks.SAMPLE.search(page.read_text())[0].partition("\n")[2][:-3]
        explained = text.split("\nprogram, cpu, ")[1]
        assert kinds_of_lines(sample) == kinds_of_lines(explained)
    site = notebooks.with_outputs(notebook, tmp_path / page.stem)
    assert site.count(":class: output") + site.count('class="output"') >= 4


def test_outputs_stand_below_their_cell_or_where_the_page_has_a_sample(tmp_path):
    (tmp_path / "page.md").write_text(
        "# Page\n\n```python\n1 + 1\n```\n\n```python\nprint('run')\n```\n\n"
        "It prints:\n\n```text\nsample\n```\n\n```python\n%%writefile a.cc\nint a;\n```\n\n"
        "```sh\ncat a.cc\n```\n\n```\n./not run\n```\n\n```python\n%%writefile a.py\nb = 1\n```\n"
    )
    page = notebooks.with_outputs(notebooks.run(tmp_path / "page.md", tmp_path), tmp_path / "page")
    two, run, code = (
        f"```{{code-block}} text\n:class: output\n\n{text}\n```" for text in ("2", "run", "int a;")
    )
    assert f"1 + 1\n```\n\n{two}\n\n```python" in page
    assert f"It prints:\n\n{run}\n\n```{{code-block}} cpp\n:caption: a.cc\n\nint a;\n```" in page
    assert f"```sh\ncat a.cc\n```\n\n{code}\n\n```\n./not run\n```" in page
    assert "```{code-block} python\n:caption: a.py\n\nb = 1\n```" in page
    assert "sample" not in page


def test_pictures_of_a_page_are_files_beside_it(tmp_path):
    svg = nbformat.v4.new_output("display_data", {"image/svg+xml": "<svg/>", "text/plain": "x"})
    cell = nbformat.v4.new_code_cell("draw()", outputs=[svg])
    page = notebooks.with_outputs(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "a/page")
    assert '<img src="page_0_0.svg"' in page
    assert (tmp_path / "a/page_0_0.svg").read_text() == "<svg/>"


def test_a_cell_that_fails_is_named_with_its_error(tmp_path):
    (tmp_path / "page.md").write_text("```python\nname = 1\n```\n\n```python\nname.no\n```\n")
    with pytest.raises(CellExecutionError, match=r"(?s)name\.no.*AttributeError.*'int' object"):
        notebooks.run(tmp_path / "page.md", tmp_path)
