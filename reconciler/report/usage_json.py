"""What logs show of a fleet, for programs."""

from typing import Any

from reconciler.codec.values import BINDING
from reconciler.fleet.usage import (
    ClusterUsage,
    Denial,
    EventCount,
    ReplayedAccess,
    ReplayResult,
    Summary,
    UnexpectedDecision,
)
from reconciler.report.words import request_document


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
        "fail": [_replayed(row) for row in replay.failing],
        "newlySucceed": [_replayed(row) for row in replay.newly],
        "undecided": [_replayed(row) for row in replay.undecided],
    }


def _replayed(row: ReplayedAccess) -> dict[str, Any]:
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
