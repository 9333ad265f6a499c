"""Write the stubs of sluice.layers.ops and rows: write_stubs.py IMPORT_PATH
FOLDER."""

import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])

from sluice import layers
from sluice.layers import generate, ops, rows

folder, read = Path(sys.argv[2]), ops.schema
text = generate.stub_source(
    [read(name) for name in ops.names()], layers=layers.__all__
)
folder.joinpath("ops.pyi").write_text(text, encoding="utf-8")
text = generate.stub_source([read(name) for name in rows.ROWS], rows.ROWS)
folder.joinpath("rows.pyi").write_text(text, encoding="utf-8")
