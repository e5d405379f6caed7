"""The counts of a Terraform report, as GitLab's merge requests show them."""

from reconciler.show.formats import FormatOptions
from reconciler.show.formats.escaping import json_text
from reconciler.show.reading import Report, step_counts


def write(report: Report, _: FormatOptions) -> str:
    """``artifacts:reports:terraform``: how much is created, updated and deleted."""
    plans = [step_counts(plan) for plan in report.all_plans]
    fleets = [fleet.totals for fleet in report.fleets]
    counts = {
        "create": sum(one.create for one in plans) + sum(one.creates for one in fleets),
        "update": sum(one.update for one in plans) + sum(one.others for one in fleets),
        "delete": sum(one.delete for one in plans) + sum(one.deletes for one in fleets),
    }
    return json_text(counts) + "\n"
