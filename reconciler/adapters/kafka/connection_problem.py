"""Why a first connection failed, in words for who wrote its settings, from what librdkafka logs of it.

librdkafka names what it noticed, which is mostly not what is wrong: a TLS handshake with a listener that speaks none
ends as a closed connection, as does a first request without login on a listener that asks for one. Each line here was
seen with librdkafka 2.16 on Kafka 4.3; ``tests/integration/kafka/test_connection.py`` sees the chief ones again.
"""

import os
import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple


class ConnectionProblem(NamedTuple):
    """What is wrong, and what to do."""

    message: str
    advice: str


class _Seen(NamedTuple):
    """The line, what it matched, and the client's ``security.protocol``."""

    line: str
    found: re.Match[str]
    protocol: str

    @property
    def where(self) -> str:
        """The server as people name it."""
        server = _SERVER.match(self.line)
        return "the broker" if server is None else server["who"]

    @property
    def has_login(self) -> bool:
        return self.protocol.startswith("SASL_")

    @property
    def has_tls(self) -> bool:
        return self.protocol.endswith("SSL")


_SERVER: Final = re.compile(r"(?:\w+://)?(?P<who>(?:bootstrap server |broker \d+ at )?[^\s/]+:\d+)(?:/\w+)?: ")
_FILE: Final = re.compile(r"(?P<key>ssl\.[a-z.]+\.location) failed")
#: So much of a key's file says what it is.
_HEAD_BYTES: Final = 4096
#: librdkafka's note of when: the state is in the words already, the milliseconds help nobody.
_WHEN: Final = re.compile(r" \(after \d+ms in state (?P<state>\w+)\)")


def connection_problem(line: str, protocol: str) -> ConnectionProblem | None:
    """What a line of the log says about a connection that was never established; ``None`` for one that is not known.

    ``line`` has no secrets; ``protocol`` is the client's ``security.protocol``.
    """
    for pattern, tell in _KNOWN:
        if (found := pattern.search(line)) and (problem := tell(_Seen(line, found, protocol.upper()))):
            detail = _WHEN.sub("", _SERVER.sub("", line)).strip()
            return problem._replace(message=f"{problem.message} ({detail})")
    return None


def file_problem(message: str, config: Mapping[str, str]) -> ConnectionProblem | None:
    """Which file of the settings the client could not use; ``None`` if ``message`` is about none."""
    found = _FILE.search(message)
    if found is None or found["key"] not in config:
        return None
    key, path = found["key"], config[found["key"]]
    if not os.access(path, os.R_OK):
        why, advice = "there is no such file, or it may not be read", "Check the path: it is one on this machine."
    elif key == "ssl.key.location" and _is_encrypted(path):
        opened = "ssl.key.password" in config
        why = "the key is encrypted, and ssl.key.password does not open it" if opened else "the key is encrypted"
        advice = "Check ssl.key.password." if opened else "Set ssl.key.password."
    else:
        why, advice = "the client cannot use this file", "Check that it is in PEM, or a PKCS12 store for a key store."
    return ConnectionProblem(f"{key}: {path}: {why}", advice)


def _is_encrypted(path: str) -> bool:
    """Whether a file is a private key in PEM with a password (RFC 7468, or RFC 1421 as OpenSSL writes older ones)."""
    with open(path, "rb") as file:
        return b"ENCRYPTED" in file.read(_HEAD_BYTES)


def _no_tls(seen: _Seen) -> ConnectionProblem:
    without = "SASL_PLAINTEXT" if seen.has_login else "PLAINTEXT, or SASL_PLAINTEXT with a login"
    return ConnectionProblem(
        f"{seen.where} does not speak TLS on this port",
        f"Give the address of its TLS listener. If it has none, set security.protocol to {without}.",
    )


