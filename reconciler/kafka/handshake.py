"""The first request to a cluster: its id, our rights on it, whether it has an authorizer; logins; what nodes enforce.

A SCRAM login tries a password on the connection that we use, and nothing more. The client does the handshake; what it
then asks (DescribeCluster) needs no right. The connection is closed at once.
"""

import itertools
import logging
import secrets
import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future, wait
from enum import StrEnum
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourcePatternType,
    ResourceType,
)

from reconciler.dataclass import dataclass
from reconciler.kafka import errors
from reconciler.kafka.client import AdminConnection
from reconciler.kafka.settings import ClientSettings
from reconciler.model.acl import AclOperation as run_AclOperation
from reconciler.model.characters import without_leading_blanks
from reconciler.ports import CONTROLLER, ClusterError, LoginAnswer, ProbeAnswer, Visibility


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


@dataclass(frozen=True, slots=True)
class AuthorizerProbe:
    """The answer to a delete that cannot match anything; ``may_alter`` is ``None`` if unknown."""

    authorizer: AuthorizerPresence
    may_alter: bool | None = None


_REFUSALS: Final = {
    errors.SECURITY_DISABLED: AuthorizerProbe(AuthorizerPresence.ABSENT),
    errors.CLUSTER_AUTHORIZATION_FAILED: AuthorizerProbe(AuthorizerPresence.PRESENT, may_alter=False),
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
    if not isinstance(answer, errors.ClientFailure):
        return AuthorizerProbe(AuthorizerPresence.PRESENT, may_alter=True)
    if answer.code < errors.UNKNOWN_SERVER_ERROR:
        raise connection.cluster_error(answer)
    return _REFUSALS.get(answer.code, AuthorizerProbe(AuthorizerPresence.UNKNOWN))


_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.05
#: librdkafka's words for a broker that does not offer the mechanism: no password was tried.
_NO_MECHANISM: Final = "mechanism handshake failed"
_QUIET: Final = logging.Logger("kafka-login", logging.CRITICAL + 1)


def log_in(settings: ClientSettings, name: str, mechanism: str, password: str) -> LoginAnswer:
    """One try. ``settings`` are our own connection's, whose login is replaced; the password is in no text."""
    protocol = settings.config.get("security.protocol", "PLAINTEXT")
    if not protocol.upper().startswith("SASL_"):
        return LoginAnswer(None, f"our connection has no SASL (security.protocol is {protocol})")
    for what, text in (("name", name), ("password", password)):
        if text != without_leading_blanks(text):
            return LoginAnswer(None, f"the {what} begins with a blank, which our client drops and Java's keeps")
    reported: list[KafkaError] = []
    config: dict[str, Any] = {key: value for key, value in settings.config.items() if not key.startswith("sasl.")}
    config |= {
        "sasl.mechanism": mechanism,
        "sasl.username": name,
        "sasl.password": password,
        # One try is one try: librdkafka would log in again and again by itself.
        "reconnect.backoff.ms": int(2 * _SECONDS * 1000),
        "reconnect.backoff.max.ms": int(2 * _SECONDS * 1000),
        "error_cb": reported.append,
    }
    try:
        client = AdminClient(config, logger=_QUIET)
    except KafkaException as error:
        return LoginAnswer(None, settings.redact(error.args[0].str()))
    except (TypeError, ValueError) as error:  # its text may hold the value
        return LoginAnswer(None, f"the client does not take the login: {type(error).__name__}")
    with client:
        asked = client.describe_cluster(request_timeout=_SECONDS)
        end = time.monotonic() + _SECONDS
        while not asked.done() and not _refusals(reported) and time.monotonic() < end:
            client.poll(0)
            wait((asked,), timeout=_POLL_SECONDS)
        if refused := _refusals(reported):
            return refusal(settings.redact(refused[0].str()))
        if asked.done() and asked.exception() is None:
            return LoginAnswer(True)
        why = reported[-1].str() if reported else "no broker answered in time"
        return LoginAnswer(None, settings.redact(why))


def refusal(text: str) -> LoginAnswer:
    """What the client's words for a failed login mean: a wrong password, or none that was tried."""
    return LoginAnswer(None if _NO_MECHANISM in text else False, text)


def _refusals(reported: list[KafkaError]) -> list[KafkaError]:
    return [error for error in reported if error.code() == errors.AUTHENTICATION]


# What single nodes enforce: each is asked by its id about a topic that does not exist.
#
# A broker authorizes before it looks up the topic, so UNKNOWN_TOPIC_OR_PARTITION means permitted. Brokers are asked for
# the topic's configs. The active controller authorizes topic and config changes with its own copy of the ACLs; it is
# asked by a validate-only change, which a broker forwards to it (KIP-590).

#: A node that does not answer in this time counts as silent; callers ask again.
ASK_SECONDS: Final = 3.0


class KafkaProbe:
    """Implements ``reconciler.ports.Probe`` for the principal that the settings log in as."""

    def __init__(self, settings: ClientSettings) -> None:
        """Nothing is sent yet; raises ``ClusterError`` if the client refuses a setting.

        A broker answers the requests of one connection in order, and a broker that cannot reach the controller delays a
        forwarded request. So requests to the controller use a connection of their own.
        """
        self._connection = AdminConnection(settings)
        self._forwarding = AdminConnection(settings)
        self._broker_ids: list[int] = []
        self._turn = itertools.count()

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()
        self._forwarding.close()

    def brokers(self) -> frozenset[int]:
        """See ``ports``."""
        brokers = frozenset(broker.id for broker in handshake_with(self._connection).brokers)
        self._broker_ids = sorted(brokers)
        return brokers

    def ask(self, topic: str, nodes: Collection[int]) -> Mapping[int, ProbeAnswer]:
        """See ``ports``; all nodes are asked at once."""
        asked: dict[int, Future[Any]] = {}
        answers: dict[int, ProbeAnswer] = {}
        for node in sorted(nodes):
            try:
                asked[node] = self._ask_controller(topic) if node == CONTROLLER else self._ask_broker(topic, node)
            except KafkaException as error:
                answers[node] = self._silent(error)
            except ClusterError as error:
                answers[node] = ProbeAnswer(Visibility.SILENT, str(error))
        answers.update((node, self._answer(future)) for node, future in asked.items())
        return answers

    def _ask_broker(self, topic: str, broker: int) -> Future[Any]:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        admin = self._connection.admin
        return admin.describe_configs([resource], request_timeout=ASK_SECONDS, broker=broker)[resource]

    def _ask_controller(self, topic: str) -> Future[Any]:
        """Through another broker each time, so that one without a connection to the controller does not block us."""
        # Any valid config will do: the topic does not exist, and the request only validates.
        entry = ConfigEntry(
            "retention.ms",
            "3600000",
            source=ConfigSource.DYNAMIC_TOPIC_CONFIG,
            incremental_operation=AlterConfigOpType.SET,
        )
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        by = self._broker_ids or sorted(self.brokers())
        futures = self._forwarding.admin.incremental_alter_configs(
            [resource], validate_only=True, request_timeout=ASK_SECONDS, broker=by[next(self._turn) % len(by)]
        )
        return futures[resource]

    def _answer(self, future: Future[Any]) -> ProbeAnswer:
        try:
            self._connection.wait(future)
        except KafkaException as error:
            return self._silent(error)
        return ProbeAnswer(Visibility.PERMITTED)

    def _silent(self, error: KafkaException) -> ProbeAnswer:
        failed = self._connection.failure(error)
        if failed.code == errors.UNKNOWN_TOPIC:
            return ProbeAnswer(Visibility.PERMITTED)
        if failed.code == errors.TOPIC_AUTHORIZATION_FAILED:
            return ProbeAnswer(Visibility.REFUSED)
        return ProbeAnswer(Visibility.SILENT, f"{failed.name}: {failed.message}")
