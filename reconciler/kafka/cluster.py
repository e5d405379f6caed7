"""A Kafka cluster as ``ports.Cluster``: one ``AdminClient``, and ACL listings by child processes."""

import datetime
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

from reconciler.dataclass import dataclass
from reconciler.kafka import topics
from reconciler.kafka.client import AdminConnection, log_connection, timed
from reconciler.kafka.handshake import (
    AuthorizerPresence,
    Broker,
    Handshake,
    begin_handshake,
    handshake_of,
    handshake_with,
    probe_authorizer,
)
from reconciler.kafka.kinds import KINDS, ReadSession, kind_of
from reconciler.kafka.listing import AclListing, AclReader, ask, asking, features, no_messages
from reconciler.kafka.reader_process import started_early
from reconciler.kafka.replicas import cancel_reassignments, read_layout, set_replication_rates
from reconciler.kafka.settings import ClientSettings
from reconciler.kafka.topics import broker_configs, broker_settings, topic_uses
from reconciler.model.acl import WILDCARD, WILDCARD_PRINCIPAL, AclOperation, AclPermissionType, ResourceType
from reconciler.model.frozen import FrozenMap
from reconciler.model.listing import Change
from reconciler.model.state import BrokerSettings, ClusterState, DelegationToken, DelegationTokens
from reconciler.model.topic import Layout, TopicUse
from reconciler.ports import Answer, ClusterError, ReadRequest
from reconciler.retry import attempts
from reconciler.system.process import SystemClock

# The time of the active controller, as a clock that is not ours.


def controller_time(settings: ClientSettings) -> datetime.datetime | None:
    """What the clock of the active controller shows now; ``None`` where nobody tells."""
    match ask(settings, "time"):
        case ("time", int(milliseconds)) if milliseconds > 0:
            return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
        case _:
            return None


# Which groups exist.

_ATTEMPTS: Final = 2
#: Longer than brokers name one that has died (``broker.session.timeout.ms``, 9 s).
_PATIENCE_SECONDS: Final = 12.0


def existing_groups(connection: AdminConnection) -> frozenset[str] | None:
    """The names of all groups, or ``None`` if a broker did not list its own: a part must not look like the whole.

    A principal with DESCRIBE on CLUSTER, which listing ACLs needs too, sees every group
    (``KafkaApis.handleListGroupsRequest``).
    """
    timeout = min(connection.settings.request_timeout, _PATIENCE_SECONDS)
    # A broker that has died is asked for its own groups too, until the others stop naming it.
    for _ in attempts(SystemClock(), _ATTEMPTS):
        try:
            listed = connection.read(lambda: connection.admin.list_consumer_groups(request_timeout=timeout))
        except ClusterError:
            return None
        if not listed.errors:
            return frozenset(group.group_id for group in listed.valid)
    return None


# Which delegation tokens exist. A broker silently leaves out each that the caller may not see.

#: The broker asked has no ``delegation.token.secret.key``, of which each node has its own: a controller with one makes
#: a token for a client of this broker all the same, and takes it at a login (seen on 4.3).
_TOKENS_ARE_OFF: Final = 61  # DELEGATION_TOKEN_AUTH_DISABLED
_NOT_SO: Final = 64  # DELEGATION_TOKEN_REQUEST_NOT_ALLOWED (``KafkaApis.allowTokenRequests``)
#: What shows every token (``DelegationTokenManager.filterToken``): each of these, on every name.
_SHOWS_TOKENS: Final = (
    (ResourceType.DELEGATION_TOKEN, AclOperation.DESCRIBE),
    (ResourceType.USER, AclOperation.DESCRIBE_TOKENS),
)


def delegation_tokens(
    reply: tuple[Any, ...] | None, request: ReadRequest, state: ClusterState, settings: ClientSettings
) -> DelegationTokens:
    """The tokens of a message client's ``reply``, with why there may be others. ``state`` has the ACLs."""
    match reply:
        case ("listed", tokens):
            return DelegationTokens(tuple(sorted(map(_token, tokens))), _token_gap(request, state))
        case ("refused", code, *_) if code == _TOKENS_ARE_OFF:
            return DelegationTokens(gap="the broker asked has tokens disabled, other brokers and controllers may not")
        case ("refused", code, *_) if code == _NOT_SO:
            return DelegationTokens(
                gap="brokers answer only a login with SASL or a TLS certificate, and none by a token"
            )
        case ("refused", _, name, message):
            return DelegationTokens(gap=settings.redact(f"{name}: {message}"))
        case ("failed", text):
            return DelegationTokens(gap=settings.redact(str(text)))
        case None:
            return DelegationTokens(gap=f"kafka-python, which reads them, {no_messages(settings)}")
        case _:
            return DelegationTokens(gap="the process that reads them did not answer")


