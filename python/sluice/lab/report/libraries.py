"""Finds the library that draws the page's charts."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from sluice.errors import NotFoundError

_DEBIAN = Path("/usr/share/nodejs/d3/dist/d3.min.js")
_MISSING = """report: D3 5 is missing, which draws the page's charts:
  pip install mpld3, or apt-get install node-d3"""
# The licence of D3 5 requires this text in each copy.
D3_LICENCE = """\
D3, https://d3js.org, copyright 2010-2020 Mike Bostock. All rights reserved.
Redistribution and use in source and binary forms, with or without
modification, are permitted provided that the following conditions are met:
* Redistributions of source code must retain the above copyright notice, this
  list of conditions and the following disclaimer.
* Redistributions in binary form must reproduce the above copyright notice,
  this list of conditions and the following disclaimer in the documentation
  and/or other materials provided with the distribution.
* Neither the name of the author nor the names of contributors may be used to
  endorse or promote products derived from this software without specific prior
  written permission.
THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND
ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED
WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT OWNER OR CONTRIBUTORS BE LIABLE FOR
ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES
(INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES;
LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON
ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT
(INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS
SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE."""


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
