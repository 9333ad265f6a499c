"""Limits for gradients.

A clip is given to an optimizer (``grad_clip=``), or to one parameter
(``ParamAttr(gradient_clip=...)``), where it counts instead. An error clip is
given to a variable in between: ``variable.error_clip = ErrorClipByValue(1.0)``.

NaN stays NaN: clipped by value, where it is; by norm, it makes the whole
gradient NaN, and by global norm those of the whole group, because the norm is
NaN. An infinite gradient is clipped by value; by norm it becomes NaN, and what
it is clipped together with 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .display import Shown
from .elsewhere import checked, help_with_names
from .errors import InvalidArgumentError
from .feed_values import finite
from .param_attr import ErrorClip, GradientClip
from .program import Variable
from .saved_settings import saved
from .sparse import merged

__all__ = [
    "ErrorClipByValue", "GradientClipByGlobalNorm", "GradientClipByNorm",
    "GradientClipByValue",
]


class _Limits(Shown):
    def __init__(self, max: float, min: float | None = None) -> None:
        what = type(self).__name__
        self.max = finite(f"{what}: max", max)
        self.min = -self.max if min is None else finite(f"{what}: min", min)
        if self.min > self.max:
            raise InvalidArgumentError(
                f"{what}: min must not be above max, got {self.min} and "
                f"{self.max}",
                "python.clip_limits",
            )

    def _op(self) -> tuple[str, dict[str, Any]]:
        """The type of the op, and its attributes."""
        return "clip", {"min": self.min, "max": self.max}


@saved
@checked
class ErrorClipByValue(_Limits, ErrorClip):
    """Each element of a variable's gradient is limited to [min, max].

    Set ``variable.error_clip`` before the gradients are appended. It acts where
    the gradient is complete, so what comes before the variable gets the clipped
    one; inside of a loop, in each iteration.

    Args:
        max: the upper limit.
        min: the lower limit; -max if None.

    Raises:
        InvalidArgumentError: a limit is not finite, or min is above max.
    """


@saved
@checked
class GradientClipByValue(_Limits, GradientClip):
    """Each element is limited to [min, max].

    Args:
        max: the upper limit.
        min: the lower limit; -max if None.

    Raises:
        InvalidArgumentError: a limit is not finite, or min is above max.
    """

    def _clip(self, grads: list[Variable]) -> list[Variable]:
        kind, limits = self._op()
        return [
            g.program.append_op(kind, {"X": g}, attrs=limits)["Out"]
            for g in grads
        ]


@saved
@checked
class GradientClipByNorm(GradientClip):
    """Each gradient is multiplied by clip_norm / max(its norm, clip_norm).

    Args:
        clip_norm: the largest Euclidean norm.

    Raises:
        InvalidArgumentError: clip_norm is not finite or not above 0.
    """

    def __init__(self, clip_norm: float) -> None:
        what = f"{type(self).__name__}: clip_norm"
        self.clip_norm = finite(what, clip_norm)
        if self.clip_norm <= 0:
            raise InvalidArgumentError(
                f"{what} must be above 0, got {self.clip_norm}",
                "python.clip_norm",
            )

    def _factor(self, norm: Variable) -> Variable:
        limit = norm._constant(self.clip_norm)
        return limit / norm._binary("elementwise_max", limit)

    def _clip(self, grads: list[Variable]) -> list[Variable]:
        return [g * self._factor(_norm(g)) for g in grads]


@saved
@checked
class GradientClipByGlobalNorm(GradientClipByNorm):
    """All gradients of a group are multiplied by the same number.

    It is clip_norm / max(norm, clip_norm), where norm is the Euclidean norm of
    all of them together. That is Fluid's formula. PyTorch's ``clip_grad_norm_``
    is the same, but adds 1e-6 to the norm.

    Args:
        clip_norm: the largest norm.
        group_name: parameters whose clips have the same name are one group.

    Raises:
        InvalidArgumentError: clip_norm is not finite or not above 0.
    """

    def __init__(
        self, clip_norm: float, group_name: str = "default_group"
    ) -> None:
        super().__init__(clip_norm)
        self.group_name = group_name

    def _group(self) -> Any:
        return self.group_name

    def _clip(self, grads: list[Variable]) -> list[Variable]:
        append = grads[0].program.append_op
        # Norms of norms do not overflow where sums of squares would.
        kind = grads[0].dtype
        norms = [
            append("reshape", {"X": _norm(g)._as(kind)}, attrs={"shape": [1]})
            for g in grads
        ]
        norms = [norm["Out"] for norm in norms]
        every = append("concat", {"X": norms}, attrs={"axis": 0})["Out"]
        factor = self._factor(_norm(every))
        return [g * factor._as(g.dtype) for g in grads]


def _norm(x: Variable) -> Variable:
    """The Euclidean norm of all elements, of shape []."""
    return x._append("reduce_l2", {"X": x}, reduce_all=True)


def clipped(
    pairs: Iterable[tuple[Variable, Variable]], default: GradientClip | None
) -> list[tuple[Variable, Variable]]:
    """Clip the gradients of (parameter, gradient) pairs.

    Each by the clip of its parameter, or else by ``default``.

    Raises InvalidArgumentError when clips of one group have different norms.
    """
    pairs = list(pairs)
    groups: dict[Any, list[int]] = {}
    clips: dict[Any, Any] = {}
    for i, (param, _) in enumerate(pairs):
        clip = param._attr().gradient_clip or default
        if clip is None:
            continue
        group = clip._group()
        key = i if group is None else group
        first = clips.setdefault(key, clip)
        if group is not None and first.clip_norm != clip.clip_norm:
            raise InvalidArgumentError(
                f"{type(clip).__name__}: group {group!r} has clip_norm "
                f"{first.clip_norm}, but {param.name} has {clip.clip_norm}",
                "python.clip_group",
            )
        groups.setdefault(key, []).append(i)
    for key, members in groups.items():
        grads = [merged(pairs[i][1]) for i in members]
        for i, grad, before in zip(
            members, clips[key](grads), grads, strict=True
        ):
            if before.rows is not None:
                grad.program._set_rows(grad.name, before.rows.name)
            pairs[i] = pairs[i][0], grad
    return pairs

help_with_names(globals())
