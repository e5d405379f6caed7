"""Every way to log in, over plain TCP and TLS, by every reader; and every way in which a connection fails."""

import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from reconciler.kafka.cluster import connect
from reconciler.kafka.handshake import AuthorizerPresence
from reconciler.kafka.listing import AclReader
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import ClientSettings, client_settings
from reconciler.parts.local.sandbox.launch import find_java
from reconciler.parts.local.sandbox.layout import SandboxSpec, generated_users
from reconciler.parts.local.sandbox.lifecycle import running
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ClusterError, ReadRequest
from tests.integration.kafka.conftest import Connect, frozen, settings_of

pytestmark = pytest.mark.broker

ONLY_ACLS = ReadRequest(all_topics=False)
#: One compiler and one thread of the collector: half the processor time of a program that runs for half a second.
_QUICK = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-J-XX:-UsePerfData")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")


@pytest.fixture(scope="module")
def secure(sandbox_root: Path) -> Iterator[Sandbox]:
    """A broker with TLS listeners, which also creates topics that clients ask for."""
    spec = SandboxSpec(
        name="secure",
        tls=True,
        any_principal=True,
        auto_create_topics=True,
        users=generated_users("admin", "reconciler", "nobody"),
    )
    with running(spec, root=sandbox_root) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def pem(secure: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client's key and certificate in one PEM file, the key encrypted with the store's password."""
    target = tmp_path_factory.mktemp("pem") / "client.pem"
    store = secure.certificate_settings()["ssl.keystore.location"]
    words = ["openssl", "pkcs12", "-in", store, "-passin", f"pass:{secure.store_password}"]
    subprocess.run([*words, "-passout", f"pass:{secure.store_password}", "-out", target], check=True, timeout=60)
    return target


def reads(settings: ClientSettings, *readers: AclReader) -> str:
    """Reads with only these readers; returns the cluster's id."""
    with connect(settings, readers=readers or tuple(AclReader)) as cluster:
        return cluster.read(ONLY_ACLS).cluster_id


@pytest.mark.parametrize("reader", list(AclReader))
@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_mechanism_logs_in_by_every_reader(secure: Sandbox, mechanism: str, tls: bool, reader: AclReader) -> None:
    assert reads(settings_of(secure.settings("admin", mechanism, tls=tls)), reader)


@pytest.mark.parametrize("reader", list(AclReader))
def test_a_fixed_token_logs_in(secure: Sandbox, reader: AclReader) -> None:
    bearer = settings_of(secure.settings("admin", "OAUTHBEARER")).bearer
    assert bearer is not None
    client = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token": bearer.token().text,
    }
    assert reads(client_settings(secure.bootstrap, client, SecretSource()), reader)


@pytest.mark.parametrize("reader", list(AclReader))
def test_a_pkcs12_key_store_logs_in(secure: Sandbox, reader: AclReader) -> None:
    assert reads(settings_of(secure.certificate_settings()), reader)


