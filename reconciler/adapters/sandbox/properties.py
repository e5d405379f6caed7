"""A node's server.properties.

The listeners between nodes need a password too, so that no local process is a super user without one.
"""

from collections.abc import Iterator, Mapping, Sequence

import javaproperties

from reconciler.adapters.sandbox.layout import KEYSTORE_NAME, TRUSTSTORE_NAME, Listener, NodeFiles, NodePlan
from reconciler.adapters.sandbox.ports import HOST
from reconciler.adapters.sandbox.spec import SandboxSpec
from reconciler.dataclass import dataclass

NODE_USER = "sandbox-node"
NODE_PRINCIPAL = f"User:{NODE_USER}"

_PROTOCOLS = {
    Listener.CONTROLLER: "SASL_PLAINTEXT",
    Listener.BROKER: "SASL_PLAINTEXT",
    Listener.CLIENT: "SASL_PLAINTEXT",
    Listener.CLIENT_SASL_SSL: "SASL_SSL",
    Listener.CLIENT_SSL: "SSL",
    Listener.CLIENT_PLAINTEXT: "PLAINTEXT",
}
_LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "OAUTHBEARER": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}
# A small broker: one or two threads of each kind. The cleaner's buffer is 128 MiB by default.
_SMALL = {
    "num.network.threads": "1",
    "num.io.threads": "2",
    "background.threads": "2",
    "num.recovery.threads.per.data.dir": "1",
    "log.cleaner.dedupe.buffer.size": "2097152",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    # A record twice a second that says nothing is a third of what an idle node does.
    "metadata.max.idle.interval.ms": "0",
}


@dataclass(frozen=True, slots=True)
class Secrets:
    """Passwords that no client needs: of the nodes among themselves, and of the key stores (empty without TLS)."""

    node: str
    store: str = ""


def node_properties(
    spec: SandboxSpec, node: NodePlan, quorum: Sequence[NodePlan], files: NodeFiles, secrets: Secrets
) -> dict[str, str]:
    """Everything one node is configured with, ``spec.overrides`` last; ``quorum`` is every node of the sandbox."""
    return {
        "node.id": str(node.id),
        "process.roles": ",".join(node.roles),
        "log.dirs": str(files.data),
        **dict(_network(node, quorum)),
        **dict(_logins(spec, node, secrets)),
        **(dict(_tls(files, secrets)) if spec.tls else {}),
        **(dict(_authorization(spec)) if spec.authorizer else {}),
        "auto.create.topics.enable": str(spec.auto_create_topics).lower(),
        **_SMALL,
        **dict(_replication(spec)),
        **spec.overrides,
    }


def render(properties: Mapping[str, str]) -> str:
    """The text of a properties file, in the given order, as ``java.util.Properties.load`` reads it back."""
    return javaproperties.dumps(properties, timestamp=False)


def _network(node: NodePlan, quorum: Sequence[NodePlan]) -> Iterator[tuple[str, str]]:
    addresses = {name: f"{name}://{HOST}:{port}" for name, port in node.ports.items()}
    voters = [other for other in quorum if "controller" in other.roles]
    yield "listeners", ",".join(addresses.values())
    if "broker" in node.roles:
        yield "advertised.listeners", ",".join(a for name, a in addresses.items() if name is not Listener.CONTROLLER)
        yield "inter.broker.listener.name", Listener.BROKER
    yield "controller.listener.names", Listener.CONTROLLER
    yield "controller.quorum.voters", ",".join(f"{v.id}@{HOST}:{v.ports[Listener.CONTROLLER]}" for v in voters)
    yield "listener.security.protocol.map", ",".join(f"{name}:{protocol}" for name, protocol in _PROTOCOLS.items())


def _logins(spec: SandboxSpec, node: NodePlan, secrets: Secrets) -> Iterator[tuple[str, str]]:
    yield "sasl.mechanism.inter.broker.protocol", "PLAIN"
    yield "sasl.mechanism.controller.protocol", "PLAIN"
    among_nodes = {"username": NODE_USER, "password": secrets.node, f"user_{NODE_USER}": secrets.node}
    for name in (Listener.BROKER, Listener.CONTROLLER):
        yield _login(name, "PLAIN", among_nodes)
        yield f"listener.name.{name.lower()}.sasl.enabled.mechanisms", "PLAIN"
    users = {f"user_{user}": password for user, password in spec.users.items()}
    mechanisms = [m for m in _LOGIN_MODULES if m != "OAUTHBEARER" or spec.any_principal]
    for name in (Listener.CLIENT, Listener.CLIENT_SASL_SSL):
        if name in node.ports:
            yield f"listener.name.{name.lower()}.sasl.enabled.mechanisms", ",".join(mechanisms)
            yield from (_login(name, mechanism, users if mechanism == "PLAIN" else {}) for mechanism in mechanisms)


def _login(listener: Listener, mechanism: str, options: Mapping[str, str]) -> tuple[str, str]:
    given = "".join(f' {name}="{value}"' for name, value in options.items())
    key = f"listener.name.{listener.lower()}.{mechanism.lower()}.sasl.jaas.config"
    return key, f"{_LOGIN_MODULES[mechanism]} required{given};"


def _tls(files: NodeFiles, secrets: Secrets) -> Iterator[tuple[str, str]]:
    for kind, name in (("keystore", KEYSTORE_NAME), ("truststore", TRUSTSTORE_NAME)):
        yield f"ssl.{kind}.type", "PKCS12"
        yield f"ssl.{kind}.location", str(files.directory / "tls" / name)
        yield f"ssl.{kind}.password", secrets.store
    yield f"listener.name.{Listener.CLIENT_SSL.lower()}.ssl.client.auth", "required"
    yield "ssl.principal.mapping.rules", "RULE:^CN=([^,]+).*$/$1/,DEFAULT"


def _authorization(spec: SandboxSpec) -> Iterator[tuple[str, str]]:
    yield "authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    yield "super.users", ";".join(dict.fromkeys((*spec.super_users, NODE_PRINCIPAL)))
    yield "allow.everyone.if.no.acl.found", str(spec.allow_everyone_if_no_acl_found).lower()


def _replication(spec: SandboxSpec) -> Iterator[tuple[str, str]]:
    replicas = str(min(spec.nodes, 3))
    yield "offsets.topic.replication.factor", replicas
    yield "transaction.state.log.replication.factor", replicas
    yield "transaction.state.log.min.isr", "1"
    if not spec.kafka_version.startswith("3."):
        yield "share.coordinator.state.topic.replication.factor", replicas
        yield "share.coordinator.state.topic.min.isr", "1"
        yield "share.coordinator.state.topic.num.partitions", "1"
