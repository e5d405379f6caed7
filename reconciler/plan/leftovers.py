"""What a plan finds of this tool on a cluster and does not remove: leftovers of runs, break-glass access, locks.

Leftover bridges are no steps. Their removal may interrupt somebody, so it belongs to the plan that put them there, or
to a person who says so; until then they are named in every plan and make every drift report differ.

A lock is no step either: only ``unlock`` ends it. The guard of that name stops whatever else would.
"""

import datetime
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from reconciler.model.acl import AclBinding
from reconciler.model.characters import as_name, counted, pattern_name, safe
from reconciler.model.desired import moment_text
from reconciler.model.listing import Change
from reconciler.model.locks import Lock, denials_of_locks, is_lock_denial, unmarked_locks
from reconciler.model.markers import BreakGlass, given_break_glass, is_harmless, markers, standing_bridges
from reconciler.model.scope import on_reserved_names
from reconciler.model.state import ClusterState
from reconciler.plan.difference import Skipped, SkipReason
from reconciler.plan.guards import StepCharge
from reconciler.plan.kinds.acl import deleted_bindings, is_acl_change, touched_bindings
from reconciler.plan.overlap import NO_PATTERNS, pattern_indexes
from reconciler.plan.proposal import Plan
from reconciler.plan.refusal import Guard, Refusal, refusal
from reconciler.plan.review.access_change import EVERYBODY_ELSE, operations_words
from reconciler.plan.review.access_review import AccessReview
from reconciler.plan.review.callouts import Callout
from reconciler.plan.step import Step

#: The rule of :func:`bridge_callouts`.
LEFT_OPEN: Final = "left-open"
#: The rule of :func:`lock_callouts`.
LOCKED: Final = "locked"
_BRIDGE: Final = (
    "a bridge without a run, by which everybody may do everything there that no DENY refuses: apply the plan of that "
    "run again, or “reconciler cleanup” removes it"
)
_OWN: Final = "left by a run that is over: “reconciler cleanup” removes it"
#: So many gains of a locked principal are named.
_NAMED: Final = 3
_FOREIGN: Final = "no run of this tool writes this on a name reserved for it, so somebody else did: find out who"


def leftover_bridges(live: ClusterState, default_allow: bool | None) -> tuple[AclBinding, ...]:
    """The bridges in ``live``, sorted; what a marker calls a bridge is one only where default-allow is declared on."""
    return tuple(sorted(standing_bridges(live.bindings))) if default_allow is True else ()


def bridges_taken_over(live: ClusterState, changes: Iterable[Change]) -> dict[AclBinding, set[AclBinding]]:
    """The bridges that performing ``changes`` ends, because it touches their names, each with its markers."""
    touched = pattern_indexes(binding.pattern for binding in touched_bindings(changes))
    there = standing_bridges(live.bindings)
    taken_over: dict[AclBinding, set[AclBinding]] = {}
    for mark, marker in markers(live.bindings).items():
        index = touched.get(marker.bridge.pattern.resource_type, NO_PATTERNS)
        if marker.bridge in there and any(True for _ in index.overlapping(marker.bridge.pattern)):
            taken_over.setdefault(marker.bridge, set()).add(mark)
    return taken_over


def leftovers_skipped(
    live: ClusterState, default_allow: bool | None, going_on: Collection[AclBinding]
) -> Iterator[Skipped]:
    """Each bridge, then each binding on a reserved name that is not of a run that is ``going_on``."""
    runs = {marker.bridge: marker.run for marker in markers(live.bindings).values()}
    for bridge in leftover_bridges(live, default_allow):
        yield Skipped(SkipReason.LEFTOVER, f"{bridge} (run {runs[bridge]})", _BRIDGE)
    for binding in sorted(on_reserved_names(live.bindings)):
        if binding not in going_on:
            yield Skipped(SkipReason.LEFTOVER, str(binding), _OWN if is_harmless(binding) else _FOREIGN)


def not_yet(change: Change, emergency: Mapping[AclBinding, BreakGlass]) -> str | None:
    """Why access that an operator gave at once stays until its end; the plan and its reviewers see it."""
    if not is_acl_change(change) or change.before is None or (access := emergency.get(change.before)) is None:
        return None
    return f"{access.words}: “reconciler serve --act” ends it then, and a plan after that deletes it"


