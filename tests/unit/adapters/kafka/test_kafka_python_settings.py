"""What kafka-python can take over, and that a setting it cannot is never dropped."""

import pytest

from reconciler.kafka.listing import kafka_python_settings
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import client_settings

LOGIN = {"sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "p"}


def carried(client: dict[str, str]) -> dict[str, object] | None:
    return kafka_python_settings(client_settings("a:1,b:2", client, SecretSource(), cleartext_login=True))


def test_a_login_over_plain_tcp() -> None:
    assert carried({"security.protocol": "SASL_PLAINTEXT", **LOGIN}) == {
        "settings": {
            "bootstrap_servers": ["a:1", "b:2"],
            "client_id": "kafka-reconciler",
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": "u",
            "sasl_plain_password": "p",
        },
        "tls": None,
        "token": None,
    }


def test_tls() -> None:
    client = {"security.protocol": "SSL", "ssl.ca.location": "/ca", "ssl.endpoint.identification.algorithm": "none"}
    taken = carried(client)
    assert taken is not None
    assert taken["tls"] == {"ca.location": "/ca", "endpoint.identification.algorithm": "none"}


def test_a_token_is_sent_as_text() -> None:
    taken = carried({"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token": "tok"})
    assert taken is not None
    assert taken["token"] == "tok"


@pytest.mark.parametrize(
    "client",
    [
        {"security.protocol": "SSL", "ssl.cipher.suites": "ALL"},
        {"security.protocol": "SSL", "ssl.crl.location": "/crl"},
        {"broker.address.family": "v6"},
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.client.id": "me",
            "sasl.oauthbearer.token.endpoint.url": "https://x",
        },
    ],
)
def test_what_it_cannot_do_keeps_it_out(client: dict[str, str]) -> None:
    assert carried(client) is None
