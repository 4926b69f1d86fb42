"""`pullback.check`: a report of a function's derivatives before anyone relies on them."""

from pullback.checkup.api import check
from pullback.checkup.report import Finding, Report

__all__ = ["Finding", "Report", "check"]
