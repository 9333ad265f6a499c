"""Which files an op, its kernels and its family are in, found by what they
register."""

from __future__ import annotations

import functools
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OPERATOR = re.compile(r"REGISTER_OPERATOR\(\s*(\w+)")
ROW = re.compile(r'\.name = "(\w+)"')
PLAIN = re.compile(r"REGISTER_OP_(CPU|CUDA)_KERNEL\(\s*(\w+)")
KERNEL = re.compile(
    r"REGISTER_OP_KERNEL\(\s*(\w+),\s*(\w+),\s*(\w+)Place,\s*(\w+)"
)


@functools.cache
def _files() -> tuple[dict[str, Path], dict[tuple[str, ...], Path]]:
    """The files of ops, and those of kernels."""
    ops, kernels = {}, {}
    for path in sorted((ROOT / "operators").rglob("*.*")):
        if path.suffix not in (".cc", ".cu", ".inc"):
            continue
        words = path.read_text(encoding="utf-8")
        for name in (ROW if path.suffix == ".inc" else OPERATOR).findall(words):
            ops[name] = path.relative_to(ROOT)
        for place, name in PLAIN.findall(words):
            kernels[name, place.lower(), "PLAIN", "plain"] = path.relative_to(ROOT)
        for name, library, place, variant in KERNEL.findall(words):
            key = (name, place.lower(), library, variant)
            kernels[key] = path.relative_to(ROOT)
    return ops, kernels


def op_file(name: str) -> Path | None:
    """The file with the schema, or the row, of an op or of its forward op."""
    ops = _files()[0]
    return ops.get(name) or ops.get(re.sub(r"_grad(_\w+)?$", "", name))


def kernel_file(op: str, place: str, library: str, variant: str) -> Path | None:
    """The file of a kernel, None for a row of a table."""
    place = re.sub(r"[^a-z].*", "", place.lower())
    return _files()[1].get((op, place, library, variant))


def link(path: Path, words: object) -> str:
    """A link from the page of an op; browsers show text, and save .cu."""
    return f'<a href="../source/{path}.txt">{words}</a>'


def family(name: str) -> str:
    """The folder of an op: conv, loss, ..."""
    path = op_file(name)
    return path.parent.name if path else "other"


def copy_to(site: Path) -> None:
    """Put the sources of ops and kernels into the site."""
    ops, kernels = _files()
    for path in {*ops.values(), *kernels.values()}:
        target = site / "source" / f"{path}.txt"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / path).read_bytes())
