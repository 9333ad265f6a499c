"""The laboratory: what kernels cost, on programs and ops of your own.

The program is ``sluice-lab``, or ``python -m sluice.lab``.
"""

from .bisect import bisect
from .compare import compare
from .kernel_sets import kernel_set
from .machine import keep_machine
from .networks import NETWORKS, Job
from .new import new
from .programs import load, run_script
from .race import Race, race
from .records import records, records_table
from .report import Report, report, report_plans
from .reproduce import internal_ops, write_script
from .verdicts import Mistake, Verdict, Verification
from .verify import verify
from .what_if import what_if

__all__ = [
    "NETWORKS", "Job", "Mistake", "Race", "Report", "Verdict", "Verification",
    "bisect", "compare", "internal_ops", "keep_machine", "kernel_set", "load",
    "new", "place", "race", "records", "records_table", "report",
    "report_plans", "run_script", "verify", "what_if", "write_script",
]

place = what_if  # its name before
