"""Maps the providers of a session to places."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from . import environment
from .environment import (
    EMULATED,
    PROVIDER_PLACES,
    get_available_providers,
    is_present,
)

Provider = str | tuple[str, dict[str, Any]]


def chosen(
    providers: Sequence[Provider] | None,
    options: Sequence[dict[str, Any]] | None,
    level: int = 3,
    severity: int = -1,
) -> list[tuple[str, dict[str, Any]]]:
    """The available providers, with their options; the CPU is last.

    Warns, at the line ``level`` calls up, about missing providers, if
    ``severity`` is at most 2 (-1: that of the logger). Raises ValueError unless
    it is a name, or a list of names or (name, options), with one dict of
    options for each.
    """
    if providers is None:
        providers = ["CPUExecutionProvider"]
    if isinstance(providers, str):
        providers = [providers]
    if not isinstance(providers, Sequence):
        raise ValueError(f"'providers' should be a sequence, got {providers!r}")
    warns = (environment.logger_severity if severity < 0 else severity) <= 2
    if options is not None and len(options) != len(providers):
        raise ValueError(
            f"provider_options has {len(options)} entries, providers has "
            f"{len(providers)}; expected as many"
        )
    found: dict[str, dict[str, Any]] = {}
    for i, provider in enumerate(providers):
        name, own = provider, {}
        if isinstance(provider, tuple) and len(provider) == 2:
            name, own = provider
        if not isinstance(name, str) or not isinstance(own, dict):
            raise ValueError(
                f"provider {provider!r}: expected a name or (name, options)"
            )
        if options is not None:
            own = {**own, **options[i]}
        if name in found and warns:
            warnings.warn(
                f"Duplicate provider '{name}' encountered, ignoring.",
                stacklevel=level,
            )
        if is_present(name):
            found.setdefault(name, own)
        else:
            available = ", ".join(get_available_providers())
            if is_present(EMULATED):
                available += f"; for tests: {EMULATED}"
            if warns:
                warnings.warn(
                    f"Specified provider '{name}' is not in available provider "
                    f"names. Available providers: '{available}'",
                    stacklevel=level,
                )
    found.setdefault("CPUExecutionProvider", {})
    return list(found.items())


def place_of(provider: tuple[str, dict[str, Any]]) -> str:
    """The place of a provider: ``"cuda:1"``."""
    name, options = provider
    kind = PROVIDER_PLACES[name]
    if kind == "cpu":
        return kind
    return f"{kind}:{int(options.get('device_id', 0))}"
