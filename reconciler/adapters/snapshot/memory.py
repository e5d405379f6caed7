"""A cluster in memory: a real implementation of the port, under the same rules as the file."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from reconciler.adapters.snapshot import acl_rules, topic_rules
from reconciler.adapters.snapshot.broker import BrokerFacts, Snapshot
from reconciler.adapters.snapshot.view import requested
from reconciler.model import AclBinding, ClusterState, Topic, TopicConfigs, TopicPartitions, TopicUse, Update
from reconciler.ports import Answer, ReadRequest

_DEFAULTS = BrokerFacts()


class MemoryCluster:
    """A cluster that keeps Kafka's rules; ``snapshot`` is what it holds now."""

    def __init__(self, state: ClusterState, broker: BrokerFacts = _DEFAULTS) -> None:
        """Starts with ``state``."""
        self.snapshot = Snapshot(state, broker)

    @property
    def state(self) -> ClusterState:
        """Everything it holds, whatever a reader would ask for."""
        return self.snapshot.state

    def read(self, request: ReadRequest) -> ClusterState:
        """What ``request`` asks for."""
        return requested(self.snapshot, request)

    def brokers(self) -> frozenset[int]:
        """The ids of the brokers; empty where the snapshot does not say."""
        return frozenset(self.snapshot.broker.broker_ids or ())

    def create_acls(self, bindings: Sequence[AclBinding]) -> list[Answer]:
        """See :class:`reconciler.ports.ClusterWriter`."""
        after, answers = acl_rules.create_acls(self.state.bindings, bindings)
        return self._keep(replace(self.state, bindings=after), answers)

    def delete_acls(self, bindings: Sequence[AclBinding]) -> list[Answer]:
        """See :class:`reconciler.ports.ClusterWriter`."""
        after, answers = acl_rules.delete_acls(self.state.bindings, bindings)
        return self._keep(replace(self.state, bindings=after), answers)

    def create_topics(self, topics: Sequence[Topic]) -> list[Answer]:
        """See :class:`reconciler.ports.ClusterWriter`."""
        self.snapshot, answers = topic_rules.create_topics(self.snapshot, topics)
        return answers

    def delete_topics(self, names: Sequence[str]) -> list[Answer]:
        """See :class:`reconciler.ports.ClusterWriter`."""
        return self._keep(*topic_rules.delete_topics(self.state, names))

    def create_partitions(self, changes: Sequence[Update[TopicPartitions]]) -> list[Answer]:
        """See :class:`reconciler.ports.ClusterWriter`."""
        return self._keep(*topic_rules.create_partitions(self.snapshot, changes))

    def alter_configs(self, changes: Sequence[Update[TopicConfigs]]) -> list[Answer]:
        """See :class:`reconciler.ports.ClusterWriter`."""
        return self._keep(*topic_rules.alter_configs(self.state, changes))

    def validate_topics(self, topics: Sequence[Topic]) -> list[Answer]:
        """See :class:`reconciler.ports.TopicValidator`."""
        return topic_rules.create_topics(self.snapshot, topics)[1]

    def validate_partitions(self, changes: Sequence[Update[TopicPartitions]]) -> list[Answer]:
        """See :class:`reconciler.ports.TopicValidator`."""
        return topic_rules.create_partitions(self.snapshot, changes)[1]

    def validate_configs(self, changes: Sequence[Update[TopicConfigs]]) -> list[Answer]:
        """See :class:`reconciler.ports.TopicValidator`."""
        return topic_rules.alter_configs(self.state, changes)[1]

    def topic_uses(self, names: Collection[str]) -> Mapping[str, TopicUse]:
        """See :class:`reconciler.ports.TopicInspector`; a snapshot holds no records."""
        return {name: TopicUse(gaps=("a snapshot does not say what a topic holds",)) for name in names}

    def _keep(self, state: ClusterState, answers: list[Answer]) -> list[Answer]:
        self.snapshot = replace(self.snapshot, state=state)
        return answers
