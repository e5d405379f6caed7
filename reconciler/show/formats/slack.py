"""A report as the body of a webhook that Slack takes, and whoever is compatible with it.

Blocks are ``plain_text``, in which nothing is a mention, a link or an emoji; ``text``, for notifications, is escaped.
Access has a block of its own, so that nothing else in the message can take its room.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from reconciler.dataclass import dataclass
from reconciler.model.characters import as_name, counted, safe, shortened
from reconciler.results.findings import CheckStatus
from reconciler.results.words import accepted_words
from reconciler.show.formats.escaping import json_text
from reconciler.show.reading import Report
from reconciler.show.review import AccessDigest, access_digest
from reconciler.show.verdicts import Tone, plan_counts, verdict

#: Slack takes 150 characters in a header and 3,000 in a section.
_MOST_HEADER: Final = 150
_MOST_TEXT: Final = 3000
_MOST_LINES: Final = 12
_MOST_ACCESS: Final = 24
_ROOM_OF_ACCESS: Final = 2800
_TONES: Final = {Tone.STOP: "Stop", Tone.CAUTION: "Look at this", Tone.CALM: "All well"}


@dataclass(frozen=True, slots=True)
class Link:
    """A button of the message; ``url`` is one of a build server, and holds nothing that ends a link."""

    words: str
    url: str


def slack_message(report: Report, links: Sequence[Link] = ()) -> str:
    """The body, one line of ASCII JSON: the verdict in bold, counts, access, then buttons that lead to ``links``.

    ``text`` says the same in short, for notifications and for receivers that know no blocks.
    """
    conclusion = verdict(report)
    about = ", ".join(report.clusters) or ("the fleet" if report.fleets else "manifests")
    # What a guard refuses says itself that this stops.
    tone = "" if conclusion.words.startswith("Refused") else f"{_TONES[conclusion.tone]}: "
    title = shortened(f"{tone}{conclusion.words}", _MOST_HEADER)
    access = access_digest(report.all_plans, most=_MOST_ACCESS, room=_ROOM_OF_ACCESS)
    lines = [f"cluster {about}" if report.clusters else about, *_lines(report)]
    text = shortened("\n".join(map(safe, lines)), _MOST_TEXT)
    body: dict[str, Any] = {
        "text": _short(report, title, about, links),
        "blocks": [
            {"type": "header", "text": _plain(shortened(safe(title), _MOST_HEADER))},
            {"type": "section", "text": _plain(text)},
            *_access(access),
            *_buttons(links),
        ],
    }
    return json_text(body, indent=None)


def _short(report: Report, title: str, about: str, links: Sequence[Link]) -> str:
    parts = [f"*{_escaped(safe(title))}* ({_escaped(safe(shortened(about, _MOST_HEADER)))})"]
    parts += (
        [_escaped(plan_counts(report.all_plans[0], drift=bool(report.drifts)))] if len(report.all_plans) == 1 else []
    )
    return " · ".join([*parts, *(f"<{_escaped(link.url)}|{link.words}>" for link in links)])


def _buttons(links: Sequence[Link]) -> Iterator[dict[str, Any]]:
    """Buttons that only open an address: nobody has to answer them."""
    elements = [{"type": "button", "text": _plain(link.words), "url": link.url} for link in links]
    if elements:
        yield {"type": "actions", "elements": elements}


def _access(access: AccessDigest) -> Iterator[dict[str, Any]]:
    if access.lines:
        lines = (access.heading, *access.lines) if access.cut else access.lines
        yield {"type": "section", "text": _plain("\n".join(lines))}


def _lines(report: Report) -> Iterator[str]:
    for plan in report.all_plans[:_MOST_LINES]:
        yield f"{plan.terms.cluster}: {plan_counts(plan, drift=plan in report.drifts)}"
    for fleet in report.fleets:
        yield from (
            f"{cluster.cluster}: {cluster.words}" for cluster in (*fleet.unknown, *fleet.differing)[:_MOST_LINES]
        )
    changed = [
        f"guardrail {finding.rule.removeprefix('guardrail-')}: {finding.message}"
        for finding in report.guardrail_findings
    ]
    broken = [f"{check.standing}: {as_name(check.name)}" for check in report.stopping_checks]
    refused = [f"refused: {refusal.message} ({refusal.guard})" for plan in report.plans for refusal in plan.refusals]
    for what, texts in (
        ("of what is refused", refused),
        ("guardrail changes", changed),
        ("of what did not pass", broken),
        ("of what is accepted", [*_accepted(report)]),
    ):
        yield from texts[:_MOST_LINES]
        if len(texts) > _MOST_LINES:
            yield f"{len(texts) - _MOST_LINES:,} more {what}"
    if report.known is not None:
        old, new = report.compared
        yield f"findings: {old:,} known, {new:,} new"
    elif report.open_findings:
        yield counted(len(report.open_findings), "finding")


def _accepted(report: Report) -> Iterator[str]:
    """What would stop a plan, had somebody not accepted it."""
    for plan in report.plans:
        yield from (f"accepted: {accepted_words(acceptance)}" for acceptance in plan.accepted)
    excepted = (check for check in report.broken_checks if check.standing is CheckStatus.EXCEPTED)
    yield from (f"excepted: {as_name(check.name)}" for check in excepted)


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": shortened(text, _MOST_TEXT), "emoji": False}


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
