"""Topics: read, create, delete, add partitions, alter configs, move replicas.

Kafka can validate all but deletions and moves.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic, ResourceType

from reconciler.kafka.bindings import increase_problem, settings_problem, topic_problem
from reconciler.kafka.client import DONE, AdminConnection, Item, request, unsupported
from reconciler.kafka.kinds.interface import ReadSession
from reconciler.kafka.listing import topic_listing_gap
from reconciler.kafka.replicas import read_layout, send_replicas
from reconciler.kafka.topics import TopicReadResult, broker_defaults, is_unknown, read_topics
from reconciler.model.flavor import Flavor
from reconciler.model.listing import Change, Create, Delete, Update, resource_of
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic, TopicConfigs, TopicPartitions, TopicReplicas
from reconciler.ports import NOT_VALIDATED, Answer

TYPES: Final = (Topic, TopicPartitions, TopicConfigs, TopicReplicas)

_ACLS_UNREAD: Final = "The topic listing may be partial: the ACLs were not read, so topics may be hidden from us."
_NONCE_KNOWN: Final = (
    "The topic listing may be partial: the broker did not report a topic that does not exist as unknown."
)


def read(session: ReadSession, state: ClusterState) -> ClusterState:
    """All topics and whether the listing is complete, or the named topics."""
    request, connection = session.request, session.connection
    gap = _gap(session, state) if request.all_topics else None
    wanted = set(session.seen if request.all_topics else ())
    if gap or not request.all_topics:
        wanted.update(request.topic_names)
    found = read_topics(connection, wanted) if wanted else TopicReadResult()
    brokers = [broker.id for broker in session.handshake.brokers]
    return replace(
        state,
        topics=found.topics,
        unreadable_topics=found.unreadable,
        topic_gap=gap,
        topic_names=frozenset() if request.all_topics else frozenset(session.seen),
        broker_defaults={**found.defaults, **broker_defaults(connection, brokers)} if request.broker_defaults else {},
        under_replicated=frozenset(found.under_replicated),
        layout=read_layout(connection.settings, request.layout) if request.layout else None,
    )


def _gap(session: ReadSession, state: ClusterState) -> str | None:
    """Why the listing of topics may be partial: a broker silently omits topics that we may not describe."""
    request = session.request
    unlimited = request.principal in request.super_users
    if not request.acls and not unlimited:
        return _ACLS_UNREAD
    gap = topic_listing_gap(state.bindings, state.opaque, request.principal, request.super_users)
    if gap is None and not unlimited:
        gap = state.acl_gap
    # Only a principal that may DESCRIBE every topic is told that a topic does not exist; others get a refusal.
    if gap is None and not is_unknown(session.connection, f"__kr.visible.{secrets.token_hex(16)}"):
        return _NONCE_KNOWN
    return gap


def send(connection: AdminConnection, changes: Sequence[Change], *, only_validate: bool = False) -> list[Answer]:
    """Perform changes of one verb and one type, in one request."""
    admin = connection.admin
    sides = [resource_of(change) for change in changes]
    match changes[0]:
        case Create():
            call = partial(admin.create_topics, validate_only=only_validate)
            items = [Item(t.name, unsupported(topic_problem(t)), partial(_new_topic, t), t.name) for t in sides]
            return request(connection, call, items)
        case Delete() | Update(_, TopicReplicas()) if only_validate:
            return [NOT_VALIDATED] * len(changes)
        case Delete():
            items = [Item(topic.name, None, partial(str, topic.name), topic.name) for topic in sides]
            return request(connection, admin.delete_topics, items)
        case Update(_, TopicPartitions()):
            call = partial(admin.create_partitions, validate_only=only_validate)
            items = [Item(p.name, unsupported(increase_problem(p)), partial(_new_partitions, p), p.name) for p in sides]
            return request(connection, call, items)
        case Update(_, TopicConfigs()):
            alter = partial(admin.incremental_alter_configs, validate_only=only_validate)
            # The client refuses a change without configs; there is nothing to do for it.
            items = [
                Item(c.name, unsupported(settings_problem(c.configs)) if c.configs else DONE, partial(_alteration, c))
                for c in sides
            ]
            return request(connection, alter, items)
        case Update(_, TopicReplicas()):
            return send_replicas(connection.settings, changes)
    raise TypeError(f"{changes[0]!r} is not a change of a topic")


def begin(connection: AdminConnection, changes: Sequence[Change]) -> Callable[[], list[Answer]]:
    """The same; the answers are there."""
    answers = send(connection, changes)
    return lambda: answers


def _new_topic(topic: Topic) -> NewTopic:
    configs = dict(topic.configs)
    if topic.replica_assignments is not None:
        assignment = [list(replicas) for replicas in topic.replica_assignments]
        return NewTopic(topic.name, len(assignment), replica_assignment=assignment, config=configs)
    # -1 is the brokers' default (KIP-464), which a manifest that names no number leaves to them.
    return NewTopic(topic.name, topic.num_partitions or -1, topic.replication_factor or -1, config=configs)


def _new_partitions(wanted: TopicPartitions) -> NewPartitions:
    if wanted.assignments is None:
        return NewPartitions(wanted.name, wanted.count)
    return NewPartitions(wanted.name, wanted.count, replica_assignment=[list(ids) for ids in wanted.assignments])


def _alteration(wanted: TopicConfigs) -> ConfigResource:
    entries = [
        ConfigEntry(
            key, value, incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
        )
        for key, value in wanted.configs.items()
    ]
    return ConfigResource(ResourceType.TOPIC, wanted.name, incremental_configs=entries)


def first_step(change: Change, flavor: Flavor) -> tuple[Change, str] | None:
    """The change that has to come first, and ``config=value`` that it sets; ``None`` where none has to."""
    match change:
        case Update(TopicConfigs() as before, TopicConfigs() as after):
            step = flavor.intermediate(before.configs, after.configs)
            if step is not None:
                was, between = {step.config: before.configs.get(step.config)}, {step.config: step.via}
                first = Update(replace(before, configs=was), replace(after, configs=between))
                return first, f"{step.config}={step.via}"
    return None
