"""Findings where code is reviewed: SARIF 2.1.0, notes of GitHub Actions, and GitLab's merge requests.

SARIF stays within what GitHub code scanning takes: 25,000 results, 5,000 of them shown. Fingerprints are our own, of
what a finding is about and not of the line on which it stands: an alert survives lines that move. Messages are plain
text; SARIF's embedded links need brackets, which are escaped.
"""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import quote

from reconciler.access.lint import RULES
from reconciler.model.characters import counted, safe
from reconciler.model.desired import Origin
from reconciler.results.findings import Finding, Level
from reconciler.show.formats import FormatOptions
from reconciler.show.formats.escaping import json_text, workflow_data, workflow_value
from reconciler.show.reading import Report, step_counts
from reconciler.show.review import access_digest
from reconciler.show.verdicts import Tone, verdict

# Places in a repository: where the manifests stand in it, and what stands for a cluster that no file declares.


def repository_path(place: Origin, manifests: str) -> str | None:
    """The file's path from the repository's root, or ``None`` where it would lead out of the manifests."""
    path = PurePosixPath(place.file)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\x00" in place.file or place.line < 1:
        return None
    return str(PurePosixPath(manifests or ".") / path)


def location(finding: Finding, manifests: str) -> tuple[str, int, int]:
    """Path, line and column; a finding that no file declares is put into ``live-cluster/NAME``, which is no file."""
    path = None if finding.place is None else repository_path(finding.place, manifests)
    if path is None or finding.place is None:
        return f"live-cluster/{quote(finding.cluster, safe='', errors='replace') or 'unknown'}", 1, 1
    return path, finding.place.line, max(1, finding.place.column)


def location_uri(finding: Finding, manifests: str) -> str:
    """The path as a relative URI; that of a live cluster is one already."""
    path = None if finding.place is None else repository_path(finding.place, manifests)
    return location(finding, manifests)[0] if path is None else quote(path, errors="replace")


def manifests_problem(manifests: str) -> str | None:
    """Why a text cannot say where the manifests stand."""
    path = PurePosixPath(manifests)
    if path.is_absolute() or ".." in path.parts:
        return "it has to be a path below the repository's root"
    return None


_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
#: GitHub refuses a run with more.
MOST_RESULTS: Final = 25_000
#: GitHub keeps 1,024 characters of a rule's text; a message much longer than a screen helps nobody.
_MOST_TEXT: Final = 1000
#: GitHub keeps 255 characters of a rule's id.
_MOST_ID: Final = 255
_ACCESS: Final = "access"
#: Lines about access, and their characters: what a person reads to the end. GitHub limits the texts of rules and the
#: size of a log, not the message of a result.
_MOST_ACCESS: Final = 400
_ROOM_OF_ACCESS: Final = 40_000
_SEVERITY: Final = {Level.ERROR: "8.0", Level.WARNING: "5.0", Level.NOTE: "2.0"}


def write(report: Report, options: FormatOptions) -> str:
    """The log; accepted findings are there, suppressed. The marker tells it from others of the same commit.

    GitHub takes what stands before the last slash for the category, and lets a later log of a category replace an
    earlier one.
    """
    # Access first: what a log has no room for are the lightest findings, and never this.
    findings = [*_access(report, options), *report.open_findings, *report.excepted_findings]
    kept = findings[:MOST_RESULTS]
    name = options.marker
    rules = sorted({(_rule_id(finding), finding.name) for finding in kept})
    index = {rule: number for number, (rule, _) in enumerate(rules)}
    driver = {
        "name": "reconciler",
        "semanticVersion": options.version,
        "rules": [_rule(rule, name, kept) for rule, name in rules],
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"reconciler/{quote(name or '-'.join(report.clusters) or 'manifests', safe='')}/"},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, index[_rule_id(finding)], options.manifests) for finding in kept],
    }
    if len(findings) > len(kept):
        text = f"{len(findings) - len(kept):,} more findings than a log may hold were left out, the lightest"
        run["invocations"] = [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [{"level": "warning", "message": {"text": text}}],
            }
        ]
    return json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}) + "\n"


def _access(report: Report, options: FormatOptions) -> Iterator[Finding]:
    """One result for each plan that changes access: its callouts and the gravest rows."""
    for plan in report.all_plans:
        digest = access_digest([plan], most=_MOST_ACCESS, room=_ROOM_OF_ACCESS)
        if not digest.lines:
            continue
        if digest.cut:
            options.on_cut(digest.shown, digest.rows)
        level = Level.WARNING if plan.access.callouts else Level.NOTE
        yield Finding(_ACCESS, _ACCESS, level, digest.heading, cluster=plan.terms.cluster, details=digest.lines)


def fingerprint(finding: Finding) -> str:
    """The same for the same matter: rule, cluster, subject, and the message where nothing else tells them apart."""
    # Who dismisses one plan's access must not dismiss that of the next.
    details = finding.details if finding.rule == _ACCESS else ()
    about = (finding.rule, finding.cluster, finding.subject, finding.message, *details)
    return hashlib.sha256("\0".join(about).encode("utf-8", "replace")).hexdigest()


