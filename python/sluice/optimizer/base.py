"""The base of the optimizers: what they do with gradients."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from .. import _core, unique_name
from ..backward import append_backward
from ..clip import clipped
from ..defaults import default_startup_program, program_guard
from ..display import Shown, counted, cut
from ..elsewhere import checked, help_with_attributes
from ..errors import InvalidArgumentError
from ..feed_values import finite
from ..initializer import Constant
from ..layer_helper import LayerHelper
from ..param_attr import GradientClip, WeightDecay
from ..program import Program, Variable
from ..sparse import to_dense


class Minimized(tuple):
    """The result of ``minimize``; its text is one line."""

    def __repr__(self) -> str:
        ops, pairs = self
        names = cut(", ".join(param.name for param, _ in pairs), 60)
        kinds = ", ".join(dict.fromkeys(ops))
        return f"<{counted(len(ops), 'update')} by {kinds or 'no op'}: {names}>"


Rate = float | Variable

if TYPE_CHECKING:
    from dataclasses import dataclass as declared
else:

    def declared(cls):
        """Make the arguments of an optimizer from its fields.

        First comes learning_rate, then the own fields of the class, then what
        all optimizers have, and after their name those that `_later` lists.
        """
        fields = inspect.get_annotations(cls)
        later = {name: fields.pop(name) for name in vars(cls).get("_later", ())}
        for name, kind in _LAST.items():
            fields |= {name: kind} | (later if name == "name" else {})
            setattr(cls, name, None)
        cls.__annotations__ = fields
        cls = dataclass(repr=False, eq=False)(cls)
        for name in _LAST:  # fields of a class go after those of its bases
            del cls.__dataclass_fields__[name]
        return checked(cls)


_LAST = {
    "regularization": "WeightDecay | None",
    "grad_clip": "GradientClip | None",
    "name": "str | None",
    "lazy_mode": "bool | None",
}
_NO_STATES = ("Param", "Grad", "Rows", "LearningRate", "SkipUpdate")


@declared
class Optimizer(Shown):
    """Base of the optimizers.

    Args:
        learning_rate: a number, or a float variable of shape [1] that the
            program computes or is fed.
        regularization: a decay of :mod:`sluice.regularizer`, for parameters
            whose ParamAttr has none.
        grad_clip: a clip of :mod:`sluice.clip`, likewise.
        name: the prefix of its variables' names.
        lazy_mode: with a sparse gradient, change only the rows that it has,
            and their states (see :mod:`sluice.sparse`).

    Raises:
        InvalidArgumentError: the learning rate is neither, negative or not
            finite; or another argument is of another kind.
    """

    type = "optimizer"
    _renamed: ClassVar[dict[str, str]] = {}  # attributes of the op by field
    # Rows without a gradient would not move, nor would their states.
    _keeps_others: ClassVar = False

    learning_rate: Rate
    regularization: WeightDecay | None = field(default=None, kw_only=True)
    grad_clip: GradientClip | None = field(default=None, kw_only=True)
    name: str | None = field(default=None, kw_only=True)
    lazy_mode: bool | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.learning_rate, Variable):
            what = f"{self.type}: learning_rate"
            self.learning_rate = finite(what, self.learning_rate)
            if self.learning_rate < 0:
                raise InvalidArgumentError(
                    f"{what} must be at least 0, got {self.learning_rate}",
                    "python.learning_rate",
                )
        for what, kind, module in (
            ("regularization", WeightDecay, "regularizer"),
            ("grad_clip", GradientClip, "clip"),
        ):
            value = getattr(self, what)
            if value is not None and not isinstance(value, kind):
                raise InvalidArgumentError(
                    f"{self.type}: {what} must be one of sluice.{module} or "
                    f"None, got {_core._shown(value)}",
                    "python.optimizer_part",
                )
        self.name = self.name or unique_name.generate(self.type)
        for what, value in list(vars(self).items()):
            if value is None:
                delattr(self, what)  # the class has it; only others are shown
        has_formula = "formula" in self.__dataclass_fields__
        formula = self.formula if has_formula else "fluid"
        if formula not in ("fluid", "pytorch"):
            raise InvalidArgumentError(
                f'{self.type}: formula must be "fluid" or "pytorch", got '
                f"{_core._shown(formula)}",
                "python.formula",
            )
        for what, each in self.__dataclass_fields__.items():
            if each.type == "float":
                value = finite(f"{self.type}: {what}", getattr(self, what))
                setattr(self, what, value)
        self._rates: dict[tuple[int, str, float], Variable] = {}
        self._skip: Variable | None = None  # whether a run updates nothing

    def minimize(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Iterable[Variable | str] | None = None,
        no_grad_set: Iterable[Variable | str] | None = None,
    ) -> tuple[list[str], list[tuple[Variable, Variable]]]:
        """Append the gradients of ``loss`` and the updates of parameters.

        Args:
            loss: a float variable of one element.
            startup_program: initialises the optimizer's own variables; the
                default one if None.
            parameter_list: parameters to update; all if None.
            no_grad_set: variables where gradients stop.

        Returns:
            The types of the ops that were appended, and (parameter, gradient)
            pairs.

        Raises:
            InvalidArgumentError: see :func:`sluice.append_backward`.
        """
        pairs = append_backward(loss, parameter_list, no_grad_set)
        return Minimized((self.apply_gradients(pairs, startup_program), pairs))

    def apply_gradients(
        self,
        params_grads: list[tuple[Variable, Variable]],
        startup_program: Program | None = None,
    ) -> list[str]:
        """Append the update of each parameter by its gradient."""
        if not params_grads:
            return []
        program = params_grads[0][0].program
        startup = startup_program or default_startup_program()
        with (
            program._appending("optimize"),
            program_guard(program, startup),
        ):
            helper = LayerHelper(self.type, self.name)
            return self._append(helper, params_grads)

    def _append(
        self, helper: LayerHelper, pairs: list[tuple[Variable, Variable]]
    ) -> list[str]:
        for param, grad in clipped(pairs, self.grad_clip):
            decay = param._attr().regularizer or self.regularization
            if decay is not None:
                grad = decay(param, grad)
            self._update(helper, param, grad)
        return [self.type] * len(pairs)

    def _attributes(self) -> dict[str, Any]:
        """The attributes of the op."""
        known = {a["name"] for a in _core._schema(self.type)["attributes"]}
        fields = {self._renamed.get(f, f): f for f in self.__dataclass_fields__}
        values = {a: getattr(self, f) for a, f in fields.items() if a in known}
        if values.get("formula") == getattr(type(self), "formula", ""):
            del values["formula"]  # the op's default, too
        return values

    def _powers(self) -> dict[str, float]:
        """With what the states of shape [1] begin; others begin as 0."""
        betas = [name for name in ("beta1", "beta2") if hasattr(self, name)]
        return {f"{n.capitalize()}Pow": getattr(self, n) for n in betas}

    def _first(self) -> float:
        """With what the states of the parameter's shape begin."""
        return 0.0

    def _update(
        self, helper: LayerHelper, param: Variable, grad: Variable
    ) -> None:
        powers = self._powers()
        names = [a["name"] for a in _core._schema(self.type)["inputs"]]
        inputs = {"Param": param, "Grad": grad}
        outputs = {"ParamOut": param}
        if "Rows" in names and (self.lazy_mode or self._keeps_others):
            inputs["Rows"] = grad.rows
        else:
            inputs["Grad"] = to_dense(grad, param)
        for name in names:
            if name == "SkipUpdate":
                inputs[name] = self._skip
            if name in _NO_STATES:
                continue
            shape = [1] if name in powers else None
            kind = re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
            state = self._state(
                helper, param, kind, shape, powers.get(name, self._first())
            )
            inputs[name] = outputs[f"{name}Out"] = state
        if self._skip is not None and "SkipUpdate" not in inputs:
            raise InvalidArgumentError(
                f"{self.type}: the op has no input SkipUpdate, so that its "
                "gradients cannot be added up over several runs",
                "python.skip_update",
            )
        inputs["LearningRate"] = self._rate(
            helper, param.dtype, param._attr().learning_rate
        )
        helper.append_op(self.type, inputs, outputs, self._attributes())

    def _rate(self, helper: LayerHelper, dtype: Any, factor: float) -> Variable:
        """The learning rate in a dtype, times the factor of a parameter."""
        key = helper.main_program.uid, str(dtype), factor
        if key in self._rates:
            return self._rates[key]
        if factor != 1:
            rate = self._rate(helper, dtype, 1.0) * factor
        elif isinstance(self.learning_rate, Variable):
            rate = self.learning_rate._as(dtype)
        else:
            name = unique_name.generate(f"{self.name}.learning_rate")
            value = Constant(self.learning_rate)
            rate = helper.create_persistable(name, [1], dtype, value)
        self._rates[key] = rate
        return rate

    def _state(
        self,
        helper: LayerHelper,
        param: Variable,
        kind: str,
        shape: list[int] | None = None,
        value: float = 0.0,
    ) -> Variable:
        name = unique_name.generate(f"{param.name}.{self.name}.{kind}")
        # Powers are in float64, so that 1 - power keeps its digits.
        dtype = param.dtype if shape is None else "float64"
        shape = list(param.shape or ()) if shape is None else shape
        return helper.create_persistable(name, shape, dtype, Constant(value))


help_with_attributes(Optimizer)
