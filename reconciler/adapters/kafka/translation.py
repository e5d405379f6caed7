"""Translate allowed settings to librdkafka's: names, SASL, TLS and timeouts."""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from reconciler.adapters.kafka.allowed_settings import LIBRDKAFKA_NAMES
from reconciler.adapters.kafka.bearer import Bearer
from reconciler.adapters.kafka.keystores import translate_keystores
from reconciler.adapters.kafka.sasl import translate_sasl
from reconciler.adapters.kafka.setting_problem import SettingProblem
from reconciler.adapters.kafka.unused_settings import unused_problems
from reconciler.dataclass import dataclass

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_TIMEOUTS: Final = ("request.timeout.ms", "default.api.timeout.ms", "socket.timeout.ms")
_DEFAULT_TIMEOUT_MS: Final = 60_000
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
    known = _HOST_CHECKS.get(values[key].lower())
    if known is None:
        problems.append(SettingProblem(key, f"{values[key]!r} is not known", "Either https, or none (or empty)."))
        return {}
    return {key: known}
