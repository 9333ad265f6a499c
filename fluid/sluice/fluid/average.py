"""``fluid.average``: the mean of numbers with weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..display import Shown
from ..errors import FailedPreconditionError

__all__ = ["WeightedAverage"]


class WeightedAverage(Shown):
    """The sum of value * weight, divided by the sum of the weights."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all values."""
        self.numerator: Any = 0.0
        self.denominator = 0.0

    def add(self, value: Any, weight: Any) -> None:
        """Add a value, a number or an array, with its weight."""
        self.numerator = self.numerator + np.asarray(value) * weight
        self.denominator += float(weight)

    def eval(self) -> Any:
        """The mean. Raises FailedPreconditionError without weights."""
        if not self.denominator:
            raise FailedPreconditionError(
                "WeightedAverage.eval: the weights add up to 0; add() comes "
                "first",
                "fluid.average_empty",
            )
        return self.numerator / self.denominator
