"""The counts of a Terraform report, as GitLab's merge requests show them."""

from reconciler.report.formats.escaping import json_text
from reconciler.report.formats.interface import Options
from reconciler.report.results import Report
from reconciler.report.results.report import tally


def write(report: Report, _: Options) -> str:
    """``artifacts:reports:terraform``: how much is created, updated and deleted."""
    tallies = [tally(plan) for plan in report.all_plans]
    counts = {
        "create": sum(one.create for one in tallies),
        "update": sum(one.update for one in tallies),
        "delete": sum(one.delete for one in tallies),
    }
    return json_text(counts) + "\n"
