"""The cluster of the tour before there are manifests: access of teams, and manual changes."""

from collections.abc import Iterator, Sequence
from typing import Final

from reconciler.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    Create,
    PatternType,
    ResourcePattern,
    ResourceType,
    Topic,
)
from reconciler.ports import Clock, Cluster, ClusterError, ReadRequest

#: Users that log in on the tour, besides the super users.
USERS: Final = ("svc-orders", "svc-analytics", "svc-batch")
#: A broker enforces a change shortly after the controller accepted it, usually within milliseconds.
_ENFORCED_SECONDS: Final = 20.0

_TOPIC, _GROUP = ResourceType.TOPIC, ResourceType.GROUP


def _acls(
    principal: str, permission: str, operations: str, pattern: ResourcePattern, host: str = "*"
) -> Iterator[AclBinding]:
    for operation in operations.split():
        entry = AccessControlEntry(f"User:{principal}", host, AclOperation[operation], AclPermissionType[permission])
        yield AclBinding(pattern, entry)


def _topic(name: str) -> ResourcePattern:
    return ResourcePattern(_TOPIC, name)


def _prefix(kind: ResourceType, name: str) -> ResourcePattern:
    return ResourcePattern(kind, name, PatternType.PREFIXED)


TOPICS: Final = (
    # An hour instead of a week: set by hand when a disk was full.
    Topic("orders.placed", 3, 1, {"retention.ms": "3600000"}),
    Topic("orders.personal.addresses", 3, 1, {"cleanup.policy": "compact", "retention.ms": "604800000"}),
    Topic("payments.settled", 3, 1, {"retention.ms": "604800000"}),
    Topic("legacy.import", 1, 1),
)

BINDINGS: Final = (
    # As in the manifests.
    *_acls("svc-orders", "ALLOW", "WRITE DESCRIBE", _topic("orders.placed")),
    *_acls("svc-orders", "ALLOW", "READ DESCRIBE", _topic("payments.settled")),
    *_acls("svc-orders", "ALLOW", "READ", ResourcePattern(_GROUP, "orders")),
    *_acls("svc-payments", "ALLOW", "READ DESCRIBE", _topic("orders.placed")),
    *_acls("svc-payments", "ALLOW", "READ", ResourcePattern(_GROUP, "payments")),
    *_acls("svc-analytics", "ALLOW", "READ", _prefix(_TOPIC, "orders.")),
    *_acls("svc-analytics", "ALLOW", "READ", _prefix(_GROUP, "analytics-")),
    # Granted for an audit that is over.
    *_acls("svc-analytics", "ALLOW", "READ", _topic("payments.settled")),
    # Manual changes: a quick fix that grants too much, an emergency DENY that stayed, a service that no longer exists.
    *_acls("svc-analytics", "ALLOW", "READ", _prefix(_TOPIC, "payments.")),
    *_acls("svc-orders", "DENY", "WRITE", _topic("orders.placed")),
    *_acls("svc-batch", "ALLOW", "ALL", _topic("orders.placed")),
    # Not ours: ignored by declaration, and out of scope.
    *_acls("sa-mirror", "ALLOW", "READ DESCRIBE", _prefix(_TOPIC, "orders.")),
    *_acls("monitoring", "ALLOW", "DESCRIBE", _topic("*")),
    *_acls("etl", "ALLOW", "READ WRITE", _topic("legacy.import"), "10.0.0.9"),
)

#: A manual change after the manifests were applied.
BY_HAND: Final = tuple(_acls("svc-batch", "ALLOW", "WRITE", _topic("orders.placed")))


def put(cluster: Cluster, clock: Clock, bindings: Sequence[AclBinding], topics: Sequence[Topic] = ()) -> None:
    """Create through Kafka's Admin API and wait until the broker enforces it; raises :class:`ClusterError`."""
    answers = [*cluster.send([Create(topic) for topic in topics]), *cluster.send([Create(b) for b in bindings])]
    for answer in answers:
        if not answer.good:
            raise ClusterError(answer.code, answer.message)
    end = clock.monotonic() + _ENFORCED_SECONDS
    while not cluster.read(ReadRequest(all_topics=False)).bindings.issuperset(bindings):
        if clock.monotonic() > end:
            raise ClusterError("not_enforced", f"the broker does not know its new ACLs after {_ENFORCED_SECONDS:g} s")
        clock.sleep(0.1)
