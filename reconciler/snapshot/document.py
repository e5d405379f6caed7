"""A snapshot as canonical text and back: equal states give equal bytes.

Each row, topic and opaque entry has a line of its own, so that a line-by-line comparison of two snapshots reads as a
list of facts. A field that this version does not know is an error, because a misspelt one would otherwise read as
"empty"; only a file of a newer minor version may have more.

Bindings are grouped by pattern, in rows ``[principal, host, permission, operation, …]``: 150,000 single objects would
repeat the names of the fields and the pattern 150,000 times. A group is read and written at a time.
"""

import base64
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import repeat
from typing import Annotated, Any, Final, NamedTuple, TextIO, TypeAlias, cast

from reconciler.codec import values
from reconciler.codec.annotated import record_of
from reconciler.codec.codec import (
    COUNT,
    TEXT,
    Codec,
    Lines,
    SchemaError,
    array,
    document_pieces,
    integer,
    mapping,
    nullable,
    text,
    unexpected,
)
from reconciler.codec.document import UnevenError, known_minor, load, load_streamed, schema_text
from reconciler.codec.kinds import listings
from reconciler.codec.objects import Record, field, flat, record
from reconciler.dataclass import dataclass
from reconciler.model.acl import AccessControlEntry, AclBinding, PatternType, ResourcePattern, ResourceType
from reconciler.model.characters import escape_invisible_json
from reconciler.model.frozen import FrozenMap, without_collector
from reconciler.model.says import Says
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.ports import NONE_KNOWN, Answer, AnswerStatus, ClusterError

_ENTRIES: Final = "entries"
_PERMISSION: Final = values.PERMISSION.write
_OPERATION: Final = values.OPERATION.write
_new_binding: Final = partial(tuple.__new__, AclBinding)
#: So many rows are remembered: those of one principal are near each other, as a rule.
_MOST_ROWS: Final = 1 << 10
#: The same by snapshots that are read one after the other, as those of a fleet: they are much alike.
_SEEN_ROWS: Final[dict[tuple[Any, ...], tuple[AccessControlEntry, ...]]] = {}
_KINDS: Final = {item.name: item for item in ResourceType}
_FORMS: Final = {item.name: item for item in PatternType}


class PatternGroup(NamedTuple):
    """The entries of one pattern: one after another where they are written, by row where they were read."""

    resource_type: Annotated[ResourceType, values.RESOURCE_TYPE, Says("The type of resource.", "TOPIC")]
    pattern_type: Annotated[PatternType, values.PATTERN_TYPE, Says("How the name is compared.", "LITERAL")]
    name: Annotated[str, values.NAME, Says("The name.", "orders")]
    entries: Annotated[
        Iterable[Any],
        Says("Sorted rows of principal, host, permission, and one or more operations in the order of their codes."),
    ]

    @property
    def pattern(self) -> ResourcePattern:
        """The pattern of all entries."""
        return ResourcePattern(self.resource_type, self.name, self.pattern_type)


def bindings_codec(*, closed: bool) -> Codec[frozenset[AclBinding]]:
    """The codec of ``acls``; ``closed`` refuses fields that this version does not know."""
    group = _group_codec(closed=closed)

    def read(value: Any) -> frozenset[AclBinding]:
        if value.__class__ is frozenset:  # no JSON: what read_items made of a file that is read bit by bit
            return cast("frozenset[AclBinding]", value)
        if value.__class__ is not list:
            raise unexpected("an array", value)
        try:
            return read_items(value, closed=closed)
        except SchemaError:
            return _read_in_order(value, group)

    def write(bindings: frozenset[AclBinding]) -> Lines:
        # Sorted by pattern first and then within each: half the time of sorting a million bindings at once.
        groups: defaultdict[ResourcePattern, list[AccessControlEntry]] = defaultdict(list)
        for pattern, entry in bindings:
            groups[pattern].append(entry)
        return Lines(
            group.write(PatternGroup(kind, form, name, sorted(groups[pattern])))
            for pattern in sorted(groups)
            for kind, name, form in [pattern]
        )

    return Codec(read, write, {"type": "array", "items": group.schema})


