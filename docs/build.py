"""Builds the site: the guides of design/, the reference of ops, the Python and
the C++ API.

  ./dev docs [--external]

The pages are build/site/html/index.html and what it links to. Links to pages,
headings and files that do not exist are errors, with --external also links to
other sites.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import onnx_reference
import op_reference

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
GUIDES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
# Named in guides as what programs write.
WRITTEN = {"worst_kernels.md"}


def linked(path: Path, words: str) -> str:
    """A guide whose `names.md` of other guides are links.

    Raises ValueError where there is no such file.
    """
    missing = []

    def link(found: re.Match[str]) -> str:
        name = found[1]
        if name in WRITTEN:
            return found[0]
        for folder in (path.parent, ROOT, ROOT / "design"):
            target = folder / name
            if target.exists():
                break
        else:
            missing.append(name)
            return found[0]
        site = [ROOT / guide for guide in GUIDES]
        if target not in site and target.parent != ROOT / "design":
            return found[0]
        return f"[{found[0]}]({os.path.relpath(target, path.parent)})"

    # Code in fences has no links.
    parts = re.split(r"(?ms)(^```.*?^```$)", words)
    text = "".join(
        part
        if part.startswith("```")
        else re.sub(r"(?<!\[)`([\w./-]+\.md)`(?!\])", link, part)
        for part in parts
    )
    if missing:
        raise ValueError(
            f"{path.relative_to(ROOT)} names files that do not exist: "
            f"{', '.join(missing)}"
        )
    return text


def assemble(source: Path) -> None:
    """Put all pages into one folder, as Sphinx wants them."""
    shutil.rmtree(source, ignore_errors=True)
    (source / "design").mkdir(parents=True)
    problems = []
    for path in [
        *map(ROOT.joinpath, GUIDES),
        *sorted((ROOT / "design").iterdir()),
    ]:
        try:
            page = linked(path, path.read_text(encoding="utf-8"))
        except ValueError as error:
            problems.append(str(error))
            continue
        (source / path.relative_to(ROOT)).write_text(page, encoding="utf-8")
    if problems:
        raise SystemExit("\n".join(problems))
    for page in ("index.md", "python.md", "cpp.md"):
        shutil.copy(DOCS / page, source)
    operators = onnx_reference.operators()
    onnx_reference.write(source, operators)
    count = op_reference.write(
        source / "ops", onnx_reference.counterparts(operators)
    )
    print(f"docs: {count} ops", flush=True)


def doxygen(build: Path, output: Path) -> None:
    """Write the C++ pages to `output`/cpp."""
    headers = [ROOT / "include" / "sluice" / "sluice.h"]
    headers += re.findall(r'#include "sluice/([^"]+)"', headers[0].read_text())
    inputs = [str(headers[0])]
    for header in headers[1:]:
        folders = (ROOT, build / "include" / "generated" / "sluice")
        inputs.append(
            next(
                str(one / header) for one in folders if (one / header).exists()
            )
        )
    for header in (
        "include/sluice/training.h",
        "onnx/load_onnx.h",
        "onnx/limits.h",
    ):
        inputs.append(str(ROOT / header))
    output.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["doxygen", "-"],
        input=(DOCS / "Doxyfile").read_text()
        + f"INPUT = {' '.join(inputs)}\n"
        + f"OUTPUT_DIRECTORY = {output}\n"
        + f"STRIP_FROM_PATH = {ROOT} {build}/include/generated/sluice\n",
        text=True,
        check=True,
    )


def main() -> None:
    """Build, and check the links."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--build", type=Path, default=ROOT / "build" / "release"
    )
    parser.add_argument("--site", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--external", action="store_true")
    arguments = parser.parse_args()
    site = arguments.site.resolve()
    source, html = site / "source", site / "html"
    shutil.rmtree(html, ignore_errors=True)
    assemble(source)
    tools = Path(sys.executable).parent
    subprocess.run(
        [
            tools / "sphinx-build",
            "--conf-dir",
            DOCS,
            "--quiet",
            "--fail-on-warning",
            "--keep-going",
            "--jobs",
            "auto",
            source,
            html,
        ],
        check=True,
    )
    doxygen(arguments.build.resolve(), html)
    # Doxygen links a heading that it leaves out where nested classes are private.
    known = ["--exclude", "#nested-classes$"]
    offline = [] if arguments.external else ["--offline"]
    subprocess.run(
        [
            tools / "lychee",
            *offline,
            "--no-progress",
            "--include-fragments",
            *known,
            "--root-dir",
            html,
            html,
        ],
        check=True,
    )
    print(html / "index.html")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        raise SystemExit(
            f"docs: {Path(error.cmd[0]).name} found problems, see above"
        )
