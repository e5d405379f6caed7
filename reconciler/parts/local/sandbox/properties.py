"""Files of a node: server.properties, certificates, connections.

A node's server.properties.

The listeners between nodes need a password too, so that no local process is a super user without one.
"""

import datetime
import ipaddress
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import javaproperties
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, pkcs12

from reconciler.dataclass import dataclass
from reconciler.parts.local.sandbox.layout import (
    CA_NAME,
    CLIENT_NAME,
    KEYSTORE_NAME,
    TRUSTSTORE_NAME,
    Listener,
    NodeFiles,
    NodePlan,
    SandboxSpec,
)
from reconciler.parts.local.sandbox.state import HOST, Sandbox, write_private

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


# Certificates for a sandbox: a CA of its own, the brokers' key, one client's key.
#
# ``tls/`` in the sandbox's directory then holds ``ca.pem`` (for clients that read PEM), ``truststore.p12`` (the same
# CA, for the others), ``broker.p12``, and ``client.p12`` with the key and certificate of ``CN=reconciler``.

CLIENT_USER = "reconciler"

_VALIDITY: Final = datetime.timedelta(days=3650)
_NAMES: Final = x509.SubjectAlternativeName(
    [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
)


@dataclass(frozen=True, slots=True)
class _Issuer:
    """The sandbox's CA."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate


def make_certificates(directory: Path, password: str) -> None:
    """Fills ``directory`` with the files; ``password`` opens each of the stores, of which each has one key."""
    directory.mkdir(mode=0o700)
    encryption = BestAvailableEncryption(password.encode("ascii"))
    ca = _authority()
    _write(directory / CA_NAME, ca.certificate.public_bytes(Encoding.PEM))
    # Java trusts a certificate in a PKCS #12 file only if the entry says so, by an attribute of Oracle's.
    trusted = [pkcs12.PKCS12Certificate(ca.certificate, b"ca")]
    _write(directory / TRUSTSTORE_NAME, pkcs12.serialize_java_truststore(trusted, encryption))
    for name, common_name, names in ((KEYSTORE_NAME, "localhost", _NAMES), (CLIENT_NAME, CLIENT_USER, None)):
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _signed(common_name, key, ca, names)
        chain = [ca.certificate]
        store = pkcs12.serialize_key_and_certificates(name.encode(), key, certificate, chain, encryption)
        _write(directory / name, store)


def _authority() -> _Issuer:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _subject("reconciler sandbox CA")
    constraints = x509.BasicConstraints(ca=True, path_length=None)
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    unsigned = _builder(subject, subject, key).add_extension(constraints, critical=True)
    return _Issuer(key, unsigned.add_extension(usage, critical=True).sign(key, hashes.SHA256()))


def _signed(
    common_name: str, key: ec.EllipticCurvePrivateKey, ca: _Issuer, names: x509.SubjectAlternativeName | None
) -> x509.Certificate:
    unsigned = _builder(_subject(common_name), ca.certificate.subject, key)
    if names is not None:
        unsigned = unsigned.add_extension(names, critical=False)
    return unsigned.sign(ca.key, hashes.SHA256())


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    unsigned = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    dated = unsigned.not_valid_before(now - datetime.timedelta(minutes=5)).not_valid_after(now + _VALIDITY)
    return dated.serial_number(x509.random_serial_number()).add_extension(
        x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
    )


def _subject(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])


def _write(file: Path, content: bytes) -> None:
    file.touch(mode=0o600)
    file.write_bytes(content)


# Files for clients of a sandbox: ``connections.yaml``, its password, and a properties file for each user.

_FILE: Final = "password"


def write_connections(sandbox: Sandbox, *, default_allow: bool) -> None:
    """Writes the Cluster document that ``--connections`` reads, as the user ``reconciler`` if there is one.

    Whoever started the sandbox is its operator, so the facts are in it: who connects, its super users and
    ``default_allow``.

    The password is a file of its own, as in every connections file. Nobody else can reach into the directory, so the
    reference needs no ``--secrets-dir``.
    """
    user = "reconciler" if "reconciler" in sandbox.users else next(iter(sandbox.users))
    client = {name: value for name, value in sandbox.settings(user).items() if name != "bootstrap.servers"}
    write_private(sandbox.directory / _FILE, client["sasl.password"] + "\n")
    client["sasl.password"] = f"${{dir:{sandbox.directory}:{_FILE}}}"
    # JSON strings are YAML strings.
    lines = [
        "# How to reach the sandbox; `reconciler sandbox down` removes it.",
        "apiVersion: reconciler/v1",
        "kind: Cluster",
        f"metadata: {{name: {json.dumps(sandbox.name)}}}",
        "spec:",
        *_facts(sandbox, user, default_allow=default_allow),
        f"  bootstrapServers: {json.dumps(sandbox.bootstrap.split(','))}",
        "  client:",
        *(f"    {name}: {json.dumps(value)}" for name, value in client.items()),
    ]
    write_private(sandbox.connections, "\n".join(lines) + "\n")


def _facts(sandbox: Sandbox, user: str, *, default_allow: bool) -> list[str]:
    if not sandbox.super_users:  # it has no authorizer, so there are no ACLs either
        return []
    return [
        f"  principal: {json.dumps(f'User:{user}')}",
        f"  superUsers: {json.dumps(list(sandbox.super_users))}",
        f"  allowEveryoneIfNoAclFound: {str(default_allow).lower()}",
    ]


def write_client_files(sandbox: Sandbox) -> None:
    """Writes ``clients/<user>.properties`` for Kafka's own command-line tools (``--command-config``)."""
    sandbox.client_directory.mkdir(mode=0o700)
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    for user, password in sandbox.users.items():
        settings = {
            "bootstrap.servers": sandbox.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{module} required username="{user}" password="{password}";',
        }
        write_private(sandbox.client_directory / f"{user}.properties", render(settings))
