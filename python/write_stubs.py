"""Write the stub of sluice.layers.ops: write_stubs.py IMPORT_PATH FILE."""

import sys

sys.path.insert(0, sys.argv[1])

from sluice.layers import generate, ops

with open(sys.argv[2], "w", encoding="utf-8") as file:
    file.write(generate.stub_source([ops.schema(n) for n in ops.names()]))
