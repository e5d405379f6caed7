"""The bridges of one run: created before its first step, watched while they exist, removed after its last ACL.

A bridge is created in one request with its marker, marker first, and removed before it: at no moment is there a bridge
that another host cannot recognise. Bridges that an earlier run left are taken over if this plan touches their names.
"""

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import Final

from reconciler.apply.environment import DefaultAllow, UnprovenError
from reconciler.apply.kinds.acl import MAX_BINDINGS, delete_batch
from reconciler.apply.preflight import Preflight, UndeclaredDefaultError
from reconciler.apply.run import PERIOD, PollingClock, Run, StoppedError, await_visible, create, remove
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding, AclPermissionType, ResourcePattern
from reconciler.model.markers import marker_of, standing_bridges
from reconciler.model.scope import is_reserved
from reconciler.model.state import ClusterState
from reconciler.plan.bridges import stages
from reconciler.plan.kinds.acl import created_bindings, deleted_bindings
from reconciler.plan.leftovers import bridges_taken_over
from reconciler.plan.overlap import NO_PATTERNS, pattern_indexes
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import bindings_after
from reconciler.plan.step import Bridge, Bridges, Means, Step
from reconciler.ports import ClusterError, ReadRequest

# When a bridge may be removed: only if nobody is refused then whom both the state before and the state after permit.
#
# A bridge is needed where one of the two states has no binding at all, and so permits everything. What both permit is
# then what the other state permits. That is permitted now if all ALLOWs of that state on these names exist and no
# other DENY does, or if no binding covers the names at all.


class NearbyBindings:
    """Bindings, asked for those that share a name with a pattern. Those on reserved names are left out.

    Sentinels come and go during a run, and a pattern on every name shares names with them. No client asks for those.
    """

    def __init__(self, bindings: Iterable[AclBinding]) -> None:
        """Index them by pattern."""
        self._by_pattern: dict[ResourcePattern, list[AclBinding]] = {}
        for binding in bindings:
            if not is_reserved(binding.pattern.name):
                self._by_pattern.setdefault(binding.pattern, []).append(binding)
        self._indexes = pattern_indexes(self._by_pattern)

    def to(self, pattern: ResourcePattern) -> set[AclBinding]:
        """The bindings whose pattern shares a name with ``pattern``."""
        index = self._indexes.get(pattern.resource_type, NO_PATTERNS)
        return {binding for other in index.overlapping(pattern) for binding in self._by_pattern[other]}


def interrupts_nobody(
    pattern: ResourcePattern, before: NearbyBindings, now: NearbyBindings, after: NearbyBindings
) -> bool:
    """Whether the bridge on ``pattern`` may be removed; none of the three contains bridges."""
    there = now.to(pattern)
    if not there:
        return True
    first, last = before.to(pattern), after.to(pattern)
    # Covered by both: the bridge of an earlier run, which this plan's end replaces.
    other = last or first
    return bool(other) and _allows(other) <= there and _denies(there) <= _denies(first) | _denies(last)


def _allows(bindings: Iterable[AclBinding]) -> set[AclBinding]:
    return {binding for binding in bindings if binding.entry.permission_type is AclPermissionType.ALLOW}


def _denies(bindings: Iterable[AclBinding]) -> set[AclBinding]:
    return set(bindings) - _allows(bindings)


_ACLS: Final = ReadRequest(all_topics=False)
_NOT_SEEN: Final = "default-allow was not observed on every broker, so there was no bridge"


