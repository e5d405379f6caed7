"""Everything that logs show about one cluster: used bindings, denials, and accesses under a change."""

from collections.abc import Mapping
from dataclasses import field
from typing import Final, NamedTuple

from reconciler.access import Authorizer
from reconciler.dataclass import dataclass
from reconciler.fleet.usage.binding_use import BindingUse, BindingUseCollector
from reconciler.fleet.usage.clock import Window
from reconciler.fleet.usage.counts import EventCount
from reconciler.fleet.usage.coverage import NOTHING_ALLOWED, NOTHING_READ, Coverage, coverage
from reconciler.fleet.usage.denials import Denial, Denials
from reconciler.fleet.usage.event import Event, LoggedReason
from reconciler.fleet.usage.replay import BEYOND_ACLS, Replayer, ReplayResult, permitted
from reconciler.fleet.usage.summary import Summary
from reconciler.model import AclBinding

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
    coverage: Coverage = field(default_factory=Coverage)
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


class ClaimedUsageFacts(NamedTuple):
    """Facts about access that only the manifests state: whoever proposes a change must not decide by them."""

    super_users: frozenset[str] = frozenset()
    default_allow: bool | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """Each fact as a setting of the brokers."""
        users = f"super.users={';'.join(sorted(self.super_users))}" if self.super_users else ""
        flag = "" if self.default_allow is None else f"allow.everyone.if.no.acl.found={str(self.default_allow).lower()}"
        return tuple(filter(None, (users, flag)))

    def doubted(self, authorizer: Authorizer) -> Authorizer:
        """The authorizer by which no claim makes a change look smaller: its super users are ordinary principals."""
        return authorizer.doubting(self.super_users, default_allow=self.default_allow is not None)


NOTHING_CLAIMED: Final = ClaimedUsageFacts()


class UsageAnalysis:
    """Collects the counted decisions of one cluster, in any order, and returns what they show."""

    def __init__(
        self,
        cluster: str,
        question: UsageQuestion,
        authorizer: Authorizer,
        after: Authorizer | None,
        claimed: ClaimedUsageFacts = NOTHING_CLAIMED,
    ) -> None:
        """``authorizer`` has the bindings to analyse; ``after`` has the bindings after a change."""
        self._cluster, self._question, self._claimed = cluster, question, claimed
        self._declared_super_users = authorizer.super_users
        # A refusal in a log shows by itself that no default permits it: only a claim to the contrary is doubted here.
        self._refusing = authorizer.doubting(claimed.super_users, default_allow=claimed.default_allow is True)
        self._authorizer = authorizer = claimed.doubted(authorizer)
        after = None if after is None else claimed.doubted(after)
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
            coverage=coverage(self._question.window, self._summary.days),
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
            claims=self._claimed.words,
            replay=None if self._replaying is None else self._replaying.result(),
        )

    def _cannot_say(self) -> str:
        if self._allowed:
            return ""
        return NOTHING_ALLOWED if self._denied else NOTHING_READ
