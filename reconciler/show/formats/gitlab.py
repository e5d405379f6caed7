"""Findings and counts of steps as GitLab's merge requests show them."""

from typing import Any, Final

from reconciler.model.characters import safe
from reconciler.results.findings import Finding, Level
from reconciler.show.formats import FormatOptions
from reconciler.show.formats.escaping import json_text
from reconciler.show.formats.sarif import fingerprint, location
from reconciler.show.reading import Report, step_counts

_SEVERITIES: Final = {Level.ERROR: "critical", Level.WARNING: "minor", Level.NOTE: "info"}


def code_quality(report: Report, options: FormatOptions) -> str:
    """``artifacts:reports:codequality``: findings that nobody has accepted."""
    # GitLab wants every fingerprint once; the heaviest finding stands for others of the same matter.
    found = {fingerprint(finding): finding for finding in reversed(report.open_findings)}
    return json_text([_issue(one, options.manifests) for one in reversed(found.values())]) + "\n"


def _issue(finding: Finding, manifests: str) -> dict[str, Any]:
    path, line, _ = location(finding, manifests)
    return {
        "description": safe(f"{finding.sentence}{finding.on_cluster}"),
        "check_name": safe(finding.rule),
        "fingerprint": fingerprint(finding),
        "severity": _SEVERITIES[finding.level],
        "location": {"path": safe(path), "lines": {"begin": line}},
    }


def terraform(report: Report, _: FormatOptions) -> str:
    """``artifacts:reports:terraform``: how much is created, updated and deleted."""
    plans = [step_counts(plan) for plan in report.all_plans]
    fleets = [fleet.totals for fleet in report.fleets]
    counts = {
        "create": sum(one.create for one in plans) + sum(one.creates for one in fleets),
        "update": sum(one.update for one in plans) + sum(one.others for one in fleets),
        "delete": sum(one.delete for one in plans) + sum(one.deletes for one in fleets),
    }
    return json_text(counts) + "\n"
