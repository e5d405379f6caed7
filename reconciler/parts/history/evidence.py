"""Where it is known from that a fact held: readings of a cluster, and the steps of audited runs.

ACLs have the instants of the runs that changed them. Of a topic or a resource of a listed kind, runs change single
values, so their states come from readings alone, and a run within the same time is named as the perhaps cause.
"""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, NamedTuple

from reconciler.apply.audit import AuditedStep, BreakGlassRecord, CleanupRecord, LockAction, LockRecord, Sight
from reconciler.apply.environment import Outcome
from reconciler.apply.records import About, BridgesRecord, EndRecord, RunRecord
from reconciler.codec.document import compact
from reconciler.codec.kinds import KINDS
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding
from reconciler.model.desired import instant_of, read_moment
from reconciler.model.frozen import FrozenMap
from reconciler.model.listing import Change, Listing
from reconciler.model.locks import lock_denials
from reconciler.model.markers import without_harmless
from reconciler.model.state import ClusterState, StatedFacts
from reconciler.model.topic import TOPIC_ATTRIBUTES, Topic
from reconciler.parts.fleet.tables import binding_of, row_of
from reconciler.parts.history.intervals import CLOCKS, Fact, FactSighting
from reconciler.plan.kinds import kind_of
from reconciler.plan.kinds.acl import touched_binding
from reconciler.plan.kinds.topic import touched_names
from reconciler.results.audit import LogLine

#: The kind of the facts that are ACL bindings.
ACLS: Final = "acls"
#: The kind of what somebody states of a cluster's access: a super user with who says so, and the setting below.
STATED: Final = "stated"
DEFAULT_ALLOW: Final = "allowEveryoneIfNoAclFound"


def seconds(time: str) -> int:
    """A time as records write it, in seconds of the epoch."""
    return int(instant_of(read_moment(time)).timestamp())


class SeenState(NamedTuple):
    """What one reading saw from ``began`` through ``ended``: facts by kind, without those that it did not see whole."""

    began: int
    ended: int
    facts: Mapping[str, frozenset[Fact]]

    @property
    def lo(self) -> int:
        """The earliest time of it, by any clock."""
        return self.began - CLOCKS

    @property
    def hi(self) -> int:
        """The latest time of it, by any clock."""
        return self.ended + 1 + CLOCKS


def acl_fact(binding: AclBinding) -> Fact:
    """A binding as a fact."""
    return (ACLS, *row_of(binding))


def facts_of(state: ClusterState) -> Mapping[str, frozenset[Fact]]:
    """What a reading saw, by kind; a kind that it did not see whole is left out."""
    facts: dict[str, frozenset[Fact]] = {}
    if not state.acl_gap and not state.opaque:
        facts[ACLS] = frozenset(map(acl_fact, without_harmless(state).bindings))
    if not state.topic_gap and not state.unreadable_topics:
        facts[Topic.KIND] = frozenset((Topic.KIND, name, _topic(topic)) for name, topic in state.topics.items())
    for kind in KINDS:
        items = state.listings.get(kind.TYPE.KIND, Listing[Any]()).items
        if items is not None:
            name = kind.TYPE.KIND
            facts[name] = frozenset((name, compact(str(item.key)), compact(kind.CODEC.write(item))) for item in items)
    if state.stated is not None:
        facts[STATED] = frozenset(_stated(state.stated))
    return facts


def _stated(stated: StatedFacts) -> Iterator[Fact]:
    for principal in stated.super_users:
        yield STATED, principal, stated.super_users_by.value
    if stated.default_allow is not None:
        yield STATED, DEFAULT_ALLOW, f"{str(stated.default_allow).lower()} {stated.default_allow_by.value}"


def state_of(cluster_id: str, facts: Iterable[Fact], kinds: Iterable[str]) -> ClusterState:
    """The state that has these facts; kinds that are not in ``kinds`` were not seen."""
    by_kind: dict[str, list[Fact]] = {kind: [] for kind in kinds}
    for fact in facts:
        by_kind.setdefault(fact[0], []).append(fact)
    listings = {
        kind.TYPE.KIND: Listing(frozenset(kind.CODEC.read(json.loads(fact[2])) for fact in by_kind[kind.TYPE.KIND]))
        for kind in KINDS
        if kind.TYPE.KIND in by_kind
    }
    return ClusterState(
        cluster_id,
        frozenset(binding_of(fact[1:]) for fact in by_kind.get(ACLS, ())),
        {fact[1]: _as_topic(fact) for fact in by_kind.get(Topic.KIND, ())},
        acl_gap=None if ACLS in by_kind else "no reading saw all ACLs",
        topic_gap=None if Topic.KIND in by_kind else "no reading saw all topics",
        listings=FrozenMap(listings),
    )


def _topic(topic: Topic) -> str:
    return compact([*(getattr(topic, name) for name in TOPIC_ATTRIBUTES.values()), dict(topic.configs)])


