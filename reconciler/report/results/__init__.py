"""What commands print for programs, read back: the one value that every format is made from.

A name is imported when it is first used: most commands write results, and only reports read them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from reconciler.report.results.finding import LEVELS, Check, CheckStatus, Finding, Level
    from reconciler.report.results.reading import ResultError, fleet_result, read_result
    from reconciler.report.results.report import Report, join
    from reconciler.report.results.verdicts import Tone, Verdict, plan_verdict, verdict

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

_MODULES: Final = {
    "finding": ("LEVELS", "Check", "CheckStatus", "Finding", "Level"),
    "reading": ("ResultError", "fleet_result", "read_result"),
    "report": ("Report", "join"),
    "verdicts": ("Tone", "Verdict", "plan_verdict", "verdict"),
}


def __getattr__(name: str) -> Any:
    """Import the module that has the name."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
