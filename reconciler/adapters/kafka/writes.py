"""The six writes: one request a call, one answer an item, nothing sent twice; those of topics may be asked only.

An item that the client cannot carry fails alone. Domain values become the client's objects at the last moment,
because the client's filters equal its bindings.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Final, TypeVar

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding as ClientBinding,
)
from confluent_kafka.admin import (
    AclBindingFilter,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from reconciler.adapters.kafka.bindings import unsupported_by_client
from reconciler.adapters.kafka.client import AdminConnection
from reconciler.adapters.kafka.limits import increase_problem, settings_problem, topic_problem
from reconciler.model import AclBinding, Topic, TopicConfigs, TopicPartitions, Update
from reconciler.ports import Answer, AnswerStatus

K = TypeVar("K")

#: A KRaft controller refuses more than 10,000 records a request, and before 4.1 is damaged by it (KAFKA-19347).
MAX_ITEMS: Final = 1_000
_DONE: Final = Answer(AnswerStatus.DONE)


def create_acls(connection: AdminConnection, bindings: Sequence[AclBinding]) -> list[Answer]:
    """Creates bindings in the given order, in one request."""
    _check(bindings)
    refused = _refused({b: unsupported_by_client(b) for b in bindings})
    sendable = {b: _client_binding(b) for b in bindings if b not in refused}
    return _acl_answers(connection, bindings, sendable, refused, connection.admin.create_acls)


def delete_acls(connection: AdminConnection, bindings: Sequence[AclBinding]) -> list[Answer]:
    """Deletes by exact filters, in one request; what the broker says it matched proves nothing and is not read."""
    _check(bindings)
    refused = _refused({b: unsupported_by_client(b) for b in bindings})
    sendable = {b: _client_filter(b) for b in bindings if b not in refused}
    return _acl_answers(connection, bindings, sendable, refused, connection.admin.delete_acls)


def create_topics(connection: AdminConnection, topics: Sequence[Topic], *, only_validate: bool = False) -> list[Answer]:
    """Creates topics with their settings and, where given, their replica assignments."""
    names = [topic.name for topic in topics]
    _check(names)
    call = partial(connection.admin.create_topics, validate_only=only_validate)
    refused = _refused({topic.name: topic_problem(topic) for topic in topics})
    sendable = {topic.name: _new_topic(topic) for topic in topics if topic.name not in refused}
    return _named_answers(connection, names, sendable, refused, call)


def delete_topics(connection: AdminConnection, names: Sequence[str]) -> list[Answer]:
    """Deletes topics by name."""
    _check(names)
    return _named_answers(connection, names, {name: name for name in names}, {}, connection.admin.delete_topics)


def create_partitions(
    connection: AdminConnection, changes: Sequence[Update[TopicPartitions]], *, only_validate: bool = False
) -> list[Answer]:
    """Raises partition counts."""
    wanted = [change.after for change in changes]
    names = [side.name for side in wanted]
    _check(names)
    call = partial(connection.admin.create_partitions, validate_only=only_validate)
    refused = _refused({side.name: increase_problem(side) for side in wanted})
    sendable = {side.name: _new_partitions(side) for side in wanted if side.name not in refused}
    return _named_answers(connection, names, sendable, refused, call)


def alter_configs(
    connection: AdminConnection, changes: Sequence[Update[TopicConfigs]], *, only_validate: bool = False
) -> list[Answer]:
    """Sets and resets the named settings, incrementally; what is not named stays."""
    wanted = [change.after for change in changes]
    _check([side.name for side in wanted])
    answers = {side.name: _DONE for side in wanted if not side.configs}
    answers |= _refused({side.name: settings_problem(side.configs) for side in wanted})
    resources = {side.name: _alteration(side) for side in wanted if side.name not in answers}
    call = partial(connection.admin.incremental_alter_configs, validate_only=only_validate)
    futures = _send(connection, call, list(resources.values()))
    answers |= {name: _outcome(connection, futures[resource]) for name, resource in resources.items()}
    return [answers[side.name] for side in wanted]


def _check(items: Collection[Any]) -> None:
    """Refuses what would be cut short, or collapse, inside the client."""
    if len(items) > MAX_ITEMS:
        raise ValueError(f"at most {MAX_ITEMS} items a request, not {len(items)}")
    if len(set(items)) != len(items):
        raise ValueError("an item was given twice in one request")


def _acl_answers(
    connection: AdminConnection,
    bindings: Sequence[AclBinding],
    sendable: Mapping[AclBinding, Any],
    refused: Mapping[AclBinding, Answer],
    call: Callable[..., Any],
) -> list[Answer]:
    futures = _send(connection, call, list(sendable.values()))
    answers = {**refused, **{b: _outcome(connection, futures[item]) for b, item in sendable.items()}}
    return [answers[b] for b in bindings]


def _named_answers(
    connection: AdminConnection,
    names: Sequence[str],
    sendable: Mapping[str, Any],
    refused: Mapping[str, Answer],
    call: Callable[..., Any],
) -> list[Answer]:
    futures = _send(connection, call, list(sendable.values()))
    answers = {**refused, **{name: _outcome(connection, futures[name]) for name in sendable}}
    return [answers[name] for name in names]


def _send(
    connection: AdminConnection, call: Callable[..., Mapping[K, "Future[Any]"]], items: list[Any]
) -> Mapping[K, Any]:
    """One request; the futures by the client's key. Nothing is sent for no items."""
    if not items:
        return {}
    return call(items, request_timeout=connection.settings.request_timeout)


def _outcome(connection: AdminConnection, future: "Future[Any]") -> Answer:
    try:
        connection.wait(future)
    except KafkaException as error:
        return connection.failure(error).answer()
    return _DONE


def _refused(problems: Mapping[K, str | None]) -> dict[K, Answer]:
    """What is not sent, with its answer."""
    return {
        item: Answer(AnswerStatus.FAILED, "UNSUPPORTED_BY_CLIENT", why)
        for item, why in problems.items()
        if why is not None
    }


def _client_binding(binding: AclBinding) -> ClientBinding:
    (resource_type, name, pattern_type), (principal, host, operation, permission) = binding
    return ClientBinding(int(resource_type), name, int(pattern_type), principal, host, int(operation), int(permission))


def _client_filter(binding: AclBinding) -> AclBindingFilter:
    (resource_type, name, pattern_type), (principal, host, operation, permission) = binding
    return AclBindingFilter(
        int(resource_type), name, int(pattern_type), principal, host, int(operation), int(permission)
    )


def _new_topic(topic: Topic) -> NewTopic:
    configs = dict(topic.configs)
    if topic.replica_assignments is not None:
        assignment = [list(replicas) for replicas in topic.replica_assignments]
        return NewTopic(topic.name, len(assignment), replica_assignment=assignment, config=configs)
    return NewTopic(topic.name, topic.num_partitions or -1, topic.replication_factor or -1, config=configs)


def _new_partitions(wanted: TopicPartitions) -> NewPartitions:
    if wanted.assignments is None:
        return NewPartitions(wanted.name, wanted.count)
    return NewPartitions(wanted.name, wanted.count, replica_assignment=[list(ids) for ids in wanted.assignments])


def _alteration(wanted: TopicConfigs) -> ConfigResource:
    entries: Iterable[ConfigEntry] = [
        ConfigEntry(
            key, value, incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
        )
        for key, value in wanted.configs.items()
    ]
    return ConfigResource(ResourceType.TOPIC, wanted.name, incremental_configs=list(entries))
