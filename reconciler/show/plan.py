"""A plan, or drift, as a document: who gains and loses what, what is sent in which order, what stays, how safe it is.

The answer comes first: access, counts, what is left out. What only proves, names or dates the plan comes last.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import groupby
from typing import Any, Final

from reconciler.model.characters import Style, as_name, counted, plain
from reconciler.model.desired import Origin, moment_text
from reconciler.model.listing import Change
from reconciler.plan.difference import DriftCause, SkipReason
from reconciler.plan.file import plan_id, plan_to_json
from reconciler.plan.kinds.acl import touched_binding
from reconciler.plan.phase import TITLES, Phase
from reconciler.plan.proposal import Plan, differences_of
from reconciler.plan.refusal import Refusal
from reconciler.plan.review.access_change import EVERYBODY_ELSE
from reconciler.plan.review.callouts import INTERRUPTED, LOGIN
from reconciler.results.words import accepted_words, pattern_words
from reconciler.show import review
from reconciler.show.access_lines import AccessLine
from reconciler.show.document import (
    ReportDocument,
    Row,
    Section,
    SectionName,
    document_lines,
    first_rows,
    lines_shown,
    listed,
    section_lines,
)
from reconciler.show.kinds import ROLES, VERBS, kind_of, sign_of
from reconciler.show.steps import (
    SkippedGroup,
    StepLine,
    irreversible_lines,
    note_lines,
    skipped_groups,
    step_lines,
    steps_shown,
    summary,
)

#: So many who gain, and so many who lose, are named in the answer; names that are longer are counted.
_NAMED: Final = 2
_LONGEST_NAME: Final = 40
#: Digits of an id that a person at a terminal copies; ``--require-id`` takes the beginning of an id.
_SHORT_ID: Final = len("plan-") + 8


def plan_lines(
    plan: Plan,
    style: Style = plain,
    *,
    expand: bool = False,
    agreed: Iterable[str] = (),
    short_id: bool = False,
) -> Iterator[str]:
    """Yield the lines; with ``expand`` every ACL has its own, otherwise operations on one pattern share it.

    ``agreed`` are lines about what holds beside the plan: they come before what closes it. ``short_id``: a person reads
    it at a terminal.
    """
    yield from document_lines(plan_document(plan, expand=expand, short_id=short_id), style, agreed)


def plan_document(plan: Plan, *, expand: bool = False, fold: bool = True, short_id: bool = False) -> ReportDocument:
    """All that a plan says. Of very many rows the gravest; without ``fold`` all, with ``expand`` each on its own."""
    steps = list(step_lines(plan, expand=expand, fold=fold))
    skipped = list(skipped_groups(plan, expand=expand, fold=fold))
    settings = [review.settings_section(plan.terms)] if expand else []
    expand = expand or not fold
    access = review.access_lines_of(plan.access, expand=expand) if plan.steps or plan.access.access_changes else []
    cut = cut_row(plan, steps, skipped, access, expand=expand)
    sections = [
        *review.guardrail_sections(plan.guardrails),
        *_access(plan, access, expand=expand),
        *_exempt(plan, expand=expand),
        *review.opening_sections(plan, expand=expand),
        *_step_sections(plan, steps),
        *review.unbridged_sections(plan, expand=expand),
        *_irreversible(plan, expand=expand),
        *_skipped(skipped),
        *_gaining(plan, expand=expand),
        *_coverage(plan, expand=expand),
        *warning_sections(plan, expand=expand),
        *review.validation_sections(plan.topics.validation),
        *_accepted(plan, expand=expand),
        *settings,
        *refusal_sections(plan.refusals, expand=expand),
    ]
    return ReportDocument((*answer(plan), *cut), tuple(sections), tuple(_closing(plan, short_id=short_id)))


def _access(plan: Plan, lines: Sequence[AccessLine], *, expand: bool) -> Iterator[Section]:
    section = review.access_section(plan.access, lines, expand=expand)
    if section.rows:  # the answer counts them, or says that there are none
        yield replace(section, title="Access")


def _exempt(plan: Plan, *, expand: bool) -> Iterator[Section]:
    exempt = [
        f"{as_name(exception.principal)} on {exception.resources.describe()}" for exception in plan.access.exceptions
    ]
    if exempt:
        title = f"What happens to {EVERYBODY_ELSE} does not happen to these"
        yield listed(SectionName.NOTES, title, exempt, expand=expand)


def headline(plan: Plan, style: Style = plain) -> Iterator[str]:
    """The answer of a plan, and what a safety check refuses now."""
    yield from document_lines(ReportDocument(tuple(answer(plan)), tuple(refusal_sections(plan.refusals))), style)


def answer(plan: Plan) -> Iterator[Row]:
    """Who gains and who loses access; then what is done, what is skipped, and what cannot be undone."""
    sentences = [_refused(plan)] if plan.refusals else []
    sentences += ["The guardrails change"] if plan.guardrails.weakened else []
    sentences += [_nothing(plan)] if not plan.steps else []
    if plan.steps or plan.access.access_changes or plan.access.kept:
        sentences.append(access_words(plan))
    role = "error" if plan.refusals or plan.guardrails.weakened else "title"
    yield Row(f"{as_name(plan.terms.cluster)}: {'. '.join(map(_sentence, sentences))}.", role=role)
    if counts := ". ".join(_counts(plan)):
        yield Row(f"  {counts}.", role="title")


def _sentence(words: str) -> str:
    """A capital where a sentence begins, but never of a name."""
    return words[:1].upper() + words[1:] if words.startswith((EVERYBODY_ELSE, "nobody", "no ACL")) else words


def access_words(plan: Plan) -> str:
    """``User:a gains access, 3 principals lose access``."""
    gaining, losing, later = review.movers(plan.access)
    if gaining and gaining == losing and not later:
        return f"{_who(gaining)} gain{'' if len(gaining) > 1 else 's'} and lose{'' if len(gaining) > 1 else 's'} access"
    verbs = ((gaining, "gain", ""), (losing, "lose", ""), (later, "gain", review.later_words(plan.access)))
    parts = [
        f"{_who(principals)} {verb}{'' if len(principals) > 1 else 's'} access{more}"
        for principals, verb, more in verbs
        if principals
    ]
    parts += [callout.text for callout in plan.access.kept]
    if parts:
        return ", ".join(parts)
    logins = any(callout.rule == LOGIN for callout in plan.access.callouts)
    return "no ACL gives or takes access, and logins change" if logins else "nobody gains or loses access"


def _who(principals: set[str | None]) -> str:
    names = [EVERYBODY_ELSE] if None in principals else []
    named = [as_name(principal) for principal in sorted(principal for principal in principals if principal is not None)]
    if len(named) <= _NAMED and all(len(name) <= _LONGEST_NAME for name in named):
        names += named
    else:
        names.append(counted(len(named), "principal"))
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _refused(plan: Plan) -> str:
    if plan.stops:
        return "Refused"
    return f"{counted(len(plan.refused) or len(plan.refusals), 'change')} refused"


def _nothing(plan: Plan) -> str:
    return "Nothing to do" if not plan.skipped else "Nothing that this plan is allowed to do"


def _counts(plan: Plan) -> Iterator[str]:
    if plan.steps:
        yield summary(plan)
    if plan.skipped:
        reasons = {item.reason for item in plan.skipped}
        why = " (deletions need --allow-deletes)" if reasons == {SkipReason.HELD_BACK} else ""
        yield f"{len(plan.skipped):,} skipped{why}"
    if lasting := sum(not step.reversible for step in plan.steps):
        yield f"{lasting:,} cannot be undone"


def _closing(plan: Plan, *, short_id: bool) -> Iterator[Row]:
    if plan.refused:
        are = "is" if len(plan.refused) == 1 else "are"
        yield Row(f"{counted(len(plan.refused), 'change')} {are} refused and not in this plan.", role="error")
    if plan.moves_access:
        yield Row(f"Safe order: {_safe_order(plan)}.")
    if plan.steps and not plan.stops:
        yield Row(f"Approve with --require-id {plan_id(plan)[: _SHORT_ID if short_id else None]}", role="title")
    yield from basis_rows(plan)


def basis_rows(plan: Plan) -> Iterator[Row]:
    """When and how much was read, and how long it takes: what nobody needs for the decision."""
    counts = plan.counts
    parts = [f"{counts.owned:,} in scope", f"{counts.outside:,} outside", f"{counts.ignored:,} ignored"]
    parts += [f"{counts.opaque:,} unreadable"] if counts.opaque else []
    takes = f"; applying takes about {plan.estimated_seconds:g} s" if plan.steps else ""
    yield Row(f"as of {moment_text(plan.as_of)}, read from one broker{takes}", role="dim")
    declared = f"{counted(counts.desired_bindings, 'ACL')}, {counted(counts.desired_topics, 'topic')}"
    live = f"{counted(counts.live_bindings, 'ACL')} ({', '.join(parts)}), {counted(counts.live_topics, 'topic')}"
    yield Row(f"declared {declared}; live {live}", role="dim")


def _safe_order(plan: Plan) -> str:
    """What the proof of the order says; what is interrupted, or may be under default-allow, is listed elsewhere."""
    gains = "at every step, nobody has access that neither the old nor the new state gives"
    interrupted = any(callout.rule == INTERRUPTED for callout in plan.access.callouts)
    if plan.terms.established_default_allow is False and not interrupted:
        return f"{gains}, and nobody lacks access that both give"
    return gains


def _step_sections(plan: Plan, steps: Sequence[StepLine]) -> Iterator[Section]:
    phases = [step.phase for step in plan.steps]
    removal = list(review.removal_sections(plan))
    for phase, group in groupby(steps, lambda line: line.phase):
        if phase > Phase.DELETE_LAST:
            yield from removal
            removal = []
        lines = list(group)
        following = next((later for later in phases if later > phase), None)
        awaited = following is not None and any(phase <= barrier < following for barrier in plan.barriers)
        yield Section(
            SectionName.STEPS,
            TITLES[phase],
            tuple(map(step_row, lines)),
            steps_shown(lines)[1],
            closing=f"propagation check: {_propagation(plan)}" if awaited else "",
            number=review.stage_number(plan, phase),
            remarks=tuple(note_lines(lines)),
        )
    yield from removal


def step_row(line: StepLine) -> Row:
    """A step, or several on one line."""
    return Row(
        line.words,
        line.sign,
        ROLES[line.sign],
        line.effect,
        line.until,
        place_words(line.origin),
        line.why,
        below=tuple(Row(detail.text, role=detail.role) for detail in line.details),
        names=line.names,
        unnamed=line.unnamed,
    )


def skipped_row(group: SkippedGroup) -> Row:
    """A reason, and below it what stays."""
    below = tuple(
        Row(line.text, place=place_words(line.origin), names=line.names, unnamed=line.unnamed) for line in group.lines
    )
    return Row(group.heading, role="warn", below=below, count=group.total)


def place_words(origin: Origin | None) -> str:
    """``acls.yaml:3:5``; empty where nothing declares it."""
    return "" if origin is None else str(origin)


def _propagation(plan: Plan) -> str:
    terms = plan.terms
    if terms.probe is None:
        return f"wait {terms.barrier_wait:g} s for the ACLs to reach every broker"
    named = f"brokers {', '.join(map(str, terms.brokers))} and any other" if terms.brokers else "every broker"
    return f"{named}, and the active controller, prove to {terms.probe} that they enforce what was sent"


def cut_row(
    plan: Plan,
    steps: Sequence[StepLine],
    skipped: Sequence[SkippedGroup],
    access: Sequence[AccessLine],
    *,
    expand: bool,
    noun: str = "steps",
) -> tuple[Row, ...]:
    """``40 of 3,996 rows of access shown, 12 of 10,500 steps``: what a reader has to know before the rows, if any."""
    shown, total = steps_shown(steps)
    skipped_count = sum(group.total for group in skipped)
    named = skipped_count - sum(group.unnamed for group in skipped)
    callouts = len(plan.access.callouts)
    parts = [review.cut_words(plan.access, expand=expand, lines=access) if access else ""]
    guards = Counter(refusal.guard for refusal in plan.refusals)
    refusals = sum(lines_shown(count, expand=expand) for count in guards.values())
    for some, whole, what in (
        (refusals, len(plan.refusals), "refusals"),
        (review.callouts_shown(plan.access, expand=expand), callouts, "warnings about access"),
        (shown, total, noun),
        (named, skipped_count, "skipped items"),
    ):
        if some < whole:
            parts.append(f"{some:,} of {whole:,} {what}{'' if any(parts) else ' shown'}")
    cut = ", ".join(filter(None, parts))
    return (Row(f"{cut}, the gravest first; --expand shows the others", role="warn"),) if cut else ()


def _irreversible(plan: Plan, *, expand: bool) -> Iterator[Section]:
    rows = [Row(text, names=names, unnamed=unnamed) for text, names, unnamed in irreversible_lines(plan, expand=expand)]
    if rows:
        yield Section(
            SectionName.NOTES, "Cannot be undone", tuple(rows), sum(not step.reversible for step in plan.steps)
        )


def _skipped(groups: Sequence[SkippedGroup]) -> Iterator[Section]:
    if groups:
        total = sum(group.total for group in groups)
        yield Section(SectionName.SKIPPED, "Skipped", tuple(map(skipped_row, groups)), total)


def _gaining(plan: Plan, *, expand: bool) -> Iterator[Section]:
    if plan.gaining:
        rows = first_rows(map(Row, review.gaining_words(plan, expand=expand)), expand=expand)
        yield Section(SectionName.NOTES, review.GAINING_TITLE, rows, len(plan.gaining))


def _coverage(plan: Plan, *, expand: bool) -> Iterator[Section]:
    """Patterns that get their first binding or lose their last, which default-allow closes or opens."""
    for title, patterns in (
        ("Gets its first ACL: closed to everybody else if default-allow is on", plan.coverage.closed),
        ("Loses its last ACL: open to everybody if default-allow is on", plan.coverage.opened),
    ):
        if patterns:
            yield listed(SectionName.NOTES, title, tuple(map(pattern_words, patterns)), expand=expand, most=10)


def warning_sections(plan: Plan, *, expand: bool) -> Iterator[Section]:
    """What a reader should know besides; each warning once."""
    warnings = tuple(dict.fromkeys((*plan.warnings, *plan.login_warnings)))
    if warnings:
        yield listed(SectionName.WARNINGS, "Warnings", warnings, expand=expand, role="warn")


def _accepted(plan: Plan, *, expand: bool) -> Iterator[Section]:
    if plan.accepted:
        yield listed(SectionName.ACCEPTED, "Accepted", map(accepted_words, plan.accepted), expand=expand)


def refusal_sections(refusals: Sequence[Refusal], *, expand: bool = False) -> Iterator[Section]:
    """What safety checks refuse, and what a person can do about each; of very many objects of a check the first."""
    by_guard: dict[str, list[Row]] = {}
    for refusal in refusals:
        row = Row(f"{refusal.guard}: {refusal.message}", role="error", below=(Row(refusal.remedy),))
        by_guard.setdefault(refusal.guard, []).append(row)
    # No check is hidden by the objects of another one.
    rows = tuple(row for some in by_guard.values() for row in first_rows(some, expand=expand))
    if rows:
        yield Section(SectionName.REFUSED, "Refused", rows, len(refusals), "error")


def refusal_lines(refusals: Sequence[Refusal], style: Style = plain) -> Iterator[str]:
    """The same as lines."""
    for section in refusal_sections(refusals):
        yield ""
        yield from section_lines(section, style)


# A plan as JSON values: the plan file's own fields, and where the cluster was reached.


def plan_report(plan: Plan, *, servers: Sequence[str] = ()) -> dict[str, Any]:
    """What ``--output json`` prints of a plan, whether it proposes or only reports.

    ``servers`` are where the cluster was reached. They are no part of a plan file, which may be published.
    """
    reached = {"bootstrapServers": list(servers)} if servers else {}
    return {**plan_to_json(plan), **reached}


# Drift as a document, from the cluster's side: what nobody declared, what is missing, what is different.
#
# It is made from the plan that would bring the cluster back. What that plan would delete is there and undeclared:
# nobody has lost anything, and somebody may have more than anybody declared.


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
    access = review.access_lines_of(plan.access, expand=expand)
    sections = [
        *_differences(lines),
        *_staying(skipped),
        *_access_differences(plan, access, expand=expand),
        *_reverting(plan, expand=expand),
        *warning_sections(plan, expand=expand),
        *([review.settings_section(plan.terms)] if expand else []),
        *_next(plan, where),
    ]
    title = (Row(f"{as_name(plan.terms.cluster)}{drift_words(plan)}.", role="title"),)
    cut = cut_row(plan, lines, skipped, access, expand=expand, noun="differences")
    return ReportDocument((*title, *cut), tuple(sections), tuple(basis_rows(replace(plan, steps=()))))


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
    parts = [
        f"{counted(number, noun)} {which}"
        for which in Deviation
        for (difference, noun), number in counts.items()
        if difference is which
    ]
    parts += [counted(len(plan.skipped), "difference") + " that no plan removes"] if plan.skipped else []
    return (", ".join(parts) or "no difference") + (f" ({cause_counts(plan)})" if plan.causes else "")


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
        matching = [line for line in lines if _BY_SIGN[line.sign] is which]
        if matching:
            _, total = steps_shown(matching)
            yield Section(SectionName.DIFFERENCES, _TITLES[which], tuple(_row(line, which) for line in matching), total)


def _row(line: StepLine, which: Deviation) -> Row:
    """A difference; what a step would do about it is not said."""
    row = step_row(line)
    label = "no longer declared" if which is Deviation.UNDECLARED and line.origin is not None else ""
    label = label if line.cause is None else line.cause.words
    below = row.below if which is Deviation.DIFFERENT else tuple(replace(detail, role="dim") for detail in row.below)
    return replace(row, sign=_SIGNS[which], role=_ROLES[which], label=label, below=below)


def _staying(groups: Sequence[SkippedGroup]) -> Iterator[Section]:
    rows = []
    for group in groups:
        row = skipped_row(group)
        below = tuple(replace(detail, text=_from_cluster(detail.text, group.reason)) for detail in row.below)
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


def _access_differences(plan: Plan, lines: Sequence[AccessLine], *, expand: bool) -> Iterator[Section]:
    if not lines:
        return
    seen = [replace(line, sign="-" if line.sign == "+" else "+") for line in lines]
    title = "Access: + more than declared, - less than declared"
    yield Section(SectionName.ACCESS, title, tuple(review.access_rows(plan.access, seen, expand=expand)))


def _reverting(plan: Plan, *, expand: bool) -> Iterator[Section]:
    """What a plan that brings the cluster back does besides."""
    rows = review.callout_rows(plan.access)
    rows += [Row(f"{refusal.guard} refuses it: {refusal.message}", "!", "warn") for refusal in plan.refusals]
    lasting = irreversible_lines(plan, expand=expand)
    rows += [Row(f"cannot be undone: {text}", "!", "warn", names=names, unnamed=more) for text, names, more in lasting]
    if rows:
        title = "If the cluster is brought back to what is declared"
        yield Section(SectionName.NOTES, title, first_rows(rows, expand=expand), len(rows))


def _next(plan: Plan, where: str) -> Iterator[Section]:
    changes = [(name, change) for name, change in differences_of(plan) if change is not None]
    # Nobody adopts what a merge has taken away.
    since = {DriftCause.MERGED, DriftCause.EXPIRED}
    kept = {deviation(change) for name, change in changes if not plan.causes or plan.causes[name] not in since}
    deviations = {deviation(change) for _, change in changes}
    if not deviations:
        return
    rows = [Row(f"Keep it:    reconciler adopt {where}")] if kept - {Deviation.MISSING} else []
    deletes = " --allow-deletes" if Deviation.UNDECLARED in deviations else ""
    verb = "Remove it: " if deviations == {Deviation.UNDECLARED} else "Revert it: " if kept else "Apply it:  "
    rows.append(Row(f"{verb} reconciler plan {where}{deletes} --out plan.json && reconciler apply plan.json"))
    yield Section(SectionName.NEXT, "What to do", tuple(rows))
