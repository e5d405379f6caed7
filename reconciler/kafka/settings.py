"""Client settings: which are allowed, unused or translated, and their resolution.

Client settings: from allowed settings in Java's or librdkafka's spelling to librdkafka's, with secrets resolved.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.kafka.errors import FirstContact, SettingProblem, SettingsError, redact
from reconciler.kafka.sasl import Bearer, JaasError, cleartext_problems, is_loopback, settings_from_jaas, translate_sasl
from reconciler.kafka.secret_source import AnySecret, SecretError, SecretSource
from reconciler.kafka.stores import translate_keystores
from reconciler.model.characters import without_leading_blanks
from reconciler.model.secrets import JAAS_CONFIG, SECRET_SETTINGS, has_reference
from reconciler.ports import ClusterError

# The allow-list of client settings: what is accepted, what is refused and why, and the closest accepted name.
#
# Unknown settings are refused too: many people write manifests, and settings of a Kafka client can load code, run
# commands, write files and send secrets elsewhere.

#: librdkafka's own names, passed through.
LIBRDKAFKA_NAMES: Final = frozenset(
    {
        "broker.address.family",
        "client.dns.lookup",
        "client.id",
        "connections.max.idle.ms",
        "https.ca.location",
        "https.ca.pem",
        "metadata.max.age.ms",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retry.backoff.ms",
        "sasl.oauthbearer.client.id",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.extensions",
        "sasl.oauthbearer.method",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.token.endpoint.url",
        "sasl.password",
        "sasl.username",
        "security.protocol",
        "socket.connection.setup.timeout.ms",
        "socket.keepalive.enable",
        "ssl.ca.location",
        "ssl.ca.pem",
        "ssl.certificate.location",
        "ssl.certificate.pem",
        "ssl.cipher.suites",
        "ssl.crl.location",
        "ssl.curves.list",
        "ssl.key.location",
        "ssl.key.password",
        "ssl.key.pem",
        "ssl.sigalgs.list",
    }
)
#: Names of Kafka 4.1 for settings of librdkafka's (KIP-1139).
SAME_SETTING: Final[Mapping[str, str]] = {
    "sasl.oauthbearer.client.credentials.client.id": "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.credentials.client.secret": "sasl.oauthbearer.client.secret",
}
#: Names of the Java client, names with more than one meaning, and our own; each is translated.
TRANSLATED: Final = frozenset(
    {
        "aws.region",
        "default.api.timeout.ms",
        "enable.sasl.oauthbearer.unsecure.jwt",
        "request.timeout.ms",
        "sasl.client.callback.handler.class",
        "sasl.jaas.config",
        "sasl.login.callback.handler.class",
        "sasl.mechanism",
        "sasl.mechanisms",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.config",
        "sasl.oauthbearer.token",
        "socket.timeout.ms",
        "ssl.endpoint.identification.algorithm",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
ALLOWED: Final = LIBRDKAFKA_NAMES | TRANSLATED

_RUNS_CODE: Final = "it makes the client load or run code"
_LEAKS: Final = "it makes the client write settings or traffic into logs"
_OURS: Final = "the reconciler sets it itself"
REFUSED: Final[Mapping[str, str]] = {
    "plugin.library.paths": _RUNS_CODE,
    "ssl.engine.location": _RUNS_CODE,
    "ssl.engine.id": _RUNS_CODE,
    "ssl.engine.factory.class": _RUNS_CODE,
    "ssl.provider": _RUNS_CODE,
    "ssl.providers": _RUNS_CODE,
    "security.providers": _RUNS_CODE,
    "sasl.kerberos.kinit.cmd": _RUNS_CODE,
    "metric.reporters": _RUNS_CODE,
    "interceptor.classes": _RUNS_CODE,
    "debug": _LEAKS,
    "log_level": _LEAKS,
    "log.queue": _LEAKS,
    "log.thread.name": _LEAKS,
    "statistics.interval.ms": _LEAKS,
    "bootstrap.servers": "the addresses are the cluster's bootstrapServers",
    "metadata.broker.list": "the addresses are the cluster's bootstrapServers",
    "enable.ssl.certificate.verification": "the brokers' certificates are always verified",
    "error_cb": _OURS,
    "oauth_cb": _OURS,
    "logger": _OURS,
}
#: Settings of producers, consumers, streams and serializers (``ProducerConfig``, ``ConsumerConfig``, ``StreamsConfig``,
#: ``CommonClientConfigs`` and librdkafka's CONFIGURATION.md), which decide nothing about an admin client.
OF_OTHER_CLIENTS: Final = frozenset(
    (
        *("acks", "request.required.acks", "batch.size", "batch.num.messages", "buffer.memory", "compression.type"),
        *("compression.codec", "compression.gzip.level", "compression.lz4.level", "compression.zstd.level"),
        *("delivery.timeout.ms", "message.timeout.ms", "enable.idempotence", "enable.gapless.guarantee", "linger.ms"),
        *("queue.buffering.max.ms", "queue.buffering.max.messages", "queue.buffering.max.kbytes", "max.block.ms"),
        *("max.in.flight.requests.per.connection", "max.in.flight", "max.request.size", "message.max.bytes"),
        *("message.send.max.retries", "partitioner.class", "partitioner", "partitioner.adaptive.partitioning.enable"),
        *("partitioner.availability.timeout.ms", "partitioner.ignore.keys", "retries", "transaction.timeout.ms"),
        *("transactional.id", "transaction.two.phase.commit.enable", "sticky.partitioning.linger.ms", "group.id"),
        *("allow.auto.create.topics", "auto.commit.interval.ms", "auto.offset.reset", "check.crcs", "client.rack"),
        *("enable.auto.commit", "enable.auto.offset.store", "enable.partition.eof", "exclude.internal.topics"),
        *("fetch.error.backoff.ms", "fetch.max.bytes", "fetch.max.wait.ms", "fetch.message.max.bytes"),
        *("fetch.min.bytes", "fetch.queue.backoff.ms", "fetch.wait.max.ms", "group.instance.id", "group.protocol"),
        *("group.protocol.type", "group.remote.assignor", "heartbeat.interval.ms", "isolation.level"),
        *("max.partition.fetch.bytes", "max.poll.interval.ms", "max.poll.records", "offset.store.method"),
        *("partition.assignment.strategy", "queued.max.messages.kbytes", "queued.min.messages", "session.timeout.ms"),
        *("share.acknowledgement.mode", "share.acquire.mode", "coordinator.query.interval.ms", "receive.buffer.bytes"),
        *("send.buffer.bytes", "socket.receive.buffer.bytes", "socket.send.buffer.bytes", "metadata.max.idle.ms"),
        *("socket.connection.setup.timeout.max.ms", "retry.backoff.max.ms", "metadata.recovery.strategy"),
        *("metadata.recovery.rebootstrap.trigger.ms", "metrics.num.samples", "metrics.recording.level"),
        *("metrics.sample.window.ms", "auto.include.jmx.reporter", "enable.metrics.push", "api.version.request"),
        *("api.version.fallback.ms", "broker.version.fallback", "application.id", "application.server", "state.dir"),
        *(
            "num.stream.threads",
            "processing.guarantee",
            "replication.factor",
            "commit.interval.ms",
            "auto.register.schemas",
        ),
        *("use.latest.version", "bearer.auth.token", "bearer.auth.credentials.source", "specific.avro.reader"),
        *("key.serializer", "value.serializer", "key.deserializer", "value.deserializer", "config.providers"),
        *("default.key.serde", "default.value.serde", "key.converter", "value.converter", "log.connection.close"),
        *(
            "sasl.login.refresh.window.factor",
            "sasl.login.refresh.window.jitter",
            "sasl.login.refresh.min.period.seconds",
        ),
        *("sasl.login.refresh.buffer.seconds", "sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms"),
        *("sasl.login.retry.backoff.ms", "sasl.login.retry.backoff.max.ms", "linger", "internal.leave.group.on.close"),
    )
)
#: Of clients of a schema registry, of Connect and of Streams, by how their names begin.
_PREFIXES_OF_OTHER_CLIENTS: Final = (
    *(
        "schema.registry.",
        "basic.auth.",
        "producer.",
        "consumer.",
        "key.converter.",
        "value.converter.",
        "rocksdb.",
        "confluent.",
    ),
    *(
        "key.serializer.",
        "value.serializer.",
        "key.deserializer.",
        "value.deserializer.",
        "config.providers.",
        "topology.",
    ),
)
_UNSUPPORTED: Final[Mapping[str, str]] = {
    "ssl.protocol": "Leave it out: the best version that client and broker support is negotiated.",
    "ssl.enabled.protocols": "Leave it out: the best version that client and broker support is negotiated.",
    "ssl.keymanager.algorithm": "Leave it out: it is about Java alone.",
    "ssl.trustmanager.algorithm": "Leave it out: it is about Java alone.",
    "ssl.secure.random.implementation": "Leave it out: it is about Java alone.",
    **dict.fromkeys(
        (
            *("sasl.oauthbearer.jwks.endpoint.url", "sasl.oauthbearer.expected.audience"),
            *("sasl.oauthbearer.expected.issuer", "sasl.oauthbearer.clock.skew.seconds"),
        ),
        "Remove it: brokers have it, to check tokens.",
    ),
    **dict.fromkeys(
        (
            *("sasl.oauthbearer.jwt.retriever.class", "sasl.oauthbearer.jwt.validator.class"),
            *("sasl.oauthbearer.assertion.algorithm", "sasl.oauthbearer.assertion.file"),
            *("sasl.oauthbearer.assertion.private.key.file", "sasl.oauthbearer.sub.claim.name"),
            *("sasl.oauthbearer.scope.claim.name", "sasl.oauthbearer.assertion.template.file"),
        ),
        "Supported are a fixed sasl.oauthbearer.token, and client credentials: sasl.oauthbearer.client.id, "
        "sasl.oauthbearer.client.secret and sasl.oauthbearer.token.endpoint.url.",
    ),
}


def is_of_another_client(key: str) -> bool:
    """Whether a setting decides nothing about an admin client."""
    return key in OF_OTHER_CLIENTS or key.startswith(_PREFIXES_OF_OTHER_CLIENTS)


def refusal(key: str) -> SettingProblem | None:
    """Why ``key`` is refused, with the closest accepted name; ``None`` if it is accepted."""
    if key in ALLOWED:
        return None
    name, equals, _ = key.partition("=")
    if equals:  # what follows may be a secret, so it is not quoted
        return SettingProblem(name, "it is written as in a properties file", "Write NAME: VALUE.")
    if key in REFUSED:
        return SettingProblem(key, f"this setting is not allowed: {REFUSED[key]}", "Remove it.")
    if key.startswith("sasl.kerberos."):
        return SettingProblem(key, "Kerberos (GSSAPI) is not supported", "Use SCRAM, PLAIN, OAUTHBEARER or TLS.")
    if key in _UNSUPPORTED:
        return SettingProblem(key, "this setting is not supported", _UNSUPPORTED[key])
    if is_of_another_client(key):
        return SettingProblem(
            key, "a producer, a consumer or another client has this setting: no effect here", "Remove it."
        )
    close = difflib.get_close_matches(key, sorted(ALLOWED), n=1, cutoff=0.75)
    advice = f"Did you mean {close[0]!r}?" if close else "docs/client-settings.md lists the supported settings."
    return SettingProblem(key, "unknown client setting", advice)


# Settings without effect in combination with the others. They are refused: whoever sets one relies on it.

_LOGIN: Final = frozenset({"sasl.username", "sasl.password"})
_HANDLERS: Final = frozenset({"sasl.client.callback.handler.class", "sasl.login.callback.handler.class"})
_TOKEN: Final = frozenset({"sasl.oauthbearer.token"})
_UNSECURED: Final = frozenset({"sasl.oauthbearer.config"})
_OIDC: Final = frozenset(
    {
        "https.ca.location",
        "https.ca.pem",
        "sasl.oauthbearer.client.id",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.extensions",
        "sasl.oauthbearer.method",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.token.endpoint.url",
    }
)
_UNSECURED_SWITCH: Final = "enable.sasl.oauthbearer.unsecure.jwt"
_MSK: Final = frozenset({"aws.region"})
#: Every setting that belongs to one way to log in.
_EACH: Final = _LOGIN | _HANDLERS | _TOKEN | _UNSECURED | _OIDC | _MSK | {_UNSECURED_SWITCH}
_WAYS: Final[Mapping[str, frozenset[str]]] = {
    "PLAIN": _LOGIN,
    "SCRAM-SHA-256": _LOGIN,
    "SCRAM-SHA-512": _LOGIN,
    "AWS_MSK_IAM": _MSK | _HANDLERS,
}


def unused_logins(values: Mapping[str, str]) -> frozenset[str]:
    """The settings in ``values`` that belong to a way to log in that is not used."""
    mechanism = values.get("sasl.mechanism", values.get("sasl.mechanisms"))
    if mechanism == "OAUTHBEARER":
        used, way = _HANDLERS | {_UNSECURED_SWITCH}, _oauthbearer(values)
        return _EACH.intersection(values) - used - way
    return _EACH.intersection(values) - _WAYS.get(mechanism or "", _EACH)


def unused_problems(values: Mapping[str, str]) -> Iterator[SettingProblem]:
    """Problems of settings without effect; that SASL is not used at all is reported by :mod:`sasl`."""
    protocol = values.get("security.protocol", "PLAINTEXT").upper()
    tls = sorted(key for key in values if key.startswith("ssl."))
    if tls and not protocol.endswith("SSL"):
        yield SettingProblem(
            tls[0],
            f"security.protocol is {protocol}, so nothing is encrypted and no certificate is checked",
            "Set security.protocol to SSL or SASL_SSL, or remove the ssl settings.",
        )
    secured = protocol.startswith("SASL_")
    for key in sorted(unused_logins(values) if secured else _EACH.intersection(values)):
        if secured or not key.startswith("sasl."):
            yield SettingProblem(key, "it has no effect with this way to log in", "Remove it.")


def _oauthbearer(values: Mapping[str, str]) -> frozenset[str]:
    """In the order of precedence of :mod:`sasl`."""
    if "sasl.oauthbearer.token" in values:
        return _TOKEN
    return _UNSECURED if values.get(_UNSECURED_SWITCH) == "true" else _OIDC


# Translate allowed settings to librdkafka's: names, SASL, TLS and timeouts.

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_TIMEOUTS: Final = ("request.timeout.ms", "default.api.timeout.ms", "socket.timeout.ms")
_DEFAULT_TIMEOUT_MS: Final = 60_000
#: Added to the client's own timeout, so that its more specific error comes first.
_GRACE_SECONDS: Final = 5.0
#: A write that no broker answers is read back after so long, by a client that asks other brokers.
_DEFAULT_WRITE_TIMEOUT_MS: Final = 10_000
#: librdkafka accepts socket.timeout.ms up to five minutes.
_TIMEOUT_RANGE_MS: Final = range(100, 300_001)
_HOST_CHECKS: Final = {"https": "https", "none": "none", "": "none"}
_DEFAULTS: Final = {
    "client.id": "kafka-reconciler",
    # Give up on a broker that drops packets after 10 s; librdkafka's default is 30 s.
    "socket.connection.setup.timeout.ms": "10000",
}


@dataclass(slots=True)
class Translation:
    """The result: settings or problems. ``request_timeout`` and ``write_timeout`` are in seconds."""

    config: dict[str, str] = field(default_factory=dict)
    bearer: Bearer | None = None
    request_timeout: float = _DEFAULT_TIMEOUT_MS / 1000
    write_timeout: float = _DEFAULT_WRITE_TIMEOUT_MS / 1000
    problems: list[SettingProblem] = field(default_factory=list)


def translate(bootstrap_servers: str, values: Mapping[str, str], *, read_stores: bool = True) -> Translation:
    """``values`` (allowed keys, references resolved) in librdkafka's spelling, with our defaults.

    Without ``read_stores`` Java's key stores and trust stores are not opened, and their certificates are left out.
    """
    outcome = Translation({**_DEFAULTS, **{key: value for key, value in values.items() if key in LIBRDKAFKA_NAMES}})
    outcome.config["bootstrap.servers"] = _addresses(bootstrap_servers, outcome.problems)
    outcome.config["security.protocol"] = _protocol(values, outcome.problems)
    milliseconds = _timeout(values, outcome.problems)
    outcome.config["socket.timeout.ms"] = str(milliseconds)
    outcome.request_timeout = milliseconds / 1000
    given = any(key in values for key in _TIMEOUTS)
    outcome.write_timeout = outcome.request_timeout if given else _DEFAULT_WRITE_TIMEOUT_MS / 1000
    sasl = translate_sasl(bootstrap_servers, values)
    stores, problems = translate_keystores(values, read=read_stores)
    outcome.config |= {**sasl.config, **stores, **_host_check(values, outcome.problems)}
    outcome.bearer = sasl.bearer
    outcome.problems += [*sasl.problems, *problems, *unused_problems(values)]
    return outcome


def _addresses(bootstrap_servers: str, problems: list[SettingProblem]) -> str:
    """Without spaces; each must have a host and a port."""
    addresses = [address.strip() for address in bootstrap_servers.split(",") if address.strip()]
    if not addresses:
        problems.append(SettingProblem("bootstrapServers", "it is empty", "Name at least one broker as host:port."))
    for address in addresses:
        host, _, port = address.rpartition(":")
        if not host or "/" in host or not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
            problems.append(SettingProblem("bootstrapServers", f"{address!r} is not host:port"))
    return ",".join(addresses)


def _protocol(values: Mapping[str, str], problems: list[SettingProblem]) -> str:
    protocol = values.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in _PROTOCOLS:
        advice = f"One of {', '.join(_PROTOCOLS)}."
        problems.append(SettingProblem("security.protocol", f"{protocol!r} is not a security protocol", advice))
    return protocol


def _timeout(values: Mapping[str, str], problems: list[SettingProblem]) -> int:
    """The time that one request may take: the shortest of the given timeouts, as in the Java client.

    Both of librdkafka's timeouts are set to it, because the smaller one takes effect.
    """
    given = {key: values[key] for key in _TIMEOUTS if key in values}
    for key, text in given.items():
        if not (text.isascii() and text.isdigit() and int(text) in _TIMEOUT_RANGE_MS):
            problems.append(SettingProblem(key, f"{text!r} is not a number of milliseconds from 100 to 300000"))
            return _DEFAULT_TIMEOUT_MS
    return min(map(int, given.values()), default=_DEFAULT_TIMEOUT_MS)


def _host_check(values: Mapping[str, str], problems: list[SettingProblem]) -> dict[str, str]:
    key = "ssl.endpoint.identification.algorithm"
    if key not in values:
        return {}
    check = _HOST_CHECKS.get(values[key].lower())
    if check is None:
        problems.append(SettingProblem(key, f"{values[key]!r} is not known", "Either https, or none (or empty)."))
        return {}
    return {key: check}


_NOT_SECRET: Final = (
    "this setting is not a secret, so it cannot contain a reference",
    "References work only in passwords, keys and tokens. Write the value itself.",
)
#: What brokers, key stores and issuers of tokens compare letter by letter, on one line.
_TYPED: Final = SECRET_SETTINGS - {JAAS_CONFIG, "ssl.key.pem", "ssl.keystore.key"} | {
    *("sasl.username", "client.id", "sasl.oauthbearer.client.id", "sasl.oauthbearer.client.credentials.client.id"),
    *("sasl.oauthbearer.scope", "sasl.oauthbearer.extensions"),
}
_BLANK: Final = "it begins with a blank, which librdkafka drops: it would send another text"


@dataclass(frozen=True, slots=True, repr=False)
class ClientSettings:
    """Settings in librdkafka's spelling, secrets resolved. ``repr`` shows names only.

    ``bearer`` provides OAUTHBEARER tokens if librdkafka does not fetch them itself. ``request_timeout`` is in seconds,
    ``write_timeout`` too: so long a write may take before its outcome is unknown, never longer than the other.
    ``loopback_only``: they log in without TLS, and nobody allowed that for other machines. ``first_contact`` is what
    this run learns of kafka-python's connection by these settings. ``followed`` are the references of manifests that
    this run has followed, with what they stand for: apply fills it once the plan is approved, and nothing else is sent.
    """

    config: Mapping[str, str]
    secrets: frozenset[str] = frozenset()
    bearer: Bearer | None = None
    request_timeout: float = 60.0
    write_timeout: float = 10.0
    loopback_only: bool = False
    first_contact: FirstContact = field(default_factory=FirstContact, compare=False)
    followed: dict[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        """Make the settings read-only, and no write wait longer than a reading."""
        object.__setattr__(self, "config", MappingProxyType(dict(self.config)))
        object.__setattr__(self, "write_timeout", min(self.write_timeout, self.request_timeout))

    @property
    def send_seconds(self) -> float:
        """The longest that a request may be under way, repeats by librdkafka included, before it is given up."""
        return self.request_timeout + _GRACE_SECONDS

    def redact(self, text: str) -> str:
        """``text`` without any secret value of these settings."""
        return redact(text, self.secrets.union(self.followed.values()) if self.followed else self.secrets)

    def check_brokers(self, hosts: Iterable[str]) -> None:
        """Refuse a cluster that sends a login without TLS to other machines; raises :class:`ClusterError`.

        The bootstrap address may be a tunnel: its broker names the addresses where a client logs in next.
        """
        if self.loopback_only and (outside := sorted(host for host in hosts if not is_loopback(host))):
            raise ClusterError(
                "cleartext_login",
                f"the cluster names the broker {outside[0]}, where SASL_PLAINTEXT logs in without TLS, readable on the "
                "way",
                "Set security.protocol to SASL_SSL, or allow it with --allow-cleartext-login. Change the password, "
                "which may have been sent there.",
            )

    def __repr__(self) -> str:
        """The names of what is set, no values."""
        return f"ClientSettings({', '.join(sorted(self.config))})"


def client_settings(
    bootstrap_servers: str,
    client: Mapping[str, str],
    secrets: SecretSource,
    *,
    cleartext_login: bool = False,
    read_stores: bool = True,
) -> ClientSettings:
    """The connection of a ``Cluster`` document, ready for the client.

    ``bootstrap_servers`` is a comma-separated list of ``host:port``. References are resolved here, only in secret
    settings and only as ``secrets`` permits. With ``cleartext_login`` it may log in without TLS to other machines.
    Without ``read_stores`` Java's key stores and trust stores are not opened, as for :func:`setting_problems`.
    Raises :class:`SettingsError` with every problem.
    """
    problems = [problem for key in sorted(client) if (problem := refusal(key)) is not None]
    if has_reference(bootstrap_servers):
        problems.append(SettingProblem("bootstrapServers", *_NOT_SECRET))
    reading = _SettingsReader(secrets)
    # sasl.jaas.config last: a setting that it repeats is reported as set twice.
    for key in sorted(client, key=lambda key: (key == JAAS_CONFIG, key)):
        if refusal(key) is None:
            reading.take(key, client[key])
    problems += reading.problems
    translated = translate(bootstrap_servers, reading.values, read_stores=read_stores)
    if not cleartext_login:
        problems += cleartext_problems(bootstrap_servers, reading.values)
    reported = {problem.key for problem in problems}
    # What a login module says that is not understood is not missing.
    about = "sasl." if JAAS_CONFIG in reported else JAAS_CONFIG
    problems += [item for item in translated.problems if item.key not in reported and not item.key.startswith(about)]
    if problems:
        raise SettingsError(tuple(sorted(problems)))
    return ClientSettings(
        translated.config,
        # Of a Java key store, too.
        frozenset(reading.hidden | {translated.config.get("ssl.key.pem", "")} - {""}),
        translated.bearer,
        translated.request_timeout,
        translated.write_timeout,
        loopback_only=not cleartext_login and translated.config["security.protocol"] == "SASL_PLAINTEXT",
    )


def setting_problems(bootstrap_servers: str, client: Mapping[str, str]) -> tuple[SettingProblem, ...]:
    """What :func:`client_settings` would refuse whatever the secrets are, without reading a secret or a store."""
    try:
        client_settings(bootstrap_servers, client, AnySecret(), cleartext_login=True, read_stores=False)
    except SettingsError as error:
        return error.problems
    return ()


@dataclass(slots=True)
class _SettingsReader:
    """Values with references resolved, secrets to redact, and problems."""

    secrets: SecretSource
    values: dict[str, str] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    problems: list[SettingProblem] = field(default_factory=list)

    def take(self, key: str, text: str) -> None:
        """Read one setting; the options of a JAAS login module become settings of their own."""
        try:
            if key == JAAS_CONFIG:
                self._take_jaas(text)
            else:
                self._set(SAME_SETTING.get(key, key), self._value(SAME_SETTING.get(key, key), text), f"as {key}")
        except SecretError as error:
            self.problems.append(SettingProblem(key, error.message, error.advice))
        except ValueError as error:
            self.problems.append(SettingProblem(key, str(error), error.advice if isinstance(error, JaasError) else ""))

    def _take_jaas(self, text: str) -> None:
        for key, value in settings_from_jaas(text, self._value).items():
            self._set(key, value, "in sasl.jaas.config")

    def _set(self, key: str, value: str, where: str) -> None:
        if key in _TYPED and value != without_leading_blanks(value):
            advice = "Change the secret, or its file." if key in SECRET_SETTINGS else "Write it without the blank."
            self.problems.append(SettingProblem(key, _BLANK, advice))
        if key in self.values:
            self.problems.append(SettingProblem(key, f"it is set here and {where}", "Keep one of them."))
        self.values[key] = value

    def _value(self, key: str, text: str) -> str:
        if key not in SECRET_SETTINGS:
            if has_reference(text):
                raise SecretError(*_NOT_SECRET)
            return text
        value, parts = self.secrets.resolve(text)
        self.hidden |= {value, *parts} - {""}
        return value
