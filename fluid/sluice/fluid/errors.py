"""How a call is refused, with the line of the user's."""

from typing import NoReturn

from ..errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    UnimplementedError,
)
from ..framework import created


def wrong(text: str, check_id: str) -> NoReturn:
    """Raise InvalidArgumentError: it cannot be meant so."""
    raise InvalidArgumentError(f"{text}{created()}", check_id)


def unknown(text: str, check_id: str) -> NoReturn:
    """Raise UnimplementedError: Sluice does not have it."""
    raise UnimplementedError(f"{text}{created()}", check_id)


def too_early(text: str, check_id: str) -> NoReturn:
    """Raise FailedPreconditionError: something must be done before."""
    raise FailedPreconditionError(f"{text}{created()}", check_id)
