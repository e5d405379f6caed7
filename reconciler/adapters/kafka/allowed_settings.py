"""The allow-list of client settings: what is accepted, what is refused and why, and the closest accepted name.

Unknown settings are refused too: many people write manifests, and settings of a Kafka client can load code, run
commands, write files and send secrets elsewhere.
"""

import difflib
from collections.abc import Mapping
from typing import Final

from reconciler.adapters.kafka.setting_problem import SettingProblem

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
