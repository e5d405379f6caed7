"""Connections to the session's brokers, and a way to put ACLs there that confluent-kafka cannot name."""

import os
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from typing import Any, TypeAlias

import pytest

from reconciler.kafka.cluster import KafkaCluster, connect
from reconciler.kafka.listing import AclReader
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import ClientSettings, client_settings
from reconciler.parts.local.sandbox.state import Sandbox

#: resource type, name, pattern type, principal, host, operation, permission type
RawAcl: TypeAlias = tuple[int, str, int, str, str, int, int]
Connect: TypeAlias = Callable[..., KafkaCluster]


def settings_of(properties: dict[str, str], **more: str) -> ClientSettings:
    """A sandbox's settings as the adapter takes them; ``more`` with ``_`` for ``.``."""
    client = {**properties, **{key.replace("_", "."): value for key, value in more.items()}}
    return client_settings(client.pop("bootstrap.servers"), client, SecretSource())


@pytest.fixture
def connected() -> Iterator[Connect]:
    """Connects, and closes at the end: ``connected(sandbox, user, readers=…, **settings)``."""
    with ExitStack() as open_clusters:

        def open_one(
            sandbox: Sandbox,
            user: str,
            *,
            readers: Sequence[AclReader] = tuple(AclReader),
            mechanism: str = "PLAIN",
            **more: str,
        ) -> KafkaCluster:
            settings = settings_of(sandbox.settings(user, mechanism), **more)
            return open_clusters.enter_context(connect(settings, readers=readers))

        yield open_one


@pytest.fixture
def admin(broker: Sandbox, connected: Connect) -> KafkaCluster:
    """A super user's connection to the session's broker."""
    return connected(broker, "admin")


@pytest.fixture
def raw_acls(broker: Sandbox) -> Iterator[Callable[[Sequence[RawAcl]], None]]:
    """Puts ACLs on the session's broker by their codes, and takes exactly those away again."""
    with warnings.catch_warnings(action="ignore"):  # kafka-python reads its schemas by a deprecated function
        messages, admin = import_module("kafka.protocol.admin"), import_module("kafka.admin")
    properties = broker.settings("admin", "PLAIN")
    client = admin.KafkaAdminClient(
        bootstrap_servers=properties["bootstrap.servers"],
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_plain_username="admin",
        sasl_plain_password=properties["sasl.password"],
    )
    put: list[RawAcl] = []

    def send(request: Any) -> Any:
        return client._manager.run(client._manager.send, request)

    def create(acls: Sequence[RawAcl]) -> None:
        put.extend(acls)
        creations = [messages.CreateAclsRequest.AclCreation(*acl) for acl in acls]
        answer = send(messages.CreateAclsRequest(creations=creations, min_version=3))
        assert [result.error_code for result in answer.results] == [0] * len(acls)

    yield create
    if put:
        filters = [messages.DeleteAclsRequest.DeleteAclsFilter(*acl) for acl in put]
        send(messages.DeleteAclsRequest(filters=filters, min_version=3))
    client.close()


@contextmanager
def frozen(sandbox: Sandbox) -> Iterator[None]:
    """The broker takes requests and answers none."""
    pid = sandbox.nodes[0].pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
