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
_UNSUPPORTED: Final[Mapping[str, str]] = {
    "ssl.protocol": "Leave it out: the best version that client and broker support is negotiated.",
    "ssl.enabled.protocols": "Leave it out: the best version that client and broker support is negotiated.",
}


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
    close = difflib.get_close_matches(key, sorted(ALLOWED), n=1, cutoff=0.75)
    advice = f"Did you mean {close[0]!r}?" if close else "docs/client-settings.md lists the supported settings."
    return SettingProblem(key, "unknown client setting", advice)