def _rule(rule: str, name: str, findings: Iterable[Finding]) -> dict[str, Any]:
    level = next(finding.level for finding in findings if _rule_id(finding) == rule)
    words = safe(name)[:_MOST_ID].replace("-", " ")
    lint_rule = next((candidate for candidate in RULES if candidate.code == rule), None)
    return {
        "id": rule,
        "name": safe(name)[:_MOST_ID],
        "shortDescription": {"text": words},
        "fullDescription": {"text": words if lint_rule is None else lint_rule.about},
        **(
            {}
            if lint_rule is None
            else {"help": {"text": lint_rule.cure, "markdown": f"{lint_rule.about}\n\n{lint_rule.cure}"}}
        ),
        "defaultConfiguration": {"level": str(level)},
        "properties": {"tags": ["security", "kafka"], "security-severity": _SEVERITY[level]},
    }


def _result(finding: Finding, rule_index: int, manifests: str) -> dict[str, Any]:
    _, line, column = location(finding, manifests)
    side: dict[str, Any] = {
        "ruleId": _rule_id(finding),
        "ruleIndex": rule_index,
        "level": str(finding.level),
        "message": {"text": _message(finding)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": location_uri(finding, manifests)},
                    "region": {"startLine": line, "startColumn": column},
                }
            }
        ],
        "partialFingerprints": {"reconcilerSubject/v1": fingerprint(finding)},
    }
    if finding.excepted:
        side["suppressions"] = [{"kind": "external", "justification": _escaped(finding.excepted)}]
    return side


def _message(finding: Finding) -> str:
    lines = [f"{finding.sentence}{finding.on_cluster}", *finding.details, finding.advice]
    # The digest of access says itself what it leaves out, and must not lose its end unsaid. Its lines are as long as
    # its room, and as many full stops.
    most = _MOST_TEXT + (_ROOM_OF_ACCESS + 2 * _MOST_ACCESS if finding.rule == _ACCESS else 0)
    return _escaped(". ".join(line for line in lines if line), most)


def _escaped(text: str, most: int = _MOST_TEXT) -> str:
    """Plain text: a bracket would begin a link, a brace a placeholder."""
    shown = safe(text)
    if len(shown) > most:
        shown = shown[: most - 1] + "…"
    shown = shown.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return shown.replace("{", "{{").replace("}", "}}")


def _rule_id(finding: Finding) -> str:
    return safe(finding.rule)[:_MOST_ID] or "unnamed"


_COMMANDS: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}
_TONES: Final = {Tone.STOP: "error", Tone.CAUTION: "warning", Tone.CALM: "notice"}
#: One less than GitHub shows, for the count of the others, and one less again for the verdict.
_SHOWN: Final = 8


def workflow_commands(report: Report, options: FormatOptions) -> str:
    """One line for the verdict, one for each finding, at most ten of each level."""
    conclusion = verdict(report)
    verdict_line = f"::{_TONES[conclusion.tone]} title=reconciler::{workflow_data(conclusion.words)}\n"
    return verdict_line + "".join(_lines(report, options.manifests))


def _lines(report: Report, manifests: str) -> Iterator[str]:
    for level in Level:
        findings = [finding for finding in report.new_findings if finding.level is level]
        yield from (_line(finding, manifests) for finding in findings[:_SHOWN])
        if len(findings) > _SHOWN:
            more = f"{counted(len(findings) - _SHOWN, 'finding')} more of this level; the full report has them"
            yield f"::{_COMMANDS[level]} title=reconciler::{workflow_data(more)}\n"


def _line(finding: Finding, manifests: str) -> str:
    title = workflow_value(f"{finding.rule} {finding.name}" if finding.name != finding.rule else finding.rule)
    place = ""
    if finding.place is not None:
        path, line, column = location(finding, manifests)
        place = f"file={workflow_value(path)},line={line},col={column},"
    advice = f". {finding.advice}" if finding.advice else ""
    message = workflow_data(finding.sentence + advice + finding.on_cluster)
    return f"::{_COMMANDS[finding.level]} {place}title={title}::{message}\n"


_SEVERITIES: Final = {Level.ERROR: "critical", Level.WARNING: "minor", Level.NOTE: "info"}


def code_quality(report: Report, options: FormatOptions) -> str:
    """``artifacts:reports:codequality``: findings that nobody has accepted."""
    # GitLab wants every fingerprint once; the heaviest finding stands for others of the same matter.
    by_fingerprint = {fingerprint(finding): finding for finding in reversed(report.open_findings)}
    return json_text([_issue(finding, options.manifests) for finding in reversed(by_fingerprint.values())]) + "\n"


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
        "create": sum(plan.create for plan in plans) + sum(fleet.creates for fleet in fleets),
        "update": sum(plan.update for plan in plans) + sum(fleet.others for fleet in fleets),
        "delete": sum(plan.delete for plan in plans) + sum(fleet.deletes for fleet in fleets),
    }
    return json_text(counts) + "\n"