def read_items(
    items: Iterable[Any], *, closed: bool, patterns: Mapping[ResourcePattern, ResourcePattern] = NONE_KNOWN
) -> frozenset[AclBinding]:
    """The bindings of the items of ``acls``, asked for one at a time; equal ``patterns`` are shared.

    Raises :class:`SchemaError`, which need not say what is wrong nor where.
    """
    rows, count = _Rows(_SEEN_ROWS).read, 0
    read = _group_codec(rows, closed=closed).read

    def bindings() -> Iterator[AclBinding]:
        nonlocal count
        for item in items:
            entries: Iterable[Any]
            if (pattern := _same_pattern(item, patterns)) is not None:
                entries = rows(item[_ENTRIES])
            else:
                group = read(item)
                pattern, entries = group.pattern, group.entries
            for row in entries:
                count += len(row)
                # Without the constructor, which is a Python call for each of millions.
                yield from map(_new_binding, zip(repeat(pattern), row))

    # Not of a set, of which it would be a copy with twice the room.
    listed = frozenset(bindings())
    if len(listed) != count:
        raise SchemaError("a binding occurs twice")
    return listed


def _same_pattern(item: Any, patterns: Mapping[ResourcePattern, ResourcePattern]) -> ResourcePattern | None:
    """Which of ``patterns`` a group has, if it has the fields of a group: without a codec for each of them."""
    try:
        kind, form = _KINDS[item["resourceType"]], _FORMS[item["patternType"]]
        return patterns.get((kind, item["name"], form)) if len(item) == 4 and _ENTRIES in item else None  # type: ignore[call-overload]
    except (KeyError, TypeError):
        return None


def _read_in_order(items: list[Any], group: Record[PatternGroup]) -> frozenset[AclBinding]:
    """The same, raising :class:`SchemaError` with the first problem and its place."""
    bindings: set[AclBinding] = set()
    for index, item in enumerate(items):
        try:
            _add(bindings, group.read(item))
        except SchemaError as error:
            raise error.inside(index) from None
    return frozenset(bindings)


def _group_codec(read_rows: Callable[[Any], Iterable[Any]] | None = None, *, closed: bool) -> Record[PatternGroup]:
    entries = Codec(read_rows or _Rows().read, _write_rows, _SCHEMA)
    return record_of(PatternGroup, closed=closed, codecs={_ENTRIES: entries})


def _add(bindings: set[AclBinding], group: PatternGroup) -> None:
    pattern = group.pattern
    for index, row in enumerate(group.entries):
        for entry in row:
            binding = AclBinding(pattern, entry)
            if binding in bindings:
                raise SchemaError(f"{binding} occurs twice").inside(index).inside(_ENTRIES)
            bindings.add(binding)


class _Rows:
    """Reads rows; equal entries are one, and equal texts: of one principal there are hundreds."""

    __slots__ = ("_by_row", "_entries", "_texts")

    def __init__(self, seen: dict[tuple[Any, ...], tuple[AccessControlEntry, ...]] | None = None) -> None:
        self._by_row: dict[tuple[Any, ...], tuple[AccessControlEntry, ...]] = {} if seen is None else seen
        self._entries: dict[AccessControlEntry, AccessControlEntry] = {}
        self._texts: dict[str, str] = {}

    def read(self, value: Any) -> list[tuple[AccessControlEntry, ...]]:
        if value.__class__ is not list:
            raise unexpected("an array", value)
        rows: list[tuple[AccessControlEntry, ...]] = []
        try:
            for row in value:
                rows.append(self._row(row))  # noqa: PERF401 - its length is the place of an error
        except SchemaError as error:
            raise error.inside(len(rows)) from None
        return rows

    def _row(self, row: Any) -> tuple[AccessControlEntry, ...]:
        if row.__class__ is not list:
            raise unexpected("an array", row)
        try:
            entries = self._by_row.get(tuple(row))
        except TypeError:  # an array or an object, which is no text
            entries = None
        return self._new_row(row) if entries is None else entries

    def _new_row(self, row: list[Any]) -> tuple[AccessControlEntry, ...]:
        if len(row) < 4:
            raise SchemaError("a row is [principal, host, permission, operation, …]")
        item = self._texts.setdefault
        principal, host, permission = TEXT.read(row[0]), TEXT.read(row[1]), values.PERMISSION.read(row[2])
        principal, host = item(principal, principal), item(host, host)
        entries = [AccessControlEntry(principal, host, values.OPERATION.read(name), permission) for name in row[3:]]
        shared = tuple(map(self._entries.setdefault, entries, entries))
        if len(self._by_row) >= _MOST_ROWS:
            self._by_row.clear()
        self._by_row[principal, host, *[item(word, word) for word in row[2:]]] = shared
        return shared


