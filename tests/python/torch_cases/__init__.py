"""What test_against_torch.py runs, by the kind of op."""

from . import elementwise, images, learning, moving, products  # noqa: F401
from .case import CASES, NO_COUNTERPART, Case, torch  # noqa: F401
