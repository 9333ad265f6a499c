"""Predicts the cost of a program with other devices, links or kernels."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import sluice as sl
from sluice import _lab
from sluice.errors import InvalidArgumentError
from sluice.program import unread

from . import arguments, programs, text

_ABOUT = """\
Predicts what a program would cost if its ops could also run on a device, if the
link to it were another one, or if kernels were faster:
  sluice-lab what-if lenet --device fpga:0
  sluice-lab what-if lenet --device fpga:0 --link 12GB/s,10us
  sluice-lab what-if lenet --faster conv2d/ONEDNN=2
Each op goes where all of them together cost least, copies included. The plan is
measured as it is now, and the changed one too if the change is not assumed.
Exits with 4, without a prediction, where a measured run is more than 2 times
longer or shorter than predicted."""

CONTRADICTED = 4

_BYTES = {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_NUMBER = r"([0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?)"
_LINK = re.compile(
    rf"{_NUMBER}\s*(B|KB|MB|GB|TB)/s\s*,\s*{_NUMBER}\s*(s|ms|us|ns)"
)


def parse_link(text: str) -> tuple[float, float]:
    """Bytes per second and seconds per copy of a link like ``12GB/s,10us``.

    Raises InvalidArgumentError for other text.
    """
    match = _LINK.fullmatch(text.strip())
    if match is None or float(match[1]) == 0:
        raise InvalidArgumentError(
            f"link {text!r}: expected bytes a second and the time of an empty "
            "copy, such as 12GB/s,10us",
            "lab.link",
        )
    return (
        float(match[1]) * _BYTES[match[2]],
        float(match[3]) * _SECONDS[match[4]],
    )


def parse_kernel(name: str) -> tuple[str, str, str]:
    """Op, library and variant of ``conv2d/ONEDNN/direct``; "" if omitted.

    Raises InvalidArgumentError for other text.
    """
    words = name.split("/")
    if not words[0] or len(words) > 3:
        raise InvalidArgumentError(
            f"kernel {name!r}: expected OP, OP/LIBRARY or OP/LIBRARY/VARIANT",
            "lab.faster",
        )
    op, library, variant = (*words, "", "")[:3]
    return ("" if op == "*" else op), library, variant


def what_if(
    program: sl.Program,
    feed: Mapping[str, Any] | None,
    fetch_list: Sequence[Any] | None = None,
    *,
    devices: Sequence[Any] = (),
    link: str | tuple[float, float] | None = None,
    faster: Mapping[str, float] | None = None,
    scope: sl.Scope | None = None,
    budget: float = 5,
) -> _lab.Placement:
    """Predict the cost of a program after a change.

    Args:
        program, feed, fetch_list, scope: as for :func:`sluice.tune`.
        devices: places besides the CPU where ops may run, at most three.
        link: bytes per second and seconds per copy between the CPU and a
            device, also as text, ``"12GB/s,10us"``; a typical link if None.
        faster: assumed speed-ups of kernels, by op, by ``op/LIBRARY`` or by
            ``op/LIBRARY/variant``.
        budget: seconds for measurements.

    Returns:
        Each op with its kernel and time, now and with the change, and the time
        of a run, predicted and measured; print it for a table.

    Raises:
        InvalidArgumentError: an invalid link, factor or name.
        NotFoundError: a missing device, or a kernel that no op could use.
        SluiceError: what preparing and running the program raises.
    """
    return _lab._what_if(
        program,
        feed,
        unread(program) if fetch_list is None else fetch_list,
        sl.global_scope() if scope is None else scope,
        list(devices),
        [
            (*parse_kernel(name), float(factor))
            for name, factor in (faster or {}).items()
        ],
        parse_link(link) if isinstance(link, str) else link,
        float(budget),
    )


def _faster(text: str) -> tuple[str, float]:
    name, equals, factor = text.rpartition("=")
    try:
        if not equals:
            raise ValueError
        return name, float(factor)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not of the form KERNEL=FACTOR, such as "
            "conv2d/ONEDNN=2"
        ) from None


def add_parser(commands: Any) -> None:
    """Add the command ``what-if``."""
    parser = commands.add_parser(
        "what-if",
        aliases=["place"],
        help="predict what a program would cost with another device, link or "
        "faster kernels",
        description=_ABOUT,
    )
    arguments.add_program(parser)
    arguments.add(
        parser, "--device", "PLACE",
        "where ops may also run, such as fpga:0; can be repeated",
        several=True,
    )
    arguments.add(parser, "--link", "LINK", "to devices, such as 12GB/s,10us")
    arguments.add(
        parser, "--faster", "KERNEL=FACTOR", "such as conv2d/ONEDNN=2",
        several=True, type=_faster,
    )
    arguments.add_seconds(parser, "--budget", 5, "for measuring")
    arguments.add_all(parser, "ops")
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    if parsed.command == "place":
        print("sluice-lab place is now sluice-lab what-if", file=sys.stderr)
    names = [name for name, _ in parsed.faster]
    for name in names:
        if names.count(name) > 1:
            raise InvalidArgumentError(
                f"--faster: {name} stands there twice", "lab.faster"
            )
    result = programs.call(
        what_if,
        parsed,
        devices=parsed.device,
        link=parsed.link,
        faster=dict(parsed.faster),
        budget=parsed.budget,
    )
    text.show(
        result.all if parsed.all else result,
        r"^(?:predicted|no prediction):.*$",
        r"^.* the same .*$",
    )
    return CONTRADICTED if result.contradiction else 0
