"""A report as the body of a webhook that Slack takes, and whoever is compatible with it.

Blocks are ``plain_text``, in which nothing is a mention, a link or an emoji; ``text``, for notifications, is escaped.
"""

from collections.abc import Iterator
from typing import Any, Final

from reconciler.report.formats.escaping import json_text
from reconciler.report.results import Check, Report, Tone, verdict
from reconciler.report.results.verdict import plan_counts
from reconciler.report.style import counted, safe

#: Slack takes 150 characters in a header and 3,000 in a section.
_MOST_HEADER: Final = 150
_MOST_TEXT: Final = 3000
_MOST_LINES: Final = 12
_TONES: Final = {Tone.STOP: "Stop", Tone.CAUTION: "Look at this", Tone.CALM: "All well"}


def slack_message(report: Report) -> str:
    """The body, one line of ASCII JSON."""
    found = verdict(report)
    about = ", ".join(report.clusters) or ("the fleet" if report.fleets else "manifests")
    title = _cut(f"{_TONES[found.tone]}: {found.words}", _MOST_HEADER)
    lines = [f"cluster {about}" if report.clusters else about, *_lines(report)]
    text = _cut("\n".join(map(safe, lines)), _MOST_TEXT)
    body: dict[str, Any] = {
        "text": _escaped(f"{safe(title)} ({safe(_cut(about, _MOST_HEADER))})"),
        "blocks": [
            {"type": "header", "text": _plain(_cut(safe(title), _MOST_HEADER))},
            {"type": "section", "text": _plain(text)},
        ],
    }
    return json_text(body, indent=None)


def _lines(report: Report) -> Iterator[str]:
    for plan in report.all_plans[:_MOST_LINES]:
        yield f"{plan.terms.cluster}: {plan_counts(plan)}"
    for fleet in report.fleets:
        yield from (f"{one.cluster}: {one.words}" for one in (*fleet.unknown, *fleet.differing)[:_MOST_LINES])
    callouts = [callout.text for plan in report.all_plans for callout in plan.access.callouts]
    broken = [f"{check.standing}: {check.name}" for check in _broken(report)]
    for what, texts in (("of what stands out", callouts), ("of what did not pass", broken)):
        yield from texts[:_MOST_LINES]
        if len(texts) > _MOST_LINES:
            yield f"{len(texts) - _MOST_LINES:,} more {what}"
    if report.open_findings:
        yield counted(len(report.open_findings), "finding")


def _broken(report: Report) -> list[Check]:
    """Checks that stop something; a fleet's clusters are named already."""
    return [check for check in report.broken_checks if check.standing.stops and check.group != "Fleet"]


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": _cut(text, _MOST_TEXT), "emoji": False}


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
