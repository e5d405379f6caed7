"""What an error code means for a write: whether the outcome is known, and whether a retry is safe.

The client's ``retriable()`` is ``False`` for every admin error, so this table replaces it. It follows
``org.apache.kafka.common.protocol.Errors`` for admin calls: unless a code is known to mean that nothing was changed,
the outcome is ``UNKNOWN``; that includes codes newer than this table.
"""

from typing import Final, NamedTuple

from reconciler.ports import Answer, AnswerStatus

#: Kafka's names; librdkafka spells some differently.
NAMES: Final = {
    # -1 is librdkafka's UNKNOWN as well as Kafka's UNKNOWN_SERVER_ERROR.
    -1: "UNKNOWN_SERVER_ERROR",
    3: "UNKNOWN_TOPIC_OR_PARTITION",
    6: "NOT_LEADER_OR_FOLLOWER",
    17: "INVALID_TOPIC_EXCEPTION",
    29: "TOPIC_AUTHORIZATION_FAILED",
    30: "GROUP_AUTHORIZATION_FAILED",
    31: "CLUSTER_AUTHORIZATION_FAILED",
    39: "INVALID_REPLICA_ASSIGNMENT",  # kafka-python has another name for it
    54: "SECURITY_DISABLED",
}

UNKNOWN_SERVER_ERROR: Final = -1
UNKNOWN_TOPIC: Final = 3
TOPIC_AUTHORIZATION_FAILED: Final = 29
GROUP_AUTHORIZATION_FAILED: Final = 30
CLUSTER_AUTHORIZATION_FAILED: Final = 31
SECURITY_DISABLED: Final = 54
TIMED_OUT: Final = -185
TRANSPORT: Final = -195
AUTHENTICATION: Final = -169
SSL: Final = -181
ALL_BROKERS_DOWN: Final = -187
#: Of a client that was closed, because it waited for a broker that had died.
CLOSED: Final = -197
#: Of a broker that the cluster stopped naming while a request waited for its answer: it has died, or stands still.
NAMED_NO_LONGER: Final = -137

#: Nothing was changed, and the same request may succeed later.
_RETRIABLE: Final = frozenset({5, 6, 8, 9, 14, 15, 16, 41, 56, 89})
#: Nothing was changed, and the same request will be refused again.
_REFUSED: Final = frozenset(
    {3, 17, 29, 30, 31, 35, 36, 37, 38, 39, 40, 42, 44, 53, 54, 60, 65, 73, 85, 91, 92, 93, 97, 100}
)
#: librdkafka's own errors before anything is sent: _INVALID_ARG, _UNSUPPORTED_FEATURE. TLS and authentication errors
#: are not among them: both can also end a connection that has a request in flight.
_NOT_SENT: Final = frozenset({-186, -165})
#: librdkafka's text if it found no broker to send to.
_NO_BROKER: Final = "waiting for controller"
#: librdkafka's own errors of one connection: no broker said anything.
UNANSWERED: Final = frozenset({TIMED_OUT, TRANSPORT, CLOSED, NAMED_NO_LONGER})


class ClientFailure(NamedTuple):
    """An error as the client reports it."""

    code: int
    name: str
    message: str

    @property
    def never_sent(self) -> bool:
        """Whether the request certainly did not leave the client."""
        return self.code in _NOT_SENT or (self.code == TIMED_OUT and _NO_BROKER in self.message)

    @property
    def unanswered(self) -> bool:
        """Whether no broker said anything."""
        return self.code in UNANSWERED

    @property
    def retriable(self) -> bool:
        """Whether the same request may succeed later and a retry is safe."""
        return self.code in _RETRIABLE or (self.code == TIMED_OUT and self.never_sent)

    @property
    def worth_reading_again(self) -> bool:
        """Whether to repeat a read: also if a write would be in doubt, but not after a full timeout."""
        return self.code in _RETRIABLE or self.code in (-1, 7, 13, TRANSPORT, CLOSED, NAMED_NO_LONGER)

    def answer(self) -> Answer:
        """The outcome of an item with this failure."""
        known = self.code in _RETRIABLE or self.code in _REFUSED or self.never_sent
        verdict = AnswerStatus.FAILED if known else AnswerStatus.UNKNOWN
        return Answer(verdict, self.name, self.message, retriable=known and self.retriable)


def failure(code: int, client_name: str, message: str) -> ClientFailure:
    """A failure with Kafka's name for its code; ``client_name`` is used if Kafka has none."""
    return ClientFailure(code, NAMES.get(code, client_name), message or client_name)
