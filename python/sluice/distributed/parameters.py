"""Checks that parameters are equal on all ranks."""

from __future__ import annotations

import zlib

import numpy as np

from .. import _core, executor
from ..errors import FailedPreconditionError
from ..program import Program
from .arguments import check_owners
from .together import ranks_by_value, together

_NAMED = 5  # number of variables in a message


def check_parameters(
    program: Program | None = None,
    scope: _core.Scope | None = None,
) -> None:
    """Find parameters that differ between ranks. All ranks call it together.

    Equal ranks diverge if one of them sets a parameter by hand, or is fed
    another learning rate. The variables that :class:`DataParallel`'s program
    reads and does not update before the loss are compared bit by bit:
    parameters, but not batch_norm's moving averages, which each rank has for
    itself. A different optimizer state shows after the next update.

    Args:
        program: it has the variables; the default main program if None.
        scope: where they are; the global scope if None. Variables without a
            value are skipped.

    Raises:
        FailedPreconditionError: on all ranks: names the first five variables
            that differ, with the ranks; or a rank calls another function.
        InvalidArgumentError: an argument has a wrong class.
    """
    program, scope = executor.program_and_scope(program, scope)
    compare("check_parameters", program, scope)


def compare(what: str, program: Program, scope: _core.Scope) -> None:
    """Compare parameters; errors name the function ``what``."""
    found = together(what, lambda: _checksums(what, program, scope))
    names = dict.fromkeys(name for of_rank in found for name in of_rank)
    lines = []
    for name in names:
        by_value = ranks_by_value(
            {r: own[name] for r, own in enumerate(found) if name in own}
        )
        if len(by_value) > 1:
            values = "; ".join(f"{ranks}: {value}" for value, ranks in by_value)
            lines.append(f"\n  {name}: {values}")
    if not lines:
        return
    more = len(lines) - _NAMED
    raise FailedPreconditionError(
        f"{what}: {len(lines)} of {len(names)} variables differ between ranks:"
        + "".join(lines[:_NAMED])
        + (f"\n  and {more} more" if more > 0 else ""),
        "distributed.parameters",
    )


def _checksums(
    what: str, program: Program, scope: _core.Scope
) -> dict[str, str]:
    """Dtype, shape and checksum of each variable that has a value."""
    check_owners(what, program, scope)
    found = {}
    for name in _core._same_on_ranks(program):
        tensor = scope.find_var(name)
        if tensor is None:
            continue
        data = np.ascontiguousarray(tensor.numpy()).reshape(-1).view(np.uint8)
        found[name] = (
            f"{tensor.dtype} {list(tensor.shape)} of checksum "
            f"{zlib.crc32(data):08x}"
        )
    return found
