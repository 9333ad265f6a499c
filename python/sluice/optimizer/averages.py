"""Averages of parameters over the steps of a training."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, ClassVar, NoReturn

from .. import unique_name
from ..defaults import default_main_program
from ..display import Shown
from ..elsewhere import checked
from ..errors import FailedPreconditionError, InvalidArgumentError
from ..executor import global_scope, scope_guard
from ..feed_values import finite, positive
from ..initializer import Constant
from ..layer_helper import LayerHelper
from ..program import Program, Variable


class _Average(Shown):
    """Keeps averages, and puts them in the parameters' place for a while."""

    _applied: ClassVar[list[tuple[Any, _Average]]] = []  # with their scopes

    def __init__(self, kind: str, name: str | None) -> None:
        self.name = name or unique_name.generate(kind)
        self._apply: Program | None = None
        self._restore = Program()
        self._begin: dict[str, float] = {}  # what the first step changes

    def _helper(self) -> LayerHelper:
        return LayerHelper(self.name, self.name)

    def _keep(
        self, helper: LayerHelper, name: str, like: Any, value: float = 0.0
    ) -> Variable:
        """A state of the shape of a variable, or a counter of a dtype.

        States are in float64, in which long sums and factors near 1 keep the
        digits of a parameter.
        """
        known = isinstance(like, Variable)
        return helper.create_persistable(
            unique_name.generate(f"{name}.{self.name}"),
            list(like.shape or ()) if known else [1],
            "float64" if known else like,
            Constant(value),
        )

    def _parameters(self, program: Program) -> list[Variable]:
        """The parameters that are averaged."""
        every = program.all_parameters()
        return [param for param in every if param._attr().do_model_average]

    def _averaged(self, param: str, states: list[Variable]) -> Variable:
        """Append the average of a parameter, in float64."""
        raise NotImplementedError

    def _finish(
        self, trained: Program, states: dict[str, list[Variable]]
    ) -> None:
        """Make the programs that swap, given the states by parameter."""
        self._apply, self._params = Program(), set(states)
        for program in (self._apply, self._restore):
            for param, kept in states.items():
                like = trained.var(param)
                names = param, f"{param}.{self.name}.backup"
                shape = list(like.shape or ())
                var, backup = (
                    program.persistable(name, shape, like.dtype)
                    for name in names
                )
                if program is self._restore:
                    program.append_op("assign", {"X": backup}, {"Out": var})
                    continue
                program.append_op("assign", {"X": var}, {"Out": backup})
                here = [
                    program.persistable(s.name, list(s.shape or ()), s.dtype)
                    for s in kept
                ]
                average = self._averaged(param, here)._as(like.dtype)
                program.append_op("assign", {"X": average}, {"Out": var})

    @contextlib.contextmanager
    def apply(self, executor: Any, need_restore: bool = True) -> Iterator[None]:
        """Let the parameters be their averages inside the block.

        Args:
            executor: what trains; parameters are in the global scope.
            need_restore: whether they are what they were after the block;
                otherwise call :meth:`restore`.

        Raises:
            FailedPreconditionError: no step has been averaged yet, parameters
                are averages already, or ``update`` was not called.
        """
        if self._apply is None:
            text = "call update() where the program is written"
            self._refuse(text, "python.average_update")
        scope = global_scope()
        for where, other in self._applied:
            if where is scope and other._params & self._params:
                text = f"{other.name} is in the parameters' place already: "
                text += "leave its block or call its restore() first"
                self._refuse(text, "python.average_nested")
        steps = [(scope.find_var(n), x) for n, x in self._begin.items()]
        if all(state is None or state.numpy() == x for state, x in steps):
            text = "no step has been averaged yet in the global scope: train "
            text += "first, or choose the scope by sluice.scope_guard(scope)"
            self._refuse(text, "python.average_steps")
        executor.run(self._apply)
        self._applied.append((scope, self))
        try:
            yield
        finally:
            if need_restore and (scope, self) in self._applied:
                with scope_guard(scope):
                    self.restore(executor)

    def restore(self, executor: Any) -> None:
        """Undo :meth:`apply`; FailedPreconditionError if there was none."""
        here = global_scope(), self
        if here not in self._applied:
            text = "restore() without apply() in the global scope"
            self._refuse(text, "python.average_restore")
        executor.run(self._restore)
        self._applied.remove(here)

    def _refuse(self, text: str, check: str) -> NoReturn:
        raise FailedPreconditionError(f"{self.name}: {text}", check)


