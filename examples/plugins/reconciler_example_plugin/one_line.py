"""The format ``one-line``: verdict and clusters."""

from reconciler.model.characters import safe
from reconciler.show.formats import FormatOptions
from reconciler.show.reading import Report
from reconciler.show.verdicts import verdict


def write(report: Report, _: FormatOptions) -> str:
    """One line; names from manifests and clusters pass through ``safe``."""
    return safe(f"{', '.join(report.clusters) or 'manifests'}: {verdict(report).words}") + "\n"