def break_glass_reviews(live: ClusterState, declared: Collection[AclBinding], as_of: datetime.date) -> Iterator[str]:
    """How often each principal was given break-glass access that no manifest declares, a sentence each.

    It stands in every plan until the access is declared, or its marks are gone.
    """
    for name, marks in given_break_glass(live.bindings, as_of).items():
        given = [item for item in marks if item.binding not in declared]
        if not given:
            continue
        times = counted(len({item.since or item.end for item in given}), "time")
        begins = [item.since for item in given if item.since is not None]
        since = f" since {moment_text(min(begins))}" if begins else ""
        names = sorted({as_name(name) for item in given for name in item.overrode})
        over = f" over {', '.join(names)}" if names else ""
        if any(item.binding in live.bindings for item in given):
            end = f"still has it: close it with “reconciler break-glass revoke {name}”, or merge its grant"
        else:
            end = "it has ended: merge the grant if it is needed again; “reconciler cleanup” closes this a day after"
        yield safe(f"{as_name(name)} used break-glass access {times}{since}{over}, and {end}")


def bridge_callouts(live: ClusterState, default_allow: bool | None) -> tuple[Callout, ...]:
    """That a bridge leaves a resource open to everybody, one for each."""
    return tuple(
        Callout(
            LEFT_OPEN,
            EVERYBODY_ELSE,
            f"everybody may do everything on {pattern_name(bridge.pattern)}: a leftover bridge",
        )
        for bridge in leftover_bridges(live, default_allow)
    )


def lock_lines(held: Mapping[str, Lock], unlocking: str | None) -> Iterator[str]:
    """That a principal is locked, a sentence each: whoever reads a plan or a drift report has to know."""
    for name, lock in held.items():
        if name == unlocking:
            continue
        denied = "everything" if lock.whole else "a part of everything"
        end = "" if lock.until is None else f"; its end was named as {moment_text(lock.until)}"
        yield (
            f"{as_name(name)} is locked, denied {denied} {lock.marks[-1].words}{end}: no plan ends it, only "
            "“reconciler unlock” does"
        )


def unheld(locked: Collection[str], held: Mapping[str, Lock]) -> Iterator[str]:
    """That the operator's file locks somebody whom the cluster does not: the ACLs that are there still count."""
    for name in locked:
        if name not in held or not held[name].whole:
            missing = "the cluster has no whole lock of it"
            yield f"the operator's file locks {as_name(name)}, and {missing}: “reconciler lock {name}”"


def partial_locks(held: Mapping[str, Lock]) -> Iterator[Skipped]:
    """Each lock that denies only a part: somebody deleted DENYs of it, or an unlock was cut off."""
    for name, lock in held.items():
        if not lock.whole:
            gone = ", ".join(str(item.pattern.resource_type.name) for item in lock.missing)
            detail = (
                f"the lock is only partly there, its DENYs are missing on {gone}: “reconciler lock” completes it, "
                "“reconciler unlock” ends it"
            )
            yield Skipped(SkipReason.LEFTOVER, f"lock of {name}", detail)


def lock_callouts(held: Mapping[str, Lock], reviewed: AccessReview, unlocking: str | None) -> Iterator[Callout]:
    """That access given to a locked principal is without effect until its unlock, with what it gains then."""
    for name in held:
        rows = [row for row in reviewed.access_changes if row.principal == name and row.gained]
        if name == unlocking or not rows:
            continue
        gains = dict.fromkeys(
            f"{operations_words(row.gained, row.resources.resource_type)} on {row.resources}" for row in rows[:_NAMED]
        )
        more = f" and {len(rows) - _NAMED:,} more" if len(rows) > _NAMED else ""
        text = f"{as_name(name)} is locked: without effect until unlock; then it gains {'; '.join(gains)}{more}"
        yield Callout(LOCKED, name, text)


def lock_charges(steps: Collection[Step], live: ClusterState, unlocking: str | None) -> Iterator[StepCharge]:
    """That steps delete DENYs which are a lock but for its mark: who deletes a mark must not have a merge unlock."""
    gone = {
        step.change: binding for step in steps for binding in deleted_bindings([step.change]) if is_lock_denial(binding)
    }
    names = {item.entry.principal for item in gone.values()} - {unlocking}
    for name in unmarked_locks(live.bindings) if names else ():
        if name not in names:
            continue
        changes = tuple(change for change, item in gone.items() if item.entry.principal == name)
        message = (
            f"{as_name(name)} is denied everything, as by a lock, and no mark says so: somebody may have deleted it. "
            "“reconciler lock” marks it again"
        )
        yield StepCharge(refusal(Guard.UNLOCK, name, message), changes)


def deletes_of_locks(plan: Plan, live: ClusterState) -> tuple[Refusal, ...]:
    """A refusal for each locked principal of which the plan deletes a DENY. No word but ``unlock`` lifts it."""
    held = denials_of_locks(live.bindings, plan.options.unlock)
    names = {
        binding.entry.principal for binding in deleted_bindings(step.change for step in plan.steps) if binding in held
    }
    return tuple(
        Refusal(
            Guard.UNLOCK,
            name,
            f"deletes DENYs of {as_name(name)}, which is locked by now",
            f"plan again; to end the lock: reconciler unlock {name}",
            Guard.UNLOCK.judges,
        )
        for name in sorted(names)
    )
