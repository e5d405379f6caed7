"""How a cluster is reached: what ``validate`` says of it without connecting, and files that Kafka's own tools take."""

import json
from pathlib import Path

import pytest

from reconciler.app.connections import address_of, refuse_proposed_secrets
from reconciler.app.options import ConnectionOptions
from reconciler.app.reasons import WorkflowError
from reconciler.app.validate import validate
from reconciler.cli.main import run


def cluster(tmp_path: Path, client: dict[str, str]) -> str:
    file = tmp_path / "connections.yaml"
    text = json.dumps(client, indent=1)
    file.write_text(
        f"apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {{name: prod}}\nspec:\n  bootstrapServers: [b:9092]\n"
        f"  client: {text}\n"
    )
    return str(file)


TLS = {"security.protocol": "SSL"}
OAUTH = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}


@pytest.mark.parametrize(
    ("client", "part"),
    [
        ({**TLS, "ssl.keystore.location": "client.bcfks", "ssl.keystore.type": "BCFKS"}, "type BCFKS cannot be read"),
        ({"sasl.kerberos.service.name": "kafka"}, "Kerberos (GSSAPI) is not supported"),
        (
            {**OAUTH, "sasl.jaas.config": "x.Krb5LoginModule required useTicketCache=true;"},
            "login module Krb5LoginModule",
        ),
        (
            {**OAUTH, "sasl.jaas.config": 'x.OAuthBearerLoginModule required metadataServerUrls="http://mds:8090";'},
            "option metadataServerUrls",
        ),
        ({**TLS, "acks": "all"}, "no effect here"),
        ({**TLS, "ssl.truststroe.location": "x"}, "Did you mean 'ssl.truststore.location'?"),
    ],
)
def test_validate_says_what_connecting_would_refuse(tmp_path: Path, client: dict[str, str], part: str) -> None:
    [problem] = validate(cluster(tmp_path, client)).problems
    assert problem.code == "KR102"
    assert part in f"{problem.message} {problem.advice}"
    assert problem.origin.line > 5


def test_validate_reads_no_secret_and_no_store(tmp_path: Path) -> None:
    client = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "u",
        "sasl.password": "${env:NOT_SET}",
        "ssl.truststore.location": "/not/here.jks",
        "ssl.truststore.password": "${dir:/not/here:password}",
    }
    assert [problem for problem in validate(cluster(tmp_path, client)).problems if problem.severity == "error"] == []


@pytest.mark.parametrize(
    ("option", "secret"),
    [
        ('metadataServerUrls="http://mds:8090"', False),
        ("useTicketCache=true", False),
        ('serviceName="kafka"', False),
        ('keyTab="/etc/a.keytab"', False),
        ('password="in-clear-text"', True),
        ('oauth.client.secret="in-clear-text"', True),
        ('clientSecret="in-clear-text"', True),
        ('oauth.access.token="in-clear-text"', True),
    ],
)
def test_only_a_secret_is_called_a_secret(
    tmp_path: Path, option: str, secret: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    file = cluster(tmp_path, {**OAUTH, "sasl.jaas.config": f"x.OAuthBearerLoginModule required {option};"})
    assert run(["validate", file]) == 1
    shown = capsys.readouterr()
    assert ("KR087" in shown.out + shown.err) is secret
    assert "in-clear-text" not in shown.out + shown.err


PROPERTIES = """\
# of Kafka's own tools
bootstrap.servers = b-1:9092, b-2:9092
security.protocol=SASL_SSL
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
  username="me" password="in-clear-text";
session.timeout.ms=45000
basic.auth.credentials.source=USER_INFO
"""


def test_a_file_of_java_properties_is_a_connection_of_any_cluster(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(PROPERTIES)
    options = ConnectionOptions(connections=str(file))
    address = address_of("whatever", None, options)
    assert address.servers == ("b-1:9092", "b-2:9092")
    assert address.client["sasl.jaas.config"].endswith('username="me" password="in-clear-text";')
    assert address.ignored == ("basic.auth.credentials.source", "session.timeout.ms")
    assert not set(address.client) & {*address.ignored, "bootstrap.servers"}


def test_a_file_of_java_properties_needs_an_address(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=SSL\n")
    with pytest.raises(WorkflowError, match=r"has no bootstrap\.servers"):
        address_of("prod", None, ConnectionOptions(connections=str(file)))


def test_a_file_of_java_properties_has_each_key_once(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(f"{PROPERTIES}\nsecurity.protocol=PLAINTEXT\nsecurity.protocol : SSL\n")
    with pytest.raises(WorkflowError, match=r"security\.protocol is there more than once: keep one of them"):
        address_of("prod", None, ConnectionOptions(connections=str(file)))


def test_a_file_of_java_properties_inside_the_manifests_is_refused(tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_text(PROPERTIES)
    with pytest.raises(WorkflowError, match="inside the manifests"):
        refuse_proposed_secrets(str(tmp_path), ConnectionOptions(connections=str(tmp_path / "client.properties")))
