"""The report: a program's plan with all known data, as one page."""

from .collect import report, report_plans
from .difference import difference
from .document import Report, read

__all__ = ["Report", "difference", "read", "report", "report_plans"]
