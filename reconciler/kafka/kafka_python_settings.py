"""Translate librdkafka's settings for kafka-python.

A setting without a translation is never dropped, since it may be about security: kafka-python is then not used, and
the ACLs are listed with librdkafka.
"""

from typing import Any, Final

from reconciler.kafka.settings import ClientSettings

_SAME: Final = {
    "client.id": "client_id",
    "security.protocol": "security_protocol",
    "sasl.mechanisms": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
}
_TLS: Final = frozenset(
    {
        "ca.location",
        "ca.pem",
        "certificate.location",
        "certificate.pem",
        "key.location",
        "key.pem",
        "key.password",
        "endpoint.identification.algorithm",
    }
)
#: Without meaning for a single request, or passed to kafka-python in another way.
_TUNING: Final = frozenset(
    {
        "bootstrap.servers",
        "socket.timeout.ms",
        "socket.keepalive.enable",
        "socket.connection.setup.timeout.ms",
        "connections.max.idle.ms",
        "reconnect.backoff.ms",
        "reconnect.backoff.max.ms",
        "retry.backoff.ms",
        "metadata.max.age.ms",
        "enable.sasl.oauthbearer.unsecure.jwt",
        "sasl.oauthbearer.config",
    }
)
_MECHANISMS: Final = frozenset({"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"})


def kafka_python_settings(settings: ClientSettings) -> dict[str, Any] | None:
    """``{"settings": …, "tls": … or None, "token": … or None}`` for ``message_client``, or ``None``."""
    carried: dict[str, Any] = {"bootstrap_servers": settings.config["bootstrap.servers"].split(",")}
    tls: dict[str, str] = {}
    for key, value in settings.config.items():
        if key in _SAME:
            carried[_SAME[key]] = value
        elif key.startswith("ssl.") and key.removeprefix("ssl.") in _TLS:
            tls[key.removeprefix("ssl.")] = value
        elif key not in _TUNING:
            return None
    if carried.get("sasl_mechanism", "PLAIN") not in _MECHANISMS:
        return None
    if carried.get("sasl_mechanism") == "OAUTHBEARER" and settings.bearer is None:
        return None
    # One connection needs one token; the child process cannot ask for another.
    token = settings.bearer.token().text if settings.bearer is not None else None
    encrypted = "SSL" in carried.get("security_protocol", "PLAINTEXT")
    return {"settings": carried, "tls": tls if encrypted else None, "token": token}
