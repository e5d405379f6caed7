"""How each kind of resource is read from and sent to a Kafka cluster.

confluent-kafka has no messages for listed kinds: they are read and altered with kafka-python's.
"""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Final

from confluent_kafka import admin

from reconciler.dataclass import dataclass
from reconciler.kafka import errors as codes
from reconciler.kafka.bindings import (
    increase_problem,
    needs_messages,
    settings_problem,
    topic_problem,
    unsupported_by_client,
)
from reconciler.kafka.client import AdminConnection, Item, begin_request, request, unsupported
from reconciler.kafka.handshake import Handshake
from reconciler.kafka.listing import (
    AclListing,
    altered,
    ask,
    checked_listing,
    item_answer,
    no_messages,
    topic_listing_gap,
)
from reconciler.kafka.replicas import read_layout, send_replicas
from reconciler.kafka.sent_kind import SentKind
from reconciler.kafka.settings import ClientSettings
from reconciler.kafka.topics import TopicReadResult, broker_defaults, is_unknown, read_topics
from reconciler.model.acl import AclBinding
from reconciler.model.kinds import kind_finder, listed_kind, listed_types
from reconciler.model.listing import Change, Create, ListedItem, Listing, Update, parts, resource_of
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic, TopicConfigs, TopicPartitions, TopicReplicas
from reconciler.ports import DONE, NOT_VALIDATED, Answer, AnswerStatus, ReadRequest


@dataclass(frozen=True, slots=True)
class ReadSession:
    """What the kinds share while one :class:`~reconciler.ports.ReadRequest` is answered.

    ``listing`` is the listing of ACLs, which runs in another process; ``seen`` are the names of topics that a broker
    shows us, if all topics were requested.
    """

    connection: AdminConnection
    request: ReadRequest
    handshake: Handshake
    listing: AclListing | None
    seen: Sequence[str]


class Kind(ABC):
    """A kind of resource. Its changes must all be of this kind, one verb and one type.

    ``TYPES`` are the types of the before and after sides of its changes.
    """

    TYPES: tuple[type, ...]

    @abstractmethod
    def read(self, session: ReadSession, state: ClusterState) -> ClusterState:
        """``state``, with the kinds that are already read, and this kind as far as it was requested.

        Raises :class:`~reconciler.ports.ClusterError` rather than leave something out silently.
        """

    @abstractmethod
    def send(
        self, connection: AdminConnection, changes: Sequence[Change], *, only_validate: bool = False
    ) -> list[Answer]:
        """See :meth:`reconciler.ports.Cluster.send`; with ``only_validate``, ``InspectableCluster.validate``."""

    def begin(self, connection: AdminConnection, changes: Sequence[Change]) -> Callable[[], list[Answer]]:
        """See :meth:`reconciler.ports.PipelinedWriter.begin`; mostly the answers are there."""
        answers = self.send(connection, changes)
        return lambda: answers