def _as_topic(fact: Fact) -> Topic:
    *values, configs = json.loads(fact[2])
    return Topic(fact[1], configs=configs, **dict(zip(TOPIC_ATTRIBUTES.values(), values, strict=True)))


# What audited runs did.


@dataclass(slots=True)
class Deeds:
    """What audited runs saw and did: sightings of bindings, attempts by subject, and what is known of each run.

    ``attempts`` are by the kind and the key of what a step changed, where that is no binding. ``tickets`` are what the
    declaration said of why. ``foreign`` counts lines by the id of another cluster that they are about.
    """

    sightings: dict[Fact, list[FactSighting]] = field(default_factory=dict)
    attempts: dict[tuple[str, str], list[FactSighting]] = field(default_factory=dict)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    tickets: dict[tuple[str, Fact], str] = field(default_factory=dict)
    foreign: dict[str, int] = field(default_factory=dict)

    def see(self, binding: AclBinding, sighting: FactSighting) -> None:
        """Add a sighting of a binding."""
        self.sightings.setdefault(acl_fact(binding), []).append(sighting)


@dataclass(slots=True)
class _Times:
    """When a run began, and when its last two lines of different times were written."""

    began: int
    before: int
    last: int
    number: int = 0

    def next(self, time: int) -> None:
        """A line of this time."""
        if time != self.last:
            self.before, self.last = self.last, time
        self.number += 2

    def sighting(self, there: bool | None, *, as_left: bool, since_begin: bool = False) -> FactSighting:
        """What was seen, or left, before the line was written: after the one before, or at any time of the run."""
        lo = self.began if since_begin else self.before
        return FactSighting(lo - CLOCKS, self.last + 1 + CLOCKS, there, "", self.number + as_left, as_left)


class DeedReader:
    """Takes in lines of audit logs, each log from its first line on."""

    def __init__(self, cluster_id: str, times: Mapping[str, Sequence[int]] = FrozenMap({})) -> None:
        """``cluster_id`` is the cluster of which lines count, ``times`` are of runs that had not ended before."""
        self.deeds = Deeds()
        self._cluster = cluster_id
        self._times = {run: _Times(*numbers) for run, numbers in times.items()}
        self._leftovers: dict[str, list[AclBinding]] = {}

    def take(self, line: LogLine) -> None:
        """One line; those of other clusters are counted."""
        content = line.content
        about = getattr(content, "about", None)
        if about is not None and about.cluster.id != self._cluster:
            foreign = self.deeds.foreign
            foreign[about.cluster.id] = foreign.get(about.cluster.id, 0) + 1
            return
        match content:
            case RunRecord():
                self._open(content, line)
            case AuditedStep():
                self._step(content)
            case BridgesRecord(about=of, action=action, bridges=bridges, time=time):
                self._bridges(of, action, bridges, seconds(time))
            case EndRecord(run=run):
                self._times.pop(run, None)
            case BreakGlassRecord(about=command, action=Sight.GIVE, end=end, overrode=overrode, time=time):
                self._times.setdefault(command.run, _Times(*[seconds(time)] * 3))
                given = {"breakGlass": end, "overrode": list(overrode)}
                self.deeds.runs[command.run] = {**self.deeds.runs.get(command.run, {}), **given}
            case LockRecord(action=LockAction.LOCK):
                self._lock(content)
            case CleanupRecord(about=command, action=action, bindings=bindings, time=time):
                self._cleanup(command.run, action, bindings, seconds(time))

    def unfinished(self) -> dict[str, list[int]]:
        """The times of runs that have not ended."""
        return {run: [times.began, times.before, times.last, times.number] for run, times in self._times.items()}

    def _open(self, record: RunRecord, line: LogLine) -> None:
        about, time = record.about, seconds(record.time)
        self._times[about.run] = _Times(time, time, time)
        approvers = record.approvals.approvers if record.approvals is not None else ()
        self.deeds.runs[about.run] = {
            **self.deeds.runs.get(about.run, {}),
            "operator": about.operator,
            "proposer": record.proposer,
            "approvedBy": [approver.name for approver in approvers],
            "keys": [approver.key for approver in approvers],
            "plan": about.plan_id,
            "commit": about.commit,
            "url": record.url,
            "log": line.log,
        }

    def _at(self, about: About, time: int) -> _Times:
        # A log that begins in the middle of a run was put away: nothing is known of when the run began.
        times = self._times.setdefault(about.run, _Times(time - 86_400, time - 86_400, time))
        self.deeds.runs.setdefault(about.run, {"operator": about.operator, "commit": about.commit})
        times.next(time)
        return times

    def _step(self, line: AuditedStep) -> None:
        times, run = self._at(line.about, seconds(line.time)), line.about.run
        if line.outcome not in (Outcome.DONE, Outcome.UNKNOWN):
            return
        change, done = line.step.change, line.outcome is Outcome.DONE
        binding = touched_binding(change)
        if binding is None:
            attempt = times.sighting(None, as_left=True)._replace(run=run)
            for subject in _subjects(change):
                self.deeds.attempts.setdefault(subject, []).append(attempt)
            return
        created = change.after is not None
        self.deeds.see(binding, times.sighting(not created, as_left=False, since_begin=True)._replace(run=run))
        self.deeds.see(binding, times.sighting(created if done else None, as_left=True)._replace(run=run))
        why = line.step.ticket or line.step.reason
        if why and created:
            self.deeds.tickets[run, acl_fact(binding)] = why

    def _bridges(self, about: About, action: str, bridges: Iterable[AclBinding], time: int) -> None:
        times = self._at(about, time)
        there, as_left = {
            "create": (False, False),
            "created": (True, True),
            "remove": (True, False),
            "removed": (False, True),
            "left": (True, False),
        }.get(action, (None, False))
        for bridge in bridges:
            self.deeds.see(
                bridge, times.sighting(there, as_left=as_left, since_begin=not as_left)._replace(run=about.run)
            )

    def _lock(self, record: LockRecord) -> None:
        """Its line was written before the request: it says who did what a reading shows, and proves nothing alone."""
        run, time = record.about.run, seconds(record.time)
        sent = _Times(time, time, time).sighting(None, as_left=True)._replace(run=run)
        self.deeds.runs[run] = {"operator": record.about.operator}
        for denial in lock_denials(record.principal):
            self.deeds.see(denial, sent)
            if why := record.ticket or record.reason:
                self.deeds.tickets[run, acl_fact(denial)] = why

    def _cleanup(self, run: str, action: str, bindings: Sequence[AclBinding], time: int) -> None:
        times = self._times.setdefault(run, _Times(time, time, time))
        times.next(time)
        if action == "remove":
            self._leftovers.setdefault(run, []).extend(bindings)
            return
        for binding in set(self._leftovers.get(run, ())).difference(bindings):
            self.deeds.see(binding, times.sighting(False, as_left=True)._replace(run=run))


