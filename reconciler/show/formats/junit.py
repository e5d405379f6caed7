"""Checks and errors as JUnit XML, as Jenkins and GitLab read it: a case for each claim about access, policy and guard.

A doubt is a failure, as it is for the exit status; what is accepted or a warning only is skipped, and says why.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from reconciler.model.characters import safe
from reconciler.results.findings import Check, CheckStatus, Level
from reconciler.show.formats import FormatOptions
from reconciler.show.reading import Report
from reconciler.show.review import access_digest

#: Lines of access in the one case that has them, and their characters: a test report is no place for thousands.
_MOST_ACCESS: Final = 80
_ROOM_OF_ACCESS: Final = 20_000


def write(report: Report, options: FormatOptions) -> str:
    """One suite for each cluster and kind of check."""
    checks = sorted([*report.checks, *_errors(report), *_access(report, options)], key=_suite)
    root = ET.Element("testsuites", {"name": "reconciler", **_counts(checks)})
    for (where, group), suite in groupby(checks, key=_suite):
        _add_suite(root, f"{group}: {where}" if where else group, list(suite))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _errors(report: Report) -> Iterator[Check]:
    """Errors that no check says, as of manifests that cannot be read: without them the file would pass."""
    for finding in report.open_findings:
        if finding.level is Level.ERROR and not finding.checked:
            name = " ".join(filter(None, (finding.rule, finding.subject or str(finding.place or ""))))
            lines = tuple(line for line in (*finding.details, finding.advice) if line)
            yield Check("Errors", name, finding.cluster, CheckStatus.FAILED, finding.message, lines, finding.place)


def _access(report: Report, options: FormatOptions) -> Iterator[Check]:
    """What each plan changes about access: it stops nothing, so it is skipped, with the gravest rows as the reason."""
    for plan in report.all_plans:
        digest = access_digest([plan], most=_MOST_ACCESS, room=_ROOM_OF_ACCESS)
        if not digest.lines:
            continue
        if digest.cut:
            options.on_cut(digest.shown, digest.rows)
        cluster = plan.terms.cluster
        yield Check("Access", f"access of {cluster}", cluster, CheckStatus.WARNED, digest.heading, digest.lines)


def _suite(check: Check) -> tuple[str, str]:
    return check.where, check.group


def _add_suite(root: ET.Element, name: str, checks: Sequence[Check]) -> None:
    skipped = sum(check.standing in (CheckStatus.WARNED, CheckStatus.EXCEPTED) for check in checks)
    suite = ET.SubElement(root, "testsuite", {"name": safe(name), **_counts(checks), "skipped": str(skipped)})
    for check in checks:
        _add_case(suite, safe(name).replace(".", "·"), check)


def _add_case(suite: ET.Element, group: str, check: Check) -> None:
    case = ET.SubElement(suite, "testcase", {"name": safe(check.name), "classname": group})
    place = () if check.place is None else (f"declared at {check.place}",)
    lines = "\n".join(map(safe, (check.message, *check.lines, *place)))
    if check.standing.stops:
        outcome = ET.SubElement(case, "failure", {"type": str(check.standing), "message": safe(check.message)})
        outcome.text = lines
    elif check.standing is not CheckStatus.PASSED:
        outcome = ET.SubElement(case, "skipped", {"type": str(check.standing), "message": safe(check.message)})
        outcome.text = lines


def _counts(checks: Iterable[Check]) -> dict[str, str]:
    checks = list(checks)
    failed = sum(check.standing.stops for check in checks)
    return {"tests": str(len(checks)), "failures": str(failed), "errors": "0"}