class ListedKind(Kind):
    """One listed kind."""

    def __init__(self, resource: type[ListedItem]) -> None:
        """``resource`` is the type of its resources."""
        self.resource = resource
        self.TYPES = (resource,)

    @cached_property
    def _special(self) -> SentKind:
        kind: SentKind = listed_kind(self.resource)
        return kind

    def read(self, session: ReadSession, state: ClusterState) -> ClusterState:
        """All of them, if requested; the reason, if they cannot be read."""
        listing: Listing[ListedItem] = Listing(may_alter=self._special.may_alter(session.handshake))
        if self.resource.KIND in session.request.listings:
            readable = self._special.may_read(session.handshake)
            listed = self._listed(session.connection.settings) if readable else self._refused
            listing = replace(listing, gap=listed) if isinstance(listed, str) else replace(listing, items=listed)
        return state.with_listing(self.resource, listing)

    def _listed(self, settings: ClientSettings) -> frozenset[ListedItem] | str:
        words = self.resource.WORDS
        match ask(settings, f"{self._special.messages}listed", **self._special.reading):
            case None:
                return f"{self._who} {no_messages(settings)}"
            case ("listed", entries):
                return frozenset(item for entry in entries if (item := self._special.item(entry)) is not None)
            case ("refused", codes.CLUSTER_AUTHORIZATION_FAILED | codes.GROUP_AUTHORIZATION_FAILED, *_):
                return self._refused
            case ("refused", _, name, message):
                return settings.redact(f"{name}: {message}")
            case ("failed", text):
                return settings.redact(str(text))
            case reply:
                return f"the process that asks for {words} answered {reply}"

    @property
    def _refused(self) -> str:
        return f"not authorised to read {self.resource.WORDS}: our principal needs ALLOW {self._special.reading_right}"

    @property
    def _who(self) -> str:
        return f"confluent-kafka has no messages for {self.resource.WORDS}, and kafka-python"

    def send(
        self, connection: AdminConnection, changes: Sequence[Change], *, only_validate: bool = False
    ) -> list[Answer]:
        """One request for each part of a change (``parts``); those of the same number go together.

        Once a part was done, nothing of a change is known not to be applied. One whose secret cannot be used is not
        sent at all.
        """
        if only_validate and not self.resource.CAN_VALIDATE:
            return [NOT_VALIDATED] * len(changes)
        unusable = {
            n: answer for n, item in enumerate(changes) if (answer := self._unusable(item, connection.settings))
        }
        due = [change for n, change in enumerate(changes) if n not in unusable]
        answers = iter(self._sent(connection, due, only_validate=only_validate) if due else ())
        return [unusable[n] if n in unusable else next(answers) for n in range(len(changes))]

    def _unusable(self, change: Change, settings: ClientSettings) -> Answer | None:
        try:
            for part in parts(change):
                self._special.alteration(part, settings.followed)
        except ValueError as error:
            return Answer(AnswerStatus.FAILED, "UNUSABLE_SECRET", str(error))
        return None

    def _sent(self, connection: AdminConnection, changes: Sequence[Change], *, only_validate: bool) -> list[Answer]:
        sent = [(change,) if only_validate else parts(change) for change in changes]
        answers = [DONE] * len(changes)
        for number in range(max(map(len, sent))):
            due = [n for n, change_parts in enumerate(sent) if number < len(change_parts) and answers[n].good]
            replies = self.requested(connection, [sent[n][number] for n in due], only_validate=only_validate)
            for n, answer in zip(due, replies, strict=True):
                begun = number > 0 and not answer.good
                answers[n] = replace(answer, status=AnswerStatus.UNKNOWN) if begun else answer
        return answers

    def requested(self, connection: AdminConnection, changes: Sequence[Change], *, only_validate: bool) -> list[Answer]:
        """One request, never retried: if the answer is lost, only reading shows what was done."""
        if not changes:
            return []
        settings = connection.settings
        alterations = [self._special.alteration(change, settings.followed) for change in changes]
        asked = self._special.altering(alterations, only_validate=only_validate)
        outcomes = altered(settings, f"{self._special.messages}altered", self._who, **asked)
        if isinstance(outcomes, Answer):
            return [outcomes] * len(changes)
        answers = {self._special.outcome_key(entry): item_answer(settings, *error) for entry, *error in outcomes}
        missing = Answer(AnswerStatus.UNKNOWN, "NO_ANSWER", "the broker's answer does not name it")
        return [self._done(change, answers.get(resource_of(change).key, missing)) for change in changes]

    def _done(self, change: Change, answer: Answer) -> Answer:
        """The answer; what is gone already is deleted."""
        gone = change.after is None and answer.code != "" and answer.code == self._special.gone
        return DONE if gone else answer


#: The client's members by Kafka's codes.
_TYPES: Final = {item.value: item for item in admin.ResourceType}
_PATTERNS: Final = {item.value: item for item in admin.ResourcePatternType}
_OPERATIONS: Final = {item.value: item for item in admin.AclOperation}
_PERMISSIONS: Final = {item.value: item for item in admin.AclPermissionType}


