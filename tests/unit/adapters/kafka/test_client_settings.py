"""Settings in Java's and librdkafka's spelling become librdkafka's; everything doubtful is a problem with advice."""

from pathlib import Path

import pytest

from reconciler.kafka.errors import PLACEHOLDER, SettingsError
from reconciler.kafka.sasl import MskIamToken, StaticToken, UnsecuredToken
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import ClientSettings, client_settings

PLAIN = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "p-secret"}
JAAS = "sasl.jaas.config"
SCRAM_JAAS = (
    'org.apache.kafka.common.security.scram.ScramLoginModule required username="al ice" password=\'it\\\'s "x"\';'
)


def settings(client: dict[str, str], source: SecretSource | None = None, servers: str = "b-1:9092") -> ClientSettings:
    return client_settings(servers, client, source or SecretSource())


def problems(client: dict[str, str], source: SecretSource | None = None, servers: str = "b-1:9092") -> dict[str, str]:
    with pytest.raises(SettingsError) as refused:
        settings(client, source, servers)
    return {p.key: f"{p.message} | {p.advice}" for p in refused.value.problems}


def test_the_defaults() -> None:
    made = settings({}, servers=" b-1:9092 , [::1]:9093")
    assert dict(made.config) == {
        "bootstrap.servers": "b-1:9092,[::1]:9093",
        "client.id": "kafka-reconciler",
        "security.protocol": "PLAINTEXT",
        "socket.connection.setup.timeout.ms": "10000",
        "socket.timeout.ms": "60000",
    }
    assert (made.request_timeout, made.bearer, made.secrets) == (60.0, None, frozenset())


@pytest.mark.parametrize("key", ["sasl.mechanism", "sasl.mechanisms"])
def test_both_spellings_of_the_mechanism(key: str) -> None:
    made = settings({**{k: v for k, v in PLAIN.items() if k != "sasl.mechanism"}, key: "SCRAM-SHA-512"})
    assert made.config["sasl.mechanisms"] == "SCRAM-SHA-512"
    assert "sasl.mechanism" not in made.config


def test_a_login_module_is_a_user_and_a_password() -> None:
    made = settings(
        {"security.protocol": "sasl_ssl", "sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": SCRAM_JAAS}
    )
    assert made.config["sasl.username"] == "al ice"
    assert made.config["sasl.password"] == 'it\'s "x"'
    assert made.config["security.protocol"] == "SASL_SSL"
    assert made.secrets == {'it\'s "x"'}
    assert "sasl.jaas.config" not in made.config


def test_escapes_in_a_login_module_are_java_s() -> None:
    """As ``java.io.StreamTokenizer`` reads them, which Kafka's ``JaasConfig`` uses."""
    text = r'a.PlainLoginModule required username="\u\"\'" password="p\t\n\r\f\b\a\v\101\0\7771\8";'
    made = settings({**{k: v for k, v in PLAIN.items() if not k.endswith(("username", "password"))}, JAAS: text})
    assert made.config["sasl.username"] == "u\"'"
    assert made.config["sasl.password"] == "p\t\n\r\f\b\a\vA\0?718"


@pytest.mark.parametrize(
    ("jaas", "message"),
    [
        ("nonsense password=hunter2", "not of the form"),
        ('a.b.PlainLoginModule required username="u" password="hunter2;', "an option is not of the form"),
        ('com.sun.security.auth.module.Krb5LoginModule required keyTab="/k";', "Krb5LoginModule is not supported"),
        ('a.PlainLoginModule required serviceName="hunter2";', "the option serviceName of PlainLoginModule"),
    ],
)
def test_a_login_module_that_means_nothing_here(jaas: str, message: str) -> None:
    found = problems({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas})
    assert message in found["sasl.jaas.config"]
    assert "hunter2" not in str(found)


def test_a_setting_said_twice_is_a_problem() -> None:
    jaas = 'x.PlainLoginModule required username="u2" password="p";'
    assert "it is set here and in sasl.jaas.config" in problems({**PLAIN, "sasl.jaas.config": jaas})["sasl.username"]
    assert (
        "sasl.mechanism and sasl.mechanisms differ"
        in problems({**PLAIN, "sasl.mechanisms": "SCRAM-SHA-512"})["sasl.mechanism"]
    )


@pytest.mark.parametrize("key", ["request.timeout.ms", "default.api.timeout.ms", "socket.timeout.ms"])
def test_one_timeout_sets_both_of_the_client_s(key: str) -> None:
    made = settings({key: "2500"})
    assert (made.config["socket.timeout.ms"], made.request_timeout) == ("2500", 2.5)


