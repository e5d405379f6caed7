"""A cluster in memory: a real implementation of the port, under the same rules as the file."""

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from reconciler.model.acl import AclBinding
from reconciler.model.listing import Change
from reconciler.model.state import BrokerSettings, ClusterState
from reconciler.model.topic import Layout, TopicUse
from reconciler.ports import NOT_VALIDATED, Answer, ReadRequest
from reconciler.snapshot.document import BrokerFacts, Snapshot, failed
from reconciler.snapshot.kinds import KINDS, kind_of
from reconciler.snapshot.layout import layout

# The part of a state that a reader asks for.


def requested(snapshot: Snapshot, request: ReadRequest) -> ClusterState:
    """What ``request`` asks for."""
    state = snapshot.state
    for kind in KINDS:
        state = kind.view(snapshot, request, state)
    return state if request.groups else replace(state, groups=None)


_DEFAULTS = BrokerFacts()


class MemoryCluster:
    """A cluster that keeps Kafka's rules; ``snapshot`` is what it holds now."""

    def __init__(
        self, state: ClusterState, broker: BrokerFacts = _DEFAULTS, racks: Mapping[int, str | None] | None = None
    ) -> None:
        """Starts with ``state``; without ``racks`` of its brokers nobody can tell where replicas belong."""
        self.snapshot = Snapshot(state, broker, racks)

    @property
    def state(self) -> ClusterState:
        """Everything it holds, whatever a reader would ask for."""
        return self.snapshot.state

    def read(self, request: ReadRequest) -> ClusterState:
        """What ``request`` asks for."""
        state, known = requested(self.snapshot, request), request.known
        if not known:
            return state
        bindings = frozenset(AclBinding(known.get(pattern, pattern), entry) for pattern, entry in state.bindings)
        return replace(state, bindings=bindings)

    def brokers(self) -> frozenset[int]:
        """The ids of the brokers; empty where the snapshot does not say."""
        return frozenset(self.snapshot.broker.broker_ids or ())

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        """See :class:`reconciler.ports.ClusterWriter`."""
        if not changes:
            return []
        self.snapshot, answers = kind_of(changes[0]).send(self.snapshot, changes)
        return answers

    def validate(self, changes: Sequence[Change]) -> list[Answer]:
        """See :class:`reconciler.ports.ChangeValidator`."""
        if changes and not kind_of(changes[0]).can_validate(changes[0]):
            return [NOT_VALIDATED] * len(changes)
        return MemoryCluster(self.state, self.snapshot.broker).send(changes)

    def topic_uses(self, names: Collection[str]) -> Mapping[str, TopicUse]:
        """See :class:`reconciler.ports.TopicInspector`; a snapshot holds no records."""
        return {name: TopicUse(gaps=("a snapshot does not say what a topic contains",)) for name in names}

    def broker_settings(self, configs: Collection[str], *, features: bool) -> BrokerSettings:
        """See :class:`reconciler.ports.BrokerInspector`; a snapshot holds neither."""
        return BrokerSettings(gap="a snapshot holds no configs of brokers and no features")

    def controller_time(self) -> datetime.datetime | None:
        """See :class:`reconciler.ports.Cluster`; a snapshot has no clock."""
        return None

    def set_replication_rates(self, brokers: Collection[int], rate: int | None) -> Mapping[int, str]:
        """See :class:`reconciler.ports.ReplicationRates`; nobody copies anything here."""
        return dict.fromkeys(brokers, "a snapshot has no brokers that copy replicas")

    def reassignments(self) -> Layout:
        """See :class:`reconciler.ports.Reassignments`; every move is finished at once. Raises where nobody can tell."""
        return layout(self.snapshot, ())

    def cancel_reassignments(self, partitions: Sequence[tuple[str, int]]) -> list[Answer]:
        """See :class:`reconciler.ports.Reassignments`; there are none."""
        return [failed("NO_REASSIGNMENT_IN_PROGRESS", "No partition reassignment is in progress.")] * len(partitions)
