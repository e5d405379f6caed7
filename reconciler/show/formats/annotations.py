"""Findings as workflow commands of GitHub Actions: notes beside the lines of a pull request.

GitHub shows ten errors, ten warnings and ten notices of a step; so the heaviest come first, and what is beyond is
counted in one more.
"""

from collections.abc import Iterator
from typing import Final

from reconciler.model.characters import counted
from reconciler.results.findings import Finding, Level
from reconciler.show.formats import FormatOptions
from reconciler.show.formats.escaping import workflow_data, workflow_value
from reconciler.show.formats.sarif import location
from reconciler.show.reading import Report
from reconciler.show.verdicts import Tone, verdict

_COMMANDS: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}
_TONES: Final = {Tone.STOP: "error", Tone.CAUTION: "warning", Tone.CALM: "notice"}
#: One less than GitHub shows, for the count of the others, and one less again for the verdict.
_SHOWN: Final = 8


def write(report: Report, options: FormatOptions) -> str:
    """One line for the verdict, one for each finding, at most ten of each level."""
    found = verdict(report)
    verdict_line = f"::{_TONES[found.tone]} title=reconciler::{workflow_data(found.words)}\n"
    return verdict_line + "".join(_lines(report, options.manifests))


def _lines(report: Report, manifests: str) -> Iterator[str]:
    for level in Level:
        found = [one for one in report.new_findings if one.level is level]
        yield from (_line(one, manifests) for one in found[:_SHOWN])
        if len(found) > _SHOWN:
            more = f"{counted(len(found) - _SHOWN, 'finding')} more of this level; the full report has them"
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
