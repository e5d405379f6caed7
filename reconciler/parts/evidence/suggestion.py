"""Suggestions of narrower rights: thresholds, rights that clusters share, and the rights that replace a wider one.

Which rights to narrow, by what was seen: a suggestion that still has to be proven.
"""

import datetime
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import Annotated, Final, NamedTuple, TypeAlias

from reconciler.access.authorizer import covers_operation
from reconciler.dataclass import dataclass
from reconciler.model.acl import (
    IMPLICATIONS,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.characters import first_of
from reconciler.model.desired import Origin
from reconciler.model.says import REQUIRED, Apart, Says
from reconciler.parts.evidence.usage.counts import (
    NO_DAYS,
    NO_PERIOD,
    BindingUsage,
    DaySet,
    Operations,
    Period,
    UsageEvidence,
    name_problem,
)
from reconciler.parts.evidence.usage.scan import Summary

#: What was seen on one cluster, or on one that shares rights with others.
SeenUsage: TypeAlias = "UsageEvidence | SharedUsage"


class HeldReason(StrEnum):
    """Why a right stays as it is although it was not used, or only in part."""

    KEEP = "its rule says keep"
    OWNER = "an owner keeps what it owns"
    SHARED = "its rule is also for another cluster"
    YOUNG = "it was not declared when the logs begin"
    NO_HISTORY = "since when it is declared is not known"
    PROTECTED = "it is protected"
    OPERATING = "the reconciler or the brokers need it"
    SUPER_USER = "its principal is a super user"
    EVERYBODY = "it is for everybody: who needs it next is not in the logs"
    UNSEEN = "its principal was not seen at all"
    FEW_DAYS = "its principal was seen on few days"
    NEW = "its principal was first seen late in the window"
    MANY = "too many names were seen to list them"
    GROWING = "names or operations were first seen late in the window: there may be more to come"
    CREATES = "its principal creates resources with such names"
    UNWRITABLE = "a name was seen that no manifest can hold"
    OPENS = "without it a resource might be open to everybody"
    UNPROVEN = "without it an access that was seen, or an access test, might fail"


class GrantedRight(NamedTuple):
    """A declared ALLOW. What one use of a role brings has one ``role_use``; ``of_role``: on a name of the role."""

    binding: AclBinding
    role_use: Hashable = None
    of_role: bool = False


class Held(NamedTuple):
    """A right that stays, and why; ``detail`` is what the reason leaves open, such as a day."""

    binding: AclBinding
    reason: HeldReason
    detail: str = ""


class Narrowing(NamedTuple):
    """Rights that go, and what takes their place: nothing, where none of them was used.

    ``times`` and ``days`` are of their use, ``names`` the names seen, sorted: no file has them.
    """

    bindings: Annotated[tuple[AclBinding, ...], Says("What goes.")]
    into: Annotated[tuple[AclBinding, ...], Says("What takes its place.", default=REQUIRED)] = ()
    times: Annotated[int, Apart()] = 0
    days: Annotated[DaySet, Apart()] = NO_DAYS
    names: Annotated[tuple[str, ...], Apart()] = ()

    @property
    def first(self) -> AclBinding:
        """The right by which it is called."""
        return self.bindings[0]


class Bounds(NamedTuple):
    """``settled``: what is first seen after this day is still growing; the most names and hosts that are listed."""

    settled: datetime.date
    names: int
    hosts: int


def is_wide(pattern: ResourcePattern) -> bool:
    """Whether it stands for names that it does not say."""
    return pattern.pattern_type is PatternType.PREFIXED or pattern.name == WILDCARD


def narrowed(
    bindings: tuple[AclBinding, ...],
    usages: Iterable[BindingUsage | None],
    bounds: Bounds,
    *,
    creates: Iterable[tuple[ResourceType, str]] = (),
    whole: bool = False,
) -> tuple[Narrowing | None, HeldReason | None]:
    """What takes the place of bindings on one pattern that stand or fall together; and why some of it stays wide.

    ``whole``: a role's operations, which stay together. Else there is one binding.
    """
    pattern, entry = bindings[0]
    usage = _together([item for item in usages if item is not None])
    if not usage.times:
        return Narrowing(bindings), None
    stays = _why_wide(pattern, usage, bounds, creates) if is_wide(pattern) else None
    # A role's hosts are those of its whole use, of which this is a part.
    hosts = (entry.host,) if whole else _hosts(entry.host, usage, bounds)
    seen: Mapping[ResourcePattern, Operations] = {pattern: usage.operations}
    if is_wide(pattern) and stays is None:
        seen = {ResourcePattern(pattern.resource_type, name): used for name, used in usage.names.items()}
    growing = any(_first(days) > bounds.settled for days in usage.operations.values())
    into = {
        AclBinding(where, binding.entry._replace(operation=operation, host=host))
        for where, used in seen.items()
        for binding in bindings
        for operation in (
            [binding.entry.operation] if whole else _operations(binding.entry.operation, used, growing=growing)
        )
        for host in hosts
    }
    if growing and not whole and entry.operation is AclOperation.ALL:
        stays = HeldReason.GROWING
    if into == set(bindings):
        return None, stays
    return Narrowing(bindings, tuple(sorted(into)), usage.times, usage.days, tuple(sorted(usage.names))), stays


def _together(usages: list[BindingUsage]) -> BindingUsage:
    if len(usages) == 1:
        return usages[0]
    merged = BindingUsage()
    for usage in usages:
        merged.add(usage)
    # The same access counts once for each: the most of them is nearest to the truth.
    merged.times = max((usage.times for usage in usages), default=0)
    return merged


def _why_wide(
    pattern: ResourcePattern,
    usage: BindingUsage,
    bounds: Bounds,
    creates: Iterable[tuple[ResourceType, str]],
) -> HeldReason | None:
    """Why a prefix or a wildcard is not replaced by the names that were seen."""
    if usage.many or len(usage.names) > bounds.names:
        return HeldReason.MANY
    if any(_creates(pattern, kind, name) for kind, name in creates):
        return HeldReason.CREATES
    if any(name_problem(pattern.resource_type, name) for name in usage.names):
        return HeldReason.UNWRITABLE
    if any(min(map(_first, used.values())) > bounds.settled for used in usage.names.values()):
        return HeldReason.GROWING
    return None


def _creates(pattern: ResourcePattern, kind: ResourceType, name: str) -> bool:
    """Whether a resource that was created may be one of the pattern's; by a right on the cluster, any topic may be."""
    if kind is ResourceType.CLUSTER:
        return pattern.resource_type is ResourceType.TOPIC
    return kind is pattern.resource_type and pattern.matches(name)


def _operations(declared: AclOperation, used: Operations, *, growing: bool) -> Iterator[AclOperation]:
    """The operations that do for what was seen: the one that is declared, or those of what it grants."""
    if declared in used or (declared is AclOperation.ALL and growing):
        yield declared
        return
    implied = {IMPLICATIONS.get(operation) for operation in used}
    yield from (operation for operation in used if operation not in implied)


#: What an entry's host is where it is for any.
_ANY: Final = (WILDCARD,)


def _hosts(declared: str, usage: BindingUsage, bounds: Bounds) -> Iterable[str]:
    if (declared,) != _ANY or not 0 < len(usage.hosts) <= bounds.hosts:
        return (declared,)
    # Some formats leave the host out, and an address that came late may be the first of more.
    if "" in usage.hosts or any(_first(days) > bounds.settled for days in usage.hosts.values()):
        return (declared,)
    return sorted(usage.hosts)


def _first(days: DaySet) -> datetime.date:
    # An access without a day may have been the last of all.
    return days.first or datetime.date.max


# How much has to be seen before the absence of use says anything; less than that, and nothing is proposed.

_DAY: Final = datetime.timedelta(days=1)
#: So many days are named.
_NAMED: Final = 5
_DIGITS: Final = re.compile(r"\d+")
#: ``.gz``, ``.1``, ``.2026-11-20-10``, ``-20261120.log``, ``/2026/11/20/``, ``/day=20/``, and a packed part's number.
_ROTATED: Final = re.compile(
    r"\.(?:gz|bz2|zst|\d{1,4})$|[._-]?\d{4}([-_.]?)\d{2}\1\d{2}(?:[-_.T]?\d{2}){0,3}(?:[-_.]\d{1,6})?(?=[./]|$)"
    r"|(?<=/)\d{4}/\d\d/\d\d/(?:\d\d/)?|(?<=/)\w+=\d[\d-]*/|(?<=/)\d+$"
)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The bounds; all but ``names`` and ``hosts`` count days, quarter ends or lines.

    ``days``: length of the window; 92 hold every date of every quarter. ``silent_days``: at most so many days without a
    permitted access. ``quarter_ends``: so many ends of a quarter inside. ``stale_days``: the window ended at most so
    long ago. ``principal_days``: a principal was seen on so many days. ``unseen_days``: length of the window from which
    on a principal that was never seen may lose rights. ``unread``: at most so many lines that could not be read.
    ``names``: a prefix with more names keeps being one. ``hosts``: narrow hosts too, to at most so many; 0 never does.
    """

    days: int = 92
    silent_days: int = 2
    quarter_ends: int = 1
    stale_days: int = 7
    principal_days: int = 10
    unseen_days: int = 365
    unread: int = 0
    names: int = 10
    hosts: int = 0


def thin_evidence(period: Period, summary: Summary, bounds: Thresholds, day: datetime.date) -> Iterator[str]:
    """Why nothing can be concluded from these logs on that day; nothing where they are enough."""
    if summary.broken:
        yield f"a log could not be read to its end: {'; '.join(summary.broken)}"
    if summary.unread > bounds.unread:
        yield f"{summary.unread:,} lines could not be read, and each may show a use (at most {bounds.unread:,})"
    if period.first is None or period.last is None or not period.heard.number:
        yield "the logs contain no permitted access: brokers log them only if kafka.authorizer.logger is at DEBUG"
        return
    yield from _some(list(thin_logs(summary, bounds.silent_days)))
    if period.days < bounds.days:
        yield f"the logs cover {_days(period.days)} (at least {bounds.days:,})"
    if period.silent > bounds.silent_days:
        more = ", …" if period.silent > _NAMED else ""
        named = ", ".join(map(str, period.silent_days(_NAMED))) + more
        yield f"no permitted access on {_days(period.silent)} (at most {bounds.silent_days:,}): {named}"
    ends = sum(1 for _ in _quarter_ends(period))
    if ends < bounds.quarter_ends:
        yield f"quarter ends inside, each with the day after: {ends} (at least {bounds.quarter_ends})"
    if (day - period.last).days > bounds.stale_days:
        yield f"the logs end on {period.last}, {_days((day - period.last).days)} ago (at most {bounds.stale_days:,})"


def thin_logs(summary: Summary, silent_days: int) -> Iterator[str]:
    """Which logs show too little of their broker, whatever the others show: a broker logs its own requests only."""
    series: dict[str, set[tuple[str, bool]]] = {}
    for file, file_days in summary.by_file:
        series.setdefault(log_series(file), set()).update(file_days)
    heard = {
        _DIGITS.sub("0", name.rpartition("/")[2])
        for name, file_days in series.items()
        if any(permitted for _, permitted in file_days)
    }
    for name, days_of in sorted(series.items()):
        permitted = {datetime.date.fromisoformat(day).toordinal() for day, yes in days_of if yes}
        days = [datetime.date.fromisoformat(day).toordinal() for day, _ in days_of]
        if not days and _DIGITS.sub("0", name.rpartition("/")[2]) in heard:
            yield f"{name} has no decision in this time, unlike other logs of that name"
        elif days and not permitted:
            yield f"{name} has refusals and no permitted access: its broker does not log them"
        elif days and (silent := max(days) - min(days) + 1 - len(permitted)) > silent_days:
            yield f"{name} has no permitted access on {_days(silent)} of its own (at most {silent_days:,})"


def log_series(file: str) -> str:
    """The name of a log without what rotation and packing add, so that the files of one log have one name."""
    previous = ""
    while file != previous:
        previous, file = file, _ROTATED.sub("", file)
    return file


def _some(texts: list[str]) -> Iterator[str]:
    yield from texts[:_NAMED]
    if len(texts) > _NAMED:
        yield f"and {len(texts) - _NAMED:,} more logs"


def _days(number: int) -> str:
    return "1 day" if number == 1 else f"{number:,} days"


def _quarter_ends(period: Period) -> Iterator[datetime.date]:
    """The last days of quarters that the logs show, each with the day after it: such jobs run on either."""
    heard = set(period.heard.each())
    for day in sorted(heard - {datetime.date.max}):  # a forged year is no reason to stop
        if day.month % 3 == 0 and (day + _DAY).day == 1 and day + _DAY in heard:
            yield day


#: Why a right must stay, whatever was seen; ``None`` where nothing says so.
Hold: TypeAlias = Callable[[AclBinding], Held | None]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What to narrow, and which rights stay although they were not used in full; both in order of their bindings."""

    narrowings: tuple[Narrowing, ...] = ()
    held: tuple[Held, ...] = ()


def suggest(rights: Iterable[GrantedRight], evidence: SeenUsage, bounds: Thresholds, hold: Hold) -> Suggestion:
    """Narrow each right to what was seen of it, unless ``hold``, or what is known of its principal, says otherwise.

    What one use of a role brings on one name stays or goes together: a role is what a team agreed on.
    """
    rights = tuple(rights)
    judge = _CrewJudge(evidence, bounds, hold)
    suggested: list[Narrowing] = []
    held: list[Held] = []
    for use in _uses(rights):
        narrowings, reasons = judge.judged(_crews(use, evidence))
        suggested += narrowings
        held += reasons
    kept = {right.binding for right in rights}.difference(
        binding for narrowing in suggested for binding in narrowing.bindings
    )
    suggested = [item for item in suggested if item.into or not _is_implied(item, kept)]
    return Suggestion(tuple(sorted(suggested)), tuple(sorted(held)))


class _CrewJudge:
    """Narrows crews: rights that stand or fall together."""

    def __init__(self, evidence: SeenUsage, bounds: Thresholds, hold: Hold) -> None:
        self._evidence, self._bounds, self._hold = evidence, bounds, hold
        self._limits = Bounds(evidence.period.settled, bounds.names, bounds.hosts)

    def judged(self, crews: Iterable[list[GrantedRight]]) -> tuple[list[Narrowing], list[Held]]:
        """What to narrow of them, and what stays although it was not used in full."""
        narrowings: list[Narrowing] = []
        held: list[Held] = []
        for crew in crews:
            bindings = tuple(sorted(right.binding for right in crew))
            narrowing, stays = narrowed(
                bindings,
                [self._evidence.usage.get(binding) for binding in bindings],
                self._limits,
                creates=self._evidence.creates.get(bindings[0].entry.principal, ()),
                whole=crew[0].role_use is not None,
            )
            reason = self._reason(bindings) if narrowing is not None else None
            if reason is not None:
                held += [Held(binding, reason.reason, reason.detail) for binding in bindings]
                continue
            narrowings += [] if narrowing is None else [narrowing]
            held += [] if stays is None else [Held(binding, stays) for binding in bindings]
        return narrowings, held

    def _reason(self, bindings: Iterable[AclBinding]) -> Held | None:
        reasons = (self._hold(binding) or _of_principal(binding, self._evidence, self._bounds) for binding in bindings)
        return next((why for why in reasons if why is not None), None)


def _uses(rights: Iterable[GrantedRight]) -> Iterable[list[GrantedRight]]:
    """The rights that one use of a role brings to one principal; any other right alone."""
    by_use: dict[Hashable, list[GrantedRight]] = {}
    for right in sorted(rights, key=lambda item: item.binding):
        key = right.binding if right.role_use is None else (right.role_use, right.binding.entry.principal)
        by_use.setdefault(key, []).append(right)
    return by_use.values()


def _crews(use: list[GrantedRight], evidence: SeenUsage) -> Iterator[list[GrantedRight]]:
    """The rights of a use by what they are on."""
    crews: dict[Hashable, list[GrantedRight]] = {}
    for right in use:
        crews.setdefault((right.binding.pattern, right.binding.entry.host, right.of_role), []).append(right)
    # What a role gives on names of its own stays for as long as anything else of that use was seen.
    used = use[0].role_use is not None and any(right.binding in evidence.usage for right in use)
    yield from (crew for crew in crews.values() if not (used and crew[0].of_role))


def _of_principal(binding: AclBinding, evidence: SeenUsage, bounds: Thresholds) -> Held | None:
    """Why too little was seen of a principal to take anything from it."""
    principal = binding.entry.principal
    if principal == WILDCARD_PRINCIPAL:
        return Held(binding, HeldReason.EVERYBODY)
    days, period = evidence.principals.get(principal, NO_DAYS), evidence.period
    if days.first is None:
        if period.days >= bounds.unseen_days:
            return None
        return Held(binding, HeldReason.UNSEEN, f"the logs cover {period.days:,} days of {bounds.unseen_days:,}")
    if days.number < bounds.principal_days:
        return Held(binding, HeldReason.FEW_DAYS, f"{days.number:,} of at least {bounds.principal_days:,}")
    if days.first > period.settled:
        return Held(binding, HeldReason.NEW, f"on {days.first}")
    return None


def _is_implied(narrowing: Narrowing, kept: set[AclBinding]) -> bool:
    """Whether rights that stay grant the same on the same names, so that nothing would be taken."""
    return all(
        any(
            AclBinding(pattern, entry._replace(operation=operation)) in kept
            for operation in AclOperation
            if operation >= AclOperation.ALL
            and operation is not entry.operation
            and covers_operation(entry._replace(operation=operation), entry.operation)
        )
        for pattern, entry in narrowing.bindings
    )


# Rights that clusters have by one text: they go on all of these clusters or on none, by what was seen on any.
#
# A rule of manifests may serve many clusters. The logs of one of them say nothing about the others, so a right goes
# only where each cluster that has it from the same place would lose it in the same way.

#: A right of a cluster.
ClusterRight: TypeAlias = tuple[str, AclBinding]


@dataclass(frozen=True, slots=True)
class SharedUsage:
    """What was seen on one cluster; of a right that it shares, with what was seen of that on the others."""

    period: Period = NO_PERIOD
    usage: Mapping[AclBinding, BindingUsage] = field(default_factory=dict)
    principals: Mapping[str, DaySet] = field(default_factory=dict)
    creates: Mapping[str, frozenset[tuple[ResourceType, str]]] = field(default_factory=dict)


class _Group(NamedTuple):
    """Rights of one text. ``uneven``: by its variables it is not the same right everywhere, so it is not rewritten."""

    members: frozenset[ClusterRight]
    uneven: bool


class SharedRights:
    """Which rights of which clusters are declared together."""

    def __init__(self, declared: Mapping[str, Iterable[tuple[AclBinding, Origin]]]) -> None:
        """``declared`` are the rights of each cluster with the places of their names; one may have several."""
        leads: dict[ClusterRight, ClusterRight] = {}
        uneven: set[ClusterRight] = set()

        def lead(right: ClusterRight) -> ClusterRight:
            while (above := leads.get(right, right)) != right:
                leads[right] = leads.get(above, above)
                right = above
            return right

        for sides in _by_place(declared):
            even = len({frozenset(side) for side in sides.values()}) == 1
            together: dict[object, list[ClusterRight]] = defaultdict(list)
            for cluster, bindings in sorted(sides.items()):
                for binding in sorted(bindings):
                    together[binding if even else binding.entry.operation].append((cluster, binding))
            for first, *others in together.values():
                uneven |= set() if even else {first}
                for other in others:
                    leads[lead(other)] = lead(first)
        members: dict[ClusterRight, set[ClusterRight]] = defaultdict(set)
        for right in leads:
            members[lead(right)] |= {right, lead(right)}
        loose = {lead(right) for right in uneven}
        groups = [_Group(frozenset(joined), first in loose) for first, joined in members.items()]
        self._groups: dict[ClusterRight, _Group] = {right: group for group in groups for right in group.members}

    def seen_by_all(self, usages: Mapping[str, SharedUsage]) -> dict[str, SharedUsage]:
        """The usage of each cluster, with that of the others in what it shares with them."""
        merged: dict[tuple[int, AclBinding], BindingUsage] = {}
        for cluster, own in usages.items():
            for binding, usage in own.usage.items():
                if (group := self._groups.get((cluster, binding))) is not None:
                    merged.setdefault((id(group), binding), BindingUsage()).add(usage)
        shared: dict[str, dict[AclBinding, BindingUsage]] = defaultdict(dict)
        for group in {id(group): group for group in self._groups.values()}.values():
            for cluster, binding in group.members:
                if (all_of_it := merged.get((id(group), binding))) is not None:
                    shared[cluster][binding] = all_of_it
        return {
            cluster: replace(own, usage={**own.usage, **shared.get(cluster, {})}) for cluster, own in usages.items()
        }

    def agreed(
        self, proposed: Mapping[str, Sequence[Narrowing]]
    ) -> tuple[dict[str, list[Narrowing]], dict[str, list[Held]]]:
        """The narrowings that hold on every cluster that shares them; and by cluster what the others hold."""
        kept = {cluster: list(own) for cluster, own in proposed.items()}
        held: dict[str, list[Held]] = {cluster: [] for cluster in proposed}
        while True:
            by_right = {
                (cluster, binding): each for cluster, own in kept.items() for each in own for binding in each.bindings
            }
            again = False
            for cluster, own in kept.items():
                for narrowing in own:
                    differing = self._differing(cluster, narrowing, by_right)
                    if differing is not None:
                        held[cluster] += [Held(binding, HeldReason.SHARED, differing) for binding in narrowing.bindings]
                        again = True
                gone = {item.binding for item in held[cluster]}
                kept[cluster] = [item for item in own if item.first not in gone]
            if not again:
                return kept, held

    def _differing(self, cluster: str, narrowing: Narrowing, by_right: Mapping[ClusterRight, Narrowing]) -> str | None:
        """Which clusters do not narrow it in the same way; ``None`` where all do that share it."""
        differing: set[str] = set()
        alone = True
        for binding in narrowing.bindings:
            group = self._groups.get((cluster, binding))
            for right in group.members if group is not None else ():
                other = by_right.get(right)
                if other is None or not _same(narrowing, other, uneven=group is not None and group.uneven):
                    alone = False
                    differing |= {right[0]} - {cluster}
        return None if alone else first_of(sorted(differing), _NAMED)


def _same(first: Narrowing, second: Narrowing, *, uneven: bool) -> bool:
    if uneven:
        return not first.into and not second.into
    return (first.bindings, first.into) == (second.bindings, second.into)


def _by_place(declared: Mapping[str, Iterable[tuple[AclBinding, Origin]]]) -> Iterable[dict[str, set[AclBinding]]]:
    """The rights of each cluster by the place of their names, of places that serve several clusters."""
    by_origin: dict[Origin, dict[str, set[AclBinding]]] = defaultdict(dict)
    for cluster, rights in declared.items():
        for binding, place in rights:
            by_origin[place].setdefault(cluster, set()).add(binding)
    return [sides for sides in by_origin.values() if len(sides) > 1]
