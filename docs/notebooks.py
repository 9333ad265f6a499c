"""Runs the pages that are notebooks, and puts outputs below their cells.

Such a page has no outputs in it. Jupytext reads it, as JupyterLab does with
Jupytext's extension: blocks of python and sh are cells, the rest is text. All
cells run in one new kernel, in the order of the page.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import jupytext
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "docs/ten_minutes.md", *sorted((ROOT / "docs/notebooks").glob("*.md"))]
SECONDS = 300  # for the kernel to start, and for one cell
# An output that a page shows, for those who read it without running it.
SAMPLE = re.compile(r"(?ms)^```text\n.*?^```$")
WRITTEN = re.compile(r"%%writefile (\S+)\n")


def run(page: Path, folder: Path) -> Any:
    """The notebook of a page, with its outputs.

    Its files are written to ``folder``, and so are records. Raises nbclient's
    CellExecutionError, which has the cell and what it raised, and CellTimeoutError.
    """
    # Relative folders are of the caller.
    found = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(os.path.abspath, found)),
        "IPYTHONDIR": str(folder / "ipython"),
        "SLUICE_RECORDS": str(folder / "records.jsonl"),
    }
    notebook = jupytext.read(page, fmt="md")
    where = {"metadata": {"path": str(folder)}}
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        coalesce_streams=True,
        startup_timeout=SECONDS,
        timeout=SECONDS,
        resources=where,
    )
    return client.execute(env=environment)


def code(source: str) -> str:
    """A cell as a block of its language."""
    if found := WRITTEN.match(source):
        language = "python" if found[1].endswith(".py") else "cpp"
        head = f"```{{code-block}} {language}\n:caption: {found[1]}"
        return f"{head}\n\n{source[found.end() :]}\n```"
    if source.startswith("%%sh\n"):
        return f"```sh\n{source[5:]}\n```"
    return f"```python\n{source}\n```"


def shown(output: Any, picture: Path) -> str:
    """An output as Markdown: a picture, which is written to a file, HTML, or text."""
    data = output.get("data", {})
    if svg := data.get("image/svg+xml"):
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_text(svg, encoding="utf-8")
        return f'<img src="{picture.name}" alt="The drawing that the cell above makes">'
    if html := data.get("text/html"):
        return f'```{{raw}} html\n<div class="output">{html}</div>\n```'
    text = output.get("text") or data.get("text/plain", "")
    return f"```{{code-block}} text\n:class: output\n\n{text.rstrip()}\n```"


def with_outputs(notebook: Any, stem: Path) -> str:
    """The page of a notebook that has run. Outputs stand below their cell, or in the
    place of the sample that follows it. Pictures are files beside ``stem``."""
    parts, outputs = [], ""
    for number, cell in enumerate(notebook.cells):
        text = code(cell.source) if cell.cell_type == "code" else cell.source
        sample = cell.cell_type == "markdown" and outputs and SAMPLE.search(text)
        if sample:
            text = text[: sample.start()] + outputs + text[sample.end() :]
        parts += [outputs] * bool(outputs and not sample) + [text]
        picture = f"{stem.name}_{number}_{{}}.svg".format
        made = enumerate(cell.get("outputs", ()))
        outputs = "\n\n".join(shown(one, stem.with_name(picture(i))) for i, one in made)
    return "\n\n".join([*parts, *[outputs] * bool(outputs)]) + "\n"


def page(path: Path, stem: Path) -> str:
    """The page of a notebook, as ``with_outputs``, which runs for it."""
    print(f"docs: running {path.relative_to(ROOT)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        return with_outputs(run(path, Path(folder)), stem)
