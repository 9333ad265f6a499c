"""Fluid's optimizers, by their argument order and defaults."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from .. import optimizer as sluice_optimizer
from ..display import Shown
from ..framework import program_guard as sluice_guard
from .backward import append_backward, names_of, trained, untrained
from .dygraph import PiecewiseDecay
from .errors import wrong
from .executor import Executor
from .framework import (
    Program,
    Variable,
    default_main_program,
    default_startup_program,
    program_guard,
)
from .layers import reduce_sum, sums
from .left_out import refusing
from .scopes import Scope

__all__ = [
    "ExponentialMovingAverage", "LookaheadOptimizer", "ModelAverage",
    "RecomputeOptimizer",
]  # fmt: skip


class _Optimizer:
    """An optimizer of Sluice, whose arguments are Fluid's, for its programs."""

    _sluice: Any
    _fixed: ClassVar[dict[str, Any]] = {}

    def __init__(
        self, *values: Any, parameter_list: Any = None, **named: Any
    ) -> None:
        self._parameters = parameter_list
        self._steps: dict[Any, Any] = {}  # of dygraph, see _step
        # Rates that scripts set, by program, and those of copies.
        self._learning_rate_map: Any = weakref.WeakKeyDictionary()
        first = next(iter(values), None)
        self._learning_rate = named.get("learning_rate", first)
        values = tuple(_value(each) for each in values)
        if "learning_rate" in named:
            named["learning_rate"] = _value(named["learning_rate"])
        self._made = self._sluice(*values, **named, **self._fixed)

    def __repr__(self) -> str:
        return f"<fluid.optimizer.{type(self).__name__}: {self._made!r}>"

    def _global_learning_rate(
        self, program: Program | None = None
    ) -> Variable | None:
        """The learning rate as a variable; None before ``minimize``."""
        program = default_main_program() if program is None else program
        given = self._learning_rate_map.get(program, self._learning_rate)
        if isinstance(given, Variable):
            return given
        rates = self._made._rates.items()
        for (uid, _, factor), rate in rates:
            if uid == program.sluice.uid and factor == 1:
                return program.global_block().adopt(rate)
        return None

    def backward(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
        callbacks: Any = None,
    ) -> list[tuple[Variable, Variable]]:
        """Append the gradients of ``loss`` only."""
        chosen = parameter_list or self._parameters
        return append_backward(loss, chosen, no_grad_set)

    def apply_gradients(
        self, params_grads: list[tuple[Variable, Variable]]
    ) -> list[str]:
        """Append the updates of parameters by what :meth:`backward` gives."""
        program = params_grads[0][0].block.program
        pairs = [(param.value, grad.value) for param, grad in params_grads]
        names = [(param.name, grad.name) for param, grad in params_grads]
        rate = self._take_rate(program)

        def again(copy: Program) -> None:
            self._learning_rate_map[copy], var = rate, copy.block0.var
            with program_guard(copy, _scratch(copy)):
                self.apply_gradients([(var(p), var(g)) for p, g in names])

        with program.training(again):
            startup = default_startup_program().sluice
            return self._made.apply_gradients(pairs, startup)

    def apply_optimize(
        self,
        loss: Variable,
        startup_program: Program | None,
        params_grads: list[tuple[Variable, Variable]],
    ) -> list[str]:
        """:meth:`apply_gradients`."""
        return self.apply_gradients(params_grads)

    def minimize(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
        grad_clip: Any = None,
    ) -> tuple[Any, list[tuple[Variable, Variable]]]:
        """Append the gradients of ``loss`` and the updates of parameters.

        Returns the types of the ops, and (parameter, gradient) pairs.
        """
        program = loss.block.program
        startup = startup_program or default_startup_program()
        if hasattr(program, "given"):
            return [], self._step(program, parameter_list or self._parameters)
        if grad_clip is not None:
            self._made.grad_clip = grad_clip
        chosen = names_of(parameter_list or self._parameters)
        stops, rate = names_of(no_grad_set), self._take_rate(program)

        def again(copy: Program) -> None:
            self._learning_rate_map[copy] = rate
            same = copy.block0.var(loss.name)
            self.minimize(same, _scratch(copy), chosen, stops)

        ops, pairs = [], []
        with (
            sluice_guard(program.sluice, startup.sluice),
            program.training(again),
            untrained(chosen),
        ):
            found = trained(loss.block, chosen)
            ops, pairs = self._made.minimize(
                loss.value, startup.sluice, found, stops
            )
        block = program.global_block()
        return ops, [(block.var(p.name), block.adopt(g)) for p, g in pairs]

    def _take_rate(self, program: Program) -> Any:
        """Let a learning rate that is a variable be that of the program."""
        rate = self._learning_rate_map.get(program, self._learning_rate)
        if isinstance(rate, Variable):
            made = getattr(self._made, "inner_optimizer", self._made)
            made.learning_rate = program.block0.var(rate.name).value
        return rate

    def _step(self, eager: Any, parameters: Any) -> list[Any]:
        """Update parameters of layers by their gradients, by a program that
        is fed these.
        """
        if parameters is None:
            wrong(
                f"{type(self).__name__}: inside of dygraph.guard() it needs "
                "parameter_list=layer.parameters()",
                "fluid.parameter_list",
            )
        rate = self.current_step_lr()
        if callable(self._learning_rate):
            self._learning_rate()
        found = [(p, eager.gradient_of(p)) for p in parameters if p.trainable]
        found = [(p, each) for p, each in found if each is not None]
        key = (*(p.base_name for p, _ in found),)
        if not found:
            return []
        if key not in self._steps:
            self._steps[key] = self._update_of([p for p, _ in found])
        program, scope = self._steps[key]
        feed = {f"{p.base_name}@GRAD": each for p, each in found}
        feed["learning_rate"] = np.array([rate], "float32")
        for p, _ in found:
            scope.sluice[p.base_name] = p.numpy()
        Executor().run(program, feed, scope=scope)
        for p, _ in found:
            p.set_value(scope.find_var(p.base_name))
        return found

    def _update_of(self, parameters: Any) -> tuple[Program, Scope]:
        """A program that updates parameters, and the states in its scope."""
        program, startup, scope = Program(), Program(), Scope()
        block, parts = program.block0, []
        with program_guard(program, startup):
            rate = block.data("learning_rate", [1], "float32", 0)
            for p in parameters:
                name, kind = p.base_name, p.dtype
                w = block.persistable(name, p.shape, kind, True)
                if p.attr is not None:
                    program.sluice._param_attrs[name] = p.attr
                grad = block.data(f"{name}@GRAD", p.shape, kind, 0)
                parts.append(reduce_sum(w * grad))
            self._made.learning_rate = rate.value
            self._made.minimize(sums(parts).value, startup.sluice)
        Executor().run(startup, scope=scope)
        return program, scope

    def current_step_lr(self) -> float:
        """The learning rate of the next step of ``dygraph``."""
        rate = self._learning_rate
        return (
            rate.rate() if callable(rate) else 0.001 if rate is None else rate
        )

    def state_dict(self) -> dict[str, np.ndarray]:
        """The states that steps of ``dygraph`` made, by name."""
        return {
            v.name: np.asarray(scope.find_var(v.name))
            for program, scope in self._steps.values()
            for v in program.list_vars()
            if v.persistable and v.name not in program.block0.vars
        }

    def clear_gradients(self) -> None:
        """Forget the gradients of its parameters, in ``dygraph``."""
        for each in self._parameters or ():
            each.clear_gradient()


