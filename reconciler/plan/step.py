"""One step of a plan: a change, when it is performed, and what it expects to find."""

import datetime
import hashlib
import json
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

from reconciler.model import (
    AclBinding,
    AlterConfigs,
    Change,
    CreateAcl,
    CreatePartitions,
    CreateTopic,
    DeleteAcl,
    DeleteTopic,
    Impossible,
    Origin,
    Topic,
)
from reconciler.plan.phase import Phase

#: What JSON can say of one side of a change; ``None``: it is not there.
Side: TypeAlias = dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Step:
    """A change in its phase. ``destructive``: undoing it does not bring back what was lost or who was cut off.

    ``expires`` is the last day on which what it creates is wanted, ``None`` where that has no end.
    """

    phase: Phase
    change: Change
    origin: Origin | None = None
    expires: datetime.date | None = None

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits, the same for the same change in any plan."""
        action, before, after = sides(self.change)
        text = json.dumps([action, before, after], ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def destructive(self) -> bool:
        """Whether it takes something away: a grant, a restriction, a topic, records."""
        return isinstance(self.change, DeleteAcl | DeleteTopic) or self.phase is Phase.DELETE_TOPIC

    @property
    def reversible(self) -> bool:
        """Whether the state before can be restored: not a deleted topic, not fewer partitions, not lost records."""
        return not isinstance(self.change, DeleteTopic | CreatePartitions) and self.phase is not Phase.DELETE_TOPIC


def sides(change: Change) -> tuple[str, Side, Side]:
    """Action, before, after, as the plan file spells them; the operation follows from which side is present."""
    match change:
        case CreateAcl(binding):
            return "CreateAcl", None, binding_side(binding)
        case DeleteAcl(binding):
            return "DeleteAcl", binding_side(binding), None
        case CreateTopic(topic):
            return "CreateTopic", None, topic_side(topic)
        case DeleteTopic(topic):
            return "DeleteTopic", topic_side(topic), None
        case CreatePartitions(name, before, after, topic_id, assignments):
            identity = {"name": name, "topicId": topic_id}
            wanted = {**identity, "partitions": after, **_assignments_side(assignments)}
            return "CreatePartitions", {**identity, "partitions": before}, wanted
        case AlterConfigs(name, old, new, topic_id):
            identity = {"name": name, "topicId": topic_id}
            return "AlterConfigs", {**identity, "configs": dict(old)}, {**identity, "configs": dict(new)}
        case Impossible(kind, name, before_text, after_text, _):
            return "Impossible", {"name": name, kind: before_text}, {"name": name, kind: after_text}
    assert_never(change)


def binding_side(binding: AclBinding) -> dict[str, Any]:
    """The seven fields of a binding."""
    (resource_type, name, pattern_type), (principal, host, operation, permission_type) = binding
    return {
        "resourceType": resource_type.name,
        "name": name,
        "patternType": pattern_type.name,
        "principal": principal,
        "host": host,
        "operation": operation.name,
        "permissionType": permission_type.name,
    }


def topic_side(topic: Topic) -> dict[str, Any]:
    """A topic's fields; ``null`` where the broker's default is asked for or nothing is known."""
    return {
        "name": topic.name,
        "topicId": topic.topic_id,
        "partitions": topic.num_partitions,
        "replicationFactor": topic.replication_factor,
        "configs": dict(topic.configs),
        **_assignments_side(topic.replica_assignments),
    }


def _assignments_side(assignments: tuple[tuple[int, ...], ...] | None) -> dict[str, Any]:
    """The brokers of each partition, where they are asked for."""
    return {} if assignments is None else {"replicaAssignments": [list(replicas) for replicas in assignments]}


def describe(change: Change) -> str:
    """A change in a few words, as reports and refusals name it."""
    match change:
        case CreateAcl(binding):
            return f"create {binding}"
        case DeleteAcl(binding):
            return f"delete {binding}"
        case DeleteTopic(topic):
            return f"delete topic {topic.name}"
        case CreateTopic(topic):
            return f"create topic {topic.name}"
        case CreatePartitions(name):
            return f"add partitions to topic {name}"
        case AlterConfigs(name):
            return f"alter settings of topic {name}"
        case Impossible(kind, name):
            return f"change {kind} of {name}"
    assert_never(change)