def test_java_s_pem_stores() -> None:
    made = settings(
        {
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": "/ca.pem",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": "/client.pem",
            "ssl.key.password": "kp",
            "ssl.endpoint.identification.algorithm": "",
        }
    )
    ssl = {key: value for key, value in made.config.items() if key.startswith("ssl.")}
    assert ssl == {
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": "/client.pem",
        "ssl.key.location": "/client.pem",
        "ssl.key.password": "kp",
        "ssl.endpoint.identification.algorithm": "none",
    }


def test_a_store_that_is_not_there_or_of_another_type_is_a_problem(tmp_path: Path) -> None:
    found = problems({"security.protocol": "SSL", "ssl.truststore.location": str(tmp_path / "trust.jks")})
    assert "No such file" in found["ssl.truststore.location"]
    found = problems({"security.protocol": "SSL", "ssl.keystore.location": "x", "ssl.keystore.type": "BCFKS"})
    assert "Use JKS, PKCS12 or PEM" in found["ssl.keystore.location"]


@pytest.mark.parametrize(
    ("jaas", "message"),
    [
        ('x.Krb5LoginModule required useTicketCache=true serviceName="kafka";', "Kerberos (GSSAPI) is not supported"),
        ('x.OAuthBearerLoginModule required username="u" metadataServerUrls="http://mds:8090";', "metadata service"),
        ('x.OAuthBearerLoginModule required oauth.audience="a" oauth.client.id="c";', "oauth.audience"),
        ('x.IAMLoginModule required awsProfileName="p";', "set AWS_PROFILE"),
    ],
)
def test_a_login_that_is_not_supported_is_one_problem(jaas: str, message: str) -> None:
    found = problems({"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", JAAS: jaas})
    assert [*found] == [JAAS]
    assert message in found[JAAS]


def test_names_of_strimzi_and_of_kafka_4_1_are_those_of_oidc() -> None:
    url = "https://idp.example.com/token"
    strimzi = (
        'x.OAuthBearerLoginModule required oauth.client.id="me" oauth.client.secret="s" oauth.scope="all" '
        f'oauth.token.endpoint.uri="{url}";'
    )
    handler = "io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler"
    base = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
    one = settings({**base, JAAS: strimzi, "sasl.login.callback.handler.class": handler})
    other = settings(
        {
            **base,
            "sasl.oauthbearer.client.credentials.client.id": "me",
            "sasl.oauthbearer.client.credentials.client.secret": "s",
            "sasl.oauthbearer.scope": "all",
            "sasl.oauthbearer.token.endpoint.url": url,
        }
    )
    assert dict(one.config) == dict(other.config)
    assert one.config["sasl.oauthbearer.client.id"] == "me"
    assert one.secrets == other.secrets == {"s"}


@pytest.mark.parametrize(
    "key",
    [
        "session.timeout.ms",
        "acks",
        "schema.registry.url",
        "confluent.monitoring.interceptor.bootstrap.servers",
        "basic.auth.user.info",
        "key.deserializer",
        "group.id",
    ],
)
def test_a_setting_of_another_client_is_named_as_such(key: str) -> None:
    assert "has this setting: no effect here | Remove it." in problems({key: "x"})[key]


@pytest.mark.parametrize(
    ("key", "part"),
    [
        ("plugin.library.paths", "not allowed: it makes the client load or run code"),
        ("ssl.engine.location", "load or run code"),
        ("ssl.engine.factory.class", "load or run code"),
        ("ssl.providers", "load or run code"),
        ("security.providers", "load or run code"),
        ("sasl.kerberos.kinit.cmd", "load or run code"),
        ("debug", "logs"),
        ("log_level", "logs"),
        ("bootstrap.servers", "bootstrapServers"),
        ("enable.ssl.certificate.verification", "always verified"),
        ("sasl.kerberos.service.name", "Kerberos"),
        ("ssl.protocol", "negotiated"),
        ("sasl.mechansim", "Did you mean 'sasl.mechanism'?"),
        ("odd.setting", "docs/client-settings.md"),
    ],
)
def test_what_is_not_on_the_list_is_refused(key: str, part: str) -> None:
    assert part in problems({key: "evil-value"})[key]


def test_a_line_of_a_properties_file_is_not_shown() -> None:
    found = problems({"sasl.password=hunter2": "x"})
    assert list(found) == ["sasl.password"]
    assert "hunter2" not in found["sasl.password"]


def test_every_problem_is_said_at_once() -> None:
    found = problems(
        {"security.protocol": "TLS", "debug": "all", "request.timeout.ms": "soon", "sasl.mechanism": "GSSAPI"},
        servers="no-port,http://x:1,ok:9092,${env:X}:1",
    )
    assert set(found) == {"bootstrapServers", "debug", "request.timeout.ms", "sasl.mechanism", "security.protocol"}


@pytest.mark.parametrize("missing", ["sasl.username", "sasl.password"])
def test_a_login_without_a_half_is_a_problem(missing: str) -> None:
    assert "PLAIN needs it" in problems({k: v for k, v in PLAIN.items() if k != missing})[missing]


