"""A snapshot as canonical text and back: equal states give equal bytes.

Each row, topic and opaque entry has a line of its own, so that a line-by-line comparison of two snapshots reads as a
list of facts. A field that this version does not know is an error, because a misspelt one would otherwise read as
"empty"; only a file of a newer minor version may have more.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any, Final, TextIO

from reconciler.adapters.snapshot.bindings import bindings_codec, read_items
from reconciler.adapters.snapshot.broker import BrokerFacts, Snapshot
from reconciler.adapters.snapshot.error import SnapshotError
from reconciler.codec import (
    COUNT,
    TEXT,
    Codec,
    Record,
    SchemaError,
    array,
    document_pieces,
    field,
    flat,
    integer,
    known_minor,
    load,
    mapping,
    nullable,
    record,
    record_of,
    schema_text,
    text,
)
from reconciler.codec.listings import listings
from reconciler.codec.streamed import UnevenError, load_streamed
from reconciler.codec.values import ASSIGNMENTS, KAFKA_VERSION, NAME, opaque_codec
from reconciler.model import AclBinding, ClusterState, FrozenMap, ResourcePattern, Topic
from reconciler.model.collector import without_collector
from reconciler.model.escape import escape_invisible_json
from reconciler.ports import NONE_KNOWN

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
        closed = known_minor(document, FORMAT_VERSION)
        del document["formatVersion"]
        return _codec(closed=closed).read(document)
    except SchemaError as error:
        raise SnapshotError(error) from None


def read_document(file: TextIO, known: Mapping[ResourcePattern, ResourcePattern] = NONE_KNOWN) -> Snapshot:
    """As :func:`parse_document`, of a file at its beginning: millions of bindings are read bit by bit.

    A pattern that equals one of ``known`` is that object.

    Raises ``OSError`` and ``UnicodeDecodeError`` as reading it does.
    """
    if not file.seekable():
        return parse_document(file.read())
    try:
        with without_collector():
            document = load_streamed(file, "acls", partial(_streamed_bindings, known))
        closed = known_minor(document, FORMAT_VERSION)
        del document["formatVersion"]
        return _codec(closed=closed).read(document)
    except (UnevenError, SchemaError):
        # Once more as a whole: only that says what is wrong, and where.
        file.seek(0)
        return parse_document(file.read())


def _streamed_bindings(
    known: Mapping[ResourcePattern, ResourcePattern], before: dict[str, Any], items: Iterator[Any]
) -> frozenset[AclBinding]:
    return read_items(items, closed=known_minor(before, FORMAT_VERSION), known=known)


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
            nullable(KAFKA_VERSION),
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
            array(opaque_codec(closed=closed), lines=True),
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
    topic: Record[Topic] = record(
        Topic,
        field("name", NAME, "The name.", "orders"),
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
            "replicaAssignments", ASSIGNMENTS, "Broker ids by partition; absent where unknown.", default=None, omit=True
        ),
        closed=closed,
    )
    plain = array(topic, lines=True)

    def read(value: Any) -> Mapping[str, Topic]:
        found: dict[str, Topic] = {}
        for index, one in enumerate(plain.read(value)):
            if one.name in found:
                raise SchemaError(f"the topic {one.name!r} occurs twice", f"[{index}].name")
            found[one.name] = one
        return found

    def write(topics: Mapping[str, Topic]) -> Any:
        return plain.write(tuple(topics.values()))

    return Codec(read, write, plain.schema)