@dataclass(slots=True)
class BridgeLifecycle:
    """What a run keeps open. ``live`` maps each bridge to its markers; ``alarm`` says why one had to go."""

    run: Run
    planned: Bridges = field(default_factory=Bridges)
    live: dict[AclBinding, set[AclBinding]] = field(default_factory=dict)
    moved: frozenset[AclBinding] = frozenset()
    built: bool = False
    alarm: str = ""
    _polled: float = 0.0
    _polling: bool = False
    _expected: frozenset[AclBinding] = frozenset()

    def take_over(self, live: ClusterState) -> None:
        """Take responsibility for the bridges of earlier runs on names that the plan touches; ``live`` has them.

        Where default-allow is not declared on, there are no bridges: the plan has what looks like one as a grant.
        """
        if self.run.default_allow is not True:
            return
        for bridge, marks in bridges_taken_over(live, [step.change for step in self.run.plan.steps]).items():
            self.live.setdefault(bridge, set()).update(marks)
        if self.live:
            self._record("taken over", self.live)
            self._start_polling()

    def build(self) -> None:
        """Create the planned bridges, before any step; raises ``StoppedError`` if one cannot be created."""
        planned = self.planned
        self.moved = frozenset(bridge.binding for bridge in planned.wanted if bridge.means is not Means.BRIDGE)
        new = [bridge for bridge in planned.wanted if bridge.means is Means.BRIDGE]
        self.built = True
        if not planned.wanted:
            return
        self._start_polling()
        # Half of a request: each bridge is sent with its marker.
        most = min(MAX_BINDINGS, self.run.environment.max_batch or MAX_BINDINGS) // 2 or 1
        for start in range(0, len(new), most):
            self._create(new[start : start + most])
        if new:
            self.run.environment.progress.note(
                f"{len(new):,} bridges exist until the ACLs of the plan are in force{self._seen()}"
            )

    def _seen(self) -> str:
        """What others see of a long run: a marker may be forged, so only a lease proves for longer that it goes on."""
        if self.run.environment.lease_request is not None:
            return ""
        return "; without --lease, drift and plans of others report them once this run is ten minutes old"

    def stages(self) -> list[tuple[Phase, list[Step]]]:
        """The plan's steps by phase; a step whose binding serves as a bridge is performed first, or last."""
        return stages(self.run.plan.steps, self.moved if self.live or self.moved else None)

    def poll(self) -> None:
        """At most once a second: read again, and remove each bridge on whose names somebody else added a binding."""
        clock = self.run.environment.clock
        if self._polling or not self.live or clock.monotonic() - self._polled < PERIOD:
            return
        self._polled = clock.monotonic()
        self._polling = True
        try:
            self._remove_disturbed(self.run.environment.cluster.read(_ACLS))
        except ClusterError:
            pass  # before the next phase it has to be read, or the run stops
        except Exception as error:  # a wait at the end of a run polls too, and must not be cut off
            self.alarm = self.alarm or f"bridges could not be watched: {self.run.reason(error)}"
        finally:
            self._polling = False

    def _remove_disturbed(self, live: ClusterState) -> None:
        foreign = self._foreign(live)
        for bridge, other in foreign.items():
            self.alarm = f"somebody else changed what a bridge keeps open: {other} appeared"
            self.run.environment.progress.note(f"{self.alarm}; the bridge on {bridge.pattern} is removed at once")
        self._remove(list(foreign), self.alarm)

    def check(self) -> None:
        """Poll, if it is time; raises ``StoppedError`` if a bridge had to be removed."""
        self.poll()
        if self.alarm:
            raise StoppedError(self.alarm)

    def close(self) -> None:
        """Remove each bridge whose removal interrupts nobody; :meth:`end` tries again with those that stay."""
        self._close()

    def end(self) -> tuple[str, ...]:
        """Remove each bridge whose removal interrupts nobody; a sentence for each one that stays."""
        return tuple(text for bridges, why in self._close() for text in self._still_there(bridges, why))

    def _close(self) -> tuple[tuple[Sequence[AclBinding], str], ...]:
        """Remove what can be removed; what stays, and why."""
        if not self.live:
            return ()
        try:
            # A listing without our own last writes would call a bridge free whose successor is still on its way.
            live, _ = await_visible(self.run)
            self._remove_disturbed(live)
            self._forget_unmarked()
        except Exception as error:
            return ((tuple(self.live), f"the cluster could not be read: {self.run.reason(error)}"),)
        start, after = self._start(), bindings_after(self.run.start.bindings, self.run.plan.steps)
        sides = NearbyBindings(start), NearbyBindings(live.bindings), NearbyBindings(after)
        # What the plan itself wants stays as the declared binding that it is; it ceases to be a bridge.
        free = [bridge for bridge in self.live if bridge in after or interrupts_nobody(bridge.pattern, *sides)]
        stay = [bridge for bridge in self.live if bridge not in free]
        self._remove(free, "the ACLs of the plan are in force" if not stay else "it protects nobody", but=after)
        stuck = [bridge for bridge in free if bridge in self.live]
        return (
            (stay, "without it principals that both states permit would be refused"),
            (stuck, "it could not be removed"),
        )

    def _forget_unmarked(self) -> None:
        """A binding whose markers somebody removed is theirs now."""
        live = self.run.environment.cluster.read(_ACLS).bindings
        for bridge in (live & self.live.keys()) - standing_bridges(live):
            del self.live[bridge]

    def interruptions(self) -> tuple[str, ...]:
        """Who may have been refused for a moment although both states permit them, one sentence a pattern."""
        interrupted = [(item.pattern, item.principals, item.reason) for item in self.planned.unbridged]
        if not self.built:
            interrupted += ((item.pattern, item.principals, _NOT_SEEN) for item in self.planned.wanted)
        return tuple(
            f"{pattern}: {', '.join(principals)} may have been refused for a moment: {reason}"
            for pattern, principals, reason in sorted(interrupted)
            if principals
        )

    def _start_polling(self) -> None:
        run = self.run
        if not isinstance(run.environment.clock, PollingClock):
            run.environment = replace(run.environment, clock=PollingClock(run.environment.clock, self.poll))
            self._polled = run.environment.clock.monotonic()
        self._expected = run.start.bindings | bindings_after(run.start.bindings, run.plan.steps) | self._start()

    def _start(self) -> frozenset[AclBinding]:
        """The bindings before any step was performed, by this run or by one that it resumes."""
        changes = [step.change for step in self.run.plan.steps]
        created = set(created_bindings(changes))
        deleted = set(deleted_bindings(changes))
        return (self.run.start.bindings - created) | deleted

    def _create(self, new: Sequence[Bridge]) -> None:
        pairs: list[AclBinding] = []
        for bridge in new:
            marker = marker_of(self.run.environment.identity.run, bridge.pattern)
            self.live.setdefault(bridge.binding, set()).add(marker)
            pairs += (marker, bridge.binding)
        self.run.lease_guard.renew()  # a bridge that arrives after the lease opens a resource to everyone
        self._record("create", (bridge.binding for bridge in new))
        create(self.run, pairs, "bridges")
        self._record("created", (bridge.binding for bridge in new))

    def _foreign(self, live: ClusterState) -> dict[AclBinding, AclBinding]:
        """Bridges on whose names there is a binding that is neither ours nor was there before."""
        bridges = standing_bridges(live.bindings) | self.live.keys()
        unknown = (live.bindings - self._expected) - bridges
        near = NearbyBindings(unknown)
        nearby = {bridge: near.to(bridge.pattern) for bridge in self.live}
        return {bridge: min(others) for bridge, others in nearby.items() if others}

    def _remove(self, bridges: Sequence[AclBinding], why: str, but: frozenset[AclBinding] = frozenset()) -> None:
        """Delete bridges, then the markers of those that are gone; bindings that the plan wants (``but``) stay."""
        if not bridges:
            return
        most = delete_batch(len(self.run.start.bindings))
        self._record("remove", bridges, why)
        # Deleting sleeps, and sleeping polls: without this a removal would begin inside itself.
        busy, self._polling = self._polling, True
        for start in range(0, len(bridges), most):
            chunk = list(bridges[start : start + most])
            remaining = set(remove(self.run, [bridge for bridge in chunk if bridge not in but]))
            gone = [bridge for bridge in chunk if bridge not in remaining]
            marks = {mark: bridge for bridge in gone for mark in self.live[bridge]}
            marked = {marks[mark] for mark in remove(self.run, sorted(marks))}
            for bridge in set(gone) - marked:
                del self.live[bridge]
        self._polling = busy
        self._record("removed", (bridge for bridge in bridges if bridge not in self.live))

    def _still_there(self, bridges: Iterable[AclBinding], why: str) -> tuple[str, ...]:
        ordered = sorted(bridges)
        self._record("left", ordered, why)
        cluster = self.run.plan.terms.cluster
        return tuple(
            f"the bridge on {bridge.pattern} is still there ({why}): apply this plan again, or remove it with "
            f"“reconciler cleanup --cluster {cluster}”"
            for bridge in ordered
        )

    def _record(self, action: str, bridges: Iterable[AclBinding], why: str = "") -> None:
        """Write a record. If that fails the run stops, but a bridge is removed in any case."""
        ordered = sorted(bridges)
        try:
            if ordered:
                self.run.bridged(action, ordered, why)
        except Exception as error:
            if action == "create":
                raise
            self.run.stop(error)


# What was declared about ``allow.everyone.if.no.acl.found``, held against what a barrier saw of it.


def compare(observed: DefaultAllow, preflight: Preflight, cluster: str, *, declared: bool | None) -> None:
    """Raise :class:`UnprovenError` for a contradiction, ``UndeclaredDefaultError`` where the plan needs to know."""
    if declared is not None and observed is not DefaultAllow.UNSEEN and (observed is DefaultAllow.ON) is not declared:
        raise UnprovenError(
            f"brokers have allow.everyone.if.no.acl.found={observed}, and the declaration says otherwise",
            f"write into the operator's connections file: allowEveryoneIfNoAclFound: {observed}, and plan again",
        )
    if declared is None and preflight.undeclared and observed is not DefaultAllow.OFF:
        seen = None if observed is DefaultAllow.UNSEEN else str(observed)
        raise UndeclaredDefaultError(cluster, preflight.undeclared, seen)
