"""The first request to a cluster: its id, our rights on it, and whether it has an authorizer."""

import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from enum import StrEnum
from typing import Any, Final

from confluent_kafka.admin import AclBindingFilter, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from reconciler.dataclass import dataclass
from reconciler.kafka.client import AdminConnection
from reconciler.kafka.errors import CLUSTER_AUTHORIZATION_FAILED, SECURITY_DISABLED, UNKNOWN_SERVER_ERROR, ClientFailure
from reconciler.kafka.settings import ClientSettings
from reconciler.model.acl import AclOperation as run_AclOperation
from reconciler.ports import ClusterError


class AuthorizerPresence(StrEnum):
    """Whether the cluster has an authorizer."""

    PRESENT = "present"
    ABSENT = "absent"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Broker:
    """One broker as the cluster advertises it."""

    id: int
    host: str
    port: int
    rack: str | None


@dataclass(frozen=True, slots=True)
class Handshake:
    """The DescribeCluster response. ``operations`` are our rights on CLUSTER (KIP-430), ``None`` without DESCRIBE."""

    cluster_id: str
    brokers: tuple[Broker, ...]
    controller: int | None
    operations: frozenset[str] | None

    @property
    def known_operations(self) -> frozenset[run_AclOperation] | None:
        """The same as operations that have a name here; confluent-kafka leaves out those after IDEMPOTENT_WRITE."""
        if self.operations is None:
            return None
        named = run_AclOperation.__members__
        return frozenset(named[name] for name in self.operations if name in named)

    @property
    def may_list_acls(self) -> bool:
        """Whether we may call DescribeAcls (or there is no authorizer)."""
        return self.operations is not None and "DESCRIBE" in self.operations

    @property
    def may_alter_acls(self) -> bool | None:
        """Whether we may call CreateAcls and DeleteAcls; ``None`` if unknown."""
        return None if self.operations is None else "ALTER" in self.operations

    @property
    def may_alter_configs(self) -> bool | None:
        """Whether AlterClientQuotas is permitted to us; ``None`` where the answer does not tell."""
        return None if self.operations is None else "ALTER_CONFIGS" in self.operations


@dataclass(frozen=True, slots=True)
class AuthorizerProbe:
    """The answer to a delete that cannot match anything; ``may_alter`` is ``None`` if unknown."""

    authorizer: AuthorizerPresence
    may_alter: bool | None = None


_REFUSALS: Final = {
    SECURITY_DISABLED: AuthorizerProbe(AuthorizerPresence.ABSENT),
    CLUSTER_AUTHORIZATION_FAILED: AuthorizerProbe(AuthorizerPresence.PRESENT, may_alter=False),
}


def begin_handshake(connection: AdminConnection) -> Future[Any]:
    """Call DescribeCluster; :func:`handshake_with` waits for the answer."""
    timeout = connection.settings.request_timeout
    future: Future[Any] = connection.admin.describe_cluster(include_authorized_operations=True, request_timeout=timeout)
    return future


def handshake_with(connection: AdminConnection, begun: Future[Any] | None = None) -> Handshake:
    """Call DescribeCluster, or wait for the call that was ``begun``; raises :class:`ClusterError`."""
    calls = [begun] if begun is not None else []
    answer = connection.read(lambda: calls.pop() if calls else begin_handshake(connection))
    return handshake_of(connection.settings, answer)


def handshake_of(settings: ClientSettings, answer: Any) -> Handshake:
    """The answer to DescribeCluster; raises :class:`ClusterError` where nothing else may be asked of this cluster."""
    if not answer.cluster_id:
        raise ClusterError("cluster_id_missing", "the broker did not return a cluster id")
    # Before anything else is asked: the next request may go to any of these brokers.
    settings.check_brokers(node.host for node in answer.nodes)
    operations = answer.authorized_operations
    # A controller of -1 is none: an election is going on (``MetadataResponse.NO_CONTROLLER_ID``).
    return Handshake(
        answer.cluster_id,
        tuple(sorted((Broker(n.id, n.host, n.port, n.rack) for n in answer.nodes), key=lambda b: b.id)),
        answer.controller.id if answer.controller is not None and answer.controller.id >= 0 else None,
        None if operations is None else frozenset(operation.name for operation in operations),
    )


def probe_authorizer(connection: AdminConnection) -> AuthorizerProbe:
    """Send a DeleteAcls that cannot match anything. An answer, or a refusal without ALTER, proves an authorizer.

    A broker without an authorizer answers SECURITY_DISABLED instead (``AclApis.handleDeleteAcls``). The request changes
    nothing and needs no right. Raises :class:`ClusterError` if no broker answered.
    """
    nonce = f"__kr.probe.{secrets.token_hex(16)}"
    exact = AclBindingFilter(
        ResourceType.TOPIC,
        nonce,
        ResourcePatternType.LITERAL,
        f"User:{nonce}",
        nonce,
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )
    timeout = connection.settings.request_timeout

    def ask(filters: Sequence[AclBindingFilter]) -> Mapping[AclBindingFilter, Future[Any]]:
        asked: Mapping[AclBindingFilter, Future[Any]] = connection.admin.delete_acls(
            list(filters), request_timeout=timeout
        )
        return asked

    # As a reading, which another broker is asked for where one is silent: to delete nothing twice deletes nothing.
    answer = connection.read_each([exact], ask)[exact]
    if not isinstance(answer, ClientFailure):
        return AuthorizerProbe(AuthorizerPresence.PRESENT, may_alter=True)
    if answer.code < UNKNOWN_SERVER_ERROR:
        raise connection.cluster_error(answer)
    return _REFUSALS.get(answer.code, AuthorizerProbe(AuthorizerPresence.UNKNOWN))
