"""Named sets of kernels, which `compare` and `bisect` accept."""

from __future__ import annotations

import os

from sluice import _lab
from sluice.errors import InvalidArgumentError, NotFoundError


def kernel_set(text: str) -> str:
    """Kernel hints of a set.

    Args:
        text: ``default``, a plan's choice without hints; ``reference``, the
            simple reference kernels; a file of hints; or hints.

    Raises:
        NotFoundError: a word that is not one of these.
    """
    hints = _lab._hints_of_set(text.strip())
    if hints != text.strip():
        return hints
    if os.path.isfile(text):
        try:
            with open(text, encoding="utf-8") as file:
                return file.read()
        except UnicodeDecodeError:
            raise InvalidArgumentError(
                f"kernels {text!r}: the file is no text", "lab.kernel_set"
            ) from None
    if text.strip() and "=" not in text:
        raise NotFoundError(
            f"kernels {text!r}: expected default, reference, a file of kernel "
            "hints or hints such as 'relu: require variant=plain', and there "
            "is no such file",
            "lab.kernel_set",
        )
    return text


def checked(text: str) -> str:
    """The hints of a kernel set for ``sl.compare``, or the set's name.

    Raises what :func:`kernel_set` raises.
    """
    hints = kernel_set(text)
    return text.strip() if _lab._hints_of_set(text.strip()) == hints else hints
