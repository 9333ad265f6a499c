"""Imports the installed package and computes with each of its libraries.

main.py PREFIX LIBRARY...; PYTHONPATH is PREFIX.
"""

import pathlib
import sys

import numpy as np

import sluice as sl

prefix, *libraries = sys.argv[1:]
package = pathlib.Path(sl.__file__).parent
assert package == pathlib.Path(prefix, "sluice"), package
x = np.array([[3]], np.float32)
for library in ["PLAIN", *libraries]:
    hint = f"require library={library}; allow library={library}"
    result = sl.run_op("matmul", {"X": x, "Y": x}, hint=hint)["Out"]
    assert result.tolist() == [[9]], (library, result)
# The plug-ins are beside libsluice.so.
assert sl.Tensor([1.0], place=sl.FPGAPlace(0)).numpy() == 1
