"""Findings as GitLab's merge requests show code quality."""

from typing import Any, Final

from reconciler.model.characters import safe
from reconciler.results.findings import Finding, Level
from reconciler.show.formats import FormatOptions
from reconciler.show.formats.escaping import json_text
from reconciler.show.formats.sarif import fingerprint, location
from reconciler.show.reading import Report

_SEVERITIES: Final = {Level.ERROR: "critical", Level.WARNING: "minor", Level.NOTE: "info"}


def write(report: Report, options: FormatOptions) -> str:
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
