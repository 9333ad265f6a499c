"""Cases of ops, in NumPy: examples to run an op with, and what must come out.

The harness in C++ (tests/operators/harness) asks a process of this package for
both and runs every kernel with them. A case is a generator of examples and a
function that computes the outputs, registered by `@case`; see `case.py`.
"""
