"""Dynamic configs under a name by kafka-python's messages, in the message client's process.

``ListConfigResources`` names the resources that have them (of client metrics since Kafka 3.7; of groups, whether they
have members or not, since 4.1, KIP-1142); ``DescribeConfigs`` gives their values. A task says which: ``type``,
``source``, ``version`` and ``gap`` are those of ``reconciler.model.config_resource.Listed``.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kafka import errors
from kafka.admin import KafkaAdminClient
from kafka.protocol.admin import DescribeConfigsRequest, IncrementalAlterConfigsRequest, ListConfigResourcesRequest

from reconciler.kafka.raw_messages import Question, read, refused, run, unsent
from reconciler.kafka.reader_process import Reply, Task

_SET, _DELETE = 0, 1  # AlterConfigOp.OpType
_MOST: Final = 500
#: Of a group whose configs went between the two requests.
_GONE: Final = 69  # GROUP_ID_NOT_FOUND


def _listed(client: KafkaAdminClient, task: Task) -> Reply:
    try:
        answer = read(client, ListConfigResourcesRequest(resource_types=[task["type"]], min_version=task["version"]))
    except errors.IncompatibleBrokerVersion:
        return ("failed", task["gap"])
    if answer.error_code:
        return refused(answer)
    names = sorted(item.resource_name for item in answer.config_resources if item.resource_type == task["type"])
    entries = []
    for start in range(0, len(names), _MOST):
        for result in _described(client, task["type"], names[start : start + _MOST]):
            if result.error_code == _GONE:
                continue
            if result.error_code:
                # One that may not be read makes the listing one that is not whole: it must not look undeclared.
                return refused(result)
            values = [(item.name, item.value) for item in result.configs if item.config_source == task["source"]]
            if any(value is None for _, value in values):
                return ("failed", f"the broker hides a config of {result.resource_name}")
            if values:
                entries.append((result.resource_name, values))
    return ("listed", entries)


def _described(client: KafkaAdminClient, kind: int, names: list[str]) -> Iterator[Any]:
    resource = DescribeConfigsRequest.DescribeConfigsResource
    resources = [resource(resource_type=kind, resource_name=name, configuration_keys=None) for name in names]
    request = DescribeConfigsRequest(resources=resources, include_synonyms=False, include_documentation=False)
    found = {result.resource_name: result for result in read(client, request).results}
    if missing := [name for name in names if name not in found]:
        raise errors.KafkaError(f"the broker's answer leaves out {missing[0]}")
    yield from (found[name] for name in names)


def _altered(client: KafkaAdminClient, task: Task) -> Reply:
    """Sends one request, never twice: what an answer that got lost has done is not known here."""
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    config = resource.AlterableConfig
    request = IncrementalAlterConfigsRequest(
        resources=[
            resource(
                resource_type=task["type"],
                resource_name=name,
                configs=[
                    config(name=key, config_operation=_DELETE if value is None else _SET, value=value)
                    for key, value in values
                ],
            )
            for name, values in task["alterations"]
        ],
        validate_only=task["only_validate"],
    )
    try:
        answer = run(client, request)
    except errors.NodeNotReadyError as error:
        return unsent(error)
    outcomes = [
        (
            response.resource_name,
            response.error_code,
            getattr(errors.for_code(response.error_code), "message", ""),
            response.error_message or "",
        )
        for response in answer.responses
    ]
    return ("altered", outcomes)


#: All that have configs, and the outcome of each alteration.
QUESTIONS: Final[Mapping[str, Question]] = {
    "listed": Question(_listed),
    "altered": Question(_altered, writes=True),
}
