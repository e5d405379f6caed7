"""Lint findings as text: what, where, what shows it, what to do; and the smaller set that means the same."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import Any, Final

from reconciler.access.lint.rule import LintFinding, LintRule
from reconciler.access.remediation import Simplified
from reconciler.codec.values import BINDING
from reconciler.dataclass import dataclass
from reconciler.manifest.parts.selectors import LintException
from reconciler.model.acl import AclBinding
from reconciler.model.characters import Style, counted, plain, safe
from reconciler.model.desired import Declaration
from reconciler.results.access import AccessView
from reconciler.results.documents import LINT, ExceptionEntry, LintedState, LintEntry, LintOutput
from reconciler.results.findings import Finding, FindingGroup, FindingRow, Level, finding_groups, known_among
from reconciler.show.document import FEW, first_lines, first_names
from reconciler.show.findings import idle_exceptions, lint_finding, unseen_findings

LEVEL_STYLES: Final = {Level.ERROR: "error", Level.WARNING: "warn", Level.NOTE: "dim"}
#: Rows of all rules that are errors together, of all others together, and how many each rule has at least.
_ROOM: Final = 40
_FEWEST: Final = 2


@dataclass(frozen=True, slots=True)
class Linted:
    """The findings of one state: those that stand, those that are excepted (with the exception), and idle exceptions.

    ``ignored`` are findings about bindings that the cluster's ``ignore`` leaves to somebody else. ``implied`` are those
    about a DESCRIBE next to the READ or WRITE that implies it, as roles and ``kafka-acls.sh`` do. ``known`` are the
    matters of the base, where there is one.
    """

    view: AccessView
    findings: tuple[LintFinding, ...]
    excepted: tuple[tuple[LintFinding, LintException], ...] = ()
    idle_exceptions: tuple[LintException, ...] = ()
    ignored: int = 0
    implied: int = 0
    known: tuple[str, ...] | None = None

    @property
    def has_errors(self) -> bool:
        """Whether a finding that stands is an error."""
        return any(finding.rule.severity == "error" for finding in self.findings)


def lint_lines(linted: Sequence[Linted], style: Style = plain, *, expand: bool = False) -> Iterator[str]:
    """The findings of each state, then how many there are; states with the same findings are said together.

    Where there are many, each rule shows its first ones; with ``expand`` all of them.
    """
    for same in _alike(linted):
        state, compared = _new(same[0])
        groups = list(finding_groups(lint_finding(_entry(finding), "") for finding in state.findings))
        room = _rooms(groups, expand=expand)
        yield style("title", safe(state.view.words))
        if len(same) > 1:
            names = [other.view.cluster for other in same[1:]]
            shown = names if expand else first_names(names, len(names))
            more = f" and {len(names) - len(shown):,} more" if len(shown) < len(names) else ""
            yield style("title", f"The same of {counted(len(names), 'cluster')}: {', '.join(map(safe, shown))}{more}")
        if hidden := sum(row.count for group, most in zip(groups, room, strict=True) for row in _beyond(group, most)):
            total = len(state.findings)
            yield style("warn", f"{total - hidden:,} of {total:,} findings shown; --expand shows the others")
        for group, most in zip(groups, room, strict=True):
            yield from group_lines(group, style, most, elsewhere="; --expand shows each")
        excepted = [
            style("dim", f"excepted {finding.rule.code}  {safe(finding.subject)}{_place(finding)}")
            + "\n"
            + style("dim", safe(f"    until {exception.exception.expires}: {exception.exception.reason}"))
            for finding, exception in state.excepted
        ]
        for text in first_lines(excepted, expand=expand):
            yield from text.split("\n")
        idle = [
            style(
                "dim",
                safe(
                    f"the exception of {exception.rule} at {exception.exception.origin} matches no finding: remove it"
                ),
            )
            for exception in state.idle_exceptions
        ]
        yield from first_lines(idle, expand=expand)
        yield _summary(state) + compared


def _new(linted: Linted) -> tuple[Linted, str]:
    """A state without what the base has as well, which is counted; an error is always new."""
    if linted.known is None:
        return linted, ""
    items = [lint_finding(entry, linted.view.cluster) for entry in map(_entry, linted.findings)]
    folded = frozenset(known_among((item for item in items if item.level is not Level.ERROR), linted.known))
    new = tuple(finding for finding, item in zip(linted.findings, items, strict=True) if item not in folded)
    compared = f"; against the base: {len(items) - len(new):,} known, {len(new):,} new"
    return replace(linted, findings=new), compared


def _alike(linted: Sequence[Linted]) -> list[list[Linted]]:
    """States of one kind with the same findings together: clusters mostly get the same from the same manifests."""
    groups: dict[Hashable, list[Linted]] = {}
    for state in linted:
        view = (state.view.basis, state.view.condition, state.view.unseen)
        key = (view, state.known, state.findings, state.excepted, state.idle_exceptions, state.ignored, state.implied)
        groups.setdefault(key, []).append(state)
    return list(groups.values())


def _rooms(groups: Sequence[FindingGroup], *, expand: bool) -> list[int | None]:
    """How many rows each rule has room for: errors share as many as all others do."""
    if expand or sum(len(group.rows) for group in groups) <= FEW:
        return [None] * len(groups)
    errors = sum(group.level is Level.ERROR for group in groups)
    shared = {True: errors, False: len(groups) - errors}
    return [max(_FEWEST, min(FEW, _ROOM // shared[group.level is Level.ERROR])) for group in groups]


def group_lines(
    group: FindingGroup,
    style: Style = plain,
    most: int | None = None,
    elsewhere: str = ", which the HTML page and JSON have",
) -> Iterator[str]:
    """A rule with its advice, then a line for each finding and what shows it; what all of them say stands once.

    Of more than ``most`` rows the others are counted, and ``elsewhere`` says where they are.
    """
    advice = f": {safe(group.advice)}" if group.advice else ""
    name = "" if group.name == group.rule else f" {group.name}"
    yield style(LEVEL_STYLES[group.level], f"{group.level} {safe(group.rule + name)} ({group.total:,})") + advice
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
    if others := _beyond(group, most):
        yield style("dim", f"    and {sum(row.count for row in others):,} more{elsewhere}")


def _beyond(group: FindingGroup, most: int | None) -> tuple[FindingRow, ...]:
    return () if most is None else group.rows[most:]


def _place(finding: LintFinding) -> str:
    return "" if finding.origin is None else f"  {safe(str(finding.origin))}"


def _summary(linted: Linted) -> str:
    parts = [counted(len(linted.findings), "finding")]
    parts += [f"{len(linted.excepted):,} excepted"] if linted.excepted else []
    parts += [f"{linted.ignored:,} about ignored bindings"] if linted.ignored else []
    text = ", ".join(parts)
    return f"{text} (and {linted.implied:,} DESCRIBE that READ or WRITE implies)" if linted.implied else text


def rule_lines(rule: LintRule, style: Style = plain) -> Iterator[str]:
    """A rule's documentation: what it finds, why that matters, what to do."""
    yield style("title", f"{rule.code}: {rule.name}") + style("dim", f"  {rule.severity}")
    for paragraph in (rule.about, rule.cure):
        yield ""
        yield from wrap(paragraph.replace("*Evidence:*", "Evidence:"), 100)