def test_sasl_without_a_sasl_protocol_is_a_problem() -> None:
    found = problems({**PLAIN, "security.protocol": "SSL"})
    assert "there is no authentication" in found["sasl.mechanism"]
    assert "it is missing" in problems({"security.protocol": "SASL_SSL"})["sasl.mechanism"]


OAUTH = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}


def test_a_fixed_token() -> None:
    made = settings({**OAUTH, "sasl.oauthbearer.token": "tok"})
    assert isinstance(made.bearer, StaticToken)
    assert made.bearer.token().text == "tok"
    assert made.secrets == {"tok"}
    assert not [key for key in made.config if "oauthbearer" in key]


def test_unsecured_tokens_in_both_spellings() -> None:
    spelled = {"enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": "principal=alice"}
    jaas = 'o.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="alice";'
    for made in (settings({**OAUTH, **spelled}), settings({**OAUTH, "sasl.jaas.config": jaas})):
        assert isinstance(made.bearer, UnsecuredToken)
        assert made.bearer.token().text.count(".") == 2


def test_oidc_is_left_to_the_client() -> None:
    jaas = 'o.OAuthBearerLoginModule required clientId="me" clientSecret="s3" scope="kafka";'
    url = "https://login.example/token"
    made = settings({**OAUTH, "sasl.jaas.config": jaas, "sasl.oauthbearer.token.endpoint.url": url})
    assert made.bearer is None
    assert {key: value for key, value in made.config.items() if key.startswith("sasl.")} == {
        "sasl.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": "s3",
        "sasl.oauthbearer.scope": "kafka",
        "sasl.oauthbearer.token.endpoint.url": url,
    }


@pytest.mark.parametrize("url", ["http://login.example/token", "file:///etc/passwd", "ftp://x", "login.example"])
def test_a_client_s_secret_is_sent_over_https_only(url: str) -> None:
    found = problems({**OAUTH, "sasl.oauthbearer.client.id": "me", "sasl.oauthbearer.token.endpoint.url": url})
    assert "must be https" in found["sasl.oauthbearer.token.endpoint.url"]


def test_msk_reads_the_region_from_the_addresses() -> None:
    servers = "b-1.x.abc.c2.kafka.eu-west-1.amazonaws.com:9098,b-2.x.abc.c2.kafka.eu-west-1.amazonaws.com:9098"
    client = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "AWS_MSK_IAM",
        "sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;",
        "sasl.client.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
    }
    made = settings(client, servers=servers)
    assert isinstance(made.bearer, MskIamToken)
    assert made.config["sasl.mechanisms"] == "OAUTHBEARER"
    assert "aws.region" in problems(client)
    assert isinstance(settings({**client, "aws.region": "eu-west-1"}).bearer, MskIamToken)


def test_a_callback_handler_of_somebody_s_own_is_refused() -> None:
    found = problems({**PLAIN, "sasl.login.callback.handler.class": "com.evil.Handler"})
    assert "Java code" in found["sasl.login.callback.handler.class"]


def test_secrets_come_from_where_the_operator_said(tmp_path: Path) -> None:
    (tmp_path / "kafka.properties").write_text("password = from file \n")
    source = SecretSource(frozenset({"PW"}), (tmp_path,), {"PW": "from-env", "HOME": "/home/me"})
    for reference, value in (
        ("${env:PW}", "from-env"),
        (f"${{file:{tmp_path}/kafka.properties:password}}", "from file "),
    ):
        made = settings({**PLAIN, "sasl.password": f"x{reference}"}, source)
        assert made.config["sasl.password"] == f"x{value}"
        assert made.secrets == {value, f"x{value}"}


def test_a_reference_in_a_login_module_s_password() -> None:
    source = SecretSource(frozenset({"PW"}), (), {"PW": 'quo"te;'})
    jaas = 'x.PlainLoginModule required username="u" password="${env:PW}";'
    made = settings({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}, source)
    assert made.config["sasl.password"] == 'quo"te;'


@pytest.mark.parametrize(
    "key", ["sasl.username", "client.id", "ssl.ca.location", "sasl.oauthbearer.token.endpoint.url"]
)
def test_a_reference_outside_a_secret_is_refused(key: str) -> None:
    source = SecretSource(frozenset({"PW"}), (), {"PW": "hunter2"})
    found = problems({**PLAIN, key: "${env:PW}"}, source)
    assert "not a secret" in found[key]
    assert "hunter2" not in str(found)


def test_nothing_secret_is_shown() -> None:
    made = settings({**PLAIN, "ssl.key.password": "kp-secret"})
    assert "secret" not in repr(made)
    assert "sasl.password" in repr(made)
    echoed = made.redact('Invalid value "p-secret" for configuration property "sasl.password" kp-secret')
    assert echoed == PLACEHOLDER
