"""Builds the site: the pages of docs/ and design/, the reference of ops, the
Python and the C++ API.

  ./dev docs [--external]

Links to pages, headings and files that do not exist are errors, with --external
also links to other sites.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

import fluid_reference
import notebooks
import onnx_reference
import op_reference
import op_sources
import python_reference

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
README, CONTENTS = ROOT / "README.md", DOCS / "index.md"
# The pages that exist in the site only, after those of docs/index.md.
REFERENCE = [("Ops", "ops/index"), ("ONNX operators", "onnx_operators")]
REFERENCE += [("Fluid's ops", "fluid_operators")]
REFERENCE += [("Python", "python/index"), ("C++", "cpp/index")]
# A page with more lines becomes a page for each of its sections.
MAX_LINES = 240
FENCE = re.compile(r"(?ms)(^```.*?^```$)")
# What pages name: ](page.md#heading), <img src="picture">, and `page.md`.
LINK = re.compile(r'(\]\(|src=")([\w./-]*)(#[\w-]+)?(?=[)"])|(?<!\[)`([\w./-]+\.md)`(?!\])')


def pages() -> list[Path]:
    """What people have written."""
    folders = (ROOT, DOCS, DOCS / "notebooks", ROOT / "design")
    return [page for folder in folders for page in sorted(folder.glob("*.md"))]


def site_path(page: Path) -> Path:
    """Where a page or a picture is in the site: those of docs/ are at its root,
    and README begins the table of contents."""
    page = CONTENTS if page == README else page
    return page.relative_to(DOCS if DOCS in page.parents else ROOT)


def outside_fences(change, text: str) -> str:
    """A page with its prose changed, and its code as it is."""
    return "".join(part if part.startswith("```") else change(part) for part in FENCE.split(text))


def anchor(title: str) -> str:
    """The name of a heading in links."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


class Pages:
    """What people have written, a long page as several, and where its headings
    are then. Notebooks run; their pictures are put into ``source``."""

    def __init__(self, source: Path) -> None:
        self.parts: dict[Path, dict[Path, str]] = {}
        self.headings: dict[tuple[Path, str], Path] = {}
        for page in pages():
            text, path = page.read_text(encoding="utf-8"), site_path(page)
            lines = text.count("\n")
            if page in notebooks.PAGES:
                text = notebooks.page(page, (source / path).with_suffix(""))
            marked = outside_fences(lambda prose: re.sub("(?m)^(?=## )", "\0", prose), text)
            long = lines > MAX_LINES and page not in (README, CONTENTS)
            first, *others = marked.split("\0") if long else [text]
            parts = self.parts[page] = {path: first}
            for part in others:
                name = anchor(part.partition("\n")[0][3:])
                name += f"-{len(parts)}" * (path.with_suffix("") / f"{name}.md" in parts)
                parts[path.with_suffix("") / f"{name}.md"] = outside_fences(
                    lambda prose: re.sub("(?m)^#(?=#+ )", "", prose), part
                )
            for where, part in parts.items():
                for title in re.findall("(?m)^#+ (.*)", FENCE.sub("", part)):
                    self.headings[page, anchor(title)] = where
            if others:
                names = (f"{path.stem}/{one.name}" for one in [*parts][1:])
                parts[path] += tree("", names, ":maxdepth: 1")

    def linked(self, page: Path, here: Path) -> str:
        """A part of a page with its links as the site has them, and with links
        for the `names.md` of other pages. (tools/lint/pages.py finds those that
        lead nowhere.)"""

        def moved(found: re.Match[str]) -> str:
            before, name, heading, named = found.groups()
            for folder in (page.parent, ROOT):
                target = (folder / (name or named)).resolve() if name or named else page
                if target in self.parts or target.suffix == ".svg":
                    where = self.headings.get((target, (heading or "")[1:]), site_path(target))
                    link = os.path.relpath(where, here.parent) + (heading or "")
                    return f"[{found[0]}]({link})" if named else before + link
            return found[0]

        return outside_fences(lambda prose: LINK.sub(moved, prose), self.parts[page][here])

    def write(self, source: Path) -> None:
        for page, parts in self.parts.items():
            for here in parts:
                text = self.linked(page, here)
                if page == README:  # the table of contents comes second
                    text = re.sub(r"(?ms)^## Find your way$.*?(?=^## |\Z)", "", text)
                    text, _, rest = text.partition("\n## ")
                if page == CONTENTS:
                    text = f"{(source / here).read_text()}\n{contents(text)}\n## {rest}"
                (source / here).parent.mkdir(parents=True, exist_ok=True)
                (source / here).write_text(text, encoding="utf-8")


def tree(caption: str, names, *options: str) -> str:
    """Pages as a part of the sidebar."""
    head = [f":caption: {caption}"] * bool(caption) + [*options, ""]
    return "\n".join(["", "```{toctree}", *head, *names, "```", ""])


def contents(words: str) -> str:
    """The table of contents, and the trees that Sphinx makes its sidebar of: a
    section is a tree, its links in their order are the pages."""
    text = ""
    for section in re.split(r"(?m)^## ", words)[1:]:
        title, _, listed = section.partition("\n")
        found = re.findall(r"\[([^]]+)\]\(([\w./-]+)\.md\)", listed)
        if title == "Reference":
            found = REFERENCE
            listed += "\n" + "\n".join(f"- [{name}]({page})" for name, page in found) + "\n"
        names = [f"{name} <{page}>" for name, page in found]
        text += f"## {title}\n{listed}" + tree(title, names, ":hidden:")
    return text