def _write_rows(entries: Iterable[AccessControlEntry]) -> Lines:
    """The entries of one pattern, in their order, by principal, host and permission."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for principal, host, operation, permission in entries:
        row = principal, host, _PERMISSION(permission)
        if row in rows:
            rows[row].append(_OPERATION(operation))
        else:
            rows[row] = [*row, _OPERATION(operation)]
    return Lines(tuple(rows[row]) for row in sorted(rows))


_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "array",
    "items": {
        "type": "array",
        "minItems": 4,
        "items": [TEXT.schema, TEXT.schema, values.PERMISSION.schema],
        "additionalItems": values.OPERATION.schema,
    },
}


# A snapshot that cannot be read.


class SnapshotError(ClusterError):
    """A snapshot that cannot be trusted. ``place`` is where: ``topics[3].partitions``, ``line 4, column 9``."""

    def __init__(self, error: SchemaError) -> None:
        """Keeps the place; the message names it."""
        super().__init__(
            "invalid_snapshot", str(error), "Take the snapshot again: reconciler export --snapshot FILE writes one."
        )
        self.place = error.place or "the document"


# What a snapshot says of its brokers, beside the state itself.

#: ``QuorumController.MAX_RECORDS_PER_USER_OP``: no request changes more.
MAX_RECORDS: Final = 10_000
_OneOrMore: TypeAlias = Annotated[int, integer(1)]


@dataclass(frozen=True, slots=True)
class BrokerFacts:
    """Broker defaults for new topics, and who could hold replicas.

    ``broker_ids`` is ``None`` where the snapshot does not say: then no replication factor is too high.
    ``topics_created`` counts the topics created on this snapshot, so that each gets an id of its own.
    """

    default_partitions: Annotated[_OneOrMore, Says("How many partitions a topic gets that names none.", 1)] = 1
    default_replication_factor: Annotated[_OneOrMore, Says("How many replicas a topic gets that names none.", 3)] = 1
    broker_ids: Annotated[tuple[int, ...] | None, Says("null: unknown, and no replication factor is too high.")] = None
    topics_created: Annotated[
        int, Says("How many topics were created on this snapshot; their ids follow from it.", 0)
    ] = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One cluster as a file holds it.

    ``racks`` are those of brokers in memory: a file holds none, so that nothing is moved by what a file says.
    """

    state: ClusterState
    broker: BrokerFacts = BrokerFacts()
    racks: Mapping[int, str | None] | None = None


def topic_id(cluster_id: str, number: int) -> str:
    """The id of the ``number``-th topic created on a snapshot, in the form of Kafka's ``Uuid``: 22 characters.

    It is drawn from no randomness, so that the same writes give the same file.
    """
    digest = hashlib.sha256(f"{cluster_id}/{number}".encode()).digest()[:16]
    text = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    # Like Uuid.randomUuid, none that a command line would take for an option.
    return "A" + text[1:] if text.startswith("-") else text


#: Major and minor: a reader refuses another major version and ignores fields of a newer minor version.
FORMAT_VERSION: Final = "1.0"
_DEFAULTS: Final = BrokerFacts()
_ONE_OR_MORE: Final = integer(1)
_encode: Final = json.JSONEncoder(ensure_ascii=False).encode


