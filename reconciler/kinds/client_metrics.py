"""Client metrics subscriptions: ALTER_CONFIGS on the cluster (KIP-714); one ``ClientMetrics`` document."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from reconciler.kinds.listed import ConfigKind
from reconciler.model.config_resource import items_of
from reconciler.model.kinds.client_metrics import ALL_METRICS, DEFAULT_INTERVAL, INTERVAL, METRICS, ClientMetrics
from reconciler.model.listing import Change, items_after
from reconciler.model.state import ClusterState
from reconciler.model.topic_configs import ConfigType, with_unit
from reconciler.plan.kinds.interface import LoginAtRisk, NewPassword, PhaseContext
from reconciler.plan.phase import Phase
from reconciler.policy import laws


class ClientMetricsSubscriptions(ConfigKind):
    """Which clients push which metrics."""

    resource = ClientMetrics
    answers = laws.Law(
        kind="clientMetrics",
        words="client metrics subscription",
        declared_by=laws.DeclaredBy.NO_TEAM,
        unowned=laws.Unowned.NO_TEAM,
        ends=laws.Ends.JUDGED,
        goes=laws.Goes.ABSENT,
        lockout=laws.Lockout.NO_LOGIN,
        new_access=laws.NewAccess.NONE,
        lost=laws.Lost.NOTHING,
        undeclared=laws.Undeclared.IF_KIND_DECLARED,
        undo=laws.Undo.RESTORES,
        audit=laws.Audit.BOTH_SIDES,
    )
    noun = "client metrics subscription"
    at_end = "the subscription goes"
    reading_right = "DESCRIBE_CONFIGS on the cluster"

    def phase(self, change: Change, context: PhaseContext) -> Phase:
        """Late: nothing relies on them."""
        return Phase.ALTER_DYNAMIC_CONFIGS

    def passwords(self, change: Change) -> Iterator[NewPassword]:
        """None."""
        yield from ()

    def risks(self, changes: Sequence[Change], live: ClusterState, logins: Mapping[str, str]) -> Iterator[LoginAtRisk]:
        """None: they are no login's."""
        yield from ()

    def warnings(self, changes: Sequence[Change], live: ClusterState) -> Iterator[str]:
        """One that every client matches: what all of them push is load on the brokers and on the receiver."""
        items = live.listing(ClientMetrics).items or frozenset()
        for item in sorted(items_after(ClientMetrics, items, changes) - items):
            metrics = items_of(item.values.get(METRICS, ""))
            if metrics and item.takes_all_clients:
                every = with_unit(ConfigType.MILLIS, item.values.get(INTERVAL, DEFAULT_INTERVAL))
                what = "all metrics" if ALL_METRICS in metrics else f"metrics under {', '.join(metrics)}"
                yield f"{item.subject} has no match: every client that can push metrics pushes {what} every {every}"

    def irreversible(self, change: Change) -> None:
        """Nothing: metrics that were not pushed are no state of the cluster."""


KIND: Final = ClientMetricsSubscriptions()
