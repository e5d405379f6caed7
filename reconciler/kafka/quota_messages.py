"""Client quotas by kafka-python's messages, in the message client's process: confluent-kafka has none for them."""

from collections.abc import Mapping
from typing import Final

from kafka import errors
from kafka.admin import KafkaAdminClient
from kafka.protocol.admin import AlterClientQuotasRequest, DescribeClientQuotasRequest

from reconciler.kafka.child_process import Reply, Task
from reconciler.kafka.raw_messages import Question, read, refused, run, unsent


def _listed(client: KafkaAdminClient, task: Task) -> Reply:
    answer = read(client, DescribeClientQuotasRequest(components=[], strict=False))
    if answer.error_code:
        return refused(answer)
    entries = [
        ([(part.entity_type, part.entity_name) for part in entry.entity], [(v.key, v.value) for v in entry.values])
        for entry in answer.entries or ()  # the message may leave them out, and an error has a code
    ]
    return ("listed", entries)


def _altered(client: KafkaAdminClient, task: Task) -> Reply:
    """Sends one request, never twice: what an answer that got lost has done is not known here."""
    entry = AlterClientQuotasRequest.EntryData
    request = AlterClientQuotasRequest(
        entries=[
            entry(
                entity=[entry.EntityData(entity_type=kind, entity_name=name) for kind, name in parts],
                ops=[entry.OpData(key=key, value=value or 0.0, remove=value is None) for key, value in values],
            )
            for parts, values in task["alterations"]
        ],
        validate_only=task["only_validate"],
    )
    try:
        answer = run(client, request)
    except errors.NodeNotReadyError as error:
        return unsent(error)
    outcomes = [
        (
            [(part.entity_type, part.entity_name) for part in item.entity],
            item.error_code,
            getattr(errors.for_code(item.error_code), "message", ""),
            item.error_message or "",
        )
        for item in answer.entries
    ]
    return ("altered", outcomes)


#: All quotas, and the outcome of each alteration.
QUESTIONS: Final[Mapping[str, Question]] = {
    "listed": Question(_listed),
    "altered": Question(_altered, writes=True),
}
