"""The cases of test_against_torch.py, by the kind of op.

For a new op write a function with `@case("op")` in the module of its kind; rows
of tables get cases from their schemas. Then record PyTorch's results for it
(CONTRIBUTING.md). If PyTorch has no such op, or NumPy computes the same by one
function, add it to ELSEWHERE of case.py, with the place where it is tested.
"""

from . import (  # noqa: F401
    elementwise,
    images,
    losses,
    normalising,
    recurrent,
    reductions,
)
from .case import CASES, NOT_COMPARED, Case, torch  # noqa: F401
