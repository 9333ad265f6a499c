"""Results of verifying foreign kernels."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from sluice.display import preformatted

from . import text


@dataclass
class Mistake:
    """A mistake of a kernel, and the command that reproduces it."""

    kernel: str
    check: str
    example: int
    threads: int
    signature: str
    message: str
    command: str

    def __str__(self) -> str:
        where = f"example {self.example}: {self.signature}"
        threads = text.count(self.threads, "thread")
        return (
            f"FAIL {self.kernel}: {self.check}\n"
            f"  {where}, {threads}\n"
            f"  {self.message}\n"
            f"  again: {self.command}"
        )


@dataclass
class Verdict:
    """Result of verifying one kernel."""

    op: str
    variant: str
    place: str
    dtype: str
    library: str
    examples: int = 0
    refused: int = 0
    error: float = 0.0
    remark: str = ""
    mistakes: list[Mistake] = field(default_factory=list)

    @property
    def name(self) -> str:
        """A name such as "relu/fast (cpu float32 MINE)"."""
        place = f"{self.place} {self.dtype} {self.library}"
        return f"{self.op}/{self.variant} ({place})"

    @property
    def kernel(self) -> str:
        """Its name for all dtypes, such as "relu/fast (cpu MINE)"."""
        return f"{self.op}/{self.variant} ({self.place} {self.library})"

    @property
    def verdict(self) -> str:
        """``"ok"``, ``"WRONG"``, or ``"not checked"``."""
        if self.mistakes:
            return "WRONG"
        return "not checked" if self.remark or not self.examples else "ok"


@dataclass(repr=False)
class Verification:
    """Results of verifying all kernels of a file."""

    path: str
    verdicts: list[Verdict] = field(default_factory=list)
    refusal: str = ""  # why the file was not loaded

    def __bool__(self) -> bool:
        return not self.refusal and all(
            verdict.verdict == "ok" for verdict in self.verdicts
        )

    def __repr__(self) -> str:
        kernels = text.count(len(self.verdicts), "kernel")
        outcome = "ok" if self else "NOT ok"
        return f"<Verification of {self.path}: {kernels}, {outcome}>"

    def _repr_html_(self) -> str:
        return preformatted(str(self))

    def __str__(self) -> str:
        if self.refusal:
            return f"REFUSED {self.path}: {self.refusal}"
        lines = [
            str(mistake)
            for verdict in self.verdicts
            for mistake in verdict.mistakes
        ]
        return "\n".join([*lines, *self._table()])

    def _table(self) -> list[str]:
        rows = [["kernel", "dtypes", "examples", "verdict"]]
        groups: dict[tuple[str, ...], list[Verdict]] = {}
        for verdict in self.verdicts:
            mistakes = {mistake.check for mistake in verdict.mistakes}
            checks = ", ".join(sorted(mistakes))
            key = verdict.kernel, verdict.verdict, checks, verdict.remark
            groups.setdefault(key, []).append(verdict)
        for (name, outcome, checks, remark), verdicts in groups.items():
            run = sum(verdict.examples for verdict in verdicts)
            refused = sum(verdict.refused for verdict in verdicts)
            taken = f"{run}" + (f", {refused} refused" if refused else "")
            if not run and not remark and outcome == "not checked":
                remark = "it takes none of the examples (--examples FILE)"
            detail = checks or remark
            dtypes = ", ".join(verdict.dtype for verdict in verdicts)
            outcome += f": {detail}" * bool(detail)
            rows.append([name, dtypes, taken, outcome])
        return text.table(rows, str.ljust)

    def to_json(self) -> dict[str, Any]:
        """A value for json.dump."""
        return {
            "path": self.path,
            "ok": bool(self),
            "refusal": self.refusal,
            "kernels": [
                {**asdict(verdict), "verdict": verdict.verdict}
                for verdict in self.verdicts
            ],
        }
