"""SCRAM users and delegation tokens, what somebody logs in with, in the message client's process.

confluent-kafka's description of users aborts the process on some errors, and kafka-python's own alteration takes an
error without a message for success. Neither has DescribeDelegationToken (KIP-48): the two JSON files beside this one
are Kafka's description of that message, as kafka-python reads it. A broker's answer has the secret of each token, its
HMAC. It ends here: no reply has it.
"""

from collections.abc import Mapping
from typing import Any, Final

from kafka import errors
from kafka.admin import KafkaAdminClient
from kafka.protocol.admin import AlterUserScramCredentialsRequest, DescribeUserScramCredentialsRequest
from kafka.protocol.api_message import ApiMessage

from reconciler.kafka.child_process import Reply, Task
from reconciler.kafka.raw_messages import Question, read, refused, run, unsent

#: A user that went between the listing of names and its description.
_GONE: Final = 91  # RESOURCE_NOT_FOUND
#: Where the description of messages is that kafka-python does not have.
_HERE: Final = "reconciler.kafka"


def _listed(client: KafkaAdminClient, task: Task) -> Reply:
    # Null and not an empty list, although Kafka takes both for all users: others take the latter for none.
    answer = read(client, DescribeUserScramCredentialsRequest(users=None))
    if answer.error_code:
        return refused(answer)
    entries = []
    for result in answer.results:
        if result.error_code == _GONE:
            continue
        if result.error_code:
            # One user that may not be read makes the listing one that is not whole: it must not look undeclared.
            return refused(result)
        credentials = [(info.mechanism, info.iterations) for info in result.credential_infos]
        if credentials:
            entries.append((result.user, credentials))
    return ("listed", entries)


def _altered(client: KafkaAdminClient, task: Task) -> Reply:
    """Sends one request, never twice: what an answer that got lost has done is not known here."""
    try:
        request = _request(task)
    except Exception as error:
        # Its text may hold a value of the request, and a salted password logs in as well as a password.
        return ("unsent", f"the request cannot be written: {type(error).__name__}")
    try:
        answer = run(client, request)
    except errors.NodeNotReadyError as error:
        return unsent(error)
    outcomes = [
        (
            result.user,
            result.error_code,
            getattr(errors.for_code(result.error_code), "message", ""),
            result.error_message or "",
        )
        for result in answer.results
    ]
    return ("altered", outcomes)


def _request(task: Task) -> Any:
    request = AlterUserScramCredentialsRequest
    return request(
        deletions=[
            request.ScramCredentialDeletion(name=user, mechanism=mechanism)
            for user, mechanism, credential in task["alterations"]
            if credential is None
        ],
        upsertions=[
            request.ScramCredentialUpsertion(
                name=user,
                mechanism=mechanism,
                iterations=credential[0],
                salt=credential[1],
                salted_password=credential[2],
            )
            for user, mechanism, credential in task["alterations"]
            if credential is not None
        ],
    )


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


#: All users, the outcome of each alteration, and the tokens that we may see.
QUESTIONS: Final[Mapping[str, Question]] = {
    "listed": Question(_listed),
    "altered": Question(_altered, writes=True),
    "tokens": Question(_tokens),
}
