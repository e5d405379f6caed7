"""The client's log names the broker that a failure is about, in words for people."""

import logging

import pytest

from reconciler.kafka.client import ClientLog, broker_words

THREAD = "[kafka-reconciler#producer-2] [thrd:sasl_ssl://b-1.example:9094/1]: "


def logged(log: ClientLog, level: int, message: str) -> None:
    log.emit(logging.LogRecord("client", level, "", 0, message, None, None))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sasl_ssl://b-1.example:9094/1: Connect failed", "broker 1 at b-1.example:9094: Connect failed"),
        ("ssl://[::1]:9093/bootstrap: Connect failed", "bootstrap server [::1]:9093: Connect failed"),
        ("127.0.0.1:9092/12: Timed out 1 in-flight", "broker 12 at 127.0.0.1:9092: Timed out 1 in-flight"),
        ("No CA certificates: a/b: c", "No CA certificates: a/b: c"),
    ],
)
def test_a_broker_is_named_by_its_id_and_address(line: str, words: str) -> None:
    assert broker_words(line) == words


def test_errors_and_timeouts_are_kept_and_other_warnings_are_not() -> None:
    log = ClientLog()
    assert (log.last, log.timed_out) == ("", "")
    logged(log, logging.ERROR, f"FAIL {THREAD}sasl_ssl://b-1.example:9094/1: Connect refused")
    assert (log.last, log.timed_out) == ("broker 1 at b-1.example:9094: Connect refused", "")
    logged(log, logging.WARNING, f"REQTMOUT {THREAD}sasl_ssl://b-1.example:9094/1: Timed out 1 in-flight")
    logged(log, logging.WARNING, "CONFWARN [kafka-reconciler#producer-2] [thrd:app]: Configuration property x is odd")
    assert log.last == log.timed_out == "broker 1 at b-1.example:9094: Timed out 1 in-flight"
