"""SCRAM users by kafka-python's messages, in the message client's process.

confluent-kafka's description aborts the process on some errors, and kafka-python's own alteration takes an error
without a message for success.
"""

from collections.abc import Mapping
from typing import Any, Final

from kafka import errors
from kafka.admin import KafkaAdminClient
from kafka.protocol.admin import AlterUserScramCredentialsRequest, DescribeUserScramCredentialsRequest

from reconciler.kafka.child_process import Reply, Task
from reconciler.kafka.raw_messages import Question, read, refused, run, unsent

#: A user that went between the listing of names and its description.
_GONE: Final = 91  # RESOURCE_NOT_FOUND


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


#: All users, and the outcome of each alteration.
QUESTIONS: Final[Mapping[str, Question]] = {
    "listed": Question(_listed),
    "altered": Question(_altered, writes=True),
}
