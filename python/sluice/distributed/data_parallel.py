"""Optimizers that use the gradients of all ranks."""

from __future__ import annotations

from collections.abc import Iterable

from .. import _core
from ..backward import backward_arguments
from ..display import Shown
from ..elsewhere import checked
from ..errors import FailedPreconditionError, InvalidArgumentError
from ..optimizer import Optimizer
from ..program import Program, Variable
from ..tracebacks import caller_location


@checked
class DataParallel(Shown):
    """An optimizer whose gradients are the means over all ranks.

    Every rank runs the same program on its part of each batch; parameters and
    the optimizer's state stay the same on all of them. Gradients are added up
    in buckets, while the rest of the backward pass runs. With a single rank the
    program is that of the optimizer alone, unless it is deterministic. The loss
    must be a mean over the batch: it is divided by the number of ranks, or of
    parts.

    Args:
        optimizer: the optimizer that updates the parameters.
        bucket_bytes: approximate bytes of gradients in one collective.
        deterministic: whether equal batches give equal bits on 1, 2 and more
            ranks, up to ``parts``: each batch is computed in ``parts`` parts,
            whose gradients are added in pairs. Ops before the loss must not
            draw random numbers (dropout) or update their inputs (batch_norm),
            and each variable that is fed a batch must have an unknown first
            dim.
        parts: a power of 2, and a multiple of the number of ranks.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        bucket_bytes: int = 1 << 20,
        deterministic: bool = False,
        parts: int = 4,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise InvalidArgumentError(
                f"DataParallel: optimizer = {_core._shown(optimizer)}; "
                "expected one of sluice.optimizer",
                "distributed.optimizer",
            )
        self.optimizer = optimizer
        self.bucket_bytes = bucket_bytes
        if not isinstance(deterministic, bool):
            raise InvalidArgumentError(
                f"DataParallel: deterministic = {_core._shown(deterministic)}; "
                "expected True or False",
                "distributed.deterministic",
            )
        if deterministic and not parts:
            raise InvalidArgumentError(
                f"DataParallel: parts = {parts}; expected a power of 2",
                "distributed.parts",
            )
        self.parts = parts if deterministic else 0
        self._loss: Variable | None = None

    @property
    def loss(self) -> Variable:
        """The mean of the loss over all ranks, available after minimize().

        All ranks must fetch it, or none.
        """
        if self._loss is None:
            raise FailedPreconditionError(
                "DataParallel: there is a loss after minimize()",
                "distributed.no_loss",
            )
        return self._loss

    def minimize(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Iterable[Variable | str] | None = None,
        no_grad_set: Iterable[Variable | str] | None = None,
    ) -> tuple[list[str], list[tuple[Variable, Variable]]]:
        """Do what :meth:`sluice.optimizer.Optimizer.minimize` does.

        Returns:
            The types of the ops that were appended, and pairs of a parameter
            and its gradient over all ranks.

        Raises:
            InvalidArgumentError: see :func:`sluice.append_backward`; or the
                program cannot be computed in parts, or the number of parts is
                not a power of 2 or not a multiple of the number of ranks.
            FailedPreconditionError: :func:`init` was not called.
        """
        arguments = backward_arguments(loss, parameter_list, no_grad_set)
        program = loss.program
        names, mean = _core._append_data_parallel(
            program,
            *arguments,
            self.bucket_bytes,
            self.parts,
            caller_location(),
        )
        self._loss = Variable(program, mean)
        pairs = [(Variable(program, p), Variable(program, g)) for p, g in names]
        return self.optimizer.apply_gradients(pairs, startup_program), pairs