def snapshot_text(state: ClusterState, broker: BrokerFacts = _DEFAULTS) -> str:
    """The snapshot of ``state``, ending in a newline; raises ``ValueError`` for text that is not Unicode."""
    return "".join(snapshot_pieces(state, broker))


def snapshot_pieces(state: ClusterState, broker: BrokerFacts = _DEFAULTS) -> Iterator[str]:
    """The same bit by bit, a group of bindings at a time: of millions the text alone takes hundreds of MB."""
    document = {"formatVersion": FORMAT_VERSION, **_codec(closed=True).write(Snapshot(state, broker))}
    for piece in document_pieces(document, _encode, ": "):
        if not piece.isascii():
            piece.encode()
        yield escape_invisible_json(piece)


def parse_snapshot(source: str) -> ClusterState:
    """The state that a snapshot's text holds; raises :class:`SnapshotError`."""
    return parse_document(source).state


def parse_document(source: str) -> Snapshot:
    """The state and what the snapshot says of its brokers; raises :class:`SnapshotError`."""
    try:
        document = load(source)
        if "planId" in document:
            raise SchemaError("this is a saved plan, and a snapshot is expected")
        closed = known_minor(document, FORMAT_VERSION)
        del document["formatVersion"]
        return _codec(closed=closed).read(document)
    except SchemaError as error:
        raise SnapshotError(error) from None


def read_document(file: TextIO, patterns: Mapping[ResourcePattern, ResourcePattern] = NONE_KNOWN) -> Snapshot:
    """As :func:`parse_document`, of a file at its beginning: millions of bindings are read bit by bit.

    A pattern that equals one of ``patterns`` is that object.

    Raises ``OSError`` and ``UnicodeDecodeError`` as reading it does.
    """
    if not file.seekable():
        return parse_document(file.read())
    try:
        with without_collector():
            document = load_streamed(file, "acls", partial(_streamed_bindings, patterns))
        closed = known_minor(document, FORMAT_VERSION)
        del document["formatVersion"]
        return _codec(closed=closed).read(document)
    except (UnevenError, SchemaError):
        # Once more as a whole: only that says what is wrong, and where.
        file.seek(0)
        return parse_document(file.read())


def _streamed_bindings(
    patterns: Mapping[ResourcePattern, ResourcePattern], before: dict[str, Any], items: Iterator[Any]
) -> frozenset[AclBinding]:
    return read_items(items, closed=known_minor(before, FORMAT_VERSION), patterns=patterns)


def snapshot_schema_text() -> str:
    """The schema as it is in ``schema/snapshot.json``."""
    version = field("formatVersion", text(r"^1\.[0-9]{1,6}$"), "Major and minor version.", FORMAT_VERSION)
    words = (
        "The ACLs and topics of one Kafka cluster at one moment, format 1.x. A reader of 1.0 refuses another major "
        "version and ignores fields that a later minor version adds."
    )
    return schema_text("Snapshot", record(_snapshot, version, *_codec(closed=False).fields, words=words))