@checked
class ExponentialMovingAverage(_Average):
    """average = decay * average + (1 - decay) * param, begun as 0.

    ``apply`` divides it by 1 - the product of all decays, so that it is a mean
    from the first step on.

    Args:
        decay: how much of the average is kept.
        thres_steps: a variable of one element, such as the step; the decay is
            at most (1 + thres_steps) / (10 + thres_steps).
        name: the prefix of its variables' names.

    Raises:
        InvalidArgumentError: decay is not in [0, 1).

    >>> ema = sl.optimizer.ExponentialMovingAverage(0.999)
    >>> ema.update()                    # after optimizer.minimize(loss)
    >>> _ = exe.run(sl.default_startup_program())
    >>> _ = exe.run(feed=feed, fetch_list=[loss])
    >>> with ema.apply(exe):            # after some runs
    ...     _ = exe.run(test_program, feed, [loss])
    """

    def __init__(
        self,
        decay: float = 0.999,
        thres_steps: Variable | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__("ema", name)
        self.decay = finite("ema: decay", decay)
        if not 0 <= self.decay < 1:
            raise InvalidArgumentError(
                f"ema: decay must be at least 0 and below 1, got {self.decay}",
                "python.ema_decay",
            )
        self.thres_steps = thres_steps

    def update(self) -> None:
        """Append the averaging of all parameters of the main program whose
        ParamAttr does not say otherwise; before ``minimize``, as they are then.
        """
        helper = self._helper()
        program = helper.main_program
        states: dict[str, list[Variable]] = {}
        with program._appending("optimize"):
            decay = self._decay()
            left = self._keep(helper, "left", "float64", 1.0)
            helper.append_op("assign", {"X": left * decay}, {"Out": left})
            for param in self._parameters(program):
                average = self._keep(helper, param.name, param)
                moved = average * decay + param._as("float64") * (1 - decay)
                helper.append_op("assign", {"X": moved}, {"Out": average})
                states[param.name] = [average, left]
        self._begin = {left.name: 1.0}
        self._finish(program, states)

    def _decay(self) -> Any:
        if self.thres_steps is None:
            return self.decay
        steps = self.thres_steps._as("float64")
        least = (steps + 1) / (steps + 10)
        most = least._constant(self.decay)
        return _scalar(least._binary("elementwise_min", most))

    def _averaged(self, param: str, states: list[Variable]) -> Variable:
        average, left = states
        return average / _scalar(1 - left)


@checked
class ModelAverage(_Average):
    """The mean of parameters over a window of the last steps.

    Made after ``minimize``, it appends the sums of all parameters. As in Fluid,
    a window ends when it has min_average_window steps and at least
    min(max_average_window, average_window_rate * all steps); ``apply`` takes
    the mean over the last complete window and the current one.

    Args:
        average_window_rate: the window, as a part of all steps.
        min_average_window: the fewest steps of a window.
        max_average_window: the most.
        name: the prefix of its variables' names.

    Raises:
        InvalidArgumentError: a window is not above 0, or the rate negative.
    """

    def __init__(
        self,
        average_window_rate: float,
        min_average_window: int = 10000,
        max_average_window: int = 10000,
        name: str | None = None,
    ) -> None:
        super().__init__("model_average", name)
        what = "model_average: average_window_rate"
        self.average_window_rate = finite(what, average_window_rate)
        if self.average_window_rate < 0:
            raise InvalidArgumentError(
                f"{what} must be at least 0, got {self.average_window_rate}",
                "python.average_window_rate",
            )
        self.min_average_window = positive(
            "model_average: min_average_window", min_average_window
        )
        self.max_average_window = positive(
            "model_average: max_average_window", max_average_window
        )
        with default_main_program()._appending("optimize"):
            self._accumulate(self._helper())

    def _accumulate(self, helper: LayerHelper) -> None:
        updates, count, old = (
            self._keep(helper, name, "int64")
            for name in ("updates", "count", "old_count")
        )
        for counter in (updates, count):
            helper.append_op("assign", {"X": counter + 1}, {"Out": counter})
        rate = self.average_window_rate
        window = (updates._as("float64") * rate)._as("int64")
        most = window._constant(self.max_average_window)
        window = window._binary("elementwise_min", most)
        ends = (count >= self.min_average_window)._binary(
            "logical_and", count >= window
        )
        states = {}
        for param in self._parameters(helper.main_program):
            total = self._keep(helper, f"{param.name}.sum", param)
            before = self._keep(helper, f"{param.name}.old_sum", param)
            grown = total + param._as("float64")
            _where(helper, _scalar(ends), grown, before, before)
            _where(helper, _scalar(ends), _zero(total), grown, total)
            states[param.name] = [total, before, count, old]
        _where(helper, ends, count, old, old)
        _where(helper, ends, count._constant(0), count, count)
        self._begin = {count.name: 0.0, old.name: 0.0}
        self._finish(helper.main_program, states)

    def _averaged(self, param: str, states: list[Variable]) -> Variable:
        total, before, count, old = states
        return (total + before) / _scalar((count + old)._as("float64"))


def _where(
    helper: LayerHelper, condition: Variable, x: Any, y: Any, out: Variable
) -> None:
    inputs = {"Condition": condition, "X": x, "Y": y}
    helper.append_op("where", inputs, {"Out": out})


def _scalar(x: Variable) -> Variable:
    """A value reshaped to [], which broadcasts to every shape."""
    return x._append("reshape", {"X": x}, shape=[])


def _zero(like: Variable) -> Variable:
    return like._append("fill_constant", {}, shape=[], dtype=like.dtype)
