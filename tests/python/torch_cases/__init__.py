"""What test_against_torch.py runs, by the kind of op.

For a new op write a function with `@case("op")` in the module of its kind; rows
of tables get cases from their schemas. Then record what PyTorch computes for it
(CONTRIBUTING.md). Where PyTorch has nothing like the op, say so in
NO_COUNTERPART of case.py, and where the op is tested instead.
"""

from . import (  # noqa: F401
    elementwise,
    images,
    indexing,
    learning,
    moving,
    normalising,
    products,
    recurrent,
    reductions,
)
from .case import CASES, NO_COUNTERPART, Case, torch  # noqa: F401
