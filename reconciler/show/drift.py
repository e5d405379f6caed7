"""Drift as a document, from the cluster's side: what nobody declared, what is missing, what is different.

It is made from the plan that would bring the cluster back. What that plan would delete is there and undeclared: nobody
has lost anything, and somebody may have more than anybody declared.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final

from reconciler.model.characters import Style, as_name, counted, plain
from reconciler.model.desired import Origin
from reconciler.model.listing import Change
from reconciler.plan.difference import DriftCause, SkipReason
from reconciler.plan.kinds.acl import touched_binding
from reconciler.plan.proposal import Plan, differences_of
from reconciler.results.words import pattern_words
from reconciler.show.access_lines import AccessLine
from reconciler.show.document import ReportDocument, Row, Section, SectionName, document_lines, first_rows
from reconciler.show.kinds import VERBS, kind_of, sign_of
from reconciler.show.plan import basis_rows, cut_row, place_words, skipped_row, step_row, warning_sections
from reconciler.show.review import access_lines_of, access_rows, callout_rows, settings_section
from reconciler.show.steps import SkippedGroup, StepLine, irreversible_lines, skipped_groups, step_lines, steps_shown


class Deviation(StrEnum):
    """How a cluster differs in one thing from what is declared."""

    UNDECLARED = "undeclared"
    MISSING = "missing"
    DIFFERENT = "different"


#: The sign of the step that would bring it back, and the sign under which a person reads it.
_BY_SIGN: Final = {"-": Deviation.UNDECLARED, "+": Deviation.MISSING, "~": Deviation.DIFFERENT}
_SIGNS: Final = {Deviation.UNDECLARED: "+", Deviation.MISSING: "-", Deviation.DIFFERENT: "~"}
_ROLES: Final = {Deviation.UNDECLARED: "add", Deviation.MISSING: "remove", Deviation.DIFFERENT: "change"}
_TITLES: Final = {
    Deviation.UNDECLARED: "Undeclared on the cluster",
    Deviation.MISSING: "Missing from the cluster",
    Deviation.DIFFERENT: "Different: on the cluster → declared",
}
_COLUMNS: Final = ("CHANGE", "PRINCIPAL", "PERMISSION", "OPERATION", "RESOURCE", "DECLARED AT")


def drift_lines(
    plan: Plan, style: Style = plain, *, expand: bool = False, agreed: Iterable[str] = (), where: str = "PATH"
) -> Iterator[str]:
    """The lines. ``where`` are the arguments by which a command finds the manifests and the cluster again."""
    yield from document_lines(drift_document(plan, expand=expand, where=where), style, agreed)


def drift_document(plan: Plan, *, expand: bool = False, where: str = "PATH") -> ReportDocument:
    """What differs, whose access that is, then how to keep it and how to remove it."""
    lines, skipped = list(step_lines(plan, expand=expand)), list(skipped_groups(plan, expand=expand))
    access = access_lines_of(plan.access, expand=expand)
    sections = [
        *_differences(lines),
        *_skipped(skipped),
        *_access(plan, access, expand=expand),
        *_reverting(plan, expand=expand),
        *warning_sections(plan, expand=expand),
        *([settings_section(plan.terms)] if expand else []),
        *_next(plan, where),
    ]
    said = (Row(f"{as_name(plan.terms.cluster)}{drift_words(plan)}.", role="title"),)
    cut = cut_row(plan, lines, skipped, access, expand=expand, noun="differences")
    return ReportDocument((*said, *cut), tuple(sections), tuple(basis_rows(replace(plan, steps=()))))


def deviation(change: Change) -> Deviation:
    """How the cluster differs, by the change that would bring it back."""
    return _BY_SIGN[sign_of(change)]


def drift_words(plan: Plan) -> str:
    """`` has drifted: 1 ACL undeclared, 1 topic different``; what follows the name of a cluster."""
    if plan.steps or plan.skipped:
        return f" has drifted: {drift_counts(plan)}"
    if plan.warnings or plan.login_warnings:
        return " is as declared, as far as it could be read: see the warnings"
    return " is as declared"


def drift_counts(plan: Plan) -> str:
    """``1 ACL undeclared, 2 topics missing, 1 other difference``; ``no difference``."""
    counts = Counter((deviation(step.change), kind_of(step.change).NOUN) for step in plan.steps)
    said = [
        f"{counted(number, noun)} {which}"
        for which in Deviation
        for (found, noun), number in counts.items()
        if found is which
    ]
    said += [counted(len(plan.skipped), "difference") + " that no plan removes"] if plan.skipped else []
    return (", ".join(said) or "no difference") + (f" ({cause_counts(plan)})" if plan.causes else "")


def cause_counts(plan: Plan) -> str:
    """``2 merged and waiting for apply, 1 expired``; ``all expired``; empty where what was applied is not known."""
    counts = Counter(plan.causes[name] for name, _ in differences_of(plan)) if plan.causes else Counter[DriftCause]()
    if len(counts) == 1:
        return f"all {next(iter(counts)).words}" if counts.total() > 1 else next(iter(counts)).words
    return ", ".join(f"{counts[cause]:,} {cause.words}" for cause in DriftCause if counts[cause])


def drift_table(plan: Plan) -> dict[str, Any]:
    """Columns for people: one row for each difference."""
    rows = [_cells(str(deviation(step.change)), step.change, step.origin, plan) for step in plan.steps]
    for item in plan.skipped:
        if item.change is None:
            rows.append([str(item.reason), "", "", "", item.subject, place_words(item.origin)])
        else:
            rows.append(_cells(str(deviation(item.change)), item.change, item.origin, plan))
    order = list(Deviation)
    rows.sort(key=lambda row: order.index(Deviation(row[0])) if row[0] in order else len(order))
    return {"columns": list(_COLUMNS), "rows": rows}


def _cells(which: str, change: Change, origin: Origin | None, plan: Plan) -> list[str]:
    binding = touched_binding(change)
    if binding is None:
        words = kind_of(change).words([change], plan.topics)
        details = [detail.text for detail in words.details] if _BY_SIGN[sign_of(change)] is Deviation.DIFFERENT else []
        return [which, "", "", "", "; ".join([words.text, *details]), place_words(origin)]
    pattern, entry = binding
    host = "" if entry.host == "*" else f" from {entry.host}"
    operation, permission = entry.operation.name, entry.permission_type.name
    return [which, entry.principal, permission, operation, pattern_words(pattern) + host, place_words(origin)]


def _differences(lines: Sequence[StepLine]) -> Iterator[Section]:
    for which in Deviation:
        found = [line for line in lines if _BY_SIGN[line.sign] is which]
        if found:
            _, total = steps_shown(found)
            yield Section(SectionName.DIFFERENCES, _TITLES[which], tuple(_row(line, which) for line in found), total)


def _row(line: StepLine, which: Deviation) -> Row:
    """A difference; what a step would do about it is not said."""
    row = step_row(line)
    label = "no longer declared" if which is Deviation.UNDECLARED and line.origin is not None else ""
    label = label if line.cause is None else line.cause.words
    below = row.below if which is Deviation.DIFFERENT else tuple(replace(one, role="dim") for one in row.below)
    return replace(row, sign=_SIGNS[which], role=_ROLES[which], label=label, below=below)


def _skipped(groups: Sequence[SkippedGroup]) -> Iterator[Section]:
    rows = []
    for group in groups:
        row = skipped_row(group)
        below = tuple(replace(one, text=_from_cluster(one.text, group.reason)) for one in row.below)
        rows.append(replace(row, below=below, label="" if group.cause is None else group.cause.words))
    if rows:
        total = sum(group.total for group in groups)
        yield Section(SectionName.SKIPPED, "Differences that no plan removes", tuple(rows), total)


def _from_cluster(text: str, reason: SkipReason) -> str:
    """``undeclared: topic x`` of ``delete topic x``."""
    for sign, verb in VERBS.items():
        if text.startswith(f"{verb} ") and reason is not SkipReason.UNREADABLE:
            return f"{_BY_SIGN[sign]}: {text.removeprefix(f'{verb} ')}"
    return text


def _access(plan: Plan, lines: Sequence[AccessLine], *, expand: bool) -> Iterator[Section]:
    if not lines:
        return
    seen = [replace(line, sign="-" if line.sign == "+" else "+") for line in lines]
    title = "Access: + more than declared, - less than declared"
    yield Section(SectionName.ACCESS, title, tuple(access_rows(plan.access, seen, expand=expand)))


def _reverting(plan: Plan, *, expand: bool) -> Iterator[Section]:
    """What a plan that brings the cluster back does besides."""
    rows = callout_rows(plan.access)
    rows += [Row(f"{refusal.guard} refuses it: {refusal.message}", "!", "warn") for refusal in plan.refusals]
    found = irreversible_lines(plan, expand=expand)
    rows += [Row(f"cannot be undone: {text}", "!", "warn", names=names, unnamed=more) for text, names, more in found]
    if rows:
        title = "If the cluster is brought back to what is declared"
        yield Section(SectionName.NOTES, title, first_rows(rows, expand=expand), len(rows))


def _next(plan: Plan, where: str) -> Iterator[Section]:
    changes = [(name, change) for name, change in differences_of(plan) if change is not None]
    # Nobody adopts what a merge has taken away.
    since = {DriftCause.MERGED, DriftCause.EXPIRED}
    kept = {deviation(change) for name, change in changes if not plan.causes or plan.causes[name] not in since}
    found = {deviation(change) for _, change in changes}
    if not found:
        return
    rows = [Row(f"Keep it:    reconciler adopt {where}")] if kept - {Deviation.MISSING} else []
    deletes = " --allow-deletes" if Deviation.UNDECLARED in found else ""
    verb = "Remove it: " if found == {Deviation.UNDECLARED} else "Revert it: " if kept else "Apply it:  "
    rows.append(Row(f"{verb} reconciler plan {where}{deletes} --out plan.json && reconciler apply plan.json"))
    yield Section(SectionName.NEXT, "What to do", tuple(rows))
