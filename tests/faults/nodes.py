"""Nodes in memory, each with its own idea of the ACLs: what a probe sees, by the plain reading of the authorizer."""

from collections.abc import Collection, Mapping

from reconciler.model.acl import AclBinding, AclOperation, ResourceType
from reconciler.ports import CONTROLLER, ProbeAnswer, Visibility
from reconciler.snapshot.file import MemoryCluster
from tests.property.naive import Ask, permitted


class Nodes:
    """Brokers 1 to 3 and the controller; those in ``stuck`` see what they saw, those in ``down`` do not answer."""

    def __init__(self, cluster: MemoryCluster, *, default_allow: bool = False) -> None:
        self.cluster, self.default_allow = cluster, default_allow
        self.stuck: dict[int, frozenset[AclBinding]] = {}
        self.down: set[int] = set()
        self.named = {1, 2, 3}
        self.super_users: set[str] = set()
        self.otherwise: set[int] = set()  # brokers whose allow.everyone.if.no.acl.found differs from the others'

    def stick(self, node: int) -> None:
        self.stuck[node] = self.cluster.state.bindings

    def as_user(self, principal: str) -> "NodesProbe":
        return NodesProbe(self, principal)


class NodesProbe:
    """Implements ``reconciler.ports.Probe``."""

    def __init__(self, nodes: Nodes, principal: str) -> None:
        self._nodes, self._principal = nodes, principal
        self.asked: list[tuple[str, int]] = []

    def brokers(self) -> frozenset[int]:
        return frozenset(self._nodes.named)

    def ask(self, topic: str, nodes: Collection[int]) -> Mapping[int, ProbeAnswer]:
        self.asked += [(topic, node) for node in nodes]
        return {node: self._answer(topic, node) for node in nodes}

    def _answer(self, topic: str, node: int) -> ProbeAnswer:
        if node in self._nodes.down:
            return ProbeAnswer(Visibility.SILENT, "_TIMED_OUT: down")
        if self._principal in self._nodes.super_users:
            return ProbeAnswer(Visibility.PERMITTED)
        operation = AclOperation.ALTER_CONFIGS if node == CONTROLLER else AclOperation.DESCRIBE_CONFIGS
        known = self._nodes.stuck.get(node, self._nodes.cluster.state.bindings)
        ask = Ask(self._principal, "10.0.0.1", operation, ResourceType.TOPIC, topic)
        flag = self._nodes.default_allow != (node in self._nodes.otherwise)
        answer = permitted(known, ask, default_allow=flag)
        return ProbeAnswer(Visibility.PERMITTED if answer else Visibility.REFUSED)
