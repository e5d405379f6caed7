"""Whether a password logs in: a SCRAM login as somebody else, on the connection that we use, and nothing more.

The client does the handshake; what it then asks (DescribeCluster) needs no right. The connection is closed at once.
"""

import logging
import time
from concurrent.futures import wait
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from reconciler.kafka.errors import AUTHENTICATION
from reconciler.kafka.settings import ClientSettings
from reconciler.model.characters import without_leading_blanks
from reconciler.ports import LoginAnswer

_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.05
#: librdkafka's words for a broker that does not offer the mechanism: no password was tried.
_NO_MECHANISM: Final = "mechanism handshake failed"
_QUIET: Final = logging.Logger("kafka-login", logging.CRITICAL + 1)


def log_in(settings: ClientSettings, name: str, mechanism: str, password: str) -> LoginAnswer:
    """One try. ``settings`` are our own connection's, whose login is replaced; the password is in no text."""
    protocol = settings.config.get("security.protocol", "PLAINTEXT")
    if not protocol.upper().startswith("SASL_"):
        return LoginAnswer(None, f"our connection has no SASL (security.protocol is {protocol})")
    for what, text in (("name", name), ("password", password)):
        if text != without_leading_blanks(text):
            return LoginAnswer(None, f"the {what} begins with a blank, which our client drops and Java's keeps")
    told: list[KafkaError] = []
    config: dict[str, Any] = {key: value for key, value in settings.config.items() if not key.startswith("sasl.")}
    config |= {
        "sasl.mechanism": mechanism,
        "sasl.username": name,
        "sasl.password": password,
        # One try is one try: librdkafka would log in again and again by itself.
        "reconnect.backoff.ms": int(2 * _SECONDS * 1000),
        "reconnect.backoff.max.ms": int(2 * _SECONDS * 1000),
        "error_cb": told.append,
    }
    try:
        client = AdminClient(config, logger=_QUIET)
    except KafkaException as error:
        return LoginAnswer(None, settings.redact(error.args[0].str()))
    except (TypeError, ValueError) as error:  # its text may hold the value
        return LoginAnswer(None, f"the client does not take the login: {type(error).__name__}")
    with client:
        asked = client.describe_cluster(request_timeout=_SECONDS)
        end = time.monotonic() + _SECONDS
        while not asked.done() and not _refusals(told) and time.monotonic() < end:
            client.poll(0)
            wait((asked,), timeout=_POLL_SECONDS)
        if refused := _refusals(told):
            return refusal(settings.redact(refused[0].str()))
        if asked.done() and asked.exception() is None:
            return LoginAnswer(True)
        why = told[-1].str() if told else "no broker answered in time"
        return LoginAnswer(None, settings.redact(why))


def refusal(text: str) -> LoginAnswer:
    """What the client's words for a failed login mean: a wrong password, or none that was tried."""
    return LoginAnswer(None if _NO_MECHANISM in text else False, text)


def _refusals(told: list[KafkaError]) -> list[KafkaError]:
    return [error for error in told if error.code() == AUTHENTICATION]
