"""The laboratory: what kernels cost, on programs and ops of your own.

The program is ``sluice-lab``, or ``python -m sluice.lab``.
"""

from .networks import NETWORKS, Job
from .programs import load
from .race import Race, race
from .records import records, records_table
from .report import Report, report, report_plans
from .verify import Mistake, Verdict, Verification, verify
from .verdicts import Mistake, Verdict, Verification
from .verify import verify

__all__ = [
    "NETWORKS",
    "Job",
    "Mistake",
    "Race",
    "Report",
    "Verdict",
    "Verification",
    "load",
    "race",
    "records",
    "records_table",
    "report",
    "report_plans",
    "verify",
]