def assemble(source: Path, header: str) -> None:
    """Put all pages into one folder, as Sphinx wants them."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(DOCS / "img", source / "img")
    for picture in (ROOT / "design").glob("*.svg"):
        (source / "design").mkdir(exist_ok=True)
        shutil.copy(picture, source / "design")
    Pages(source).write(source)
    operators = onnx_reference.operators()
    made = fluid_reference.pages() | {"onnx_operators": onnx_reference.page(operators)}
    for name, text in made.items():
        (source / f"{name}.md").write_text(text, encoding="utf-8")
    uses = onnx_reference.counterparts(operators)
    records = sorted((ROOT / "records").glob("*.jsonl"))
    alone = onnx_reference.counterparts(operators, alone=True)
    count = op_reference.write(source / "ops", uses, records, header, alone)
    python_reference.write(source / "python")
    print(f"docs: {count} ops", flush=True)


def headers() -> list[Path]:
    """The headers that the C++ reference describes; ops have their own pages."""
    faces = [ROOT / f"include/sluice/{name}.h" for name in ("sluice", "lab", "nn")]
    text = "".join(face.read_text() for face in faces)
    named = re.findall(r'#include "sluice/(.+/.+)"', text)
    named += ["onnx/load_onnx.h", "onnx/limits.h"]
    return [ROOT / name for name in named if (ROOT / name).exists()]


def cpp_reference(source: Path, output: Path) -> None:
    """A page a header, by Breathe, from the XML that Doxygen writes."""
    output.mkdir(parents=True, exist_ok=True)
    source.mkdir()
    settings = f"""{(DOCS / "Doxyfile").read_text()}
        INPUT = {" ".join(map(str, headers()))}
        OUTPUT_DIRECTORY = {output}
        STRIP_FROM_PATH = {ROOT}"""
    subprocess.run(["doxygen", "-"], input=settings, text=True, check=True)
    names: dict[str, list[str]] = {}
    for path in sorted((output / "xml").glob("*.xml")):
        document = xml.parse(path)
        for compound in document.iter("compounddef"):
            for part in [*compound, *compound.iter("sectiondef")]:
                for member in part.findall("memberdef"):
                    if (member.findtext("argsstring") or "").endswith("=delete"):
                        part.remove(member)
            for part in [*compound]:
                # The comments of several headers, and what users do not see.
                spaces = compound.get("kind") == "namespace" and part.tag.endswith("description")
                hidden = part.tag == "includes" or part.get("kind", "").startswith("private")
                if spaces or hidden:
                    compound.remove(part)
        document.write(path)
        for one in [*document.iter("compounddef"), *document.iterfind(".//sectiondef/memberdef")]:
            # Members of classes are on the pages of these.
            kind = one.get("kind") if one.tag == "compounddef" else path.stem[:9]
            if kind in ("class", "struct", "namespace") and one.get("kind") != "namespace":
                name = one.findtext("compoundname") or one.findtext("name")
                file = one.find("location").get("file", "")
                names.setdefault(file, []).append(name.removeprefix("sluice::"))
    rows = []
    for path in sorted(headers(), key=lambda header: header.stem):
        file = str(path.relative_to(ROOT))
        listed = ", ".join(f"`{one}`" for one in dict.fromkeys(names.get(file, ())))
        rows.append([f"[{path.name}]({path.stem}.rst)", listed])
        include = "sluice/" + file.removeprefix("include/sluice/")
        lines = python_reference.heading(path.name)
        lines += [f'``#include "{include}"``', "", f".. doxygenfile:: {path.name}", ""]
        (source / f"{path.stem}.rst").write_text("\n".join(lines))
    stems = sorted(path.stem for path in headers())
    lines = ["# C++", "", op_reference.TABLES["cpp"], ""]
    lines += op_reference.table(["header", "what is in it"], rows)
    (source / "index.md").write_text("\n".join(lines) + tree("", stems, ":hidden:"))


def main() -> None:
    """Build, and check the links."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--site", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--external", action="store_true")
    arguments = parser.parse_args()
    site = arguments.site.resolve()
    source, html = site / "source", site / "html"
    shutil.rmtree(html, ignore_errors=True)
    header = arguments.build / "include/generated/sluice/ops.h"
    assemble(source, header.read_text())
    cpp_reference(source / "cpp", site / "doxygen")
    tools = Path(sys.executable).parent
    options = ["--quiet", "--fail-on-warning", "--keep-going", "--jobs", "auto"]
    options += ["-D", f"breathe_projects.sluice={site / 'doxygen' / 'xml'}"]
    sphinx = [tools / "sphinx-build", "--conf-dir", DOCS, *options, source, html]
    subprocess.run(sphinx, check=True)
    op_sources.copy_to(html)
    offline = [] if arguments.external else ["--offline"]
    checks = ["--no-progress", "--include-fragments", "--root-dir", html, html]
    subprocess.run([tools / "lychee", *offline, *checks], check=True)
    print(f"python3 -m http.server -d {os.path.relpath(html)}")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        name = Path(error.cmd[0]).name
        raise SystemExit(f"docs: {name} found problems, see above") from None
