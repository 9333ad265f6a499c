"""The pages of docs/, docs/notebooks/ and design/, README.md and others of the
root: links and the files that are named in backticks exist, docs/index.md links
every page, prose has at most 100 columns and code 80, 75 in README (what programs
print, in ```text, may be wider), and there are at most 28 pages besides the root's
and the notebooks."""

import re
import sys

import rooms

CONTENTS = "docs/index.md"
ROOT_PAGES = tuple(sorted(path.name for path in rooms.ROOT.glob("*.md")))
MAX_COLUMNS = 100
MAX_CODE_COLUMNS = 80  # more does not fit on the site, or on code hosts
MAX_README_COLUMNS = 75
MAX_PAGES = 28

FENCE = re.compile(r"(?ms)^ *```.*?^ *```$")
LINK = re.compile(r'(?:\]\(|src=")([^)\s"]+)[)"]')
SUFFIXES = (".h", ".cc", ".cu", ".cuh", ".inc", ".py", ".md", ".sh", ".cmake",
            ".proto", ".jsonl", ".txt")  # fmt: skip
FILE = re.compile(
    rf"`([\w.-][\w./-]*(?:{'|'.join(map(re.escape, SUFFIXES))}))`"
)
# Files that programs write, or that a reader would make.
ELSEWHERE = {
    "fmt/core.h",
    "ops.h",
    "_op.cc",
    "layers/ops.pyi",
    "onnx.proto",
    "worst_kernels.md",
    "steep_relu_grad_op.cc",
}


def anchors(text):
    """The names of a page's headings, as code hosts make them."""
    found = re.findall(r"(?m)^#+ (.*)$", FENCE.sub("", text))
    return {
        re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        for title in found
    }


def exists(name, page, tree, suffixes):
    """Whether a file is named by its path from the root or from the page, by
    the end of its path, or as users include it."""
    if (rooms.ROOT / name).exists() or (page.parent / name).exists():
        return True
    short = name.removeprefix("sluice/")
    return short in tree or short in suffixes


def line_problems(page, text):
    code = MAX_README_COLUMNS if str(page) == "README.md" else MAX_CODE_COLUMNS
    kind = None  # of the fence that the line is in
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            kind = line.strip("` ").split(" ")[0] if kind is None else None
            continue
        most = code if kind is not None else MAX_COLUMNS
        if len(line) > most and kind != "text" and not line.startswith("|"):
            yield f"{page}:{number}: {len(line)} columns, at most {most}"


def main():
    listed = rooms.files(*SUFFIXES)
    tree = {str(path) for path in listed}
    suffixes = {
        "/".join(path.parts[i:])
        for path in listed
        for i in range(len(path.parts))
    }
    pages = [
        path
        for path in sorted(rooms.files(".md"))
        if str(path.parent) in ("docs", "docs/notebooks", "design")
        or str(path) in ROOT_PAGES
    ]
    texts = {
        rooms.ROOT / page: (rooms.ROOT / page).read_text() for page in pages
    }
    problems = []
    for path, text in texts.items():
        page = path.relative_to(rooms.ROOT)
        problems += line_problems(page, text)
        made = {
            name.rsplit("/", 1)[-1]
            for name in re.findall(r"(?m)^```\w+ (?:file|new)=(\S+)$", text)
        }
        prose = FENCE.sub("", text)
        for target in LINK.findall(prose):
            if "://" in target:
                continue
            name, _, anchor = target.partition("#")
            file = (path.parent / name).resolve() if name else path
            if not file.exists():
                problems.append(f"{page}: links {target}, which does not exist")
            elif anchor and anchor not in anchors(file.read_text()):
                problems.append(f"{page}: links {target}: no such heading")
        for name in FILE.findall(prose):
            known = ELSEWHERE | made
            if name in known or name.rsplit("/", 1)[-1] in known:
                continue
            if not exists(name, path, tree, suffixes):
                problems.append(f"{page}: names {name}, which does not exist")
    contents = rooms.ROOT / CONTENTS
    linked = {
        (contents.parent / target).resolve()
        for target in LINK.findall(texts[contents])
    }
    problems += [
        f"{CONTENTS}: does not link {path.relative_to(rooms.ROOT)}"
        for path in texts
        if path != contents and path not in linked
    ]
    count = sum(str(path.parent) in ("docs", "design") for path in pages)
    if count > MAX_PAGES:
        problems.append(
            f"docs/ and design/: {count} pages, at most {MAX_PAGES}"
        )
    return rooms.report(problems)


if __name__ == "__main__":
    sys.exit(main())
