"""ACLs by kafka-python's messages, in the message client's process: what confluent-kafka has no codes for.

Version 3 of CreateAcls and DeleteAcls has USER resources (KIP-373); their codes are passed on as they are.
"""

from collections.abc import Mapping
from typing import Final

from kafka import errors
from kafka.admin import KafkaAdminClient
from kafka.protocol.admin import CreateAclsRequest, DeleteAclsRequest

from reconciler.kafka.child_process import Reply, Task
from reconciler.kafka.raw_messages import Question, run, unsent


def _created(client: KafkaAdminClient, task: Task) -> Reply:
    """Sends one request, never twice: what an answer that got lost has done is not known here."""
    creations = [CreateAclsRequest.AclCreation(*row) for row in task["rows"]]
    try:
        answer = run(client, CreateAclsRequest(creations=creations, min_version=3))
    except errors.NodeNotReadyError as error:
        return unsent(error)
    return ("altered", [_outcome(result.error_code, result.error_message) for result in answer.results])


def _deleted(client: KafkaAdminClient, task: Task) -> Reply:
    """As :func:`_created`, with exact filters. An entry that matched and could not be deleted fails its filter."""
    filters = [DeleteAclsRequest.DeleteAclsFilter(*row) for row in task["rows"]]
    try:
        answer = run(client, DeleteAclsRequest(filters=filters, min_version=3))
    except errors.NodeNotReadyError as error:
        return unsent(error)
    outcomes = []
    for result in answer.filter_results:
        failed = next((match for match in result.matching_acls if match.error_code), result)
        outcomes.append(_outcome(failed.error_code, failed.error_message))
    return ("altered", outcomes)


def _outcome(code: int, message: str | None) -> tuple[int, str, str]:
    return code, getattr(errors.for_code(code), "message", ""), message or ""


#: The outcome of each creation and deletion, in order.
QUESTIONS: Final[Mapping[str, Question]] = {
    "create_acls": Question(_created, writes=True),
    "delete_acls": Question(_deleted, writes=True),
}
