"""What logs show of a fleet, as text: a section for each cluster, the gaps before the findings."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from reconciler.access.authorizer import AccessRequest
from reconciler.codec.values import BINDING
from reconciler.model.acl import AclBinding
from reconciler.model.characters import Style, as_name, binding_name, counted, plain, safe
from reconciler.parts.evidence.usage.cluster import (
    BindingUse,
    ClusterUsage,
    ReplayedAccess,
    ReplayResult,
    UnexpectedDecision,
)
from reconciler.parts.evidence.usage.counts import EventCount
from reconciler.parts.evidence.usage.denials import Denial
from reconciler.parts.evidence.usage.scan import Summary
from reconciler.results.words import request_document

_STANDINGS: Final = {
    BindingUse.ALONE: "needed for an access that was seen",
    BindingUse.DECIDED: "named by the logs",
    BindingUse.ALSO: "redundant: others permit or refuse the same",
    BindingUse.UNUSED: "unused in these logs",
    BindingUse.CANNOT_SAY: "undecided",
}
_HOSTS: Final = 3


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
    said = sum(usage.uses.get(BindingUse.UNUSED, 0) for usage in usages)
    bindings = f"{counted(said, 'binding')} unused in these logs"
    yield f"{counted(len(usages), 'cluster')}: {bindings}; {counted(len(unknown), 'cluster')} undecided"


def _cluster_lines(usage: ClusterUsage, style: Style, shown: int) -> Iterator[str]:
    if usage.failure:
        yield style("error", f"not known: {safe(usage.failure)}")
        return
    yield _overview(usage)
    yield from _reading_lines(usage.summary, style, "they may show a use of a binding that is listed here")
    if usage.cannot_say:
        yield style("warn", f"cannot decide which bindings are unused: {usage.cannot_say}")
    elif usage.coverage.silent:
        days = ", ".join(usage.coverage.silent_days)
        more = " …" if usage.coverage.silent > len(usage.coverage.silent_days) else ""
        yield style("warn", f"no permitted access on {counted(usage.coverage.silent, 'day')}: {days}{more}")
    yield from _binding_lines(usage, style, shown)
    yield from _denial_lines(usage, style, shown)
    yield from _odd_lines(usage, style, shown)
    if usage.replay is not None:
        yield from _replay_lines(usage.replay, style, shown)


def _overview(usage: ClusterUsage) -> str:
    summary, covered = usage.summary, usage.coverage
    when = f", {covered.first} to {covered.last}" if covered.first else ""
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
    covered = usage.coverage
    return {
        "cluster": usage.cluster,
        "failure": None,
        "cannotSay": usage.cannot_say or None,
        "covered": {
            "first": covered.first or None,
            "last": covered.last or None,
            "days": covered.days,
            "daysWithoutPermitted": covered.silent,
            "firstDaysWithoutPermitted": list(covered.silent_days),
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
