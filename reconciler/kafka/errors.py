"""Errors of Kafka's clients: what a code means, why a connection failed, and secrets kept out of texts.

The client's ``retriable()`` is ``False`` for every admin error, so this table replaces it. It follows
``org.apache.kafka.common.protocol.Errors`` for admin calls: unless a code is known to mean that nothing was changed,
the outcome is ``UNKNOWN``; that includes codes newer than this table.
"""

import base64
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import quote, quote_plus

from reconciler.dataclass import dataclass
from reconciler.ports import Answer, AnswerStatus

#: Kafka's names; librdkafka spells some differently.
NAMES: Final = {
    # -1 is librdkafka's UNKNOWN as well as Kafka's UNKNOWN_SERVER_ERROR.
    -1: "UNKNOWN_SERVER_ERROR",
    3: "UNKNOWN_TOPIC_OR_PARTITION",
    6: "NOT_LEADER_OR_FOLLOWER",
    17: "INVALID_TOPIC_EXCEPTION",
    29: "TOPIC_AUTHORIZATION_FAILED",
    30: "GROUP_AUTHORIZATION_FAILED",
    31: "CLUSTER_AUTHORIZATION_FAILED",
    39: "INVALID_REPLICA_ASSIGNMENT",  # kafka-python has another name for it
    54: "SECURITY_DISABLED",
}

UNKNOWN_SERVER_ERROR: Final = -1
UNKNOWN_TOPIC: Final = 3
TOPIC_AUTHORIZATION_FAILED: Final = 29
GROUP_AUTHORIZATION_FAILED: Final = 30
CLUSTER_AUTHORIZATION_FAILED: Final = 31
SECURITY_DISABLED: Final = 54
TIMED_OUT: Final = -185
TRANSPORT: Final = -195
AUTHENTICATION: Final = -169
SSL: Final = -181
ALL_BROKERS_DOWN: Final = -187
#: Of a client that was closed, because it waited for a broker that had died.
CLOSED: Final = -197
#: Of a broker that the cluster stopped naming while a request waited for its answer: it has died, or stands still.
NAMED_NO_LONGER: Final = -137

#: Nothing was changed, and the same request may succeed later.
_RETRIABLE: Final = frozenset({5, 6, 8, 9, 14, 15, 16, 41, 56, 89})
#: Nothing was changed, and the same request will be refused again.
_REFUSED: Final = frozenset(
    {3, 17, 29, 30, 31, 35, 36, 37, 38, 39, 40, 42, 44, 53, 54, 60, 65, 73, 85, 91, 92, 93, 97, 100}
)
#: librdkafka's own errors before anything is sent: _INVALID_ARG, _UNSUPPORTED_FEATURE. TLS and authentication errors
#: are not among them: both can also end a connection that has a request in flight.
_NOT_SENT: Final = frozenset({-186, -165})
#: librdkafka's text if it found no broker to send to.
_NO_BROKER: Final = "waiting for controller"
#: librdkafka's own errors of one connection: no broker said anything.
UNANSWERED: Final = frozenset({TIMED_OUT, TRANSPORT, CLOSED, NAMED_NO_LONGER})


class ClientFailure(NamedTuple):
    """An error as the client reports it."""

    code: int
    name: str
    message: str

    @property
    def never_sent(self) -> bool:
        """Whether the request certainly did not leave the client."""
        return self.code in _NOT_SENT or (self.code == TIMED_OUT and _NO_BROKER in self.message)

    @property
    def unanswered(self) -> bool:
        """Whether no broker said anything."""
        return self.code in UNANSWERED

    @property
    def retriable(self) -> bool:
        """Whether the same request may succeed later and a retry is safe."""
        return self.code in _RETRIABLE or (self.code == TIMED_OUT and self.never_sent)

    @property
    def worth_reading_again(self) -> bool:
        """Whether to repeat a read: also if a write would be in doubt, but not after a full timeout."""
        return self.code in _RETRIABLE or self.code in (-1, 7, 13, TRANSPORT, CLOSED, NAMED_NO_LONGER)

    def answer(self) -> Answer:
        """The outcome of an item with this failure."""
        certain = self.code in _RETRIABLE or self.code in _REFUSED or self.never_sent
        verdict = AnswerStatus.FAILED if certain else AnswerStatus.UNKNOWN
        return Answer(verdict, self.name, self.message, retriable=certain and self.retriable)


