"""Group configs by kafka-python's messages, in the message client's process.

``ListConfigResources`` names the groups that have dynamic configs, whether they have members or not (KIP-1142, Kafka
4.1); ``DescribeConfigs`` gives their values.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kafka import errors
from kafka.admin import KafkaAdminClient
from kafka.protocol.admin import DescribeConfigsRequest, IncrementalAlterConfigsRequest, ListConfigResourcesRequest

from reconciler.kafka.child_process import Reply, Task
from reconciler.kafka.raw_messages import Question, read, refused, run, unsent

_GROUP: Final = 32  # ConfigResource.Type
_DYNAMIC_GROUP_CONFIG: Final = 8  # DescribeConfigsResponse.ConfigSource
_SET, _DELETE = 0, 1  # AlterConfigOp.OpType
_MOST_GROUPS: Final = 500
#: A group whose configs went between the two requests.
_GONE: Final = 69  # GROUP_ID_NOT_FOUND


def _listed(client: KafkaAdminClient, task: Task) -> Reply:
    try:
        answer = read(client, ListConfigResourcesRequest(resource_types=[_GROUP], min_version=1))
    except errors.IncompatibleBrokerVersion:
        return ("failed", "brokers before Kafka 4.1 do not list the groups that have configs (KIP-1142)")
    if answer.error_code:
        return refused(answer)
    groups = sorted(resource.resource_name for resource in answer.config_resources if resource.resource_type == _GROUP)
    entries = []
    for start in range(0, len(groups), _MOST_GROUPS):
        for result in _described(client, groups[start : start + _MOST_GROUPS]):
            if result.error_code == _GONE:
                continue
            if result.error_code:
                # One group that may not be read makes the listing one that is not whole: it must not look undeclared.
                return refused(result)
            values = [
                (config.name, config.value)
                for config in result.configs
                if config.config_source == _DYNAMIC_GROUP_CONFIG
            ]
            if any(value is None for _, value in values):
                return ("failed", f"the broker hides a config of group {result.resource_name}")
            if values:
                entries.append((result.resource_name, values))
    return ("listed", entries)


def _described(client: KafkaAdminClient, groups: list[str]) -> Iterator[Any]:
    resource = DescribeConfigsRequest.DescribeConfigsResource
    resources = [resource(resource_type=_GROUP, resource_name=name, configuration_keys=None) for name in groups]
    request = DescribeConfigsRequest(resources=resources, include_synonyms=False, include_documentation=False)
    found = {result.resource_name: result for result in read(client, request).results}
    if missing := [name for name in groups if name not in found]:
        raise errors.KafkaError(f"the broker's answer leaves out group {missing[0]}")
    yield from (found[name] for name in groups)


def _altered(client: KafkaAdminClient, task: Task) -> Reply:
    """Sends one request, never twice: what an answer that got lost has done is not known here."""
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    config = resource.AlterableConfig
    request = IncrementalAlterConfigsRequest(
        resources=[
            resource(
                resource_type=_GROUP,
                resource_name=group,
                configs=[
                    config(name=name, config_operation=_DELETE if value is None else _SET, value=value)
                    for name, value in values
                ],
            )
            for group, values in task["alterations"]
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


#: All groups with configs, and the outcome of each alteration.
QUESTIONS: Final[Mapping[str, Question]] = {
    "listed": Question(_listed),
    "altered": Question(_altered, writes=True),
}
