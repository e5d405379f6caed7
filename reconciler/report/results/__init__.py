"""What commands print for programs, read back: the one value that every format is made from."""

from reconciler.report.results.finding import LEVELS, Check, CheckStatus, Finding, Level
from reconciler.report.results.reading import ResultError, fleet_result, read_result
from reconciler.report.results.report import Report, join
from reconciler.report.results.verdict import Tone, Verdict, plan_verdict, verdict

__all__ = [
    "LEVELS",
    "Check",
    "CheckStatus",
    "Finding",
    "Level",
    "Report",
    "ResultError",
    "Tone",
    "Verdict",
    "fleet_result",
    "join",
    "plan_verdict",
    "read_result",
    "verdict",
]
