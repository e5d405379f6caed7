"""ACL bindings as rows of wire codes, and which of them each Kafka client can carry."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    OpaqueBinding,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.topic import Topic, TopicPartitions
from reconciler.ports import NONE_KNOWN

# Values that the client cannot carry: it would raise, send something else, or lose the connection for all items.
#
# Each function returns the reason, or ``None`` without a problem.

#: The longest string of Kafka's protocol, in UTF-8 (``MessageGenerator``: "string field … had invalid length").
LONGEST_TEXT: Final = 32_767
#: librdkafka's ``RD_KAFKAP_PARTITIONS_MAX`` and ``RD_KAFKAP_BROKERS_MAX``.
MOST_PARTITIONS: Final = 100_000
MOST_REPLICAS: Final = 10_000
_LARGEST_ID: Final = 2**31 - 1


def text_problem(*texts: str | None) -> str | None:
    """The client passes C strings on, so a NUL ends a text; a broker closes the connection on one that is too long."""
    for text in texts:
        if text is None:
            continue
        if "\0" in text:
            return "the Kafka client cannot carry a text with a NUL character in it"
        if len(text) > LONGEST_TEXT // 4 and len(text.encode("utf-8", "replace")) > LONGEST_TEXT:
            return f"no Kafka request can carry a text of more than {LONGEST_TEXT:,} bytes"
    return None


def topic_problem(topic: Topic) -> str | None:
    """The problem of a topic to create."""
    assignments = topic.replica_assignments
    return (
        _partitions_problem(len(assignments) if assignments is not None else _or_one(topic.num_partitions))
        or _replicas_problem(_or_one(topic.replication_factor))
        or _assignments_problem(assignments or ())
        or settings_problem(topic.configs)
    )


def increase_problem(added: TopicPartitions) -> str | None:
    """The problem of added partitions."""
    return _partitions_problem(added.count) or _assignments_problem(added.assignments or ())


def settings_problem(configs: Mapping[str, str | None]) -> str | None:
    """The problem of configs to set or reset."""
    if "" in configs:
        return "the Kafka client cannot carry a config without a name"
    return text_problem(*configs, *configs.values())


def _or_one(count: int | None) -> int:
    return 1 if count is None else count


def _partitions_problem(count: int) -> str | None:
    return None if 1 <= count <= MOST_PARTITIONS else f"the Kafka client carries 1 to {MOST_PARTITIONS:,} partitions"


def _replicas_problem(count: int) -> str | None:
    return None if 1 <= count <= MOST_REPLICAS else f"the Kafka client carries 1 to {MOST_REPLICAS:,} replicas"


def _assignments_problem(assignments: tuple[tuple[int, ...], ...]) -> str | None:
    if not all(assignments):
        return "the Kafka client cannot carry a partition without replicas"
    if any(not 0 <= broker <= _LARGEST_ID for replicas in assignments for broker in replicas):
        return f"the Kafka client cannot carry the id of a broker that is not from 0 to {_LARGEST_ID:,}"
    return None


#: principal, host, operation, permission type.
EntryRow: TypeAlias = tuple[str, str, int | None, int | None]
#: resource type, name, pattern type, entries; a code is ``None`` if the reader lost it.
ResourceRow: TypeAlias = tuple[int | None, str, int | None, list[EntryRow]]

_TYPES: Final = {int(t): t for t in ResourceType if t >= ResourceType.TOPIC}
_PATTERNS: Final = {int(p): p for p in (PatternType.LITERAL, PatternType.PREFIXED)}
_OPERATIONS: Final = {int(o): o for o in AclOperation if o >= AclOperation.ALL}
_PERMISSIONS: Final = {int(p): p for p in (AclPermissionType.DENY, AclPermissionType.ALLOW)}

#: What librdkafka can name: its enums end here.
_LAST_TYPE: Final = ResourceType.TRANSACTIONAL_ID
_LAST_OPERATION: Final = AclOperation.IDEMPOTENT_WRITE


class ListedAcls(NamedTuple):
    """The ACLs of a listing: bindings, and entries of kinds that nobody here can name."""

    bindings: frozenset[AclBinding]
    opaque: tuple[OpaqueBinding, ...]


def needs_messages(binding: AclBinding) -> bool:
    """Whether confluent-kafka has no code for a binding's resource type or operation (librdkafka's enums)."""
    return binding.pattern.resource_type > _LAST_TYPE or binding.entry.operation > _LAST_OPERATION


def unsupported_by_client(binding: AclBinding, no_messages: str | None) -> str | None:
    """Why no client can carry ``binding``, or ``None`` if one can; ``no_messages`` says why kafka-python is not used.

    confluent-kafka passes C strings on, so a text with a NUL character would be sent as a different, shorter text.
    """
    if needs_messages(binding) and no_messages:
        kind, operation = binding.pattern.resource_type, binding.entry.operation
        what = f"ACLs on {kind.name} resources" if kind > _LAST_TYPE else f"the operation {operation.name}"
        return f"confluent-kafka cannot carry {what}, and kafka-python, which can, {no_messages}"
    return text_problem(binding.pattern.name, binding.entry.principal, binding.entry.host)


def read_rows(
    rows: Iterable[ResourceRow], patterns: Mapping[ResourcePattern, ResourcePattern] = NONE_KNOWN
) -> ListedAcls:
    """Rows as bindings, on the objects of ``patterns`` where these are equal.

    An entry of which a code is lost, or newer than ours, becomes opaque: no plan touches it.
    """
    bindings: set[AclBinding] = set()
    opaque: list[OpaqueBinding] = []
    entries: dict[EntryRow, AccessControlEntry | None] = {}
    for resource_type, name, pattern_type, entry_rows in rows:
        pattern = _pattern(resource_type, name, pattern_type)
        pattern = pattern and patterns.get(pattern, pattern)
        for row in entry_rows:
            # Entries repeat on many resources; sharing the objects saves time and memory on large listings.
            if row not in entries:
                entries[row] = _entry(row)
            entry = entries[row]
            if pattern is None or entry is None:
                opaque.append(OpaqueBinding(name, row[0], row[1], resource_type, pattern_type, row[2], row[3]))
            else:
                bindings.add(AclBinding(pattern, entry))
    return ListedAcls(frozenset(bindings), tuple(opaque))


def _pattern(resource_type: int | None, name: str, pattern_type: int | None) -> ResourcePattern | None:
    known_type, known_pattern = _TYPES.get(resource_type or 0), _PATTERNS.get(pattern_type or 0)
    if known_type is None or known_pattern is None or not name or text_problem(name):
        return None
    return ResourcePattern(known_type, name, known_pattern)


def _entry(row: EntryRow) -> AccessControlEntry | None:
    principal, host, operation, permission = row
    known_operation, known_permission = _OPERATIONS.get(operation or 0), _PERMISSIONS.get(permission or 0)
    if known_operation is None or known_permission is None or text_problem(principal, host):
        return None
    return AccessControlEntry(principal, host, known_operation, known_permission)