def failure(code: int, client_name: str, message: str) -> ClientFailure:
    """A failure with Kafka's name for its code; ``client_name`` is used if Kafka has none."""
    return ClientFailure(code, NAMES.get(code, client_name), message or client_name)


# The wire codes that librdkafka cannot name and therefore loses: read from the warnings that it logs about them.
#
# ``rd_kafka_DescribeAclsResponse_parse`` turns every code after its own enums into UNKNOWN, and logs the code. It
# logs in the order of the answer: the type and the pattern type once for each resource, operation and permission for
# each entry. So what it returns and what it logged, read side by side, give the codes back. Where the two do not fit
# together exactly, nothing is given back, and the codes stay lost.

_TEXT: Final = re.compile(
    r"DescribeAclsResponse returned unknown (resource type|resource pattern type|acl operation|acl permission type) "
    r"(-?[0-9]+)"
)
#: What a code is of, and the code.
LoggedCode: TypeAlias = tuple[str, int]


class EntryCodes(NamedTuple):
    """The codes of one entry; ``None`` for one that is lost."""

    resource_type: int | None
    pattern_type: int | None
    operation: int | None
    permission_type: int | None


class CodeLog(logging.Handler):
    """Collects the codes from librdkafka's log, and passes nothing of it on: its lines hold addresses."""

    def __init__(self) -> None:
        """Nothing was logged yet."""
        super().__init__(logging.WARNING)
        self.codes: list[LoggedCode] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a code."""
        if match := _TEXT.search(record.getMessage()):
            self.codes.append((match[1], int(match[2])))


def as_returned(listed: Iterable[Any]) -> list[EntryCodes]:
    """The codes as the client returns them: it shows every code that it does not know as 0."""
    return [
        EntryCodes(
            b.restype.value or None,
            b.resource_pattern_type.value or None,
            b.operation.value or None,
            b.permission_type.value or None,
        )
        for b in listed
    ]


def with_logged(listed: Sequence[Any], logged: Sequence[LoggedCode]) -> list[EntryCodes] | None:
    """The codes of each entry, lost ones as they were logged; ``None`` where log and answer do not fit together.

    They do not if lines of the log are missing, or if two resources follow each other that differ in nothing but a lost
    code: the log has a line more than the answer shows resources.
    """
    codes, entry_codes = iter(logged), list[EntryCodes]()
    place: tuple[object, ...] | None = None
    kind = pattern = None
    try:
        for binding, returned in zip(listed, as_returned(listed), strict=True):
            here = (returned.resource_type, binding.name, returned.pattern_type)
            # The client logs a lost code once a resource and once an entry, in the order of the answer.
            if here != place:
                place = here
                kind = returned.resource_type or _next(codes, "resource type")
                pattern = returned.pattern_type or _next(codes, "resource pattern type")
            operation = returned.operation or _next(codes, "acl operation")
            permission = returned.permission_type or _next(codes, "acl permission type")
            entry_codes.append(EntryCodes(kind or None, pattern or None, operation or None, permission or None))
    except LookupError:
        return None
    return None if next(codes, None) is not None else entry_codes


def _next(codes: Iterable[LoggedCode], of: str) -> int:
    what, code = next(iter(codes), ("", 0))
    if what != of:
        raise LookupError(of)
    return code


# Why a first connection failed, in words for who wrote its settings, from what librdkafka logs of it.
#
# librdkafka names what it noticed, which is mostly not what is wrong: a TLS handshake with a listener that speaks
# none ends as a closed connection, as does a first request without login on a listener that asks for one. Each line
# here was seen with librdkafka 2.16 on Kafka 4.3; ``tests/integration/kafka/test_connection.py`` sees the chief ones
# again.


class ConnectionProblem(NamedTuple):
    """What is wrong, and what to do."""

    message: str
    advice: str


class _Seen(NamedTuple):
    """The line, what it matched, and the client's ``security.protocol``."""

    line: str
    match: re.Match[str]
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
        if (match := pattern.search(line)) and (problem := tell(_Seen(line, match, protocol.upper()))):
            detail = _WHEN.sub("", _SERVER.sub("", line)).strip()
            return problem._replace(message=f"{problem.message} ({detail})")
    return None


