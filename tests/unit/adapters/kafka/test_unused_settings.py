"""A setting that would do nothing beside the others is refused, never taken and ignored."""

import pytest

from reconciler.kafka.errors import SettingsError
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import ClientSettings, client_settings, unused_logins
from reconciler.kafka.stores import superseded_keystores

SASL = {"security.protocol": "SASL_SSL"}
PLAIN = {**SASL, "sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "p"}
TOKEN = {**SASL, "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token": "t"}
UNSECURED = {
    **SASL,
    "sasl.mechanism": "OAUTHBEARER",
    "enable.sasl.oauthbearer.unsecure.jwt": "true",
    "sasl.oauthbearer.config": "principal=u",
}
OIDC = {
    **SASL,
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.client.id": "c",
    "sasl.oauthbearer.client.secret": "s",
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.scope": "kafka",
    "sasl.oauthbearer.extensions": "logicalCluster=a",
    "sasl.oauthbearer.token.endpoint.url": "https://login.example/token",
    "https.ca.location": "ca.pem",
}
MSK = {**SASL, "sasl.mechanism": "AWS_MSK_IAM", "aws.region": "eu-north-1"}
TLS = {"security.protocol": "SSL", "ssl.ca.location": "ca.pem"}
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"


def settings(client: dict[str, str]) -> ClientSettings:
    return client_settings("b-1.example:9092", client, SecretSource(), cleartext_login=True, read_stores=False)


def refused(client: dict[str, str]) -> set[str]:
    with pytest.raises(SettingsError) as found:
        settings(client)
    return {problem.key for problem in found.value.problems}


@pytest.mark.parametrize("client", [PLAIN, TOKEN, UNSECURED, OIDC, MSK, TLS, {**PLAIN, "ssl.ca.location": "ca.pem"}])
def test_whole_logins_are_taken(client: dict[str, str]) -> None:
    assert settings(client).config["security.protocol"] == client["security.protocol"]


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SASL_PLAINTEXT"])
def test_nobody_believes_to_be_encrypted_who_is_not(protocol: str) -> None:
    login = PLAIN if protocol.startswith("SASL") else {}
    assert refused({**login, "security.protocol": protocol, "ssl.ca.location": "ca.pem"}) == {"ssl.ca.location"}
    assert refused({**login, "security.protocol": protocol, "ssl.key.password": "k"}) == {"ssl.key.password"}


@pytest.mark.parametrize(
    ("client", "key", "value"),
    [
        (TOKEN, "sasl.oauthbearer.extensions", "logicalCluster=a"),
        (TOKEN, "sasl.oauthbearer.client.id", "c"),
        (TOKEN, "sasl.oauthbearer.config", "principal=u"),
        (TOKEN, "sasl.username", "u"),
        (UNSECURED, "sasl.oauthbearer.scope", "kafka"),
        (UNSECURED, "sasl.password", "p"),
        (OIDC, "sasl.username", "u"),
        (OIDC, "sasl.oauthbearer.method", "default"),
        (OIDC, "aws.region", "eu-north-1"),
        (MSK, "sasl.oauthbearer.extensions", "a=b"),
        (MSK, "sasl.username", "u"),
        (PLAIN, "sasl.oauthbearer.token", "t"),
        (PLAIN, "enable.sasl.oauthbearer.unsecure.jwt", "true"),
        (PLAIN, "sasl.login.callback.handler.class", HANDLER),
        (PLAIN, "https.ca.location", "ca.pem"),
        (TLS, "aws.region", "eu-north-1"),
    ],
)
def test_what_belongs_to_another_login(client: dict[str, str], key: str, value: str) -> None:
    assert refused({**client, key: value}) == {key}


@pytest.mark.parametrize("method", ["oidc", "OIDC"])
def test_the_method_is_taken_as_confluent_hands_it_out(method: str) -> None:
    assert settings({**OIDC, "sasl.oauthbearer.method": method}).config["sasl.oauthbearer.method"] == "oidc"


def test_extensions_are_taken_as_confluent_hands_them_out_to_java() -> None:
    entry = (
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId='c' clientSecret='s' "
    )
    url = OIDC["sasl.oauthbearer.token.endpoint.url"]
    client = {**SASL, "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": url}
    both = "extension_logicalCluster='lkc-1' extension_identityPoolId='pool-1';"
    config = settings({**client, "sasl.jaas.config": entry + both}).config
    assert config["sasl.oauthbearer.extensions"] == "identityPoolId=pool-1,logicalCluster=lkc-1"
    assert refused({**client, "sasl.jaas.config": f"{entry} extension_a='b,c=d';"}) >= {"sasl.jaas.config"}
    plain = "org.apache.kafka.common.security.plain.PlainLoginModule required username=u password=p extension_a=b;"
    assert "sasl.jaas.config" in refused({**SASL, "sasl.mechanism": "PLAIN", "sasl.jaas.config": plain})


def test_a_switch_is_true_or_false() -> None:
    switch = "enable.sasl.oauthbearer.unsecure.jwt"
    assert switch in refused({**UNSECURED, switch: "True"})
    assert settings({**TOKEN, switch: "false"}).bearer is not None


@pytest.mark.parametrize("value", ["", "https://[::1/token", "https://me:secret@login.example/token"])
def test_token_endpoints_that_are_none(value: str) -> None:
    assert refused({**OIDC, "sasl.oauthbearer.token.endpoint.url": value}) == {"sasl.oauthbearer.token.endpoint.url"}


def test_an_empty_token_is_none() -> None:
    assert refused({**TOKEN, "sasl.oauthbearer.token": ""}) == {"sasl.oauthbearer.token"}


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"ssl.truststore.password": "p"}, "ssl.truststore.password"),
        ({"ssl.keystore.password": "p"}, "ssl.keystore.password"),
        (
            {"ssl.keystore.type": "PEM", "ssl.keystore.location": "k", "ssl.keystore.password": "p"},
            "ssl.keystore.password",
        ),
        ({"ssl.truststore.type": "PEM", "ssl.truststore.location": "t"}, "ssl.ca.location"),
        ({"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "k", "ssl.key.pem": "key"}, "ssl.key.pem"),
        ({"ssl.keystore.key": "a", "ssl.key.pem": "b"}, "ssl.key.pem"),
        ({"ssl.key.location": "a", "ssl.key.pem": "b"}, "ssl.key.location"),
        ({"ssl.certificate.location": "a", "ssl.keystore.certificate.chain": "b"}, "ssl.certificate.location"),
    ],
)
def test_stores_of_which_one_would_win(more: dict[str, str], key: str) -> None:
    assert refused({**TLS, **more}) == {key}


