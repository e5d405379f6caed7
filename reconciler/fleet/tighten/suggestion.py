"""Which rights to narrow, by what was seen: a suggestion that still has to be proven."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeAlias

from reconciler.access.evidence import covers_operation
from reconciler.dataclass import dataclass
from reconciler.fleet.tighten.evidence import SeenUsage
from reconciler.fleet.tighten.narrowing import Bounds, GrantedRight, Held, HeldReason, Narrowing, narrowed
from reconciler.fleet.tighten.thresholds import Thresholds
from reconciler.fleet.usage.days import NO_DAYS
from reconciler.model import WILDCARD_PRINCIPAL, AclBinding, AclOperation

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
    found: list[Narrowing] = []
    held: list[Held] = []
    for use in _uses(rights):
        narrowings, reasons = judge.judged(_crews(use, evidence))
        found += narrowings
        held += reasons
    kept = {right.binding for right in rights}.difference(one for narrowing in found for one in narrowing.bindings)
    found = [one for one in found if one.into or not _is_implied(one, kept)]
    return Suggestion(tuple(sorted(found)), tuple(sorted(held)))


class _CrewJudge:
    """Narrows crews: rights that stand or fall together."""

    def __init__(self, evidence: SeenUsage, bounds: Thresholds, hold: Hold) -> None:
        self._evidence, self._bounds, self._hold = evidence, bounds, hold
        self._limits = Bounds(evidence.period.settled, bounds.names, bounds.hosts)

    def judged(self, crews: Iterable[list[GrantedRight]]) -> tuple[list[Narrowing], list[Held]]:
        """What to narrow of them, and what stays although it was not used in full."""
        found: list[Narrowing] = []
        held: list[Held] = []
        for crew in crews:
            bindings = tuple(sorted(right.binding for right in crew))
            narrowing, stays = narrowed(
                bindings,
                [self._evidence.usage.get(one) for one in bindings],
                self._limits,
                creates=self._evidence.creates.get(bindings[0].entry.principal, ()),
                whole=crew[0].role_use is not None,
            )
            reason = self._reason(bindings) if narrowing is not None else None
            if reason is not None:
                held += [Held(one, reason.reason, reason.detail) for one in bindings]
                continue
            found += [] if narrowing is None else [narrowing]
            held += [] if stays is None else [Held(one, stays) for one in bindings]
        return found, held

    def _reason(self, bindings: Iterable[AclBinding]) -> Held | None:
        found = (self._hold(one) or _of_principal(one, self._evidence, self._bounds) for one in bindings)
        return next((why for why in found if why is not None), None)


def _uses(rights: Iterable[GrantedRight]) -> Iterable[list[GrantedRight]]:
    """The rights that one use of a role brings to one principal; any other right alone."""
    found: dict[Hashable, list[GrantedRight]] = {}
    for right in sorted(rights, key=lambda one: one.binding):
        key = right.binding if right.role_use is None else (right.role_use, right.binding.entry.principal)
        found.setdefault(key, []).append(right)
    return found.values()


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
