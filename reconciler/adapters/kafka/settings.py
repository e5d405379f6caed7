"""Client settings: from allowed settings in Java's or librdkafka's spelling to librdkafka's, with secrets resolved."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Final

from reconciler.adapters.kafka.allowed_settings import SAME_SETTING, refusal
from reconciler.adapters.kafka.bearer import Bearer
from reconciler.adapters.kafka.first_contact import FirstContact
from reconciler.adapters.kafka.jaas import JaasError, settings_from_jaas
from reconciler.adapters.kafka.redaction import redact
from reconciler.adapters.kafka.sasl import cleartext_problems, is_loopback
from reconciler.adapters.kafka.secret_source import AnySecret, SecretError, SecretSource
from reconciler.adapters.kafka.setting_problem import SettingProblem, SettingsError
from reconciler.adapters.kafka.translation import translate
from reconciler.dataclass import dataclass
from reconciler.model.characters import without_leading_blanks
from reconciler.model.secret_settings import JAAS_CONFIG, SECRET_SETTINGS, has_reference
from reconciler.ports import ClusterError

__all__ = ["ClientSettings", "SecretSource", "SettingProblem", "SettingsError", "client_settings", "setting_problems"]

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
    problems += [one for one in translated.problems if one.key not in reported and not one.key.startswith(about)]
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
