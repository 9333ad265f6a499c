"""The optimizers: one op for each parameter.

The arguments that a class does not describe are those of :class:`Optimizer`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import ClassVar

from ..clip import GradientClipByNorm
from ..errors import InvalidArgumentError
from ..feed_values import finite
from ..layer_helper import LayerHelper
from ..program import Variable
from ..sparse import to_dense
from .base import Optimizer, Rate, declared

__all__ = [
    "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "DecayedAdagrad",
    "Dpsgd", "Ftrl", "Lamb", "LarsMomentum", "Lion", "Momentum", "RMSProp",
]


class SGD(Optimizer):
    """param -= learning_rate * grad."""

    type = "sgd"
    _keeps_others = True


@declared
class Momentum(Optimizer):
    """velocity = momentum * velocity + grad; param -= learning_rate * velocity.

    With ``use_nesterov`` the step is learning_rate * (grad + momentum *
    velocity).
    """

    type = "momentum"
    _renamed: ClassVar = {"momentum": "mu"}

    momentum: float = 0.9
    use_nesterov: bool = False


@declared
class LarsMomentum(Optimizer):
    """Momentum with a rate for each parameter, by its norm and its gradient's.

    You, Gitman and Ginsburg, "Large batch training of convolutional networks",
    2017; op ``lars_momentum`` has the formula.
    """

    type = "lars_momentum"
    _renamed: ClassVar = {"momentum": "mu"}

    momentum: float = 0.9
    lars_coeff: float = 0.001
    lars_weight_decay: float = 0.0005
    epsilon: float = 0.0


@declared
class Adam(Optimizer):
    """Adam (Kingma and Ba, "A method for stochastic optimization", 2015).

    ``formula="pytorch"`` adds epsilon to the corrected √v, ``"fluid"`` to √v
    before its correction; op ``adam`` has both. ``beta1`` and ``beta2`` of the
    first and second moment are kept; ``epsilon`` keeps the division from 0. Its
    weight decay is ``regularization=L2Decay()``, the other one :class:`AdamW`.
    With ``lazy_mode`` and ``formula="fluid"`` it is PyTorch's SparseAdam.
    """

    type = "adam"
    learning_rate: Rate = 0.001
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    formula: str = field(default="pytorch", kw_only=True)


class _Decaying(Optimizer):
    """An optimizer with a weight decay that some parameters do not have."""

    _decay = "weight_decay"  # the field

    def _decays(self, param: Variable) -> bool:
        raise NotImplementedError

    def _update(
        self, helper: LayerHelper, param: Variable, grad: Variable
    ) -> None:
        decay = getattr(self, self._decay)
        if not self._decays(param):
            setattr(self, self._decay, 0.0)
        try:
            super()._update(helper, param, grad)
        finally:
            setattr(self, self._decay, decay)


@declared
class AdamW(_Decaying):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019).

    param is first multiplied by 1 - learning_rate * weight_decay, as in
    PyTorch. Other arguments are those of :class:`Adam`.

    Args:
        weight_decay: the decay.
        apply_decay_param_fun: says for a parameter's name whether it decays;
            all do if None.
    """

    type = "adamw"
    _renamed: ClassVar = {"weight_decay": "coeff"}

    learning_rate: Rate = 0.001
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.01
    apply_decay_param_fun: Callable[[str], bool] | None = None

    def _decays(self, param: Variable) -> bool:
        applies = self.apply_decay_param_fun
        return applies is None or applies(param.name)


@declared
class Lamb(_Decaying):
    """AdamW with a rate for each parameter, by its norm and its step's.

    You et al., "Large batch optimization for deep learning: training BERT in
    76 minutes", 2020. ``formula="pytorch"`` corrects the moments as the paper
    and PyTorch's Adam do, ``"fluid"`` does not; op ``lamb`` has both. Other
    arguments are those of :class:`Adam`.

    Args:
        lamb_weight_decay: the decay.
        exclude_from_weight_decay_fn: says for a parameter whether it does not
            decay; all do if None.
    """

    type = "lamb"
    _renamed: ClassVar = {"lamb_weight_decay": "weight_decay"}
    _decay = "lamb_weight_decay"

    learning_rate: Rate = 0.001
    lamb_weight_decay: float = 0.01
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-6
    exclude_from_weight_decay_fn: Callable[[Variable], bool] | None = None
    formula: str = field(default="pytorch", kw_only=True)

    def _decays(self, param: Variable) -> bool:
        excludes = self.exclude_from_weight_decay_fn
        return excludes is None or not excludes(param)


@declared
class Adamax(Optimizer):
    """Adam with the largest gradient instead of the second moment.

    Kingma and Ba, 2015. ``formula="fluid"`` adds epsilon to the faded maximum,
    ``"pytorch"`` to the size of the gradient; op ``adamax`` has both.
    """

    type = "adamax"
    learning_rate: Rate = 0.001
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    formula: str = "fluid"