@pytest.fixture(scope="module")
def jks(secure: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client's key and, behind a stranger's, the brokers' CA in stores of Java's old form."""
    directory, password = tmp_path_factory.mktemp("jks"), secure.store_password
    keytool = find_java().executable.with_name("keytool")
    store = secure.certificate_settings()["ssl.keystore.location"]
    into = ["-deststoretype", "JKS", "-deststorepass", password, "-destkeystore"]
    for name, words in {
        "key": ["-importkeystore", "-srckeystore", store, "-srcstorepass", password, *into],
        "trust": ["-genkeypair", "-alias", "other", "-dname", "CN=a", "-keyalg", "EC", "-storepass", password],
    }.items():
        target = [str(directory / f"{name}.jks")]
        more = target if name == "key" else ["-storetype", "JKS", "-keystore", str(directory / "other.jks")]
        subprocess.run([keytool, *_QUICK, *words, *more], check=True, capture_output=True, timeout=120)
    other = directory / "other.pem"
    words = [
        "-exportcert",
        "-rfc",
        "-alias",
        "other",
        "-storepass",
        password,
        "-keystore",
        str(directory / "other.jks"),
    ]
    other.write_bytes(subprocess.run([keytool, *_QUICK, *words], check=True, capture_output=True, timeout=120).stdout)
    ca = secure.certificate_settings()["ssl.ca.location"]
    for alias, certificate in (("a-other", str(other)), ("ca", ca)):
        words = ["-importcert", "-noprompt", "-alias", alias, "-file", certificate, "-storetype", "JKS"]
        words += ["-storepass", password, "-keystore", str(directory / "trust.jks")]
        subprocess.run([keytool, *_QUICK, *words], check=True, capture_output=True, timeout=120)
    return directory


@pytest.mark.parametrize("reader", list(AclReader))
def test_java_s_old_stores_log_in(secure: Sandbox, jks: Path, reader: AclReader) -> None:
    password = secure.store_password
    client = {"security.protocol": "SSL"}
    for what in ("key", "trust"):
        client |= {f"ssl.{what}store.location": str(jks / f"{what}.jks"), f"ssl.{what}store.password": password}
    assert reads(client_settings(secure.certificate_settings()["bootstrap.servers"], client, SecretSource()), reader)


@pytest.mark.parametrize("reader", list(AclReader))
def test_java_s_pem_files_log_in(secure: Sandbox, pem: Path, reader: AclReader) -> None:
    properties = secure.certificate_settings()
    client = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": properties["ssl.ca.location"],
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(pem),
        "ssl.key.password": secure.store_password,
    }
    assert reads(client_settings(properties["bootstrap.servers"], client, SecretSource()), reader)


@pytest.mark.parametrize("reader", list(AclReader))
def test_java_s_pem_texts_log_in(secure: Sandbox, pem: Path, reader: AclReader, tmp_path: Path) -> None:
    properties = secure.certificate_settings()
    (tmp_path / "store.pem").write_text(pem.read_text())
    client = {
        "security.protocol": "SSL",
        "ssl.truststore.certificates": Path(properties["ssl.ca.location"]).read_text(),
        "ssl.keystore.certificate.chain": pem.read_text(),
        "ssl.keystore.key": f"${{dir:{tmp_path}:store.pem}}",
        "ssl.key.password": secure.store_password,
    }
    source = SecretSource(secrets_dirs=(tmp_path,))
    assert reads(client_settings(properties["bootstrap.servers"], client, source), reader)


def test_a_wrong_password_is_told_at_once_and_not_shown(secure: Sandbox) -> None:
    settings = settings_of({**secure.settings("admin", "PLAIN"), "sasl.password": "kafka-wrong"})
    with pytest.raises(ClusterError, match="Authentication failed") as refused:
        reads(settings)
    assert refused.value.code == "_AUTHENTICATION"
    assert "kafka-wrong" not in str(refused.value)


def test_a_wrong_protocol_or_mechanism_is_told_in_our_words(secure: Sandbox) -> None:
    """All at once: where librdkafka tries again, each takes five seconds."""
    plain, tls = secure.settings("admin"), secure.settings("admin", tls=True)
    login = {key: value for key, value in plain.items() if key.startswith("sasl.")}
    trust = {key: value for key, value in tls.items() if key.startswith("ssl.")}
    sasl, sasl_ssl, ssl = (found["bootstrap.servers"] for found in (plain, tls, secure.certificate_settings()))
    cases: list[tuple[str, dict[str, str], str, str]] = [
        (sasl, {"security.protocol": "SSL", **trust}, "does not speak TLS on this port", "SASL_PLAINTEXT with a login"),
        (sasl, {"security.protocol": "SASL_SSL", **trust, **login}, "does not speak TLS", "TLS listener"),
        (
            sasl,
            {"security.protocol": "PLAINTEXT"},
            "this port may ask for a login (SASL)",
            "SASL_PLAINTEXT, and sasl.mechanism",
        ),
        (
            sasl_ssl,
            {"security.protocol": "SSL", **trust},
            "this port may ask for a login (SASL)",
            "SASL_SSL, and sasl.mechanism",
        ),
        (sasl_ssl, {"security.protocol": "SASL_PLAINTEXT", **login}, "the port speaks TLS, or", "to SASL_SSL."),
        (ssl, {"security.protocol": "PLAINTEXT"}, "the port speaks TLS, or", "to SSL, or SASL_SSL with a login"),
        (ssl, {"security.protocol": "SSL", **trust}, "asks for a client certificate", "ssl.keystore.location"),
        (ssl, {"security.protocol": "SASL_SSL", **trust, **login}, "asks for a client certificate", "certificate"),
    ]

    def told(address: str, client: dict[str, str]) -> tuple[str, str]:
        with pytest.raises(ClusterError) as refused:
            reads(client_settings(address, client, SecretSource()))
        return refused.value.message, refused.value.advice

    with ThreadPoolExecutor(len(cases)) as pool:
        found = list(pool.map(told, [case[0] for case in cases], [case[1] for case in cases]))
    for (_, client, words, cure), (message, advice) in zip(cases, found, strict=True):
        assert words in message, (client["security.protocol"], message)
        assert cure in advice, (client["security.protocol"], advice)


def test_an_unknown_authority_is_told(secure: Sandbox) -> None:
    properties = secure.settings("admin", tls=True)
    del properties["ssl.ca.location"]
    with pytest.raises(ClusterError, match="certificate verify failed") as refused:
        reads(settings_of(properties))
    assert refused.value.code == "_SSL"
    assert "ssl.ca.location" in refused.value.advice


def test_a_certificate_for_another_host_is_refused_unless_that_is_switched_off(secure: Sandbox) -> None:
    properties = secure.settings("admin", tls=True)
    # Another spelling of the same address, which the certificate does not have.
    elsewhere = {**properties, "bootstrap.servers": properties["bootstrap.servers"].replace("127.0.0.1", "127.1")}
    with pytest.raises(ClusterError, match=r"certificate verify failed|mismatch") as refused:
        reads(settings_of(elsewhere))
    assert refused.value.code == "_SSL"
    unchecked = settings_of({**elsewhere, "ssl.endpoint.identification.algorithm": ""})
    for reader in AclReader:
        assert reads(unchecked, reader)


def test_a_broker_that_is_not_there_is_told() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ClusterError, match="Connection refused") as refused:
        reads(client_settings(f"127.0.0.1:{port}", {}, SecretSource()))
    assert refused.value.code == "_TRANSPORT"
    assert "bootstrap servers" in refused.value.advice


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL", "SASL_PLAINTEXT"])
def test_a_port_that_never_answers_is_told(protocol: str) -> None:
    login = {"sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "p"} if "SASL" in protocol else {}
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        client = {"security.protocol": protocol, "request.timeout.ms": "2000", **login}
        settings = client_settings(f"127.0.0.1:{silent.getsockname()[1]}", client, SecretSource())
        started = time.monotonic()
        with pytest.raises(ClusterError) as refused:
            reads(settings)
    assert refused.value.code in ("_TIMED_OUT", "_TRANSPORT")
    assert refused.value.advice
    assert time.monotonic() - started < 60


def test_a_broker_that_falls_silent_is_named_with_what_to_do(secure: Sandbox) -> None:
    settings = settings_of({**secure.settings("admin"), "request.timeout.ms": "3000"})
    with connect(settings) as cluster:
        cluster.read(ONLY_ACLS)
        with frozen(secure), pytest.raises(ClusterError) as silent:
            cluster.read(ReadRequest())
    assert silent.value.code == "_TIMED_OUT"
    assert f"broker 1 at {secure.bootstrap}: Timed out" in str(silent.value)
    assert "this broker is up" in silent.value.advice
    assert "run the same command again" in silent.value.advice


def test_what_the_client_refuses_is_told_without_the_value() -> None:
    client = {"security.protocol": "SSL", "ssl.key.pem": "not-a-key-but-secret", "ssl.certificate.pem": "x"}
    with pytest.raises(ClusterError) as refused:
        connect(client_settings("127.0.0.1:9", client, SecretSource()))
    assert "not-a-key-but-secret" not in str(refused.value)


def test_reading_does_not_create_topics(secure: Sandbox, connected: Connect) -> None:
    cluster = connected(secure, "admin")
    named = ReadRequest(acls=False, all_topics=False, topic_names=["never-made"])
    everything = ReadRequest(principal="User:admin", super_users=["User:admin"])
    for request in (named, everything, everything, named):
        state = cluster.read(request)
        assert (dict(state.topics), state.topic_gap) == ({}, None)


def test_an_inspection_by_a_super_user(secure: Sandbox, connected: Connect) -> None:
    found = connected(secure, "admin").inspect()
    assert found.authorizer is AuthorizerPresence.PRESENT
    assert (found.can_list_acls, found.can_alter_acls) == (True, True)
    assert [broker.id for broker in found.brokers] == [1]
    assert found.brokers[0].port == int(secure.bootstrap.rpartition(":")[2])
    assert found.controller == 1
    assert found.metadata_version is not None
    assert found.metadata_version >= 29
    assert found.operations is not None
    assert "ALTER" in found.operations


def test_an_inspection_by_somebody_without_rights(secure: Sandbox, connected: Connect) -> None:
    found = connected(secure, "nobody").inspect()
    assert found.authorizer is AuthorizerPresence.PRESENT
    assert (found.operations, found.can_list_acls, found.can_alter_acls) == (None, False, False)
    assert found.visible_topics == 0


def test_an_inspection_of_a_cluster_without_an_authorizer(broker_no_authorizer: Sandbox, connected: Connect) -> None:
    found = connected(broker_no_authorizer, "admin").inspect()
    assert found.authorizer is AuthorizerPresence.ABSENT
    assert (found.can_list_acls, found.can_alter_acls) == (None, None)