class _Adadelta(sluice_optimizer.Adadelta):
    """The step has no learning rate, although there is one."""

    def _rate(self, helper: Any, dtype: Any, factor: float) -> Any:
        super()._rate(helper, dtype, 1.0)
        attrs = {"shape": [1], "dtype": dtype, "value": 1.0}
        program = helper.main_program
        return program.append_op("fill_constant", attrs=attrs)["Out"]


def _scratch(program: Program) -> Program:
    """A startup program of a copy, whose variables have their values."""
    made = Program()
    for name, given in program.stored.items():
        made.block0.persistable(name, *given)
    return made


def _value(rate: Any) -> Any:
    if isinstance(rate, PiecewiseDecay):
        return rate.rate()
    return rate.value if isinstance(rate, Variable) else rate


def _optimizer(name: str, **fixed: Any) -> type[_Optimizer]:
    text = f"See :class:`sluice.optimizer.{name}`."
    kind = getattr(sluice_optimizer, name)
    kind = _Adadelta if name == "Adadelta" else kind
    made = {"_sluice": kind, "_fixed": fixed}
    return type(name, (_Optimizer,), {"__doc__": text, **made})


for _name in (
    "SGD", "Momentum", "LarsMomentum", "Adam", "Adamax", "Lamb", "Adagrad",
    "DecayedAdagrad", "Adadelta", "RMSProp", "Ftrl", "Dpsgd",
):  # fmt: skip
    _both = _name in ("Adam", "Adamax", "Lamb", "RMSProp")
    _fixed = {"formula": "fluid"} if _both else {}
    globals()[_name] = _optimizer(_name, **_fixed)
    globals()[f"{_name}Optimizer"] = globals()[_name]
    __all__ += [_name, f"{_name}Optimizer"]


