"""A cluster state as canonical text: equal states give equal bytes.

Bindings are grouped by pattern, and under it one row for each principal, host and permission, with its operations:
150,000 bindings as single objects would repeat the names of the fields and the pattern 150,000 times. Each row, topic
and opaque entry has a line of its own, so that a line-by-line comparison of two snapshots reads as a list of facts.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from reconciler.adapters.snapshot.broker import BrokerFacts
from reconciler.model import AccessControlEntry, AclBinding, ClusterState, OpaqueBinding, Topic
from reconciler.model.disguise import undisguised_json

#: Major and minor: a reader refuses a major it does not know and ignores fields of a later minor.
FORMAT_VERSION: Final = "1.0"

_DEFAULTS = BrokerFacts()
# One encoder for all: json.dumps would build one for each of 150,000 rows.
_json = json.JSONEncoder(ensure_ascii=False).encode


def snapshot_text(state: ClusterState, broker: BrokerFacts = _DEFAULTS) -> str:
    """The snapshot of ``state``, ending in a newline; raises ``ValueError`` for text that is not Unicode."""
    fields = [
        f'"formatVersion": {_json(FORMAT_VERSION)}',
        f'"clusterId": {_json(state.cluster_id)}',
        f'"aclGap": {_json(state.acl_gap)}',
        f'"topicGap": {_json(state.topic_gap)}',
        *([f'"broker": {_json(_broker(broker))}'] if broker != _DEFAULTS else []),
        f'"acls": {_lines(_groups(state.bindings))}',
        f'"topics": {_lines(_json(_topic(state.topics[name])) for name in state.topics)}',
        f'"opaque": {_lines(_json(_opaque(entry)) for entry in state.opaque)}',
        f'"unreadableTopics": {_json(dict(state.unreadable_topics))}',
    ]
    text = "{\n" + ",\n".join(fields) + "\n}\n"
    text.encode()
    return undisguised_json(text)


def _lines(items: Iterable[str]) -> str:
    text = ",\n".join(items)
    return f"[\n{text}\n]" if text else "[]"


def _groups(bindings: Iterable[AclBinding]) -> Iterator[str]:
    for pattern, group in groupby(sorted(bindings), key=lambda binding: binding.pattern):
        head = {
            "resourceType": pattern.resource_type.name,
            "patternType": pattern.pattern_type.name,
            "name": pattern.name,
        }
        yield f'{_json(head)[:-1]}, "entries": {_lines(_rows(binding.entry for binding in group))}}}'


def _rows(entries: Iterable[AccessControlEntry]) -> Iterator[str]:
    """Rows ``[principal, host, permission, operation, …]`` of one pattern's entries."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for entry in entries:
        rows.setdefault((entry.principal, entry.host, entry.permission_type.name), []).append(entry.operation.name)
    return (_json([*row, *operations]) for row, operations in sorted(rows.items()))


def _topic(topic: Topic) -> dict[str, object]:
    fields: dict[str, object] = {
        "name": topic.name,
        "partitions": topic.num_partitions,
        "replicationFactor": topic.replication_factor,
        "topicId": topic.topic_id,
        "configs": dict(topic.configs),
    }
    if topic.replica_assignments is not None:
        fields["replicaAssignments"] = topic.replica_assignments
    return fields


def _opaque(entry: OpaqueBinding) -> dict[str, object]:
    return {
        "resourceType": entry.resource_type,
        "patternType": entry.pattern_type,
        "name": entry.name,
        "principal": entry.principal,
        "host": entry.host,
        "operation": entry.operation,
        "permissionType": entry.permission_type,
    }


def _broker(broker: BrokerFacts) -> dict[str, object]:
    return {
        "defaultPartitions": broker.default_partitions,
        "defaultReplicationFactor": broker.default_replication_factor,
        "brokerIds": broker.broker_ids,
        "topicsCreated": broker.topics_created,
    }
