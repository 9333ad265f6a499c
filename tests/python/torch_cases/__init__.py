"""The cases of test_against_torch.py, by the kind of op.

For a new op write a function with `@case("op")` in the module of its kind; rows
of tables get cases from their schemas. Then record PyTorch's results for it
(CONTRIBUTING.md). If PyTorch has no such op, add it to NO_COUNTERPART of
case.py, with the place where it is tested instead.
"""

from . import (  # noqa: F401
    elementwise,
    images,
    indexing,
    learning,
    losses,
    moving,
    normalising,
    products,
    recurrent,
    reductions,
)
from .case import CASES, NO_COUNTERPART, Case, torch  # noqa: F401