@cache
def _codec(*, closed: bool) -> Record[Snapshot]:
    return record(
        _snapshot,
        field("clusterId", TEXT, "As DescribeCluster returns it.", "4L6g3nShT-eMCtK--X86sw", attr="state.cluster_id"),
        field(
            "kafkaVersion",
            nullable(values.KAFKA_VERSION),
            "The release whose rules the brokers follow; absent where it is not known.",
            "4.3",
            attr="state.kafka_version",
            default=None,
            omit=True,
        ),
        field(
            "kafkaVersionGap",
            nullable(TEXT),
            "Why what the cluster told of its version leaves it open; absent where it does not.",
            "brokers run 4.4 and metadata.version is 4.3's: perhaps not all do",
            attr="state.kafka_version_gap",
            default=None,
            omit=True,
        ),
        field(
            "metadataVersion",
            nullable(COUNT),
            "The finalized level of the feature metadata.version; absent where it is not known.",
            32,
            attr="state.metadata_version",
            default=None,
            omit=True,
        ),
        field(
            "shareVersion",
            nullable(COUNT),
            "The finalized level of the feature share.version; absent where it is not known.",
            2,
            attr="state.share_version",
            default=None,
            omit=True,
        ),
        field(
            "aclGap",
            nullable(TEXT),
            "Why the ACLs may be incomplete; null where they are known to be complete.",
            "read from one broker, which may be behind",
            attr="state.acl_gap",
            default=None,
        ),
        field(
            "topicGap",
            nullable(TEXT),
            "Why the topics may be incomplete; null where they are known to be complete.",
            "only declared topics were asked for",
            attr="state.topic_gap",
            default=None,
        ),
        field(
            "broker",
            record_of(BrokerFacts, closed=closed),
            "What a write to the snapshot needs to know of brokers. Absent: one partition, one replica, any number "
            "of brokers.",
            default=_DEFAULTS,
            omit=True,
        ),
        field(
            "acls",
            bindings_codec(closed=closed),
            "Bindings by resource pattern, sorted by type, name and pattern type.",
            attr="state.bindings",
        ),
        field("topics", _topics_codec(closed=closed), "Sorted by name.", attr="state.topics"),
        field(
            "opaque",
            array(values.opaque_codec(closed=closed), lines=True),
            "Live ACL entries of a kind that the reader could not name.",
            attr="state.opaque",
        ),
        field(
            "unreadableTopics",
            mapping(TEXT),
            "Topics whose state could not be read: name to reason.",
            attr="state.unreadable_topics",
            default=FrozenMap(),
        ),
        flat(listings(lines=True), "state.listings"),
        closed=closed,
    )


def _snapshot(broker: BrokerFacts, acls: Any, unreadable_topics: Mapping[str, str], **facts: Any) -> Snapshot:
    for name in unreadable_topics:
        if name in facts["topics"]:
            raise SchemaError("the topic is also among the topics that were read", f"unreadableTopics.{name}")
    return Snapshot(ClusterState(bindings=acls, unreadable_topics=unreadable_topics, **facts), broker)


def _topics_codec(*, closed: bool) -> Codec[Mapping[str, Topic]]:
    fields = (
        field("name", values.NAME, "The name.", "orders"),
        field("partitions", nullable(_ONE_OR_MORE), "null where unknown.", 6, attr="num_partitions", default=None),
        field("replicationFactor", nullable(_ONE_OR_MORE), "null where unknown.", 3, default=None),
        field(
            "topicId",
            nullable(TEXT),
            "Kafka's text form of the id; null where unknown.",
            "AAAAAAAAAAAAAAAAAAAAAA",
            default=None,
        ),
        field("configs", mapping(TEXT), "Only what is set on the topic itself.", default=FrozenMap()),
        field(
            "replicaAssignments",
            values.ASSIGNMENTS,
            "Broker ids by partition; absent where unknown.",
            default=None,
            omit=True,
        ),
    )
    # These have other words where they are live; any other field is as in plans.
    named = {item.keyword for item in fields}
    more = (item for item in record_of(Topic).fields if item.keyword not in named)
    topic: Record[Topic] = record(Topic, *fields, *more, closed=closed)
    plain = array(topic, lines=True)

    def read(value: Any) -> Mapping[str, Topic]:
        topics: dict[str, Topic] = {}
        for index, item in enumerate(plain.read(value)):
            if item.name in topics:
                raise SchemaError(f"the topic {item.name!r} occurs twice", f"[{index}].name")
            topics[item.name] = item
        return topics

    def write(topics: Mapping[str, Topic]) -> Any:
        return plain.write(tuple(topics.values()))

    return Codec(read, write, plain.schema)


def failed(code: str, message: str) -> Answer:
    """A refusal under Kafka's name for the error; nothing was applied."""
    return Answer(AnswerStatus.FAILED, code, message)
