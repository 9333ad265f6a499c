"""Finds the library that draws the page's charts."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from sluice.errors import NotFoundError

_DEBIAN = Path("/usr/share/nodejs/d3/dist/d3.min.js")
_MISSING = """report: D3 5 is missing, which draws the page's charts:
  pip install mpld3, or apt-get install node-d3"""


def d3() -> str:
    """The text of D3 5, from mpld3 or Debian's node-d3.

    Raises:
        NotFoundError: neither is installed; names the packages.
    """
    files = []
    spec = importlib.util.find_spec("mpld3")
    for folder in (spec and spec.submodule_search_locations) or []:
        files.append(Path(folder) / "js" / "d3.v5.min.js")
    for file in [*files, _DEBIAN]:
        if file.is_file():
            text = file.read_text(encoding="utf-8")
            if "d3js.org v5" in text[:200] and "</script" not in text.lower():
                return text
    raise NotFoundError(_MISSING, "lab.d3")
