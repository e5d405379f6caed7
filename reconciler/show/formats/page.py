"""A report as one HTML page that needs nothing else."""

from reconciler.show.formats import FormatOptions
from reconciler.show.page.page import page
from reconciler.show.reading import Report


def write(report: Report, options: FormatOptions) -> str:
    """The whole page."""
    return page(report, options.version, options.made)
