"""Delegation tokens, what somebody logs in with besides a password, in the message client's process.

Neither confluent-kafka nor kafka-python has DescribeDelegationToken (KIP-48): the two JSON files beside this one are
Kafka's description of that message, as kafka-python reads it. A broker's answer has the secret of each token, its
HMAC. It ends here: no reply has it.
"""

from collections.abc import Mapping
from typing import Any, Final

from kafka import errors
from kafka.admin import KafkaAdminClient
from kafka.protocol.api_message import ApiMessage

from reconciler.kafka.raw_messages import Question, read, refused
from reconciler.kafka.reader_process import Reply, Task

#: Where the description of messages is that kafka-python does not have.
_HERE: Final = "reconciler.kafka"


class DescribeDelegationTokenRequest(ApiMessage, load_json=_HERE):  # type: ignore[call-arg, misc]  # it has no types
    """Asks for the tokens of some owners; null: for all that the asking principal may see."""


class DescribeDelegationTokenResponse(ApiMessage, load_json=_HERE):  # type: ignore[call-arg, misc]
    """Registers itself by its API key; every answer to the request is read by it."""


def _tokens(client: KafkaAdminClient, _: Task) -> Reply:
    """All tokens that our principal may see: id, owner, requester (empty before version 3), renewers, two ends."""
    try:
        answer = read(client, DescribeDelegationTokenRequest(owners=None, min_version=1))
    except errors.KafkaError as error:
        return ("failed", f"{type(error).__name__}: {error}")
    if answer.error_code:
        return refused(answer)
    return ("listed", [_row(token) for token in answer.tokens])


def _row(token: Any) -> tuple[str, str, str, list[str], int, int]:
    requester = getattr(token, "token_requester_principal_name", "")
    return (
        token.token_id,
        f"{token.principal_type}:{token.principal_name}",
        f"{token.token_requester_principal_type}:{requester}" if requester else "",
        [f"{item.principal_type}:{item.principal_name}" for item in token.renewers],
        token.expiry_timestamp,
        token.max_timestamp,
    )


#: The tokens that we may see.
QUESTIONS: Final[Mapping[str, Question]] = {"listed": Question(_tokens)}
