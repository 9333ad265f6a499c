"""Optimizers around optimizers."""

from __future__ import annotations

from .. import _core, unique_name
from ..elsewhere import checked
from ..errors import InvalidArgumentError
from ..feed_values import finite, positive
from ..initializer import Constant
from ..layer_helper import LayerHelper
from ..program import Variable
from ..sparse import to_dense
from .averages import _scalar, _where
from .base import Optimizer

Pairs = list[tuple[Variable, Variable]]


class _Wrapper(Optimizer):
    def __init__(self, inner_optimizer: Optimizer) -> None:
        if not isinstance(inner_optimizer, Optimizer):
            raise InvalidArgumentError(
                f"{self.type}: inner_optimizer must be one of "
                f"sluice.optimizer, got {_core._shown(inner_optimizer)}",
                "python.inner_optimizer",
            )
        super().__init__(inner_optimizer.learning_rate)
        self.inner_optimizer = inner_optimizer

    def _counter(self, helper: LayerHelper) -> Variable:
        name = unique_name.generate(f"{self.name}.step")
        return helper.create_persistable(name, [1], "int64", Constant(0))

    def _count(self, helper: LayerHelper, counter: Variable, k: int) -> None:
        """Count up, from k - 1 back to 0."""
        last = counter == k - 1
        _where(helper, last, counter._constant(0), counter + 1, counter)


@checked
class GradientMerge(_Wrapper):
    """Adds up gradients over several runs, and updates in the last of them.

    The update is that of one batch of the size of ``k_steps`` batches, if the
    loss is a mean over equal batches. Clipping and decay see the merged
    gradient. Runs in between change no parameter and no state of the
    optimizer. A schedule counts runs.

    Args:
        inner_optimizer: what updates the parameters.
        k_steps: how many runs make an update.
        avg: divide the sum by k_steps.

    Raises:
        InvalidArgumentError: k_steps is not above 0; or inner_optimizer is
            none, a wrapper, or of an op that has no input SkipUpdate.
    """

    type = "gradient_merge"

    def __init__(
        self, inner_optimizer: Optimizer, k_steps: int = 1, avg: bool = True
    ) -> None:
        super().__init__(inner_optimizer)
        if isinstance(inner_optimizer, _Wrapper):
            raise InvalidArgumentError(
                "gradient_merge: inner_optimizer wraps another optimizer; put "
                f"GradientMerge inside of {type(inner_optimizer).__name__}",
                "python.nested_merge",
            )
        self.k_steps = positive("gradient_merge: k_steps", k_steps)
        self.avg = avg

    def _append(self, helper: LayerHelper, pairs: Pairs) -> list[str]:
        counter = self._counter(helper)
        first = _scalar(counter == 0)
        skip = counter != self.k_steps - 1
        merged = []
        for param, grad in pairs:
            grad = to_dense(grad, param)
            total = self._state(helper, param, "gradient")
            _where(helper, first, grad, total + grad, total)
            scale = 1 / self.k_steps if self.avg else 1.0
            merged.append((param, total * scale))
        inner = self.inner_optimizer
        inner._skip = skip
        try:
            types = inner._append(helper, merged)
        finally:
            inner._skip = None
        self._count(helper, counter, self.k_steps)
        return types


@checked
class Lookahead(_Wrapper):
    """Every k steps, slow weights go a part of the way to the fast ones.

    Zhang et al., "Lookahead optimizer: k steps forward, 1 step back", 2019:
    slow += alpha * (param - slow); param = slow. The slow weights begin as the
    parameters are initialised. Steps are runs, also around a
    :class:`GradientMerge`.

    Args:
        inner_optimizer: what updates the fast weights.
        alpha: the part, from 0 to 1.
        k: how many steps.

    Raises:
        InvalidArgumentError: alpha is not in [0, 1], k not above 0, or
            inner_optimizer is none.
    """

    type = "lookahead"

    def __init__(
        self, inner_optimizer: Optimizer, alpha: float = 0.5, k: int = 5
    ) -> None:
        super().__init__(inner_optimizer)
        self.alpha = finite("lookahead: alpha", alpha)
        self.k = positive("lookahead: k", k)
        if not 0 <= self.alpha <= 1:
            raise InvalidArgumentError(
                f"lookahead: alpha must be from 0 to 1, got {self.alpha}",
                "python.lookahead",
            )

    def _append(self, helper: LayerHelper, pairs: Pairs) -> list[str]:
        types = self.inner_optimizer._append(helper, pairs)
        counter = self._counter(helper)
        meet = _scalar(counter == self.k - 1)
        for param, _ in pairs:
            slow = self._slow(helper, param)
            mixed = slow + (param - slow) * self.alpha
            _where(helper, meet, mixed, slow, slow)
            _where(helper, meet, slow, param, param)
        self._count(helper, counter, self.k)
        return types

    def _slow(self, helper: LayerHelper, param: Variable) -> Variable:
        name = unique_name.generate(f"{param.name}.{self.name}.slow")

        def start(var: Variable) -> None:
            var.program.append_op("assign", {"X": param.name}, {"Out": var})

        return helper.create_persistable(
            name, list(param.shape or ()), param.dtype, start
        )