def file_problem(message: str, config: Mapping[str, str]) -> ConnectionProblem | None:
    """Which file of the settings the client could not use; ``None`` if ``message`` is about none."""
    match = _FILE.search(message)
    if match is None or match["key"] not in config:
        return None
    key, path = match["key"], config[match["key"]]
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
    offered = seen.match["offered"].replace(",", ", ")
    return ConnectionProblem(
        f"{seen.where} does not offer the SASL mechanism {seen.match['ours']}: it offers {offered}",
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
        f"there is no host {seen.match['name'].rpartition(':')[0]}",
        "Check the spelling in bootstrapServers, and that this machine can resolve the name.",
    )


def _nothing_there(seen: _Seen) -> ConnectionProblem:
    return ConnectionProblem(
        f"nothing listens at {seen.match['place']}",
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


# Problems of client settings, all reported at once, each with its key and what to do.


class SettingProblem(NamedTuple):
    """One problem of one setting. No text contains a secret value."""

    key: str
    message: str
    advice: str = ""


class SettingsError(Exception):
    """Client settings that cannot be used; ``problems`` is ordered by key."""

    def __init__(self, problems: tuple[SettingProblem, ...]) -> None:
        """``str()`` shows one line for each problem."""
        super().__init__("\n".join(f"{p.key}: {p.message}" for p in problems))
        self.problems = problems


# Keep secret values out of texts, including errors of the client library.
#
# A text that contains a secret is replaced as a whole. Cutting only the secret out would show where it was: what is
# left of a line that everybody knows (``f[redacted]iled``) reveals a short secret, or one that is a common word. So a
# redacted text depends on nothing that it contained, neither on the secret nor on its place.

PLACEHOLDER: Final = "[withheld: the text contains a secret]"
#: Shorter lines of a secret, such as the last one of a key, are found in harmless texts.
_SHORTEST_LINE: Final = 16
#: The first line of every PEM text, which is no secret.
_PEM: Final = "-----"


def redact(text: str, secrets: Iterable[str]) -> str:
    """``text`` itself, or ``PLACEHOLDER`` if it contains a secret in plain, URL, base64 or escaped form.

    A line of a secret of several lines, such as a key, counts as a secret too.
    """
    revealed = any(form in text for secret in secrets for part in _parts(secret) for form in _forms(part))
    return PLACEHOLDER if revealed else text


def _parts(secret: str) -> Iterator[str]:
    if secret:
        yield secret
    lines = secret.splitlines()
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= _SHORTEST_LINE and not line.startswith(_PEM))


def _forms(secret: str) -> Iterator[str]:
    raw = secret.encode()
    yield secret
    yield quote(secret, safe="")
    yield quote_plus(secret)
    yield secret.encode("unicode_escape").decode()
    yield repr(secret)[1:-1]
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(raw).decode().rstrip("=")
        # After a user's name, as in basic authentication, the same bytes are encoded in one of three ways. Only groups
        # of three bytes that are all the secret's own look the same there.
        for skipped in (1, 2):
            if inner := encode(raw[skipped : len(raw) - (len(raw) - skipped) % 3]).decode():
                yield inner


# What a run knows of its second client, kafka-python: tried until it connects once, or given up for good.
#
# It is asked only once confluent-kafka is connected. A cluster that one client reaches and the other does not, keeps
# refusing the other: every further try would cost its patience again and end alike.

#: Seconds that kafka-python's first connection of a run may take without getting any further.
FIRST_CONTACT_SECONDS: Final = 3.0
#: What is missing then.
WITHOUT_MESSAGES: Final = (
    "Without it ACLs with resource types and operations that confluent-kafka cannot name are not changed, client "
    "quotas and group configs are neither read nor written, and the Kafka version of the cluster is not known."
)


@dataclass(slots=True)
class FirstContact:
    """Whether kafka-python connected in this run (``established``), or why it is used no more (``failure``)."""

    established: bool = False
    failure: str = ""
    _unreported: str = ""

    def give_up(self, reason: str) -> None:
        """Do without it for the rest of the run."""
        if not self.failure:
            self.failure = reason
            self._unreported = f"kafka-python cannot connect to this cluster: {reason}. {WITHOUT_MESSAGES}"

    def note(self, text: str) -> None:
        """Something that you should know once, without giving up."""
        self._unreported = self._unreported or text

    def news(self) -> str:
        """What nobody was told yet; empty without any. It is returned once."""
        text, self._unreported = self._unreported, ""
        return text