def _closed_at_once(seen: _Seen) -> ConnectionProblem | None:
    """Kafka answers the first request of anybody, but not a broken TLS handshake, nor an address with its fill.

    A quota of connections closes them before it reads a byte (KIP-612), so nothing tells the two apart.
    """
    if seen.has_tls:
        return None
    protocol = "SASL_SSL" if seen.has_login else "SSL, or SASL_SSL with a login"
    return ConnectionProblem(
        f"{seen.where} closes the connection at our first request: the port speaks TLS, or a limit on connections of "
        "our address closes them",
        f"If it speaks TLS, set security.protocol to {protocol}. Otherwise look for connection_creation_rate and "
        "max.connections.per.ip of this machine's address, and try again later.",
    )


def _closed_after_hello(seen: _Seen) -> ConnectionProblem | None:
    """A listener with SASL says which requests it knows, and takes no other before a login."""
    if seen.has_login:
        return None
    protocol = f"SASL_{'SSL' if seen.has_tls else 'PLAINTEXT'}"
    return ConnectionProblem(
        f"{seen.where} closes the connection after its first answer: this port may ask for a login (SASL)",
        f"Set security.protocol to {protocol}, and sasl.mechanism, sasl.username and sasl.password.",
    )


def _no_sasl(seen: _Seen) -> ConnectionProblem:
    protocol = "SSL" if seen.has_tls else "PLAINTEXT"
    return ConnectionProblem(
        f"{seen.where} takes no login on this port: its listener has no SASL",
        f"Give the address of its SASL listener. If it has none, set security.protocol to {protocol} and remove the "
        "sasl settings.",
    )


def _other_mechanism(seen: _Seen) -> ConnectionProblem:
    offered = seen.found["offered"].replace(",", ", ")
    return ConnectionProblem(
        f"{seen.where} does not offer the SASL mechanism {seen.found['ours']}: it offers {offered}",
        "Set sasl.mechanism to one that it offers.",
    )


def _wrong_login(seen: _Seen) -> ConnectionProblem:
    return ConnectionProblem(
        f"{seen.where} refuses the user name, the password or the token",
        "Check sasl.username and sasl.password, and that the user exists for this sasl.mechanism: SCRAM-SHA-256 and "
        "SCRAM-SHA-512 have users of their own.",
    )


def _unknown_host(seen: _Seen) -> ConnectionProblem:
    return ConnectionProblem(
        f"there is no host {seen.found['name'].rpartition(':')[0]}",
        "Check the spelling in bootstrapServers, and that this machine can resolve the name.",
    )


def _nothing_there(seen: _Seen) -> ConnectionProblem:
    return ConnectionProblem(
        f"nothing listens at {seen.found['place']}",
        "Check host and port in the bootstrap servers, and that the broker is up.",
    )


def _certificate(seen: _Seen) -> ConnectionProblem:
    return ConnectionProblem(
        f"{seen.where} asks for a client certificate, and does not take ours or got none",
        "Set ssl.keystore.location, or ssl.certificate.location and ssl.key.location; the broker has to trust its CA.",
    )


#: The first that matches and has something to say counts.
_KNOWN: Final[tuple[tuple[re.Pattern[str], Callable[[_Seen], ConnectionProblem | None]], ...]] = (
    (re.compile(r"SSL handshake failed: .*connecting to a PLAINTEXT broker"), _no_tls),
    (re.compile(r"alert (?:bad certificate|certificate required)"), _certificate),
    (re.compile(r"Disconnected.*in state APIVERSION_QUERY"), _closed_at_once),
    (re.compile(r"Disconnected.*in state UP"), _closed_after_hello),
    (re.compile(r"not valid in current SASL state|supported mechanisms:\s+\(after"), _no_sasl),
    (
        re.compile(r"SASL (?P<ours>\S+) mechanism handshake failed.*supported mechanisms: (?P<offered>[\w,-]+)"),
        _other_mechanism,
    ),
    (re.compile(r"Authentication failed|authentication error"), _wrong_login),
    (re.compile(r"Failed to resolve '(?P<name>[^']+)'"), _unknown_host),
    (re.compile(r"Connect to \w+#(?P<place>\S+) failed: Connection refused"), _nothing_there),
)