class Acls(Kind):
    """ACL bindings: listed, created, and deleted by exact filters.

    confluent-kafka writes what it can name; what it cannot, kafka-python's messages do.
    """

    TYPES = (AclBinding,)

    def read(self, session: ReadSession, state: ClusterState) -> ClusterState:
        """The listing, once it is complete and checked."""
        if session.listing is None:
            return state
        checked = checked_listing(session.connection, session.handshake, session.listing.result(session.request.known))
        listing = checked.listing
        return replace(
            state,
            bindings=listing.bindings,
            opaque=listing.opaque,
            acl_gap=checked.gap,
            kafka_version=checked.rules.version,
            kafka_version_gap=checked.rules.gap,
            metadata_version=checked.rules.level,
            share_version=checked.rules.share_version,
        )

    def send(
        self, connection: AdminConnection, changes: Sequence[Change], *, only_validate: bool = False
    ) -> list[Answer]:
        """Create bindings in the given order, or delete them; what the broker says it matched proves nothing."""
        if only_validate:  # CreateAcls and DeleteAcls have no field for it
            return [NOT_VALIDATED] * len(changes)
        return self.begin(connection, changes)()

    def begin(self, connection: AdminConnection, changes: Sequence[Change]) -> Callable[[], list[Answer]]:
        """The same, and whoever wants the answers waits for them; what goes by messages has been answered by then."""
        bindings = [resource_of(change) for change in changes]
        apart = [needs_messages(binding) for binding in bindings]
        # One request for all, or what belongs together, as a lock does, would be there in part between two.
        if any(apart) and no_messages(connection.settings) is None:
            apart = [True] * len(bindings)
        creates = changes[0].before is None
        call = connection.admin.create_acls if creates else connection.admin.delete_acls
        client_type = admin.AclBinding if creates else admin.AclBindingFilter
        items = [_item(client_type, item) for item, other in zip(bindings, apart, strict=True) if not other]
        sent = begin_request(connection, call, items)
        message_answers = _by_messages(
            connection, [item for item, other in zip(bindings, apart, strict=True) if other], creates=creates
        )

        def answers() -> list[Answer]:
            by_client, by_messages = iter(sent()), iter(message_answers)
            return [next(by_messages if other else by_client) for other in apart]

        return answers


def _by_messages(connection: AdminConnection, bindings: Sequence[AclBinding], *, creates: bool) -> list[Answer]:
    """One request, never retried: if the answer is lost, only reading shows what was done."""
    if not bindings:
        return []
    settings = connection.settings
    why = no_messages(settings)
    problems = [unsupported(unsupported_by_client(binding, why)) for binding in bindings]
    rows = [
        (int(kind), name, int(pattern_type), principal, host, int(operation), int(permission))
        for (((kind, name, pattern_type), (principal, host, operation, permission)), problem) in zip(
            bindings, problems, strict=True
        )
        if problem is None
    ]
    sent = iter(_sent(settings, "create_acls" if creates else "delete_acls", rows))
    return [problem or next(sent) for problem in problems]


def _sent(settings: ClientSettings, question: str, rows: Sequence[tuple[object, ...]]) -> list[Answer]:
    if not rows:
        return []
    outcomes = altered(settings, question, "kafka-python, which alone can carry it,", rows=list(rows))
    if isinstance(outcomes, Answer):
        return [outcomes] * len(rows)
    if len(outcomes) != len(rows):
        message = settings.redact(f"altered {outcomes}")
        return [Answer(AnswerStatus.UNKNOWN, "NO_ANSWER", message, retriable=True)] * len(rows)
    return [item_answer(settings, *error) for error in outcomes]


def _item(client_type: type[admin.AclBinding | admin.AclBindingFilter], binding: AclBinding) -> Item:
    (resource_type, name, pattern_type), (principal, host, operation, permission) = binding
    return Item(
        binding,
        unsupported(unsupported_by_client(binding, None)),
        # Members, which the client would otherwise look up by number.
        lambda: client_type(
            _TYPES[resource_type],
            name,
            _PATTERNS[pattern_type],
            principal,
            host,
            _OPERATIONS[operation],
            _PERMISSIONS[permission],
        ),
    )


_ACLS_UNREAD: Final = "The topic listing may be partial: the ACLs were not read, so topics may be hidden from us."
_NONCE_KNOWN: Final = (
    "The topic listing may be partial: the broker did not report a topic that does not exist as unknown."
)


