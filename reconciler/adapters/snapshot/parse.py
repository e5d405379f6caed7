"""Reading a snapshot: every field is checked, and what is wrong is named with its place.

A field that this version does not know is an error, a misspelt one would otherwise read as "empty"; only a file of
a later minor version may have more. Duplicate keys, bindings and topics are errors.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Never, TypeVar

from reconciler.adapters.snapshot.broker import BrokerFacts, Snapshot
from reconciler.adapters.snapshot.fields import Fields, SnapshotError, integer, items, text
from reconciler.adapters.snapshot.text import FORMAT_VERSION
from reconciler.model import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ClusterState,
    OpaqueBinding,
    PatternType,
    ResourcePattern,
    ResourceType,
    Topic,
)

__all__ = ["SnapshotError", "parse_document", "parse_snapshot"]

_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})", re.ASCII)
_MAJOR, _MINOR = (int(part) for part in FORMAT_VERSION.split("."))
# By name, without the members that belong in filters.
_RESOURCE_TYPES: Final = {member.name: member for member in ResourceType if member >= ResourceType.TOPIC}
_PATTERN_TYPES: Final = {member.name: member for member in PatternType if member >= PatternType.LITERAL}
_OPERATIONS: Final = {member.name: member for member in AclOperation if member >= AclOperation.ALL}
_PERMISSIONS: Final = {member.name: member for member in AclPermissionType if member >= AclPermissionType.DENY}
_Member = TypeVar("_Member", ResourceType, PatternType, AclOperation, AclPermissionType)


def parse_snapshot(source: str) -> ClusterState:
    """The state that a snapshot's text holds; raises :class:`SnapshotError`."""
    return parse_document(source).state


def parse_document(source: str) -> Snapshot:
    """The state and what the snapshot says of its brokers; raises :class:`SnapshotError`."""
    document = _document(source)
    fields = Fields(document, "", strict=_is_known_minor(document))
    state = ClusterState(
        cluster_id=fields.text("clusterId"),
        bindings=_bindings(fields),
        topics=_topics(fields),
        opaque=tuple(_opaque(entry) for entry in fields.objects("opaque")),
        unreadable_topics=fields.texts("unreadableTopics"),
        acl_gap=fields.optional_text("aclGap"),
        topic_gap=fields.optional_text("topicGap"),
    )
    for name in state.unreadable_topics:
        if name in state.topics:
            raise SnapshotError(f"unreadableTopics.{name}", "the topic is also among the topics that were read")
    broker = _broker(fields)
    fields.close("formatVersion")
    return Snapshot(state, broker)


def _document(source: str) -> dict[str, Any]:
    try:
        document = json.loads(source, object_pairs_hook=_unique, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise SnapshotError(f"line {error.lineno}, column {error.colno}", error.msg) from None
    except SnapshotError:
        raise
    except (ValueError, RecursionError) as error:
        raise SnapshotError("the document", str(error)) from None
    if not isinstance(document, dict):
        raise SnapshotError("the document", "a snapshot is a JSON object")
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise SnapshotError(f"the key {twice!r}", "it occurs twice in one object")
    return found


def _no_number(constant: str) -> Never:
    raise SnapshotError(constant, "this is no JSON number")


def _is_known_minor(document: Mapping[str, Any]) -> bool:
    version = text(document.get("formatVersion"), "formatVersion")
    match = _VERSION.fullmatch(version)
    if match is None:
        raise SnapshotError("formatVersion", f"{version!r} is no version, as in {FORMAT_VERSION!r}")
    if int(match[1]) != _MAJOR:
        raise SnapshotError("formatVersion", f"this version reads {_MAJOR}.x, the snapshot is {version}")
    return int(match[2]) <= _MINOR


def _bindings(fields: Fields) -> frozenset[AclBinding]:
    found: set[AclBinding] = set()
    for group in fields.objects("acls"):
        pattern = ResourcePattern(
            _member(_RESOURCE_TYPES, group.text("resourceType"), f"{group.place}.resourceType"),
            group.filled_text("name"),
            _member(_PATTERN_TYPES, group.text("patternType"), f"{group.place}.patternType"),
        )
        for index, row in enumerate(group.items("entries")):
            _add_row(found, pattern, row, f"{group.place}.entries[{index}]")
        group.close()
    return frozenset(found)


def _add_row(found: set[AclBinding], pattern: ResourcePattern, row: object, place: str) -> None:
    cells = [text(cell, place) for cell in items(row, place)]
    if len(cells) < 4:
        raise SnapshotError(place, "a row is [principal, host, permission, operation, …]")
    permission = _member(_PERMISSIONS, cells[2], place)
    for name in cells[3:]:
        entry = AccessControlEntry(cells[0], cells[1], _member(_OPERATIONS, name, place), permission)
        binding = AclBinding(pattern, entry)
        if binding in found:
            raise SnapshotError(place, f"{binding} is there twice")
        found.add(binding)


def _member(members: Mapping[str, _Member], name: str, place: str) -> _Member:
    member = members.get(name)
    if member is None:
        raise SnapshotError(place, f"{name!r} is none of {', '.join(members)}")
    return member


def _topics(fields: Fields) -> dict[str, Topic]:
    found: dict[str, Topic] = {}
    for item in fields.objects("topics"):
        topic = Topic(
            name=item.filled_text("name"),
            num_partitions=item.optional_integer("partitions", 1),
            replication_factor=item.optional_integer("replicationFactor", 1),
            configs=item.texts("configs"),
            topic_id=item.optional_text("topicId"),
            replica_assignments=_assignments(item),
        )
        item.close()
        if topic.name in found:
            raise SnapshotError(f"{item.place}.name", f"the topic {topic.name!r} is there twice")
        found[topic.name] = topic
    return found


def _assignments(item: Fields) -> tuple[tuple[int, ...], ...] | None:
    value = item.take("replicaAssignments")
    if value is None:
        return None
    place = f"{item.place}.replicaAssignments"
    return tuple(_integers(items(part, place), place) for part in items(value, place))


def _integers(values: Iterable[object], place: str) -> tuple[int, ...]:
    return tuple(integer(value, place, 0) for value in values)


def _opaque(item: Fields) -> OpaqueBinding:
    entry = OpaqueBinding(
        name=item.text("name"),
        principal=item.text("principal"),
        host=item.text("host"),
        resource_type=item.optional_integer("resourceType", None),
        pattern_type=item.optional_integer("patternType", None),
        operation=item.optional_integer("operation", None),
        permission_type=item.optional_integer("permissionType", None),
    )
    item.close()
    return entry


def _broker(fields: Fields) -> BrokerFacts:
    value = fields.take("broker")
    if value is None:
        return BrokerFacts()
    item = fields.inside(value, "broker")
    ids = item.take("brokerIds")
    facts = BrokerFacts(
        default_partitions=item.integer_or("defaultPartitions", 1, least=1),
        default_replication_factor=item.integer_or("defaultReplicationFactor", 1, least=1),
        broker_ids=None if ids is None else _integers(items(ids, "broker.brokerIds"), "broker.brokerIds"),
        topics_created=item.integer_or("topicsCreated", 0, least=0),
    )
    item.close()
    return facts
