"""A Kafka cluster as ``ports.Cluster``: one ``AdminClient``, and ACL listings by child processes."""

import secrets
from collections.abc import Collection, Mapping, Sequence
from types import TracebackType
from typing import Final, Self

from reconciler.adapters.kafka.bindings import ListedAcls
from reconciler.adapters.kafka.broker_defaults import broker_defaults
from reconciler.adapters.kafka.client import AdminConnection
from reconciler.adapters.kafka.groups import existing_groups
from reconciler.adapters.kafka.handshake import AuthorizerPresence, Handshake, handshake_with, probe_authorizer
from reconciler.adapters.kafka.inspection import Inspection
from reconciler.adapters.kafka.kinds import kind_of
from reconciler.adapters.kafka.listing import AclListing, AclReader, ListingResult, features
from reconciler.adapters.kafka.listing_check import checked_listing
from reconciler.adapters.kafka.settings import ClientSettings
from reconciler.adapters.kafka.topic_listing_check import topic_listing_gap
from reconciler.adapters.kafka.topic_uses import topic_uses
from reconciler.adapters.kafka.topics import TopicsRead, is_unknown, read_topics, visible_names
from reconciler.model import Change, ClusterState, TopicUse
from reconciler.ports import Answer, ReadRequest

_EMPTY: Final = ListedAcls(frozenset(), ())
_ACLS_UNREAD: Final = "The topic listing may be partial: the ACLs were not read, so topics may be hidden from us."
_NONCE_KNOWN: Final = (
    "The topic listing may be partial: the broker did not report a topic that does not exist as unknown."
)


def connect(settings: ClientSettings, *, readers: Sequence[AclReader] = tuple(AclReader)) -> "KafkaCluster":
    """A cluster to read and write. Nothing is sent yet; raises ``ClusterError`` if the client refuses a setting.

    ``readers`` are the ways to list ACLs that may be tried, in this order.
    """
    return KafkaCluster(AdminConnection(settings), readers)


class KafkaCluster:
    """Implements ``reconciler.ports.Cluster``. Use it as a context manager, or call :meth:`close`."""

    def __init__(self, connection: AdminConnection, readers: Sequence[AclReader]) -> None:
        """Use :func:`connect`."""
        self._connection = connection
        self._readers = readers
        self._listing: AclListing | None = None

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Closes."""
        self.close()

    def close(self) -> None:
        """End a listing that is still under way, and close the connections."""
        if self._listing is not None:
            self._listing.stop()
        self._connection.close()

    def prepare_listing(self) -> None:
        """Start the process that lists ACLs for the next :meth:`read`, so that it loads in parallel; sends nothing."""
        if self._listing is None:
            self._listing = AclListing(self._connection.settings, self._readers)

    def read(self, request: ReadRequest) -> ClusterState:
        """The state as one broker sees it; raises :class:`ClusterError` if reading is refused or fails."""
        listing = self._take_listing() if request.acls else None
        try:
            handshake = handshake_with(self._connection)
            if listing:  # not before: a listing by the client needs a handshake before and after it
                listing.begin()
            seen = visible_names(self._connection) if request.all_topics or request.topic_listing else []
            listed = checked_listing(self._connection, handshake, listing.result()) if listing else None
            gap = self._topic_gap(request, listed) if request.all_topics else None
            wanted = {*(seen if request.all_topics else ())}
            if gap or not request.all_topics:
                wanted.update(request.topic_names)
            found = read_topics(self._connection, wanted) if wanted else TopicsRead()
            groups = existing_groups(self._connection) if request.groups else None
            defaults = self._defaults(handshake, found) if request.broker_defaults else {}
        finally:
            if listing:
                listing.stop()
        acls = listed.listing if listed else _EMPTY
        return ClusterState(
            cluster_id=handshake.cluster_id,
            bindings=acls.bindings,
            topics=found.topics,
            opaque=acls.opaque,
            unreadable_topics=found.unreadable,
            acl_gap=listed.gap if listed else None,
            topic_gap=gap,
            groups=groups,
            topic_names=frozenset() if request.all_topics else frozenset(seen),
            broker_defaults=defaults,
            may_alter_acls=handshake.may_alter_acls,
        )

    def brokers(self) -> frozenset[int]:
        """The ids of the brokers that the cluster names; raises :class:`ClusterError`."""
        return frozenset(broker.id for broker in handshake_with(self._connection).brokers)

    def inspect(self) -> Inspection:
        """What ``doctor`` shows; writes nothing. Raises :class:`ClusterError`."""
        handshake = handshake_with(self._connection)
        probe = probe_authorizer(self._connection)
        unsecured = probe.authorizer is AuthorizerPresence.ABSENT
        return Inspection(
            cluster_id=handshake.cluster_id,
            brokers=handshake.brokers,
            controller=handshake.controller,
            operations=handshake.operations,
            authorizer=probe.authorizer,
            can_list_acls=None if unsecured else handshake.may_list_acls,
            can_alter_acls=probe.may_alter,
            metadata_version=(features(self._connection.settings) or {}).get("metadata.version"),
            visible_topics=len(visible_names(self._connection)),
        )

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        """See ``ports``; what the client cannot carry is FAILED with UNSUPPORTED_BY_CLIENT."""
        return kind_of(changes[0]).send(self._connection, changes) if changes else []

    def validate(self, changes: Sequence[Change]) -> list[Answer]:
        """See ``ports``; what the client cannot carry is FAILED with UNSUPPORTED_BY_CLIENT."""
        return kind_of(changes[0]).send(self._connection, changes, only_validate=True) if changes else []

    def topic_uses(self, names: Collection[str]) -> Mapping[str, TopicUse]:
        """See ``ports``: size, records, newest timestamp and groups, each as far as it is permitted."""
        return topic_uses(self._connection, names)

    def _take_listing(self) -> AclListing:
        """The listing that was prepared, or a new one; each is used once."""
        self.prepare_listing()
        listing, self._listing = self._listing, None
        return listing or AclListing(self._connection.settings, self._readers)

    def _defaults(self, handshake: Handshake, found: TopicsRead) -> dict[str, str]:
        return {**found.defaults, **broker_defaults(self._connection, [broker.id for broker in handshake.brokers])}

    def _topic_gap(self, request: ReadRequest, listed: ListingResult | None) -> str | None:
        if listed is None and request.principal not in request.super_users:
            return _ACLS_UNREAD
        acls = listed.listing if listed else _EMPTY
        gap = topic_listing_gap(acls.bindings, acls.opaque, request.principal, request.super_users)
        if (
            gap is None
            and listed is not None
            and listed.gap is not None
            and request.principal not in request.super_users
        ):
            return listed.gap
        if gap is None and not is_unknown(self._connection, f"__kr.visible.{secrets.token_hex(16)}"):
            return _NONCE_KNOWN
        return gap