@declared
class Adagrad(Optimizer):
    """moment += grad²; param -= learning_rate * grad / (√moment + epsilon).

    Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning
    and stochastic optimization", 2011. The moment begins as
    ``initial_accumulator_value``.
    """

    type = "adagrad"
    _later = ("initial_accumulator_value",)
    _keeps_others = True
    epsilon: float = 1e-6
    initial_accumulator_value: float = 0.0

    def _first(self) -> float:
        return self.initial_accumulator_value


@declared
class DecayedAdagrad(Optimizer):
    """Adagrad with a mean of squares: moment = decay * moment + (1 - decay) *
    grad².

    This is PyTorch's RMSprop without momentum.
    """

    type = "decayed_adagrad"
    decay: float = 0.95
    epsilon: float = 1e-6


@declared
class Adadelta(Optimizer):
    """Steps of the size of former steps (Zeiler, 2012).

    The formula is PyTorch's. Fluid's ignores the learning rate, as if it were
    1.0.
    """

    type = "adadelta"
    learning_rate: Rate = 1.0
    epsilon: float = 1e-6
    rho: float = 0.95


@declared
class RMSProp(Optimizer):
    """Steps divided by the mean size of gradients (Hinton, 2012).

    ``formula="fluid"`` divides by √(variance + epsilon) and has the learning
    rate inside the momentum, ``"pytorch"`` divides by √variance + epsilon and
    has it outside; op ``rmsprop`` has both. PyTorch's defaults are rho=0.99,
    epsilon=1e-8.
    """

    type = "rmsprop"
    _renamed: ClassVar = {"rho": "decay"}

    rho: float = 0.95
    epsilon: float = 1e-6
    momentum: float = 0.0
    centered: bool = False
    formula: str = "fluid"


@declared
class Ftrl(Optimizer):
    """Follow the regularized leader, which makes many parameters 0.

    McMahan et al., "Ad click prediction: a view from the trenches", 2013; op
    ``ftrl`` has the formula. A learning rate of 0 makes parameters NaN.
    """

    type = "ftrl"
    l1: float = 0.0
    l2: float = 0.0
    lr_power: float = -0.5


@declared
class Lion(Optimizer):
    """Steps of one size, by the sign of a mean of gradients.

    Chen et al., "Symbolic discovery of optimization algorithms", 2023; op
    ``lion`` has the formula. The weight decay is decoupled, as that of
    :class:`AdamW`. The paper's rates are 3 to 10 times smaller than AdamW's,
    its decays larger by the same factor.
    """

    type = "lion"

    learning_rate: Rate = 0.0001
    beta1: float = 0.9
    beta2: float = 0.99
    weight_decay: float = 0.0


@declared
class Dpsgd(Optimizer):
    """SGD whose gradients are clipped by norm and made noisy.

    Abadi et al., "Deep learning with differential privacy", 2016, as Fluid has
    it: param -= learning_rate * (grad * clip / max(norm, clip) + noise /
    batch_size), with the norm of grad and normal noise of deviation sigma. Each
    element has its own noise; in Fluid all elements of a gradient share one.
    ``grad`` is the gradient of the batch, while the paper clips that of each
    example, so that its bounds on privacy hold for batches of one example only.

    Args:
        clip: the largest norm of a gradient.
        batch_size: the divisor of the noise.
        sigma: the deviation of the noise.
        seed: of the noise; 0 uses the program's.
    """

    type = "sgd"
    _later = ("seed",)

    learning_rate: Rate = 0.001
    clip: float | GradientClipByNorm = 0.9
    batch_size: float = 0.999
    sigma: float = 1e-8
    seed: int = 0

    def __post_init__(self) -> None:
        finite("dpsgd: sigma", self.sigma)
        finite("dpsgd: batch_size", self.batch_size)
        super().__post_init__()
        if self.batch_size <= 0 or self.sigma < 0:
            raise InvalidArgumentError(
                "dpsgd: batch_size must be above 0 and sigma at least 0, got "
                f"{self.batch_size} and {self.sigma}",
                "python.dpsgd",
            )
        self.clip = GradientClipByNorm(self.clip)

    def _update(
        self, helper: LayerHelper, param: Variable, grad: Variable
    ) -> None:
        attrs = {
            "shape": list(param.shape or ()),
            "dtype": param.dtype,
            "std": self.sigma / self.batch_size,
            "seed": self.seed,
        }
        noise = helper.append_op("gaussian_random", attrs=attrs)["Out"]
        (grad,) = self.clip([to_dense(grad, param)])
        super()._update(helper, param, grad + noise)
