"""Lint findings as text: what, where, what shows it, what to do; and the smaller set that means the same."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any, Final

from reconciler.access.lint import LintFinding, LintRule
from reconciler.access.minimise import Minimised
from reconciler.codec.values import BINDING
from reconciler.manifest import LintWaiver
from reconciler.model import AclBinding, Declaration
from reconciler.report.access_view import AccessView
from reconciler.report.results.codecs import LINT
from reconciler.report.results.documents import LintedState, LintEntry, LintOutput, WaiverEntry
from reconciler.report.results.finding import Level
from reconciler.report.results.finding_groups import FindingGroup, finding_groups
from reconciler.report.results.lint_findings import lint_finding
from reconciler.report.style import Style, counted, plain, safe

_LEVELS: Final = {Level.ERROR: "error", Level.WARNING: "warn", Level.NOTE: "dim"}


@dataclass(frozen=True, slots=True)
class Linted:
    """The findings of one state: those that stand, those that are waived (with the waiver), and idle waivers.

    ``ignored`` are findings about bindings that the cluster's ``ignore`` leaves to somebody else. ``implied`` are those
    about a DESCRIBE next to the READ or WRITE that implies it, as roles and ``kafka-acls.sh`` do.
    """

    view: AccessView
    findings: tuple[LintFinding, ...]
    waived: tuple[tuple[LintFinding, LintWaiver], ...] = ()
    idle_waivers: tuple[LintWaiver, ...] = ()
    ignored: int = 0
    implied: int = 0

    @property
    def has_errors(self) -> bool:
        """Whether a finding that stands is an error."""
        return any(finding.rule.severity == "error" for finding in self.findings)


def lint_lines(linted: Sequence[Linted], style: Style = plain) -> Iterator[str]:
    """The findings of each state, then how many there are."""
    for one in linted:
        yield style("title", safe(one.view.words))
        for group in finding_groups(lint_finding(_entry(finding), "") for finding in one.findings):
            yield from group_lines(group, style)
        for finding, waiver in one.waived:
            yield style("dim", f"waived {finding.rule.code}  {safe(str(finding.binding))}{_place(finding)}")
            yield style("dim", safe(f"    until {waiver.waiver.expires}: {waiver.waiver.reason}"))
        for waiver in one.idle_waivers:
            yield style(
                "dim", safe(f"the waiver of {waiver.rule} at {waiver.waiver.origin} matches no finding: remove it")
            )
        yield _summary(one)


def group_lines(group: FindingGroup, style: Style = plain, most: int | None = None) -> Iterator[str]:
    """A rule with its advice, then a line for each finding and what shows it; what all of them say stands once.

    Of more than ``most`` rows the others are counted.
    """
    advice = f": {safe(group.advice)}" if group.advice else ""
    name = "" if group.name == group.rule else f" {group.name}"
    yield style(_LEVELS[group.level], f"{group.level} {safe(group.rule + name)} ({group.total:,})") + advice
    messages = {row.message for row in group.rows}
    common = messages.pop() if len(messages) == 1 and len(group.rows) > 1 else ""
    if common:
        yield f"  {safe(common)}"
    for row in group.rows[:most]:
        place = style("dim", f"  {safe(str(row.place))}") if row.place is not None else ""
        yield f"    {safe(row.subject or row.message)}{place}"
        if row.subject and not common:
            yield f"        {safe(row.message)}"
        yield from (f"        {safe(text)}" for text in (*row.details, row.advice) if text)
    if others := group.rows[len(group.rows[:most]) :]:
        yield style("dim", f"    and {sum(row.count for row in others):,} more, which the HTML page and JSON have")


def _place(finding: LintFinding) -> str:
    return "" if finding.origin is None else f"  {safe(str(finding.origin))}"


def _summary(one: Linted) -> str:
    parts = [counted(len(one.findings), "finding")]
    parts += [f"{len(one.waived):,} waived"] if one.waived else []
    parts += [f"{one.ignored:,} about ignored bindings"] if one.ignored else []
    found = ", ".join(parts)
    return f"{found} (and {one.implied:,} DESCRIBE that READ or WRITE implies)" if one.implied else found


def rule_lines(rule: LintRule, style: Style = plain) -> Iterator[str]:
    """A rule's documentation: what it finds, why that matters, what to do."""
    yield style("title", f"{rule.code}: {rule.name}") + style("dim", f"  {rule.severity}")
    for paragraph in (rule.about, rule.cure):
        yield ""
        yield from wrap(paragraph.replace("*Evidence:*", "Evidence:"), 100)


def minimised_lines(view: AccessView, minimised: Minimised, style: Style = plain) -> Iterator[str]:
    """What can go and why, then what is left."""
    kept, removed = minimised
    yield style("title", safe(view.words))
    for binding, because in removed:
        yield style("remove", f"  - {safe(str(binding))}") + style("dim", _noted(view, binding))
        for other in because:
            alike = other.entry.permission_type is binding.entry.permission_type
            says = "says it already" if alike else "denies it anyway"
            yield style("dim", f"      {safe(str(other))} {says}{_noted(view, other)}")
        if not because:
            yield style("dim", "      it has no effect")
    for binding in sorted(kept.bindings):
        yield f"    {safe(str(binding))}"
    total = len(view.authorizer.bindings)
    if removed:
        yield f"{counted(len(removed), 'binding')} of {total:,} can go; access stays exactly as it is"
    else:
        yield f"{counted(total, 'binding')}: none can go"


def _noted(view: AccessView, binding: AclBinding) -> str:
    note = view.authorizer.sources.notes.get(binding)
    return "" if note is None else f"  {safe(str(note.origin if isinstance(note, Declaration) else note))}"


def lint_document(linted: Sequence[Linted]) -> dict[str, Any]:
    """What ``lint --output json`` prints."""
    return LINT.write(LintOutput(tuple(map(_state, linted))))


def _state(one: Linted) -> LintedState:
    return LintedState(
        one.view.cluster,
        one.view.basis.value,
        tuple(map(_entry, one.findings)),
        tuple(replace(_entry(finding), waiver=_waiver(waiver)) for finding, waiver in one.waived),
        tuple(waiver.waiver.origin for waiver in one.idle_waivers),
        one.ignored,
        one.implied,
        one.view.condition or None,
    )


def _waiver(waiver: LintWaiver) -> WaiverEntry:
    accepted = waiver.waiver
    return WaiverEntry(accepted.reason, str(accepted.expires), accepted.ticket, accepted.origin)


def _entry(finding: LintFinding) -> LintEntry:
    return LintEntry(
        finding.rule.code,
        finding.rule.name,
        Level(finding.rule.severity),
        finding.binding,
        finding.message,
        finding.advice,
        tuple(finding.evidence),
        tuple(finding.related),
        finding.origin,
    )


def minimised_document(found: Sequence[tuple[AccessView, Minimised]]) -> dict[str, Any]:
    """For programs: the smaller set, and what it leaves out."""
    return {
        "states": [
            {
                **view.document(),
                "kept": [BINDING.write(binding) for binding in sorted(minimised.kept.bindings)],
                "removed": [
                    {
                        "binding": BINDING.write(removal.binding),
                        "because": [BINDING.write(binding) for binding in removal.because],
                    }
                    for removal in minimised.removed
                ],
            }
            for view, minimised in found
        ]
    }
