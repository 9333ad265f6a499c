"""The lists of what PaddlePaddle's tests of ops give: tests/fluid/suite_*.txt.

A line for each op type: classes whose outputs are right, of those that compare
them; the same of gradients; and a reason, if one is enough for all classes that
are not right. Else a line for each reason follows, with the classes: a * after
a class means that its gradients are not right.
"""

from __future__ import annotations

import collections
import dataclasses
import pathlib
import re
import textwrap
from collections.abc import Iterable

RELEASES = ("1.8.3", "2.1")
KINDS = ("right", "absent", "refused", "wrong")
UNKNOWN = "?"
ABSENT = "absent"
ALL = "all classes"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a class of tests gives: `check` is "output" or "gradient", `kind`
    one of KINDS, `text` why it is not right.
    """

    name: str
    op: str
    check: str
    kind: str
    text: str

    @property
    def rank(self) -> int:
        """Higher is worse."""
        return KINDS.index(self.kind)

    @property
    def mark(self) -> str:
        """Its name in a list."""
        return self.name + "*" * (self.check == "gradient")


@dataclasses.dataclass
class Entry:
    """An op type: how many classes are right of how many, and the reasons of
    those that are not, by their marks.
    """

    outputs: tuple[int, int] = (0, 0)
    gradients: tuple[int, int] = (0, 0)
    reasons: dict[str, str] = dataclasses.field(default_factory=dict)


List = dict[str, Entry]


def path_of(release: str) -> pathlib.Path:
    """The file of a release's list."""
    folder = pathlib.Path(__file__).parents[2] / "fluid"
    return folder / f"suite_{release}.txt"


def _reason(one: Outcome) -> str:
    """What the tool itself knows: nothing of wrong numbers."""
    if one.kind == "absent":
        return ABSENT
    if one.kind == "wrong":
        return UNKNOWN
    text = one.text.removeprefix(f"{one.op}: ")
    # Without what other builds and programs say otherwise.
    text = re.split(
        r"; known are|: \w+/\w+ \(| is not one of|, created at| in op \d", text
    )[0]
    return "refused: " + textwrap.shorten(text, 150, placeholder=" ...")


def _fits(one: Outcome, reason: str) -> bool:
    """Whether a reason is of this kind: wrong numbers are not "refused"."""
    begins = {"absent": (ABSENT,), "refused": ("refused: ", "the test")}
    if one.kind == "wrong":
        return reason != "" and not reason.startswith(("refused", ABSENT))
    return reason.startswith(begins[one.kind])


def made_of(found: Iterable[Outcome], old: List) -> List:
    """A list of these outcomes, with the reasons of an old one."""
    groups = collections.defaultdict(list)
    for one in found:
        groups[one.op].append(one)
    made: List = {}
    for op, several in sorted(groups.items()):
        before = old.get(op, Entry()).reasons
        entry = made[op] = Entry()
        for check in ("output", "gradient"):
            these = [one for one in several if one.check == check]
            right = sum(one.kind == "right" for one in these)
            setattr(entry, f"{check}s", (right, len(these)))
        for one in several:
            if one.kind != "right":
                reason = before.get(one.mark, "")
                entry.reasons[one.mark] = (
                    reason if _fits(one, reason) else _reason(one)
                )
        if set(entry.reasons.values()) == {ABSENT}:
            entry.reasons = {ALL: ABSENT}
    return made


def changes(old: List, new: List) -> list[str]:
    """What is better or worse, and what has no reason."""
    lines = []
    for op in sorted(old.keys() | new.keys()):
        was, now = old.get(op, Entry()), new.get(op, Entry())
        for mark in sorted(was.reasons.keys() - now.reasons.keys()):
            lines.append(f"{op}: {mark} is right, or gone")
        for mark in sorted(now.reasons.keys() - was.reasons.keys()):
            if now.reasons[mark] != UNKNOWN:
                lines.append(f"{op}: {mark} is not right: {now.reasons[mark]}")
        lines += [
            f"{op}: {mark} is {now.reasons[mark]}, listed {was.reasons[mark]}"
            for mark in sorted(was.reasons.keys() & now.reasons.keys())
            if was.reasons[mark] != now.reasons[mark]
        ]
        for check in ("outputs", "gradients"):
            counts = [getattr(entry, check) for entry in (was, now)]
            if counts[0] != counts[1]:
                lines.append(f"{op}: {check} {counts[1]}, listed {counts[0]}")
        lines += [
            f"{op}: {mark} is not right, and has no reason"
            for mark, reason in now.reasons.items()
            if reason == UNKNOWN
        ]
    return lines


def summary(made: List) -> str:
    """The sums, for the head of a list."""
    lines = []
    for check in ("outputs", "gradients"):
        right, all_ = (
            sum(getattr(entry, check)[k] for entry in made.values())
            for k in range(2)
        )
        lines.append(f"{check}: {right} of {all_} classes right")
    return "\n".join(lines)


def text_of(release: str, made: List) -> str:
    """The text of a list."""
    lines = [
        f"# PaddlePaddle's tests of ops, release {release}, on Sluice:",
        "# op type, right outputs, right gradients, why not all are right.",
        "# ./dev fluid_suite writes the counts; reasons are kept.",
        *(f"# {line}" for line in summary(made).splitlines()),
        "",
    ]
    for op, entry in made.items():
        counts = [
            f"{right}/{all_}" if all_ else "-"
            for right, all_ in (entry.outputs, entry.gradients)
        ]
        head = f"{op}  {counts[0]}  {counts[1]}"
        if ALL in entry.reasons:
            lines.append(f"{head}  {ABSENT}")
            continue
        lines.append(head)
        by_reason = collections.defaultdict(list)
        for mark, reason in entry.reasons.items():
            by_reason[reason].append(mark)
        for reason, marks in sorted(by_reason.items()):
            lines.append(f"  {reason}")
            lines += [f"    {mark}" for mark in sorted(marks)]
    return "\n".join(lines) + "\n"


def read(path: pathlib.Path) -> List:
    """A list from its file."""
    made: List = {}
    entry, reason = Entry(), ""
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("    "):
            entry.reasons[line.strip()] = reason
        elif line.startswith("  "):
            reason = line.strip()
        elif line and not line.startswith("#"):
            op, *counts = line.split()
            entry = made[op] = Entry(*(
                tuple(map(int, c.split("/"))) if c != "-" else (0, 0)
                for c in counts[:2]
            ))  # fmt: skip
            if counts[2:]:
                entry.reasons[ALL] = ABSENT
    return made
