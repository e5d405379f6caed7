"""A report as one HTML page that needs nothing else."""

from reconciler.report.formats.interface import FormatOptions
from reconciler.report.page import page
from reconciler.report.results import Report


def write(report: Report, options: FormatOptions) -> str:
    """The whole page."""
    return page(report, options.version, options.made)