def _token(row: Sequence[Any]) -> DelegationToken:
    name, owner, requester, renewers, ends, latest = row
    times = (datetime.datetime.fromtimestamp(time // 1000, datetime.UTC) for time in (ends, latest))
    return DelegationToken(name, owner, requester or None, frozenset(renewers), *times)


def _token_gap(request: ReadRequest, state: ClusterState) -> str:
    """Why tokens may be hidden from us; empty where an ACL of ours, or none being asked of us, shows them all."""
    if request.principal is None:
        return "there may be others: declare your own principal in spec.principal"
    if request.principal in request.super_users:
        return ""
    if any(_shows_tokens(state, request.principal, *right) for right in _SHOWS_TOKENS):
        return ""
    return "there may be others: a broker shows all of them with DESCRIBE on DELEGATION_TOKEN '*'"


def _shows_tokens(state: ClusterState, principal: str, kind: ResourceType, operation: AclOperation) -> bool:
    covering = (AclOperation.ALL, operation)

    ours = (principal, WILDCARD_PRINCIPAL)
    near = [
        binding
        for binding in state.bindings
        if binding.pattern.resource_type is kind
        and binding.entry.principal in ours
        and binding.entry.operation in covering
    ]
    hidden = any(b.entry.permission_type is AclPermissionType.DENY for b in near)
    hidden |= any(item.principal in ours and item.resource_type in (None, kind) for item in state.opaque)
    return not hidden and any(b.pattern.is_wildcard and b.entry.host == WILDCARD for b in near)


# What ``doctor`` shows about a cluster and our rights on it.


@dataclass(frozen=True, slots=True)
class Inspection:
    """A cluster as one broker describes it to us.

    ``operations`` are those that we may do on the cluster (KIP-430), ``None`` without DESCRIBE on CLUSTER.
    ``can_list_acls`` and ``can_alter_acls`` are ``None`` if there is no authorizer, or if it is unknown.
    ``metadata_version`` is the finalized feature level, ``None`` if it cannot be read. ``visible_topics`` counts the
    topics that a listing shows us. ``no_messages`` says why kafka-python is not used, after its name. ``configs`` are a
    broker's configs that tell its make or its authorizer.
    """

    cluster_id: str
    brokers: tuple[Broker, ...]
    controller: int | None
    operations: frozenset[str] | None
    authorizer: AuthorizerPresence
    can_list_acls: bool | None
    can_alter_acls: bool | None
    metadata_version: int | None
    visible_topics: int
    no_messages: str | None = None
    configs: Mapping[str, str | None] = FrozenMap()


def connect(settings: ClientSettings, *, readers: Sequence[AclReader] = tuple(AclReader)) -> "KafkaCluster":
    """A cluster to read and write. Nothing is sent yet; raises ``ClusterError`` if the client refuses a setting.

    ``readers`` are the ways to list ACLs that may be tried, in this order.
    """
    log_connection(settings)
    return KafkaCluster(AdminConnection(settings), readers)


class KafkaCluster:
    """Implements ``reconciler.ports.Cluster``. Use it as a context manager, or call :meth:`close`."""

    def __init__(self, connection: AdminConnection, readers: Sequence[AclReader]) -> None:
        """Use :func:`connect`."""
        self._connection = connection
        self._readers = readers
        self._listing: AclListing | None = None
        self._handshake: Future[Any] | None = None
        self._broker_configs: Mapping[str, str | None] | None = None

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Closes."""
        self.close()

    def close(self) -> None:
        """End a listing that is still under way, and close the connections."""
        self._drop_listing()
        self._connection.close()

    def prepare_listing(self) -> None:
        """Start the process that lists ACLs for the next :meth:`read`, so that it loads in parallel; sends nothing."""
        if self._listing is None:
            self._listing = AclListing(self._connection.settings, self._readers)

    def begin_listing(self) -> None:
        """Begin what the next :meth:`read` does first, and go on: the handshake, and after it the listing of all ACLs.

        Raises nothing: what goes wrong, that :meth:`read` finds too.
        """
        self.prepare_listing()
        if self._listing is not None:
            self._handshake = begin_handshake(self._connection)
            self._handshake.add_done_callback(partial(_list, self._connection.settings, self._listing))

    def read(self, request: ReadRequest) -> ClusterState:
        """The state as one broker sees it; raises :class:`ClusterError` if reading is refused or fails."""
        # Their configs are read by a process that loads its libraries while the names of all topics are asked for.
        many = len(request.topic_names) >= topics.MANY and no_messages(self._connection.settings) is None
        with started_early() if many else nullcontext():
            return self._read(request)

    def _read(self, request: ReadRequest) -> ClusterState:
        begun, self._handshake = self._handshake, None
        if begun is not None and (not request.acls or request.acl_principals is not None):
            self._drop_listing()  # it is of all ACLs, and of now: this reading asks for others, a later one for newer
        listing = self._take_listing() if request.acls else None
        try:
            with timed("handshake"):
                handshake = handshake_with(self._connection, begun)
            if listing:  # not before: a listing by the client needs a handshake before and after it
                listing.begin(request.acl_principals)
            seen = topics.visible_names(self._connection) if request.all_topics or request.topic_listing else []
            session = ReadSession(self._connection, request, handshake, listing, seen)
            state = ClusterState(
                handshake.cluster_id,
                may_alter_acls=handshake.may_alter_acls,
                broker_hosts=frozenset(broker.host for broker in handshake.brokers),
                broker_configs=self._configs(handshake) if request.acls else {},
                own_operations=handshake.known_operations,
            )
            settings = self._connection.settings
            with asking(settings, "token.listed") if request.tokens else nullcontext() as tokens:
                # In this order: whether a listing of topics is whole depends on the ACLs.
                for kind in KINDS:
                    with timed(f"read {kind.TYPES[0].__name__}"):
                        state = kind.read(session, state)
                if tokens is not None:
                    state = replace(state, tokens=delegation_tokens(tokens(), request, state, settings))
            return replace(state, groups=existing_groups(self._connection)) if request.groups else state
        finally:
            if listing:
                listing.stop()

    def brokers(self) -> frozenset[int]:
        """The ids of the brokers that the cluster names; raises :class:`ClusterError`."""
        return frozenset(broker.id for broker in handshake_with(self._connection).brokers)

    def inspect(self) -> Inspection:
        """What ``doctor`` shows; writes nothing. Raises :class:`ClusterError`."""
        handshake = handshake_with(self._connection)
        probe = probe_authorizer(self._connection)
        unsecured = probe.authorizer is AuthorizerPresence.ABSENT
        finalized = features(self._connection.settings) or {}
        return Inspection(
            cluster_id=handshake.cluster_id,
            brokers=handshake.brokers,
            controller=handshake.controller,
            operations=handshake.operations,
            authorizer=probe.authorizer,
            can_list_acls=None if unsecured else handshake.may_list_acls,
            can_alter_acls=probe.may_alter,
            metadata_version=finalized.get("metadata.version"),
            visible_topics=len(topics.visible_names(self._connection)),
            no_messages=no_messages(self._connection.settings),
            configs=self._configs(handshake),
        )

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        """See ``ports``; what the client cannot carry is FAILED with UNSUPPORTED_BY_CLIENT."""
        if not changes:
            return []
        with timed(f"send {len(changes):,} changes"):
            return kind_of(changes[0]).send(self._connection, changes)

    def begin(self, changes: Sequence[Change]) -> Callable[[], list[Answer]]:
        """See ``ports.PipelinedWriter``."""
        return kind_of(changes[0]).begin(self._connection, changes)

    def validate(self, changes: Sequence[Change]) -> list[Answer]:
        """See ``ports``; what the client cannot carry is FAILED with UNSUPPORTED_BY_CLIENT."""
        return kind_of(changes[0]).send(self._connection, changes, only_validate=True) if changes else []

    def topic_uses(self, names: Collection[str]) -> Mapping[str, TopicUse]:
        """See ``ports``: size, records, newest timestamp and groups, each as far as it is permitted."""
        with timed("read uses of topics"):
            return topic_uses(self._connection, names)

    def broker_settings(self, configs: Collection[str], *, features: bool) -> BrokerSettings:
        """See ``ports``."""
        with timed("read configs of every broker"):
            brokers = sorted(self.brokers())
            return broker_settings(self._connection, brokers, sorted(configs), with_features=features)

    def controller_time(self) -> datetime.datetime | None:
        """See ``ports``."""
        with timed("ask the controller for its time"):
            return controller_time(self._connection.settings)

    def set_replication_rates(self, brokers: Collection[int], rate: int | None) -> Mapping[int, str]:
        """See ``ports``."""
        return set_replication_rates(self._connection, sorted(brokers), rate)

    def reassignments(self) -> Layout:
        """See ``ports``."""
        with timed("list reassignments"):
            return read_layout(self._connection.settings, None)

    def cancel_reassignments(self, partitions: Sequence[tuple[str, int]]) -> list[Answer]:
        """See ``ports``."""
        return cancel_reassignments(self._connection.settings, partitions) if partitions else []

    def _configs(self, handshake: Handshake) -> Mapping[str, str | None]:
        """Asked once: a broker that is configured otherwise restarts, and one run need not see that."""
        if self._broker_configs is None:
            with timed("read broker configs"):
                self._broker_configs = broker_configs(self._connection, [broker.id for broker in handshake.brokers])
        return self._broker_configs

    def _drop_listing(self) -> None:
        """End the listing that was prepared, if there is one."""
        listing, self._listing = self._listing, None
        if listing is not None:
            listing.stop()

    def _take_listing(self) -> AclListing:
        """The listing that was prepared, or a new one; each is used once."""
        self.prepare_listing()
        listing, self._listing = self._listing, None
        return listing or AclListing(self._connection.settings, self._readers)


def _list(settings: ClientSettings, listing: AclListing, answered: Future[Any]) -> None:
    """Begin a listing after its handshake, in the client's thread. Whoever reads says what failed."""
    with suppress(Exception):
        handshake_of(settings, answered.result())
        listing.begin()
