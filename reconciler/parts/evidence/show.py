"""What logs show of a fleet, and what ``tighten`` proposes, as text: the gaps before the findings."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from reconciler.access.authorizer import AccessRequest
from reconciler.codec.values import BINDING
from reconciler.model.acl import AclBinding
from reconciler.model.characters import Style, as_name, binding_name, counted, plain, safe
from reconciler.model.desired import Declaration, Origin
from reconciler.parts.evidence.proof import Shadow, Stage
from reconciler.parts.evidence.suggestion import Held, Narrowing
from reconciler.parts.evidence.usage.cluster import (
    BindingUse,
    ClusterUsage,
    ReplayedAccess,
    ReplayResult,
    UnexpectedDecision,
)
from reconciler.parts.evidence.usage.counts import Denial, EventCount, Period
from reconciler.parts.evidence.usage.scan import Summary
from reconciler.results import tightened
from reconciler.results.words import request_document

_STANDINGS: Final = {
    BindingUse.ALONE: "needed for an access that was seen",
    BindingUse.DECIDED: "named by the logs",
    BindingUse.ALSO: "redundant: others permit or refuse the same",
    BindingUse.UNUSED: "unused in these logs",
    BindingUse.CANNOT_SAY: "undecided",
}
_HOSTS: Final = 3
#: So many days without a permitted access are named.
_SILENT: Final = 10


def usage_lines(
    title: str, usages: Sequence[ClusterUsage], unassigned: Summary, style: Style = plain, *, shown: int = 20
) -> Iterator[str]:
    """The whole answer."""
    yield style("title", safe(title))
    for usage in usages:
        yield style("title", f"  {safe(usage.cluster)}")
        yield from (f"    {line}" for line in _cluster_lines(usage, style, shown))
    if unassigned.files:
        counts = f"{counted(unassigned.lines, 'line')} in {counted(unassigned.files, 'file')}"
        yield f"  in no cluster's directory: {counts}, {unassigned.foreign:,} decisions of unknown clusters"
        yield from (f"    {line}" for line in _reading_lines(unassigned, style, ""))
    unknown = [usage.cluster for usage in usages if usage.failure or usage.cannot_say]
    unused = sum(usage.uses.get(BindingUse.UNUSED, 0) for usage in usages)
    bindings = f"{counted(unused, 'binding')} unused in these logs"
    yield f"{counted(len(usages), 'cluster')}: {bindings}; {counted(len(unknown), 'cluster')} undecided"


def _cluster_lines(usage: ClusterUsage, style: Style, shown: int) -> Iterator[str]:
    if usage.failure:
        yield style("error", f"not known: {safe(usage.failure)}")
        return
    yield _overview(usage)
    yield from _reading_lines(usage.summary, style, "they may show a use of a binding that is listed here")
    if usage.cannot_say:
        yield style("warn", f"cannot decide which bindings are unused: {usage.cannot_say}")
    elif silent := usage.period.silent:
        days = ", ".join(map(str, usage.period.silent_days(_SILENT)))
        more = " …" if silent > _SILENT else ""
        yield style("warn", f"no permitted access on {counted(silent, 'day')}: {days}{more}")
    yield from _binding_lines(usage, style, shown)
    yield from _denial_lines(usage, style, shown)
    yield from _odd_lines(usage, style, shown)
    if usage.replay is not None:
        yield from _replay_lines(usage.replay, style, shown)


def _overview(usage: ClusterUsage) -> str:
    summary, period = usage.summary, usage.period
    when = f", {period.first} to {period.last or ''}" if period.first else ""
    asked = f", {usage.asked_only:,} only looked up" if usage.asked_only else ""
    return (
        f"{usage.allowed:,} permitted, {usage.denied:,} refused{asked}{when}; "
        f"{counted(summary.lines, 'line')} in {counted(summary.files, 'file')}"
    )


def _reading_lines(summary: Summary, style: Style, meaning: str) -> Iterator[str]:
    if summary.unread:
        because = f": {meaning}" if meaning else ""
        yield style("warn", f"{counted(summary.unread, 'line')} could not be read{because}")
        for reason, lost in summary.lost:
            yield f"  {lost.lines:,} {reason.value}, for example"
            yield from (style("dim", f"    {safe(text)}") for text in lost.examples)
    for text in summary.broken:
        yield style("warn", f"not read to its end: {safe(text)}")
    if summary.foreign and meaning:
        yield f"{summary.foreign:,} decisions of other clusters were skipped"


def _binding_lines(usage: ClusterUsage, style: Style, shown: int) -> Iterator[str]:
    parts = [f"{usage.uses[kind]:,} {words}" for kind, words in _STANDINGS.items() if usage.uses.get(kind)]
    yield "bindings: " + (", ".join(parts) or "none")
    if usage.opaque:
        yield f"  {usage.opaque:,} entries that cannot be named are not analysed"
    for binding, origin in usage.unused[:shown]:
        place = style("dim", f"  {safe(origin)}") if origin else ""
        yield style("remove", f"  - {safe(binding_name(binding))}") + place
    yield from _more(len(usage.unused), shown, style)
    if usage.gone:
        yield "named by the logs, but not on the cluster:"
        yield from (f"  {times:,}× {safe(binding_name(binding))}" for binding, times in usage.gone[:shown])


def _denial_lines(usage: ClusterUsage, style: Style, shown: int) -> Iterator[str]:
    if not usage.denials:
        return
    yield f"distinct accesses that were refused: {len(usage.denials):,}"
    for denial in usage.denials[:shown]:
        yield f"  {denial.tally.times:,}× {safe(_refusal(denial))}"
        yield from (style("add", f"      would permit it: {safe(binding_name(grant))}") for grant in denial.grants)
        if denial.remark:
            yield style("warn" if denial.grants else "dim", f"      {safe(denial.remark)}")
    yield from _more(len(usage.denials), shown, style)
    if usage.dropped_denials:
        yield style("warn", f"  {usage.dropped_denials:,} rarer ones are not listed")


def _refusal(denial: Denial) -> str:
    principal, operation, kind, name = denial.refused
    hosts = ", ".join(denial.hosts[:_HOSTS]) + (
        f" and {len(denial.hosts) - _HOSTS} more" if len(denial.hosts) > _HOSTS else ""
    )
    access = f"{as_name(principal)} {operation.name} on {kind.name} {as_name(name)}"
    return f"{access} from {hosts}, last {denial.tally.last or 'unknown'}"


def _odd_lines(usage: ClusterUsage, style: Style, shown: int) -> Iterator[str]:
    if usage.unexpected_count:
        words = "access is" if usage.unexpected_count == 1 else "accesses are"
        yield style("warn", f"{usage.unexpected_count:,} {words} decided otherwise in the logs than by these bindings:")
        for event, tally in usage.unexpected[:shown]:
            verdict = "permitted" if event.allowed else "refused"
            yield f"  {tally.times:,}× {verdict} by the log: {safe(_request(event.request))}"
        yield from _more(usage.unexpected_count, min(shown, len(usage.unexpected)), style)
    if usage.undeclared_super_users:
        names = ", ".join(safe(as_name(name)) for name in usage.undeclared_super_users)
        yield style("warn", f"super users that the Cluster document does not name: {names}")
    if usage.claims:
        facts = " and ".join(safe(claim) for claim in usage.claims)
        yield style("warn", f"only the manifests state {facts}: not relied on here; state it in a --connections file")


def _replay_lines(replay: ReplayResult, style: Style, shown: int) -> Iterator[str]:
    yield (
        f"under the change, different accesses: {replay.fails:,} would fail, {replay.succeeds:,} would newly succeed, "
        f"{replay.unclear:,} undecided, {replay.same:,} stay as they are"
    )
    for count, rows, role, words in (
        (replay.fails, replay.failing, "remove", "would fail"),
        (replay.succeeds, replay.newly, "add", "would newly succeed"),
        (replay.unclear, replay.undecided, "warn", "undecided"),
    ):
        yield from (style(role, f"  {words}: {safe(_replayed(row))}") for row in rows[:shown])
        yield from _more(count, shown, style)


def _replayed(row: ReplayedAccess) -> str:
    decided = "" if row.binding is None else f" ({_decided_by(row, row.binding)})"
    return f"{row.tally.times:,}× {_request(row.request)}{f' for {row.api}' if row.api else ''}{decided}"


def _decided_by(row: ReplayedAccess, binding: AclBinding) -> str:
    denies = binding.entry.permission_type.name == "DENY"
    return f"{'refused' if denies else 'permitted so far' if row.before else 'permitted'} by {binding_name(binding)}"


def _request(request: AccessRequest) -> str:
    principal, name = as_name(request.principal), as_name(request.resource_name)
    return str(request._replace(principal=principal, resource_name=name))


def _more(count: int, shown: int, style: Style) -> Iterable[str]:
    return [style("dim", f"  … and {count - shown:,} more")] if count > shown else []


# What logs show of a fleet, for programs.


def usage_document(usage: ClusterUsage) -> dict[str, Any]:
    """One cluster."""
    if usage.failure:
        return {"cluster": usage.cluster, "failure": usage.failure}
    period = usage.period
    return {
        "cluster": usage.cluster,
        "failure": None,
        "cannotSay": usage.cannot_say or None,
        "covered": {
            "first": str(period.first) if period.first else None,
            "last": str(period.last) if period.last else None,
            "days": period.days,
            "daysWithoutPermitted": period.silent,
            "firstDaysWithoutPermitted": list(map(str, period.silent_days(_SILENT))),
        },
        "decisions": {"permitted": usage.allowed, "refused": usage.denied, "lookedUp": usage.asked_only},
        "reading": reading_document(usage.summary),
        "bindings": {standing.value: number for standing, number in usage.uses.items()},
        "unused": [{**BINDING.write(binding), "origin": origin or None} for binding, origin in usage.unused],
        "gone": [{**BINDING.write(binding), "times": times} for binding, times in usage.gone],
        "opaque": usage.opaque,
        "refused": [_denial(denial) for denial in usage.denials],
        "refusedNotKept": usage.dropped_denials,
        "otherwise": {"count": usage.unexpected_count, "most": [_unexpected(odd) for odd in usage.unexpected]},
        "undeclaredSuperUsers": list(usage.undeclared_super_users),
        "claimedFacts": list(usage.claims),
        "replay": None if usage.replay is None else _replay(usage.replay),
    }


def reading_document(summary: Summary) -> dict[str, Any]:
    """How reading went."""
    return {
        "files": summary.files,
        "lines": summary.lines,
        "otherLines": summary.other,
        "linesOutsideWindow": summary.outside,
        "decisionsOfOtherClusters": summary.foreign,
        "unread": {
            reason.name: {"lines": lost.lines, "reason": reason.value, "examples": list(lost.examples)}
            for reason, lost in summary.lost
        },
        "notReadToTheEnd": list(summary.broken),
    }


def _denial(denial: Denial) -> dict[str, Any]:
    principal, operation, kind, name = denial.refused
    return {
        "principal": principal,
        "operation": operation.name,
        "resourceType": kind.name,
        "resourceName": name,
        "hosts": list(denial.hosts),
        **_tally(denial.tally),
        "grants": [BINDING.write(grant) for grant in denial.grants],
        "remark": denial.remark or None,
    }


def _unexpected(odd: UnexpectedDecision) -> dict[str, Any]:
    return {**request_document(odd.event.request), "permittedByLog": odd.event.allowed, **_tally(odd.tally)}


def _replay(replay: ReplayResult) -> dict[str, Any]:
    return {
        "counts": {
            "fail": replay.fails,
            "newlySucceed": replay.succeeds,
            "undecided": replay.unclear,
            "same": replay.same,
        },
        "fail": [_replayed_json(row) for row in replay.failing],
        "newlySucceed": [_replayed_json(row) for row in replay.newly],
        "undecided": [_replayed_json(row) for row in replay.undecided],
    }


def _replayed_json(row: ReplayedAccess) -> dict[str, Any]:
    return {
        **request_document(row.request),
        "api": row.api or None,
        **_tally(row.tally),
        "before": row.before,
        "after": row.after,
        "binding": None if row.binding is None else BINDING.write(row.binding),
    }


def _tally(tally: EventCount) -> dict[str, Any]:
    return {"times": tally.times, "first": tally.first or None, "last": tally.last or None}


_DAYS: Final = 31


def narrowed_entry(narrowing: Narrowing, places: Mapping[AclBinding, Declaration]) -> tightened.NarrowedEntry:
    """One narrowing for programs."""
    return tightened.NarrowedEntry(
        narrowing.bindings,
        narrowing.into,
        narrowing.names,
        narrowing.times,
        narrowing.days.number,
        str(narrowing.days.first) if narrowing.days.first else None,
        str(narrowing.days.last) if narrowing.days.last else None,
        _place(narrowing.first, places),
    )


def held_entry(held: Held, places: Mapping[AclBinding, Declaration]) -> tightened.HeldEntry:
    """One right that stays for programs."""
    return tightened.HeldEntry(held.binding, held.reason.value, held.detail, _place(held.binding, places))


def stage_entry(stage: Stage, shadow: Shadow, *, due: bool) -> tightened.StageEntry:
    """How a stage stands for programs."""
    refusals = tuple(
        tightened.RefusalEntry(
            refusal.event.request.principal,
            refusal.event.request.host,
            refusal.event.request.operation.name,
            refusal.event.request.resource_type.name,
            refusal.event.request.resource_name,
            refusal.tally.times,
            tuple(str(day) for day in refusal.days.each()),
        )
        for refusal in shadow.refusals
    )
    return tightened.StageEntry(
        str(stage.since),
        str(stage.not_before),
        due,
        len(stage.narrowings),
        len(shadow.refusing),
        len(shadow.gone),
        shadow.refused,
        refusals,
    )


def period_words(period: Period) -> dict[str, Any]:
    """The days of the logs, as fields of the output."""
    return {
        "first": str(period.first) if period.first else None,
        "last": str(period.last) if period.last else None,
        "days": period.days,
        "days_with_permitted": period.heard.number,
    }


def tighten_lines(tightening: tightened.TightenOutput, style: Style = plain, *, shown: int = 20) -> Iterator[str]:
    """The whole answer."""
    yield style("title", f"Cluster {safe(tightening.cluster)}, {tightening.basis}")
    when = f", {tightening.first} to {tightening.last}" if tightening.first and tightening.last else ""
    quiet = tightening.days - tightening.days_with_permitted
    silent = f", {counted(quiet, 'day')} without any" if quiet else ""
    yield f"{tightening.permitted:,} permitted{when}{silent}"
    if tightening.stage is not None:
        yield from _stage_lines(tightening.stage, style, shown)
    for text in tightening.thin:
        yield style("warn", f"too thin: {safe(text)}")
    if tightening.thin:
        yield "Nothing is proposed on such evidence."
        return
    for entry in tightening.narrowed[:shown]:
        yield from _narrowed_lines(entry, style)
    yield from _more(len(tightening.narrowed), shown, style)
    yield from _held_lines(tightening, style, shown)
    if tightening.narrowed:
        gone = sum(not entry.into for entry in tightening.narrowed)
        yield f"{gone:,} unused, {len(tightening.narrowed) - gone:,} narrowed"
        yield (
            f"proven: nobody gains anything, and {tightening.decided_again:,} distinct accesses that were seen "
            "are decided as before; access tests and Ownership hold"
        )


def fleet_tighten_lines(
    tightening: tightened.FleetTightenOutput, style: Style = plain, *, shown: int = 5
) -> Iterator[str]:
    """The answer for the first clusters, those with too thin evidence before the others, and the sum."""
    clusters = sorted(tightening.clusters, key=lambda item: not item.thin)
    for cluster in clusters[:shown]:
        yield from tighten_lines(cluster, style, shown=shown)
    if len(clusters) > shown:
        more = counted(len(clusters) - shown, "more cluster")
        yield style("dim", f"… and {more}: --limit N shows more, --output json all")
    thin = sum(bool(cluster.thin) for cluster in tightening.clusters)
    narrowed = sum(bool(cluster.narrowed) for cluster in tightening.clusters)
    sums = f"{narrowed:,} with narrower rights, {thin:,} with too thin evidence, {len(tightening.failed):,} unknown"
    yield style("title", f"{counted(len(tightening.clusters), 'cluster')}: {sums}")


def _narrowed_lines(entry: tightened.NarrowedEntry, style: Style) -> Iterator[str]:
    place = style("dim", f"  {safe(str(entry.place))}") if entry.place else ""
    for number, binding in enumerate(entry.bindings):
        yield style("remove", f"  - {safe(binding_name(binding))}") + (place if not number else "")
    yield from (style("add", f"  + {safe(binding_name(binding))}") for binding in entry.into)
    yield style("dim", f"      {safe(tightened.seen_words(entry)) if entry.into else 'not used'}")


def _held_lines(tightening: tightened.TightenOutput, style: Style, shown: int) -> Iterator[str]:
    if not tightening.held:
        return
    yield f"not used in full, and skipped: {len(tightening.held):,}"
    for reason, number in sorted(Counter(held.reason for held in tightening.held).items(), key=lambda item: -item[1]):
        yield f"  {number:,}  {reason}"
        held = [item for item in tightening.held if item.reason == reason]
        for item in held[: max(1, shown // 4) if shown else 0]:
            detail = f" ({safe(as_name(item.detail))})" if item.detail else ""
            yield style("dim", f"      {safe(binding_name(item.binding))}{detail}")
        yield from _more(number, max(1, shown // 4) if shown else 0, style)


def _stage_lines(stage: tightened.StageEntry, style: Style, shown: int) -> Iterator[str]:
    role = "warn" if stage.refused else "add"
    yield style(role, f"would have refused {stage.refused:,} decisions since {stage.since}")
    by_day = Counter(day for refusal in stage.refusals for day in refusal.days)
    for day, number in sorted(by_day.items())[-_DAYS:]:
        yield f"  {day}  {counted(number, 'refused request')}"
    for refusal in stage.refusals[:shown]:
        yield style("remove", f"  {refusal.times:,}× {safe(tightened.refusal_words(refusal))}")
        yield style("dim", f"      on {tightened.days_words(refusal.days)}")
    yield from _more(len(stage.refusals), shown, style)
    if stage.gone:
        yield f"{stage.gone:,} of {stage.narrowings:,} narrowings are about rights that are no longer declared"
    if stage.refusing:
        yield f"{stage.refusing:,} of {stage.narrowings:,} narrowings would have refused something: not proposed"
    if not stage.due:
        yield f"Nothing is proposed before {stage.not_before}."


def _place(binding: AclBinding, places: Mapping[AclBinding, Declaration]) -> Origin | None:
    declaration = places.get(binding)
    return None if declaration is None else declaration.origin
