"""What was seen of each binding and each principal: names, operations and hosts, each with its days.

Only permitted accesses are evidence. A refused one needs no right, and rights that are only looked up (logged at TRACE)
were not used (``Action.logIfAllowed``).
"""

import datetime
from collections.abc import Iterable
from dataclasses import field
from typing import Final, NamedTuple, TypeAlias

from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding, AclOperation, AclPermissionType, ResourceType
from reconciler.model.flavor import KafkaVersion
from reconciler.parts.evidence.usage.counts import NO_DAYS, DaySet, EventCount, Lookup, days_between
from reconciler.parts.evidence.usage.message import Event

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
        return (self.last - self.first).days + 1 if self.first and self.last else 0

    @property
    def settled(self) -> datetime.date:
        """The end of the first two thirds: what is first seen after it may be the first of more to come."""
        return self.last - datetime.timedelta(days=self.days // 3) if self.last else datetime.date.min


NO_PERIOD: Final = Period()


def period_of(days: Iterable[tuple[str, bool]], since: datetime.date | None, until: datetime.date | None) -> Period:
    """The period of a window by the days with decisions (``2026-01-31``, whether something was permitted)."""
    seen = {datetime.date.fromisoformat(day): False for day, _ in days}
    seen |= {datetime.date.fromisoformat(day): True for day, permitted in days if permitted}
    first, last = since or min(seen, default=None), until or max(seen, default=None)
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
            known = self.names.setdefault(name, {})
            for operation, days in used.items():
                known[operation] = known.get(operation, NO_DAYS) | days
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