def test_of_two_timeouts_the_shorter_counts() -> None:
    """Java's own defaults, written out, are such a pair."""
    both = {"request.timeout.ms": "30000", "default.api.timeout.ms": "60000"}
    assert settings(both).request_timeout == 30.0
    assert settings({**both, "default.api.timeout.ms": "20000"}).request_timeout == 20.0


def test_a_login_on_top_of_another_leaves_what_it_needs() -> None:
    """As a probe's settings stand on its cluster's."""
    assert unused_logins({**PLAIN, **TOKEN}) == {"sasl.username", "sasl.password"}
    assert unused_logins({**OIDC, "sasl.oauthbearer.client.id": "probe"}) == frozenset()
    assert "sasl.oauthbearer.token.endpoint.url" in unused_logins({**OIDC, **TOKEN})


STORE = {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "a.p12", "ssl.keystore.password": "p"}
FILES = {"ssl.certificate.location": "c.pem", "ssl.key.location": "k.pem"}
TEXTS = {"ssl.keystore.certificate.chain": "c", "ssl.keystore.key": "k"}


@pytest.mark.parametrize("below", [STORE, FILES, TEXTS])
@pytest.mark.parametrize("own", [STORE, FILES, TEXTS])
def test_a_certificate_on_top_of_another_stands_alone(below: dict[str, str], own: dict[str, str]) -> None:
    """As a probe's on its cluster's, in whatever form each is written."""
    kept = {key: value for key, value in {**TLS, **below}.items() if key not in superseded_keystores(own)}
    assert settings({**kept, **own}).config == settings({**TLS, **own}).config


def test_another_store_keeps_the_password_and_type_below() -> None:
    assert superseded_keystores({"ssl.keystore.location"}).isdisjoint({"ssl.keystore.password", "ssl.keystore.type"})
    assert superseded_keystores({"ssl.ca.location", "sasl.username"}) == frozenset()
