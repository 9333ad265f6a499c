"""Which files ops and their kernels are in, found by what these register."""

from __future__ import annotations

import functools
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OP = re.compile(r'REGISTER_OPERATOR\(\s*(\w+)|\.name = "(\w+)"')
PLAIN = re.compile(r"REGISTER_OP_(CPU|CUDA)_KERNEL\(\s*(\w+)")
KERNEL = re.compile(r"REGISTER_OP_KERNEL\(\s*(\w+),\s*(\w+),\s*(\w+)Place,\s*(\w+)")


@functools.cache
def files() -> dict[tuple[str, ...], Path]:
    """The file of each op, (op,), and kernel, (op, place, library, variant)."""
    found = {}
    for path in sorted((ROOT / "operators").rglob("*.*")):
        if path.suffix in (".cc", ".cu", ".inc"):
            words = path.read_text(encoding="utf-8")
            keys = [(op or row,) for op, row in OP.findall(words)]
            keys += [(op, place.lower(), "PLAIN", "plain") for place, op in PLAIN.findall(words)]
            for op, library, place, variant in KERNEL.findall(words):
                keys.append((op, place.lower(), library, variant))
            found |= dict.fromkeys(keys, path.relative_to(ROOT))
    return found


def op_file(name: str) -> Path | None:
    """The file with the schema, or the row, of an op or of its forward op."""
    return files().get((name,)) or files().get((re.sub(r"_grad(_\w+)?$", "", name),))


def link(path: Path, words: object) -> str:
    """A link from the page of an op; browsers show text, and save .cu."""
    return f'<a href="../source/{path}.txt">{words}</a>'


def copy_to(site: Path) -> None:
    """Put the sources of ops and kernels into the site."""
    for path in {*files().values()}:
        target = site / "source" / f"{path}.txt"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / path).read_bytes())
