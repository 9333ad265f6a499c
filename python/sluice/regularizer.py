"""Weight decay as a part of the gradient.

A regularizer is given to an optimizer (``regularization=``), or to one
parameter (``ParamAttr(regularizer=...)``), where it counts instead. It acts
after clipping, as in Fluid. :class:`sluice.optimizer.AdamW` decays weights
apart from the gradient.
"""

from __future__ import annotations

from .elsewhere import checked, help_with_names
from .feed_values import finite
from .param_attr import WeightDecay
from .program import Variable
from .saved_settings import saved
from .sparse import to_dense

__all__ = ["L1Decay", "L2Decay"]


@checked
class _Decay(WeightDecay):
    def __init__(self, regularization_coeff: float = 0.0) -> None:
        what = f"{type(self).__name__}: regularization_coeff"
        self.regularization_coeff = finite(what, regularization_coeff)

    def _pull(self, param: Variable) -> Variable:
        raise NotImplementedError

    def __call__(self, param: Variable, grad: Variable) -> Variable:
        """The gradient with the decay, or ``grad`` for a coefficient of 0."""
        if self.regularization_coeff == 0:
            return grad
        pull = self._pull(param) * self.regularization_coeff
        return to_dense(grad, param) + pull


@saved
class L1Decay(_Decay):
    """Adds regularization_coeff * sign(param) to the gradient.

    That is the gradient of regularization_coeff * sum(abs(param)).
    """

    def _pull(self, param: Variable) -> Variable:
        return param.program.append_op("sign", {"X": param})["Out"]


@saved
class L2Decay(_Decay):
    """Adds regularization_coeff * param to the gradient.

    That is the gradient of regularization_coeff / 2 * sum(param²), and
    ``weight_decay`` of PyTorch's optimizers.
    """

    def _pull(self, param: Variable) -> Variable:
        return param

help_with_names(globals())