def _subjects(change: Change) -> Iterator[tuple[str, str]]:
    """The kind and the key of what a change is about, as facts have them."""
    names = touched_names([change])
    for name in names:
        yield Topic.KIND, name
    if not names:
        kind, key = kind_of(change).key(change)
        yield kind, compact(str(key))


# What is to be known of a fact: its sightings in runs, and the readings around them.


@dataclass(slots=True)
class _KindReadings:
    """The readings that saw a kind: when they were, and at which places facts come or go."""

    times: list[tuple[int, int]] = field(default_factory=list)
    first: frozenset[Fact] = frozenset()
    last: frozenset[Fact] = frozenset()
    flips: dict[Fact, list[int]] = field(default_factory=dict)

    def add(self, lo: int, hi: int, facts: frozenset[Fact]) -> None:
        """The next reading."""
        if not self.times:
            self.first = facts
        elif facts != self.last:
            for fact in self.last ^ facts:
                self.flips.setdefault(fact, []).append(len(self.times))
        self.last = facts
        self.times.append((lo, hi))

    def sighting(self, fact: Fact, place: int) -> FactSighting:
        """What a reading says of a fact."""
        turned = bisect_right(self.flips.get(fact, ()), place) % 2 == 1
        return FactSighting(*self.times[place], (fact in self.first) is not turned)

    def around(self, lo: int, hi: int) -> range:
        """The places of the last reading wholly before, those that overlap, and the first one wholly after."""
        begin = bisect_left(self.times, lo, key=lambda span: span[1]) - 1
        end = bisect_right(self.times, hi, key=lambda span: span[0]) + 1
        return range(max(0, begin), min(len(self.times), end))


@dataclass(slots=True)
class ReadingSeries:
    """Readings, taken in by the order of their times; of all but the first and the last only the changes are kept."""

    kinds: dict[str, _KindReadings] = field(default_factory=dict)

    def add(self, seen: SeenState) -> None:
        """The next reading."""
        for kind, facts in seen.facts.items():
            self.kinds.setdefault(kind, _KindReadings()).add(seen.lo, seen.hi, facts)

    def changed(self) -> set[Fact]:
        """The facts that one reading has, and the next one has not, or the other way round."""
        return {fact for readings in self.kinds.values() for fact in readings.flips}

    def sightings(self, fact: Fact, others: Iterable[FactSighting]) -> Iterator[FactSighting]:
        """What readings say of a fact: the first and the last, those around a change, and those around ``others``."""
        readings = self.kinds.get(fact[0])
        if readings is None:
            return
        wanted = {0, len(readings.times) - 1}
        for place in readings.flips.get(fact, ()):
            for index in (place - 1, place):
                wanted.update(readings.around(*readings.times[index]))
        for other in others:
            wanted.update(readings.around(other.lo, other.hi))
        for place in sorted(wanted):
            yield readings.sighting(fact, place)
