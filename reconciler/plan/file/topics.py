"""The review of topic steps in JSON."""

from typing import Final

from reconciler.codec import (
    ANY_TEXT,
    TEXT,
    TEXTS,
    Record,
    array,
    by_value,
    field,
    integer,
    mapping,
    nullable,
    record,
    text,
)
from reconciler.codec.values import ORIGIN
from reconciler.model import TopicUse
from reconciler.plan.review.topic_review import BrokerAnswer, BrokerValidation, Ruling, TopicReview

_USE: Final[Record[TopicUse]] = record(
    TopicUse,
    field("sizeBytes", nullable(integer()), "How much it holds; null where that is unknown.", 1048576),
    field("records", nullable(integer(None)), "How many records it holds; null where that is unknown.", 1200),
    field(
        "lastWrite", nullable(TEXT), "When the newest record was written; null where unknown.", "2026-11-20T08:00:00Z"
    ),
    field("groups", nullable(TEXTS), "Consumer groups with offsets in it; null where that is unknown."),
    field("gaps", array(ANY_TEXT), "What could not be found out."),
    field(
        "written",
        nullable(integer(0)),
        "How many records were ever written; null: unknown.",
        0,
        default=None,
        omit=True,
    ),
)
_ANSWER: Final[Record[BrokerAnswer]] = record(
    BrokerAnswer,
    field("step", text("^[0-9a-f]{12}$"), "The step that the broker was asked about.", "0123456789ab"),
    field("subject", TEXT, "What it is about, in words.", "topic orders"),
    field("ruling", by_value(Ruling), "What the broker would do.", "accepted"),
    field("code", TEXT, "Kafka's name of the answer.", "POLICY_VIOLATION"),
    field("message", ANY_TEXT, "The broker's message, word for word.", "replication factor must be 3"),
    field("origin", nullable(ORIGIN), "The place in the manifests; null where there is none.", "topics.yaml:8:5"),
)
_VALIDATION: Final[Record[BrokerValidation]] = record(
    BrokerValidation,
    field("asked", TEXT, "When the broker was asked, in UTC.", "2026-11-21T05:17:00Z"),
    field("answers", array(_ANSWER), "What the broker said to each step that it was asked about."),
)
TOPIC_REVIEW: Final[Record[TopicReview]] = record(
    TopicReview,
    field("brokerDefaults", mapping(TEXT), "What the brokers choose where a topic sets nothing.", attr="defaults"),
    field("uses", mapping(_USE), "Who uses a topic that goes: groups, records, size."),
    field("validation", nullable(_VALIDATION), "What the broker said without changing anything; null: not asked."),
)