class LookaheadOptimizer(_Optimizer):
    """Slow weights that go a part of the way to those of an optimizer."""

    def __init__(
        self, inner_optimizer: _Optimizer, alpha: float = 0.5, k: int = 5
    ) -> None:
        vars(self).update(vars(inner_optimizer))
        self._made = sluice_optimizer.Lookahead(self._made, alpha, k)


class RecomputeOptimizer(_Optimizer):
    """The steps of another optimizer: what gradients need is kept, not
    computed again, so that the results are the same.
    """

    def __init__(self, optimizer: _Optimizer) -> None:
        vars(self).update(vars(optimizer))

    def _set_checkpoints(self, checkpoints: Any) -> None:
        """Nothing: everything is kept."""

    def load(self, stat_dict: Any) -> None:
        """Raises NotImplementedError, as Fluid's does."""
        raise NotImplementedError(
            "load function is not supported by Recompute Optimizer for now"
        )


@contextlib.contextmanager
def _appending(make: Callable[[], Any]) -> Iterator[None]:
    """Append the ops of averages to the default programs."""

    def again(copy: Program) -> None:
        with program_guard(copy, _scratch(copy)), _appending(make):
            make()

    program = default_main_program()
    startup = default_startup_program().sluice
    with sluice_guard(program.sluice, startup), program.training(again):
        yield


class _Average(Shown):
    """An average of Sluice for programs of Fluid."""

    _made: Any

    def apply(self, executor: Any, need_restore: bool = True) -> Any:
        """Let the parameters be their averages inside the block."""
        return self._made.apply(executor.sluice, need_restore)

    def restore(self, executor: Any) -> None:
        """Undo :meth:`apply`."""
        self._made.restore(executor.sluice)


class ExponentialMovingAverage(_Average):
    """See :class:`sluice.optimizer.ExponentialMovingAverage`."""

    def __init__(self, decay: float = 0.999, thres_steps: Any = None,
                 name: str | None = None) -> None:  # fmt: skip
        self._given = decay, thres_steps
        self._made = self._make(name)

    def _make(self, name: str | None) -> Any:
        decay, steps = self._given
        if isinstance(steps, Variable):
            steps = default_main_program().block0.var(steps.name).value
        return sluice_optimizer.ExponentialMovingAverage(decay, steps, name)

    def update(self) -> None:
        """Append the averaging of all parameters of the main program."""
        with _appending(lambda: self._make(self._made.name).update()):
            self._made.update()


class ModelAverage(_Average):
    """See :class:`sluice.optimizer.ModelAverage`; made after ``minimize``."""

    def __init__(self, average_window_rate: float,
                 min_average_window: int = 10000,
                 max_average_window: int = 10000, regularization: Any = None,
                 name: str | None = None) -> None:  # fmt: skip
        def make() -> Any:
            least, most = min_average_window, max_average_window
            rate, kind = average_window_rate, sluice_optimizer.ModelAverage
            return kind(rate, least, most, name)

        with _appending(make):
            self._made = make()


__getattr__ = refusing(
    "fluid.optimizer",
    {
        "DGCMomentumOptimizer": "gradients between ranks are dense; use "
        "Momentum",
        "PipelineOptimizer": "a program runs on one device; see "
        "sl.distributed for data in parts",
    },
)
