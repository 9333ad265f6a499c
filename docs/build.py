"""Builds the site: the pages of docs/ and design/, the reference of ops, the
Python and the C++ API.

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
# The pages that exist in the site only, after those of docs/index.md.
REFERENCE = ("ops/index", "onnx_operators", "api")


def pages() -> list[Path]:
    """What people have written."""
    return [
        *map(ROOT.joinpath, GUIDES),
        *sorted(DOCS.glob("*.md")),
        *sorted((ROOT / "design").glob("*.md")),
    ]


def site_path(page: Path) -> Path:
    """Where a page is in the site: those of docs/ are at its root."""
    folder = DOCS if page.parent == DOCS else ROOT
    return page.relative_to(folder)


def linked(path: Path, words: str) -> str:
    """A page with its links as the site has them, and with links for the
    `names.md` of other pages. (tools/lint/pages.py finds those that lead
    nowhere.)"""
    known = set(pages())

    def in_site(name: str) -> str | None:
        for folder in (path.parent, ROOT):
            target = (folder / name).resolve()
            if target in known:
                return os.path.relpath(
                    site_path(target), site_path(path).parent
                )
        return None

    def moved(found: re.Match[str]) -> str:
        target = in_site(found[1])
        return f"]({target}{found[2] or ''})" if target else found[0]

    def link(found: re.Match[str]) -> str:
        target = in_site(found[1])
        return f"[{found[0]}]({target})" if target else found[0]

    # Code in fences has no links.
    parts = re.split(r"(?ms)(^```.*?^```$)", words)
    for i, part in enumerate(parts):
        if not part.startswith("```"):
            part = re.sub(r"\]\(([\w./-]+)(#[\w-]+)?\)", moved, part)
            name = r"(?<!\[)`([\w./-]+\.md)`(?!\])"
            parts[i] = re.sub(name, link, part)
    return "".join(parts)


def with_contents(words: str) -> str:
    """The page of contents with the trees that Sphinx makes its sidebar of: a
    section is a tree, its links in their order are the pages."""
    trees = []
    for section in re.split(r"(?m)^#+ ", words)[1:]:
        title, _, text = section.partition("\n")
        names = re.findall(r"\]\(([\w./-]+)\.md\)", text)
        if title == "Reference":
            names = [*REFERENCE]
        if names:
            options = [":hidden:", f":caption: {title}", "", *names]
            trees.append("\n".join(["```{toctree}", *options, "```", ""]))
    links = (
        "\n- [Ops](ops/index.md)\n- [Operators of ONNX](onnx_operators.md)\n"
        "- [C++ and Python](api)\n\n"
    )
    return words + links + "\n".join(trees)


def assemble(source: Path) -> None:
    """Put all pages into one folder, as Sphinx wants them."""
    shutil.rmtree(source, ignore_errors=True)
    (source / "design").mkdir(parents=True)
    for path in pages():
        page = linked(path, path.read_text(encoding="utf-8"))
        if path == DOCS / "index.md":
            page = with_contents(page)
        (source / site_path(path)).write_text(page, encoding="utf-8")
    shutil.copy(DOCS / "api.rst", source)
    operators = onnx_reference.operators()
    onnx_reference.write(source, operators)
    count = op_reference.write(
        source / "ops",
        onnx_reference.counterparts(operators),
        sorted((ROOT / "records").glob("*.jsonl")),
    )
    print(f"docs: {count} ops", flush=True)


def doxygen(build: Path, output: Path) -> None:
    """Write the C++ pages to `output`/cpp."""
    faces = [
        ROOT / "include" / "sluice" / f"{name}.h" for name in ("sluice", "lab")
    ]
    inputs = [str(face) for face in faces]
    for header in re.findall(
        r'#include "sluice/(.+/.+|ops[.]h)"',
        "".join(face.read_text() for face in faces),
    ):
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