def simplified_lines(view: AccessView, simplified: Simplified, style: Style = plain) -> Iterator[str]:
    """What can go and why, then what is left."""
    kept, removed = simplified
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


def _state(linted: Linted) -> LintedState:
    return LintedState(
        linted.view.cluster,
        linted.view.basis.value,
        tuple(map(_entry, linted.findings)),
        tuple(replace(_entry(finding), exception=_exception(exception)) for finding, exception in linted.excepted),
        tuple(exception.exception.origin for exception in linted.idle_exceptions),
        linted.ignored,
        linted.implied,
        linted.view.condition or None,
        linted.view.unseen,
        linted.known,
    )


def _exception(exception: LintException) -> ExceptionEntry:
    accepted = exception.exception
    return ExceptionEntry(accepted.reason, str(accepted.expires), accepted.ticket, accepted.origin)


def _entry(finding: LintFinding) -> LintEntry:
    return LintEntry(
        finding.rule.code,
        finding.rule.name,
        Level(finding.rule.severity),
        finding.binding,
        finding.subject,
        finding.message,
        finding.advice,
        tuple(finding.evidence),
        tuple(finding.related),
        finding.origin,
    )


def linted_findings(linted: Linted) -> Iterator[Finding]:
    """The findings of a state as reports have them."""
    state = _state(linted)
    yield from (lint_finding(entry, state.cluster) for entry in (*state.findings, *state.excepted))
    yield from idle_exceptions(state.idle_exceptions, state.cluster)
    yield from unseen_findings(state.unseen, state.cluster)


def simplified_document(states: Sequence[tuple[AccessView, Simplified]]) -> dict[str, Any]:
    """For programs: the smaller set, and what it leaves out."""
    return {
        "states": [
            {
                **view.document(),
                "kept": [BINDING.write(binding) for binding in sorted(simplified.kept.bindings)],
                "removed": [
                    {
                        "binding": BINDING.write(removal.binding),
                        "because": [BINDING.write(binding) for binding in removal.because],
                    }
                    for removal in simplified.removed
                ],
            }
            for view, simplified in states
        ]
    }