class Topics(Kind):
    """Topics: read, create, delete, add partitions, alter configs, move replicas.

    Kafka can validate all but deletions and moves.
    """

    TYPES = (Topic, TopicPartitions, TopicConfigs, TopicReplicas)

    def read(self, session: ReadSession, state: ClusterState) -> ClusterState:
        """All topics and whether the listing is complete, or the named topics."""
        request, connection = session.request, session.connection
        gap = _gap(session, state) if request.all_topics else None
        wanted = set(session.seen if request.all_topics else ())
        if gap or not request.all_topics:
            wanted.update(request.topic_names)
        read = read_topics(connection, wanted) if wanted else TopicReadResult()
        brokers = [broker.id for broker in session.handshake.brokers]
        return replace(
            state,
            topics=read.topics,
            unreadable_topics=read.unreadable,
            topic_gap=gap,
            topic_names=frozenset() if request.all_topics else frozenset(session.seen),
            broker_defaults={**read.defaults, **broker_defaults(connection, brokers)}
            if request.broker_defaults
            else {},
            under_replicated=frozenset(read.under_replicated),
            layout=read_layout(connection.settings, request.layout) if request.layout else None,
        )

    def send(
        self, connection: AdminConnection, changes: Sequence[Change], *, only_validate: bool = False
    ) -> list[Answer]:
        """In one request."""
        after: Any = changes[0].after
        if only_validate and (after is None or not after.CAN_VALIDATE):
            return [NOT_VALIDATED] * len(changes)
        return (_delete if after is None else _SENT[type(after)])(connection, changes, only_validate)


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


def _delete(connection: AdminConnection, changes: Sequence[Any], _: bool) -> list[Answer]:
    names = [change.before.name for change in changes]
    return request(
        connection, connection.admin.delete_topics, [Item(name, None, partial(str, name), name) for name in names]
    )


def _create(connection: AdminConnection, changes: Sequence[Create[Topic]], only_validate: bool) -> list[Answer]:
    call = partial(connection.admin.create_topics, validate_only=only_validate)
    topics = [change.after for change in changes]
    items = [Item(t.name, unsupported(topic_problem(t)), partial(_new_topic, t), t.name) for t in topics]
    return request(connection, call, items)


def _add_partitions(
    connection: AdminConnection, changes: Sequence[Update[TopicPartitions]], only_validate: bool
) -> list[Answer]:
    call = partial(connection.admin.create_partitions, validate_only=only_validate)
    sides = [change.after for change in changes]
    items = [Item(p.name, unsupported(increase_problem(p)), partial(_new_partitions, p), p.name) for p in sides]
    return request(connection, call, items)


def _alter_configs(
    connection: AdminConnection, changes: Sequence[Update[TopicConfigs]], only_validate: bool
) -> list[Answer]:
    call = partial(connection.admin.incremental_alter_configs, validate_only=only_validate)
    # The client refuses a change without configs; there is nothing to do for it.
    items = [
        Item(c.name, unsupported(settings_problem(c.configs)) if c.configs else DONE, partial(_alteration, c))
        for c in (change.after for change in changes)
    ]
    return request(connection, call, items)


def _move(connection: AdminConnection, changes: Sequence[Update[TopicReplicas]], _: bool) -> list[Answer]:
    return send_replicas(connection.settings, changes)


#: The request for a change, by the side of the topic that it is about.
_SENT: Final[Mapping[type, Callable[[AdminConnection, Sequence[Any], bool], list[Answer]]]] = {
    Topic: _create,
    TopicPartitions: _add_partitions,
    TopicConfigs: _alter_configs,
    TopicReplicas: _move,
}


def _new_topic(topic: Topic) -> admin.NewTopic:
    configs = dict(topic.configs)
    if topic.replica_assignments is not None:
        assignment = [list(replicas) for replicas in topic.replica_assignments]
        return admin.NewTopic(topic.name, len(assignment), replica_assignment=assignment, config=configs)
    # -1 is the brokers' default (KIP-464), which a manifest that names no number leaves to them.
    return admin.NewTopic(topic.name, topic.num_partitions or -1, topic.replication_factor or -1, config=configs)


def _new_partitions(wanted: TopicPartitions) -> admin.NewPartitions:
    if wanted.assignments is None:
        return admin.NewPartitions(wanted.name, wanted.count)
    return admin.NewPartitions(wanted.name, wanted.count, replica_assignment=[list(ids) for ids in wanted.assignments])


def _alteration(wanted: TopicConfigs) -> admin.ConfigResource:
    entries = [
        admin.ConfigEntry(
            key,
            value,
            incremental_operation=admin.AlterConfigOpType.DELETE if value is None else admin.AlterConfigOpType.SET,
        )
        for key, value in wanted.configs.items()
    ]
    return admin.ConfigResource(admin.ResourceType.TOPIC, wanted.name, incremental_configs=entries)


KINDS: Final[tuple[Kind, ...]] = (Acls(), Topics(), *map(ListedKind, listed_types()))
kind_of: Final = kind_finder(KINDS)
