"""Decide the accesses in the logs again: with the current bindings, and with those after a change."""

from typing import Final

from reconciler.access import AccessRequest, Authorizer, Decision
from reconciler.access.questions import instead
from reconciler.dataclass import dataclass
from reconciler.fleet.usage.counts import EventCount
from reconciler.fleet.usage.event import Event, LoggedReason
from reconciler.model import AclBinding

#: How many accesses of each kind are listed, the most frequent first; all are counted.
MOST_LISTED: Final = 1_000
#: No ACL can deny what these permit.
BEYOND_ACLS: Final = frozenset({LoggedReason.SUPER_USER, LoggedReason.ROLE})


@dataclass(frozen=True, slots=True)
class ReplayedAccess:
    """One access whose outcome changes. ``binding`` permits it before or after, or is the DENY."""

    request: AccessRequest
    api: str
    tally: EventCount
    before: bool | None
    after: bool | None
    binding: AclBinding | None


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The accesses by their outcome after a change. ``undecided``: the outcome before or after is unknown."""

    failing: tuple[ReplayedAccess, ...] = ()
    newly: tuple[ReplayedAccess, ...] = ()
    undecided: tuple[ReplayedAccess, ...] = ()
    fails: int = 0
    succeeds: int = 0
    unclear: int = 0
    same: int = 0


class Replayer:
    """Replays accesses that ACLs decide, in any order."""

    __slots__ = ("_after", "_before", "_changed", "_same")

    def __init__(self, before: Authorizer, after: Authorizer) -> None:
        """``before`` and ``after`` have the bindings on either side of the change."""
        self._before, self._after = before, after
        self._changed: dict[tuple[AccessRequest, str], ReplayedAccess] = {}
        self._same: set[AccessRequest] = set()

    def see(self, event: Event, tally: EventCount, before: bool | None) -> None:
        """Decide one access again; ``before`` is the outcome with the current bindings."""
        after, _ = permitted(self._after, event)
        # Most accesses stay the same; only the others are kept with their details.
        if before is after and before is not None:
            self._same.add(event.request)
            return
        key = event.request, event.api
        known = self._changed.get(key)
        total = tally if known is None else tally + known.tally
        self._changed[key] = ReplayedAccess(
            event.request, event.api, total, before, after, self._deciding_binding(event, after)
        )

    def result(self) -> ReplayResult:
        """The result, the most frequent accesses first."""
        rows = sorted(self._changed.values(), key=lambda row: (-row.tally.times, row.request, row.api))
        failing = [row for row in rows if row.before and row.after is False]
        newly = [row for row in rows if row.before is False and row.after]
        undecided = [row for row in rows if row.before is None or row.after is None]
        return ReplayResult(
            tuple(failing[:MOST_LISTED]),
            tuple(newly[:MOST_LISTED]),
            tuple(undecided[:MOST_LISTED]),
            len(failing),
            len(newly),
            len(undecided),
            len(self._same),
        )

    def _deciding_binding(self, event: Event, after: bool | None) -> AclBinding | None:
        """The DENY that denies it after the change, else the ALLOW that permits it on one side."""
        _, decision = permitted(self._after, event)
        if after is not False or decision.binding is not None:
            return decision.binding
        return permitted(self._before, event)[1].binding


def permitted(authorizer: Authorizer, event: Event) -> tuple[bool | None, Decision]:
    """Whether the API permits the access, and the decision that says so; ``None`` if unknown.

    Includes what the API accepts in place of a right, as ``explain`` does.
    """
    principal, host, operation, kind, _ = event.request
    if event.on_some:
        some = authorizer.authorize_by_resource_type(principal, host, operation, kind)
        return some.allowed, some
    decision = authorizer.authorize(*event.request)
    other = None if decision.allowed else instead(authorizer, event.request)
    if other is not None and other.allowed:
        return True, other
    return (None if other is not None and other.allowed is None else decision.allowed), decision
