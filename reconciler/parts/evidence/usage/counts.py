"""What logs show of each binding and each principal, in counts and by days, and which days the logs cover.

Counts have the first and the last day; they can be added in any order, over files and workers. For repeated denials the
narrowest grant is given that would permit each, never a wildcard: no recommendation, as the denial may be intended.

Only permitted accesses are evidence of use. A refused one needs no right, and rights that are only looked up (logged at
TRACE) were not used (``Action.logIfAllowed``).
"""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import field, replace
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from reconciler.access.authorizer import AccessRequest, Authorizer, DecisionRule, covers_operation, host_matches
from reconciler.dataclass import dataclass
from reconciler.manifest.parts.resources import principal_problem
from reconciler.model.acl import (
    ANONYMOUS,
    CLUSTER_NAME,
    IMPLICATIONS,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.characters import binding_name, is_visible
from reconciler.model.flavor import KafkaVersion
from reconciler.model.scope import is_reserved
from reconciler.model.topic import topic_name_problem
from reconciler.parts.evidence.usage.message import Event, Window

# Sets of days, a bit a day: what was seen on which days, for as many accesses as a log has.


class DaySet(NamedTuple):
    """Some days: bit N of ``bits`` is the day ``start`` + N, as ordinals (``datetime.date.toordinal``)."""

    start: int = 0
    bits: int = 0

    def with_day(self, day: int) -> "DaySet":
        """These days and one more."""
        if not self.bits:
            return DaySet(day, 1)
        if day < self.start:
            return DaySet(day, self.bits << (self.start - day) | 1)
        return DaySet(self.start, self.bits | 1 << (day - self.start))

    def __or__(self, other: "DaySet") -> "DaySet":
        """The days of either."""
        if not self.bits or not other.bits:
            return self if self.bits else other
        early, late = sorted((self, other))
        return DaySet(early.start, early.bits | late.bits << (late.start - early.start))

    def has(self, day: datetime.date) -> bool:
        """Whether it is one of them."""
        number = day.toordinal() - self.start
        return number >= 0 and bool(self.bits >> number & 1)

    @property
    def number(self) -> int:
        """How many."""
        return self.bits.bit_count()

    @property
    def first(self) -> datetime.date | None:
        """The first one; ``None`` if there are none."""
        return datetime.date.fromordinal(self.start) if self.bits else None

    @property
    def last(self) -> datetime.date | None:
        """The last one; ``None`` if there are none."""
        return datetime.date.fromordinal(self.start + self.bits.bit_length() - 1) if self.bits else None

    def each(self) -> Iterator[datetime.date]:
        """One after the other."""
        bits = self.bits
        while bits:  # not every day between them: a forged year makes those millions
            lowest = bits & -bits
            yield datetime.date.fromordinal(self.start + lowest.bit_length() - 1)
            bits ^= lowest


NO_DAYS: Final = DaySet()


@lru_cache(maxsize=4_096)
def ordinal(day: str) -> int:
    """``2026-01-31`` as an ordinal."""
    return datetime.date.fromisoformat(day).toordinal()


def days_between(first: datetime.date, last: datetime.date) -> DaySet:
    """Every day from one to the other, both included."""
    return DaySet(first.toordinal(), (1 << (last - first).days + 1) - 1)


#: Examples kept for each reason.
EXAMPLES = 3


class EventCount(NamedTuple):
    """How often, and between which days (empty if unknown)."""

    times: int = 0
    first: str = ""
    last: str = ""

    def __add__(self, other: object) -> "EventCount":
        """Both together."""
        if not isinstance(other, EventCount):
            return NotImplemented
        first = min(self.first, other.first) if self.first and other.first else self.first or other.first
        return EventCount(self.times + other.times, first, max(self.last, other.last))


class DatedCount(NamedTuple):
    """How often, and on which days."""

    tally: EventCount = EventCount()
    days: DaySet = NO_DAYS

    @property
    def times(self) -> int:
        """How often."""
        return self.tally.times

    def __add__(self, other: object) -> "DatedCount":
        """Both together."""
        if not isinstance(other, DatedCount):
            return NotImplemented
        return DatedCount(self.tally + other.tally, self.days | other.days)


class UnreadableLines(NamedTuple):
    """Lines that could not be read for one reason, with the first few as redacted examples."""

    lines: int = 0
    examples: tuple[str, ...] = ()

    def __add__(self, other: object) -> "UnreadableLines":
        """Both together."""
        if not isinstance(other, UnreadableLines):
            return NotImplemented
        return UnreadableLines(self.lines + other.lines, tuple(sorted({*self.examples, *other.examples})[:EXAMPLES]))


# What can be concluded from the days that the logs of a cluster cover.
#
# Brokers log a permitted access at DEBUG and a denied one at INFO, and Kafka's default configuration keeps only INFO.
# So logs without a permitted access do not show that there was none.

NOTHING_READ: Final = "no decision is in the logs of this time"
NOTHING_ALLOWED: Final = (
    "the logs contain no permitted access: brokers log them only if kafka.authorizer.logger is at DEBUG"
)


# The bindings that apply to one access, found without a scan over all of them.

_Key: TypeAlias = tuple[ResourceType, str]


class Lookup:
    """Bindings by type, principal and name; prefixes by their lengths."""

    __slots__ = ("_lengths", "_literal", "_prefixed", "_version")

    def __init__(self, bindings: Iterable[AclBinding], version: KafkaVersion) -> None:
        """Takes a few microseconds for each binding."""
        self._version = version
        self._literal: dict[tuple[ResourceType, str, str], list[AclBinding]] = {}
        self._prefixed: dict[tuple[ResourceType, str, str], list[AclBinding]] = {}
        self._lengths: dict[_Key, set[int]] = {}
        for binding in bindings:
            (kind, name, pattern_type), (principal, *_) = binding
            if pattern_type is PatternType.PREFIXED:
                self._prefixed.setdefault((kind, principal, name), []).append(binding)
                self._lengths.setdefault((kind, principal), set()).add(len(name))
            else:
                self._literal.setdefault((kind, principal, name), []).append(binding)

    def applying(self, request: AccessRequest) -> Iterator[AclBinding]:
        """Bindings that allow or deny the access; for any host, if the request has none."""
        for binding in self._on_name(request):
            entry = binding.entry
            if covers_operation(entry, request.operation) and (
                not request.host or host_matches(entry.host, request.host, self._version)
            ):
                yield binding

    def _on_name(self, request: AccessRequest) -> Iterator[AclBinding]:
        kind, name = request.resource_type, request.resource_name
        for principal in dict.fromkeys((request.principal, WILDCARD_PRINCIPAL)):
            for literal in dict.fromkeys((name, WILDCARD)):
                yield from self._literal.get((kind, principal, literal), ())
            for length in self._lengths.get((kind, principal), ()):
                if length <= len(name):
                    yield from self._prefixed.get((kind, principal, name[:length]), ())


# Names in logs that no manifest can hold, or that Kafka has no resource of: nothing is proposed on them.


def name_problem(kind: ResourceType, name: str) -> str:
    """Why no grant may be proposed on this name; empty if one may."""
    if name == WILDCARD:
        return "a grant on the name * means every name"
    if not name or not is_visible(name) or name != name.strip() or is_reserved(name):
        return "no manifest can name this resource"
    if kind is ResourceType.TOPIC and topic_name_problem(name):
        return "Kafka has no topics of such a name"
    if kind is ResourceType.CLUSTER and name != CLUSTER_NAME:
        return "there is no such cluster resource"
    return ""


#: With more hosts than this a person has to choose the hosts of a grant.
MOST_HOSTS: Final = 8
#: How many different denials are kept: a client that tries random names causes any number.
MOST_DENIALS: Final = 20_000

_CONTROL: Final = frozenset({AclOperation.ALTER, AclOperation.CLUSTER_ACTION})


class DeniedAccess(NamedTuple):
    """What was denied, from any host."""

    principal: str
    operation: AclOperation
    resource_type: ResourceType
    resource_name: str


@dataclass(frozen=True, slots=True)
class Denial:
    """A repeated denial. ``grants`` would permit it; if empty, ``remark`` says why."""

    refused: DeniedAccess
    tally: EventCount
    hosts: tuple[str, ...]
    grants: tuple[AclBinding, ...] = ()
    remark: str = ""


class Denials:
    """Collects denials, access by access, in any order."""

    __slots__ = ("_by_access", "dropped")

    def __init__(self) -> None:
        """``dropped`` counts denials beyond the limit."""
        self._by_access: dict[DeniedAccess, dict[str, EventCount]] = {}
        self.dropped = 0

    def see(self, event: Event, tally: EventCount) -> None:
        """Add a denied access."""
        if event.allowed or event.asked_only:
            return
        principal, host, operation, kind, name = event.request
        hosts = self._by_access.setdefault(DeniedAccess(principal, operation, kind, name), {})
        hosts[host] = hosts.get(host, EventCount()) + tally
        if len(self._by_access) > 2 * MOST_DENIALS:
            self._make_room()

    def repeated(self, times: int, authorizer: Authorizer) -> list[Denial]:
        """Denials that repeated at least so often, the most frequent first, each with grants that would permit it."""
        denials = [
            Denial(refused, total, tuple(sorted(hosts)))
            for refused, hosts in self._by_access.items()
            if (total := _sum(hosts)).times >= times
        ]
        denials.sort(key=lambda denial: (-denial.tally.times, denial.refused))
        return _settled(denials, authorizer)

    def _make_room(self) -> None:
        kept = sorted(self._by_access, key=lambda refused: (-_sum(self._by_access[refused]).times, refused))
        for refused in kept[MOST_DENIALS:]:
            del self._by_access[refused]
            self.dropped += 1


def _sum(hosts: Mapping[str, EventCount]) -> EventCount:
    total = EventCount()
    for tally in hosts.values():
        total = total + tally
    return total


def _settled(denials: list[Denial], authorizer: Authorizer) -> list[Denial]:
    """Propose grants, drop those that another proposal implies, and prove the rest."""
    proposed = [_propose(denial, authorizer) for denial in denials]
    grants = {grant for denial in proposed for grant in denial.grants}
    proposed = [_without_implied(denial, grants) for denial in proposed]
    after = authorizer.with_changes({grant for denial in proposed for grant in denial.grants})
    return [_proven(denial, after) for denial in proposed]


def _propose(denial: Denial, authorizer: Authorizer) -> Denial:
    remark = _no_grant(denial.refused)
    if remark:
        return replace(denial, remark=remark)
    missing, remarks = [], []
    for request in _requests(denial):
        decision = authorizer.authorize(*request)
        if decision.allowed is None:
            remarks.append("something unknown about the cluster could change the answer")
        elif decision.rule is DecisionRule.DENY:
            denials = ", ".join(map(binding_name, decision.bindings[:1]))
            remarks.append(f"a DENY decides, and no grant goes beyond it: {denials}")
        elif not decision.allowed:
            missing.append(request.host)
    if remarks:
        return replace(denial, remark=remarks[0])
    if not missing:
        return replace(denial, remark="permitted by now")
    # Some formats leave the host out. A grant for any host would be wider than what was refused.
    if "" in missing:
        return replace(denial, remark="the log does not say from which host")
    if len(missing) > MOST_HOSTS:
        return replace(denial, remark=f"from {len(missing):,} hosts: which of them are meant is for a person to say")
    caution = ""
    if denial.refused.resource_type is ResourceType.CLUSTER and denial.refused.operation in _CONTROL:
        caution = "this permission controls the cluster"
    return replace(denial, grants=tuple(_grant(denial.refused, host) for host in missing), remark=caution)


def _no_grant(refused: DeniedAccess) -> str:
    """Why no grant may be proposed for any principal or host."""
    principal, _, kind, name = refused
    problem = principal_problem(principal, may_be_everyone=False)
    if problem is not None:
        return problem.message
    if principal == ANONYMOUS:
        return f"{ANONYMOUS} is every client without a login"
    problem_of_name = name_problem(kind, name)
    if problem_of_name:
        return problem_of_name
    if kind in (ResourceType.DELEGATION_TOKEN, ResourceType.USER):
        return "manifests do not write ACLs on this type"
    return ""


def _grant(refused: DeniedAccess, host: str) -> AclBinding:
    principal, operation, kind, name = refused
    entry = AccessControlEntry(principal, host, operation, AclPermissionType.ALLOW)
    return AclBinding(ResourcePattern(kind, name), entry)


def _without_implied(denial: Denial, grants: Set[AclBinding]) -> Denial:
    """Without denials that another proposed grant already permits, as READ permits DESCRIBE."""
    by = {
        grant: operation
        for grant in denial.grants
        for operation, implied in IMPLICATIONS.items()
        if implied is grant.entry.operation
        and AclBinding(grant.pattern, grant.entry._replace(operation=operation)) in grants
    }
    if not by:
        return denial
    kept = tuple(grant for grant in denial.grants if grant not in by)
    names = ", ".join(sorted({operation.name for operation in by.values()}))
    return replace(denial, grants=kept, remark=f"settled by granting {names}, which implies it")


def _proven(denial: Denial, after: Authorizer) -> Denial:
    if denial.grants and not all(after.authorize(*request).allowed for request in _requests(denial)):
        return replace(denial, grants=(), remark="no grant on this name alone settles it")
    return denial


def _requests(denial: Denial) -> Iterator[AccessRequest]:
    principal, operation, kind, name = denial.refused
    return (AccessRequest(principal, host, operation, kind, name) for host in denial.hosts)


#: A binding with more names than this is used on many, whatever the bound; their names are not kept.
_MOST_NAMES: Final = 1_000

Operations: TypeAlias = dict[AclOperation, DaySet]


class Period(NamedTuple):
    """The days that the logs cover, both included, and those of them with a permitted access."""

    first: datetime.date | None = None
    last: datetime.date | None = None
    heard: DaySet = NO_DAYS

    @property
    def days(self) -> int:
        """How many days."""
        return max(0, (self.last - self.first).days + 1) if self.first and self.last else 0

    @property
    def silent(self) -> int:
        """How many days have no permitted access."""
        return self.days - self.heard.number

    def silent_days(self, most: int) -> list[datetime.date]:
        """The first of them."""
        if self.first is None or not self.silent:
            return []
        days = (self.first + datetime.timedelta(number) for number in range(self.days))
        return list(islice((day for day in days if not self.heard.has(day)), most))

    @property
    def settled(self) -> datetime.date:
        """The end of the first two thirds: what is first seen after it may be the first of more to come."""
        return self.last - datetime.timedelta(days=self.days // 3) if self.last else datetime.date.min


NO_PERIOD: Final = Period()


def period_of(days: Iterable[tuple[str, bool]], window: Window) -> Period:
    """The period of a window by the days with decisions (``2026-01-31``, whether something was permitted)."""
    seen = {datetime.date.fromisoformat(day): False for day, _ in days}
    seen |= {datetime.date.fromisoformat(day): True for day, permitted in days if permitted}
    first, last = window.since or min(seen, default=None), window.until or max(seen, default=None)
    if first is None or last is None or first > last:
        return Period(first, last)
    heard = NO_DAYS
    for day in sorted(item for item, permitted in seen.items() if permitted and first <= item <= last):
        heard = heard.with_day(day.toordinal())
    return Period(first, last, heard)


class SeenAccess(NamedTuple):
    """A permitted access, with how often and on which days."""

    event: Event
    tally: EventCount
    days: DaySet


@dataclass(slots=True)
class BindingUsage:
    """The accesses to which a binding applied. ``names`` are empty where there were too ``many`` to keep."""

    times: int = 0
    days: DaySet = NO_DAYS
    operations: Operations = field(default_factory=dict)
    names: dict[str, Operations] = field(default_factory=dict)
    hosts: dict[str, DaySet] = field(default_factory=dict)
    many: bool = False

    def see(self, access: SeenAccess) -> None:
        """Add one access."""
        _, host, operation, _, name = access.event.request
        self.times += access.tally.times
        self.days |= access.days
        self.operations[operation] = self.operations.get(operation, NO_DAYS) | access.days
        self.hosts[host] = self.hosts.get(host, NO_DAYS) | access.days
        if self.many or access.event.on_some:
            return
        named = self.names.setdefault(name, {})
        named[operation] = named.get(operation, NO_DAYS) | access.days
        self._bounded()

    def add(self, other: "BindingUsage") -> None:
        """Add what was seen elsewhere of the same right."""
        self.times += other.times
        self.days |= other.days
        for operation, days in other.operations.items():
            self.operations[operation] = self.operations.get(operation, NO_DAYS) | days
        for host, days in other.hosts.items():
            self.hosts[host] = self.hosts.get(host, NO_DAYS) | days
        self.many = self.many or other.many
        for name, used in () if self.many else other.names.items():
            operations = self.names.setdefault(name, {})
            for operation, days in used.items():
                operations[operation] = operations.get(operation, NO_DAYS) | days
        self._bounded()

    def _bounded(self) -> None:
        if self.many or len(self.names) > _MOST_NAMES:
            self.many = True
            self.names.clear()


class UsageEvidence:
    """The permitted accesses of a window, and what they show of each binding; they may come in any order."""

    __slots__ = ("_lookup", "accesses", "creates", "period", "principals", "usage")

    def __init__(self, bindings: Iterable[AclBinding], version: KafkaVersion, period: Period = NO_PERIOD) -> None:
        """``bindings`` are those about which there is a question, or that may answer it."""
        allows = frozenset(binding for binding in bindings if binding.entry.permission_type is AclPermissionType.ALLOW)
        self._lookup = Lookup(allows, version)
        self.period = period
        #: By principal, so that a question about one does not go through those of all.
        self.accesses: dict[str, list[SeenAccess]] = {}
        self.principals: dict[str, DaySet] = {}
        self.usage: dict[AclBinding, BindingUsage] = {}
        #: The resources that each principal created; a topic by a right on the cluster has no name in the log.
        self.creates: dict[str, set[tuple[ResourceType, str]]] = {}

    @property
    def decisions(self) -> int:
        """How many permitted accesses there were."""
        return sum(access.tally.times for accesses in self.accesses.values() for access in accesses)

    def see(self, event: Event, count: EventCount, days: DaySet) -> None:
        """Add one distinct decision. Without days of its own it counts for each day from its first to its last."""
        if not event.allowed or event.asked_only:
            return
        principal, _, operation, kind, name = event.request
        access = SeenAccess(event, count, days if days.bits else _spanned(count))
        self.accesses.setdefault(principal, []).append(access)
        self.principals[principal] = self.principals.get(principal, NO_DAYS) | access.days
        if operation is AclOperation.CREATE:
            self.creates.setdefault(principal, set()).add((kind, name))
        if event.on_some:
            return
        for binding in self._lookup.applying(event.request):
            usage = self.usage.get(binding)
            if usage is None:
                usage = self.usage[binding] = BindingUsage()
            usage.see(access)


def _spanned(count: EventCount) -> DaySet:
    if not count.first or not count.last:
        return NO_DAYS
    return days_between(datetime.date.fromisoformat(count.first), datetime.date.fromisoformat(count.last))
