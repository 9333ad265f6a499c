"""``fluid.initializer``: the initializers of Sluice, by both names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from .. import initializer
from ..initializer import *  # noqa: F403
from ..initializer import Constant as _Constant

__all__ = [*initializer.__all__, "init_on_cpu"]


class Constant(_Constant):
    """Fills a parameter with one value; ``force_cpu`` has no effect."""

    def __init__(self, value: float = 0.0, force_cpu: bool = False) -> None:
        super().__init__(value)


@contextlib.contextmanager
def init_on_cpu() -> Iterator[None]:
    """Nothing: initializers run where the startup program runs."""
    yield


for _name in initializer.__all__:
    if not _name.endswith("Initializer"):
        globals()[f"{_name}Initializer"] = globals()[_name]
        __all__ += [f"{_name}Initializer"]
