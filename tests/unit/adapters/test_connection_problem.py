"""What librdkafka logs of a connection that was never established, and what people read of it."""

from pathlib import Path

import pytest

from reconciler.kafka.client import broker_words
from reconciler.kafka.errors import connection_problem, file_problem

#: As logged by librdkafka 2.16.0 against Kafka 4.3.1, the client's protocol, and what is said.
SEEN = [
    (
        "ssl://b:9092/bootstrap: SSL handshake failed: Disconnected: SSL connection closed by peer: connecting to a "
        "PLAINTEXT broker listener? (after 131ms in state SSL_HANDSHAKE)",
        "SASL_SSL",
        "bootstrap server b:9092 does not speak TLS on this port (SSL handshake failed: Disconnected: SSL connection "
        "closed by peer: connecting to a PLAINTEXT broker listener?)",
        "Give the address of its TLS listener. If it has none, set security.protocol to SASL_PLAINTEXT.",
    ),
    (
        "b:9092/bootstrap: Disconnected: connection closed by peer: receive 0 after POLLIN (after 1ms in state UP)",
        "PLAINTEXT",
        "bootstrap server b:9092 closes the connection after its first answer: this port may ask for a login (SASL) "
        "(Disconnected: connection closed by peer: receive 0 after POLLIN)",
        "Set security.protocol to SASL_PLAINTEXT, and sasl.mechanism, sasl.username and sasl.password.",
    ),
    (
        "b:9092/bootstrap: Disconnected: connection closed by peer: receive 0 after POLLIN "
        "(after 50ms in state APIVERSION_QUERY)",
        "plaintext",
        "bootstrap server b:9092 closes the connection at our first request: the port speaks TLS, or a limit on "
        "connections of our address closes them (Disconnected: connection closed by peer: receive 0 after POLLIN)",
        "If it speaks TLS, set security.protocol to SSL, or SASL_SSL with a login. Otherwise look for "
        "connection_creation_rate and max.connections.per.ip of this machine's address, and try again later.",
    ),
    (
        "sasl_plaintext://b:9092/bootstrap: SASL SCRAM-SHA-512 mechanism handshake failed: Broker: Request not valid "
        "in current SASL state: broker's supported mechanisms:  (after 12ms in state AUTH_HANDSHAKE)",
        "SASL_PLAINTEXT",
        "bootstrap server b:9092 takes no login on this port: its listener has no SASL (SASL SCRAM-SHA-512 mechanism "
        "handshake failed: Broker: Request not valid in current SASL state: broker's supported mechanisms:)",
        "Give the address of its SASL listener. If it has none, set security.protocol to PLAINTEXT and remove the sasl "
        "settings.",
    ),
    (
        "sasl_ssl://b:9092/1: SASL SCRAM-SHA-256 mechanism handshake failed: Broker: Unsupported SASL mechanism: "
        "broker's supported mechanisms: PLAIN,SCRAM-SHA-512 (after 300ms in state AUTH_HANDSHAKE)",
        "SASL_SSL",
        "broker 1 at b:9092 does not offer the SASL mechanism SCRAM-SHA-256: it offers PLAIN, SCRAM-SHA-512 (SASL "
        "SCRAM-SHA-256 mechanism handshake failed: Broker: Unsupported SASL mechanism: broker's supported mechanisms: "
        "PLAIN,SCRAM-SHA-512)",
        "Set sasl.mechanism to one that it offers.",
    ),
    (
        "sasl_ssl://b:9092/bootstrap: SASL authentication error: Authentication failed: Invalid username or password "
        "(after 309ms in state AUTH_REQ)",
        "SASL_SSL",
        "bootstrap server b:9092 refuses the user name, the password or the token (SASL authentication error: "
        "Authentication failed: Invalid username or password)",
        "Check sasl.username and sasl.password, and that the user exists for this sasl.mechanism: SCRAM-SHA-256 and "
        "SCRAM-SHA-512 have users of their own.",
    ),
    (
        "broker-1:9093/bootstrap: Failed to resolve 'broker-1:9093': Name or service not known "
        "(after 1ms in state CONNECT)",
        "SSL",
        "there is no host broker-1 (Failed to resolve 'broker-1:9093': Name or service not known)",
        "Check the spelling in bootstrapServers, and that this machine can resolve the name.",
    ),
    (
        "b:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT)",
        "SSL",
        "nothing listens at 127.0.0.1:1 (Connect to ipv4#127.0.0.1:1 failed: Connection refused)",
        "Check host and port in the bootstrap servers, and that the broker is up.",
    ),
]


@pytest.mark.parametrize(("line", "protocol", "message", "advice"), SEEN, ids=[case[2][:60] for case in SEEN])
def test_what_is_logged_is_said_in_our_words(line: str, protocol: str, message: str, advice: str) -> None:
    assert connection_problem(broker_words(line), protocol) == (message, advice)


@pytest.mark.parametrize(
    ("line", "protocol"),
    [
        ("", "SSL"),
        ("[withheld: the text contains a secret]", "SASL_SSL"),
        ("b:9092/bootstrap: Connection setup timed out in state CONNECT (after 10000ms in state CONNECT)", "SSL"),
        # With a login and TLS a broker that closes the connection has another reason: it may be going down.
        ("b:9092/bootstrap: Disconnected: connection closed by peer (after 1ms in state UP)", "SASL_SSL"),
        ("b:9092/bootstrap: Disconnected: connection closed by peer (after 1ms in state APIVERSION_QUERY)", "SSL"),
    ],
)
def test_what_says_no_more_is_left_as_it_is(line: str, protocol: str) -> None:
    assert connection_problem(broker_words(line), protocol) is None


def test_a_file_of_the_settings_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    said = "Failed to create admin client: ssl.ca.location failed: error:05880020:x509 certificate routines::BIO lib"
    gone, text = tmp_path / "none.pem", tmp_path / "ca.txt"
    text.write_text("no certificate")
    missing = file_problem(said, {"ssl.ca.location": str(gone)})
    assert missing is not None
    assert missing.message == f"ssl.ca.location: {gone}: there is no such file, or it may not be read"
    wrong = file_problem(said, {"ssl.ca.location": str(text)})
    assert wrong is not None
    assert (wrong.message, "PEM" in wrong.advice) == (f"ssl.ca.location: {text}: the client cannot use this file", True)
    assert file_problem(said, {}) is None
    assert file_problem("Invalid value for configuration property", {"ssl.ca.location": str(gone)}) is None


@pytest.mark.parametrize("head", ["-----BEGIN ENCRYPTED PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED"])
def test_a_key_with_a_password_is_no_matter_of_its_form(head: str, tmp_path: Path) -> None:
    said = "Failed to create admin client: ssl.key.location failed: error:05880020:x509 certificate routines::BIO lib"
    key = tmp_path / "key.pem"
    key.write_text(f"{head}\n")
    without = file_problem(said, {"ssl.key.location": str(key)})
    assert without is not None
    assert (without.message, without.advice) == (
        f"ssl.key.location: {key}: the key is encrypted",
        "Set ssl.key.password.",
    )
    wrong = file_problem(said, {"ssl.key.location": str(key), "ssl.key.password": "x"})
    assert wrong is not None
    assert wrong.advice == "Check ssl.key.password."
