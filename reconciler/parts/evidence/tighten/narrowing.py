"""What takes the place of one right, or of the rights that a role gives on one name, by what was seen of it."""

import datetime
from collections.abc import Hashable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from reconciler.access.operations import IMPLICATIONS
from reconciler.model.acl import WILDCARD, AclBinding, AclOperation, PatternType, ResourcePattern, ResourceType
from reconciler.model.says import REQUIRED, Apart, Says
from reconciler.parts.evidence.tighten.evidence import BindingUsage, Operations
from reconciler.parts.evidence.usage.counts import NO_DAYS, DaySet, name_problem


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
    found = BindingUsage()
    for usage in usages:
        found.add(usage)
    # The same access counts once for each: the most of them is nearest to the truth.
    found.times = max((usage.times for usage in usages), default=0)
    return found


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
