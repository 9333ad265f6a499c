"""What test_against_torch.py runs, by the kind of op."""

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
