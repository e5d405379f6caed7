"""What logs show of one cluster: used bindings, denials, decisions replayed.

Everything that logs show about one cluster: used bindings, denials, and accesses under a change.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final, NamedTuple

from reconciler.access.authorizer import AccessRequest, Authorizer, Decision
from reconciler.access.questions import instead
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding, AclPermissionType
from reconciler.model.flavor import KafkaVersion
from reconciler.parts.evidence.usage.counts import (
    NO_PERIOD,
    NOTHING_ALLOWED,
    NOTHING_READ,
    Denial,
    Denials,
    EventCount,
    Lookup,
    Period,
    period_of,
)
from reconciler.parts.evidence.usage.message import Event, LoggedReason, Window
from reconciler.parts.evidence.usage.scan import Summary
from reconciler.results.access import ClaimedFacts

# Which bindings were used. This module defines what counts as use.
#
# A binding was used if a log names it as the reason of an access, or if it applies to an access with its outcome: an
# ALLOW to a permitted one, a DENY to a denied one. It is ``alone`` if it decides an access that no other binding
# decides the same way, ``decided`` if only the log names it, and ``also`` if other bindings decide all its accesses
# too, or they are permitted anyway (super user, role, default). Looking up rights without an access is not use.


class BindingUse(StrEnum):
    """What the logs show about a binding: the strongest value that applies."""

    ALONE = "alone"
    DECIDED = "decided"
    ALSO = "also"
    UNUSED = "unused"
    CANNOT_SAY = "cannot say"


@dataclass(frozen=True, slots=True)
class BindingUses:
    """Counts of bindings by use, and the unused ones, sorted."""

    counts: Mapping[BindingUse, int]
    unused: tuple[AclBinding, ...]


_STRENGTH: Final = {BindingUse.ALSO: 1, BindingUse.DECIDED: 2, BindingUse.ALONE: 3}
#: Reasons for which no binding was needed.
_ANYWAY: Final = frozenset(
    {LoggedReason.SUPER_USER, LoggedReason.ROLE, LoggedReason.DEFAULT_ALLOW, LoggedReason.DEFAULT_DENY}
)


class BindingUseCollector:
    """Collects the use of a set of bindings, access by access, in any order."""

    __slots__ = ("_bindings", "_lookup", "_seen", "gone")

    def __init__(self, bindings: frozenset[AclBinding], version: KafkaVersion) -> None:
        """``gone`` are bindings that logs name and that are not in ``bindings``."""
        self._bindings = bindings
        self._lookup = Lookup(bindings, version)
        self._seen: dict[AclBinding, BindingUse] = {}
        self.gone: dict[AclBinding, int] = {}

    def see(self, event: Event, times: int) -> None:
        """Add an access that happened ``times`` times."""
        if event.asked_only:
            return
        if event.acl in self._bindings:
            self._keep_stronger(event.acl, BindingUse.DECIDED)
        elif event.acl is not None:
            self.gone[event.acl] = self.gone.get(event.acl, 0) + times
        wanted = AclPermissionType.ALLOW if event.allowed else AclPermissionType.DENY
        applying = [b for b in self._lookup.applying(event.request) if b.entry.permission_type is wanted]
        alone = len(applying) == 1 and event.ground not in _ANYWAY
        for binding in applying:
            self._keep_stronger(binding, BindingUse.ALONE if alone else BindingUse.ALSO)

    def uses(self, *, allows_known: bool, denies_known: bool) -> BindingUses:
        """The result. A binding is only called unused if the logs would show its use."""
        logged = {AclPermissionType.ALLOW: allows_known, AclPermissionType.DENY: denies_known}
        rest = self._bindings - self._seen.keys()
        unused = [binding for binding in rest if logged[binding.entry.permission_type]]
        counts = dict.fromkeys(BindingUse, 0)
        for use in self._seen.values():
            counts[use] += 1
        counts[BindingUse.UNUSED] = len(unused)
        counts[BindingUse.CANNOT_SAY] = len(rest) - len(unused)
        return BindingUses(counts, tuple(sorted(unused)))

    def _keep_stronger(self, binding: AclBinding, use: BindingUse) -> None:
        """Keep the stronger of the known and the new use."""
        earlier = self._seen.get(binding)
        if earlier is None or _STRENGTH[use] > _STRENGTH[earlier]:
            self._seen[binding] = use


# Decide the accesses in the logs again: with the current bindings, and with those after a change.

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
        earlier = self._changed.get(key)
        total = tally if earlier is None else tally + earlier.tally
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


_SHOWN: Final = 20


class UsageQuestion(NamedTuple):
    """The question for every cluster: which days, and how often a denial must repeat to be reported."""

    window: Window = Window()
    repeats: int = 2


class UnexpectedDecision(NamedTuple):
    """An access with another outcome in the log than by the bindings."""

    event: Event
    tally: EventCount


@dataclass(frozen=True, slots=True)
class ClusterUsage:
    """The result for one cluster; ``failure`` says why there is none.

    ``cannot_say`` says why no ALLOW can be called unused, else it is empty. ``unexpected`` are accesses with another
    outcome in the log than by the current bindings: rights or settings have changed, or a declared setting is wrong;
    ``unexpected_count`` counts all of them. ``gone`` are bindings that logs name and that no longer exist.
    ``undeclared_super_users`` are super users for the brokers, but not in the Cluster document. ``claims`` are facts
    that only the manifests state: the result is reckoned without them.
    """

    cluster: str
    failure: str = ""
    summary: Summary = field(default_factory=Summary)
    period: Period = NO_PERIOD
    allowed: int = 0
    denied: int = 0
    asked_only: int = 0
    cannot_say: str = ""
    uses: Mapping[BindingUse, int] = field(default_factory=dict)
    unused: tuple[tuple[AclBinding, str], ...] = ()
    gone: tuple[tuple[AclBinding, int], ...] = ()
    opaque: int = 0
    denials: tuple[Denial, ...] = ()
    dropped_denials: int = 0
    unexpected: tuple[UnexpectedDecision, ...] = ()
    unexpected_count: int = 0
    undeclared_super_users: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    replay: ReplayResult | None = None


def doubted(claimed: ClaimedFacts, authorizer: Authorizer) -> Authorizer:
    """The authorizer by which no claim makes a change look smaller: its super users are ordinary principals."""
    return authorizer.doubting(claimed.super_users, default_allow=claimed.default_allow is not None)


def _settings(claimed: ClaimedFacts) -> Iterator[str]:
    """Each claim as a setting of the brokers."""
    if claimed.super_users:
        yield f"super.users={';'.join(sorted(claimed.super_users))}"
    if claimed.default_allow is not None:
        yield f"allow.everyone.if.no.acl.found={str(claimed.default_allow).lower()}"


_NO_CLAIMS: Final = ClaimedFacts()


class UsageAnalysis:
    """Collects the counted decisions of one cluster, in any order, and returns what they show."""

    def __init__(
        self,
        cluster: str,
        question: UsageQuestion,
        authorizer: Authorizer,
        after: Authorizer | None,
        claimed: ClaimedFacts = _NO_CLAIMS,
    ) -> None:
        """``authorizer`` has the bindings to analyse; ``after`` has the bindings after a change."""
        self._cluster, self._question, self._claimed = cluster, question, claimed
        self._declared_super_users = authorizer.super_users
        # A refusal in a log shows by itself that no default permits it: only a claim to the contrary is doubted here.
        self._refusing = authorizer.doubting(claimed.super_users, default_allow=claimed.default_allow is True)
        self._authorizer = authorizer = doubted(claimed, authorizer)
        after = None if after is None else doubted(claimed, after)
        self._used = BindingUseCollector(authorizer.bindings, authorizer.kafka_version)
        self._denials = Denials()
        self._replaying = None if after is None else Replayer(authorizer, after)
        self._unexpected: dict[Event, EventCount] = {}
        self._super_users: set[str] = set()
        self._summary = Summary()
        self._allowed = self._denied = self._asked_only = 0

    def note(self, summary: Summary) -> None:
        """Add a summary of reading."""
        self._summary = self._summary + summary

    def see(self, event: Event, tally: EventCount) -> None:
        """Add one decision and its count."""
        if event.asked_only:
            self._asked_only += tally.times
            return
        if event.allowed:
            self._allowed += tally.times
        else:
            self._denied += tally.times
        self._used.see(event, tally.times)
        self._denials.see(event, tally)
        if event.ground is LoggedReason.SUPER_USER:
            self._super_users.add(event.request.principal)
        if event.ground in BEYOND_ACLS:
            return
        now, _ = permitted(self._authorizer, event)
        if now is not None and now is not event.allowed:
            self._unexpected[event] = self._unexpected.get(event, EventCount()) + tally
        if self._replaying is not None:
            self._replaying.see(event, tally, now)

    def result(self, origins: Mapping[AclBinding, str]) -> ClusterUsage:
        """The result; ``origins`` say where bindings are declared."""
        cannot_say = self._cannot_say()
        heard = bool(self._allowed or self._denied)
        uses = self._used.uses(allows_known=not cannot_say, denies_known=heard)
        unexpected = sorted(self._unexpected.items(), key=lambda item: (-item[1].times, item[0].request))
        gone = sorted(self._used.gone.items(), key=lambda item: (-item[1], item[0]))
        return ClusterUsage(
            self._cluster,
            summary=self._summary,
            period=period_of(self._summary.days, self._question.window),
            allowed=self._allowed,
            denied=self._denied,
            asked_only=self._asked_only,
            cannot_say=cannot_say,
            uses=uses.counts,
            unused=tuple((binding, origins.get(binding, "")) for binding in uses.unused),
            gone=tuple(gone[:_SHOWN]),
            opaque=len(self._authorizer.sources.opaque),
            denials=tuple(self._denials.repeated(self._question.repeats, self._refusing)),
            dropped_denials=self._denials.dropped,
            unexpected=tuple(UnexpectedDecision(event, tally) for event, tally in unexpected[:_SHOWN]),
            unexpected_count=len(unexpected),
            undeclared_super_users=tuple(sorted(self._super_users - self._declared_super_users)[:_SHOWN]),
            claims=tuple(_settings(self._claimed)),
            replay=None if self._replaying is None else self._replaying.result(),
        )

    def _cannot_say(self) -> str:
        if self._allowed:
            return ""
        return NOTHING_ALLOWED if self._denied else NOTHING_READ
