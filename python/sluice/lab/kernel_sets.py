"""Sets of kernels by name: what `compare` and `bisect` put side by side."""

from __future__ import annotations

import os

from sluice import _core
from sluice.errors import NotFoundError


def kernel_set(text: str) -> str:
    """Kernel hints of a set.

    Args:
        text: ``default``, what a plan takes without hints; ``reference``, the
            kernels that are written to be read; a file of hints; or hints.

    Raises:
        NotFoundError: a word that is none of these.
    """
    hints = _core._hints_of_set(text.strip())
    if hints != text.strip():
        return hints
    if os.path.isfile(text):
        with open(text, encoding="utf-8") as file:
            return file.read()
    if text.strip() and "=" not in text:
        raise NotFoundError(
            f"kernels {text!r}: expected default, reference, a file of kernel "
            "hints or hints such as 'relu: require variant=plain', and there "
            "is no such file",
            "lab.kernel_set",
        )
    return text
