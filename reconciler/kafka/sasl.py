"""SASL: mechanisms, bearer tokens, JAAS.

The SASL part of the settings: PLAIN, SCRAM and OAUTHBEARER in its four forms (fixed, unsecured, OIDC, MSK IAM).
"""

import base64
import binascii
import importlib
import ipaddress
import json
import math
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from reconciler.kafka.errors import SettingProblem
from reconciler.model.secrets import parse_jaas
from reconciler.ports import ClusterError

# OAUTHBEARER tokens for the client: a fixed token, an unsecured one, or one signed for Amazon MSK.
#
# librdkafka fetches OIDC tokens itself.

_AN_HOUR: Final = 3600.0
#: The year 9999; a later time is not valid.
_LAST_EXPIRY: Final = 253_402_300_800.0
_REGION: Final = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?(?::\d+)?$")


class Token(NamedTuple):
    """A token and its expiry, in seconds since 1970."""

    text: str
    expires: float


class Bearer(ABC):
    """Provides tokens that are valid now."""

    @abstractmethod
    def token(self) -> Token:
        """A token; raises :class:`ClusterError` if there is none."""


class StaticToken(Bearer):
    """One configured token; its expiry is read from it if it is a JWT with an ``exp`` claim."""

    def __init__(self, text: str) -> None:
        """``text`` is the token."""
        self._text = text

    def token(self) -> Token:
        """The configured token, until it expires."""
        now, expires = time.time(), _expiry(self._text)
        if expires is not None and expires <= now:
            raise ClusterError(
                "token_expired", "the token in sasl.oauthbearer.token has expired", "Fetch a new one, or use OIDC."
            )
        return Token(self._text, now + _AN_HOUR if expires is None else expires)


class UnsecuredToken(Bearer):
    """An unsigned JWT, for test brokers (``OAuthBearerUnsecuredValidatorCallbackHandler``)."""

    def __init__(self, principal: str) -> None:
        """``principal`` becomes the claim ``sub``."""
        self._principal = principal

    def token(self) -> Token:
        """A new token, valid for an hour."""
        now = time.time()
        claims = {"sub": self._principal, "iat": int(now), "exp": int(now + _AN_HOUR)}
        return Token(f"{_part({'alg': 'none'})}.{_part(claims)}.", now + _AN_HOUR)


class MskIamToken(Bearer):
    """A token signed with the AWS credentials of the environment (``aws-msk-iam-sasl-signer-python``)."""

    def __init__(self, region: str) -> None:
        """``region`` is that of the cluster."""
        self._region = region

    def token(self) -> Token:
        """A new token, valid for 15 minutes."""
        try:
            signer = importlib.import_module("aws_msk_iam_sasl_signer.MSKAuthTokenProvider")
        except ImportError:
            raise ClusterError(
                "msk_iam_missing",
                "the package that signs tokens for Amazon MSK is not installed",
                "pip install './reconciler[msk-iam]' beside your clone",
            ) from None
        try:
            text, expires_ms = signer.generate_auth_token(self._region)
        except Exception as error:  # botocore's errors have no common base that its users can name
            raise ClusterError(
                "msk_iam_failed", f"no token could be signed: {error}", "Check the AWS credentials and the region."
            ) from None
        return Token(text, expires_ms / 1000)


def msk_region(bootstrap_servers: str) -> str | None:
    """The AWS region in the addresses of an MSK cluster, or ``None``."""
    regions = {match[1] for host in bootstrap_servers.split(",") if (match := _REGION.search(host.strip()))}
    return regions.pop() if len(regions) == 1 else None


def _part(content: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


def _expiry(token: str) -> float | None:
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        expires = float(claims["exp"])
    except (binascii.Error, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    return expires if math.isfinite(expires) and expires < _LAST_EXPIRY else None


_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM")
_OIDC_KEYS: Final = ("sasl.oauthbearer.client.id", "sasl.oauthbearer.token.endpoint.url")
#: Callback handlers name code to load; only handlers whose work is done here in another way are accepted.
_HANDLERS: Final = frozenset(
    {
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
        "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
        "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
        "io.strimzi.kafka.oauth.client.JaasClientOauthLoginCallbackHandler",
    }
)
_GOOGLE: Final = "Pass an access token of Google's as sasl.oauthbearer.token instead: gcloud auth print-access-token."
_LOGIN_KEYS: Final = ("sasl.username", "sasl.password")
_PRINCIPAL: Final = re.compile(r"principal=(\S+)")


class Sasl(NamedTuple):
    """librdkafka's settings, the source of tokens, and problems."""

    config: dict[str, str]
    bearer: Bearer | None
    problems: list[SettingProblem]


def translate_sasl(bootstrap_servers: str, values: Mapping[str, str]) -> Sasl:
    """The SASL part of ``values`` (allowed keys, references resolved)."""
    mechanism = values.get("sasl.mechanism", values.get("sasl.mechanisms"))
    problems = [*_handler_problems(values), *_mechanism_problems(values, mechanism)]
    if mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
        return Sasl({"sasl.mechanisms": mechanism}, None, [*problems, *_missing(values, _LOGIN_KEYS, mechanism)])
    if mechanism == "AWS_MSK_IAM":
        return _msk(bootstrap_servers, values, problems)
    if mechanism == "OAUTHBEARER":
        return _oauthbearer(values, problems)
    return Sasl({}, None, problems)


def cleartext_problems(bootstrap_servers: str, values: Mapping[str, str]) -> Iterator[SettingProblem]:
    """A login without TLS that leaves this machine: what is sent logs its reader in, or can be guessed from offline.

    SCRAM hides the password itself. What crosses the network still suffices to try passwords as fast as one can, and
    an active attacker takes over the connection once it is logged in (RFC 5802, section 9).
    """
    if values.get("security.protocol", "").upper() != "SASL_PLAINTEXT":
        return
    hosts = (address.strip().rpartition(":")[0] for address in bootstrap_servers.split(",") if address.strip())
    if outside := sorted(host for host in hosts if not is_loopback(host)):
        yield SettingProblem(
            "security.protocol",
            f"SASL_PLAINTEXT would log in to {outside[0]} without TLS, readable on the way",
            "Set it to SASL_SSL, or allow it with --allow-cleartext-login.",
        )


def is_loopback(host: str) -> bool:
    """Whether what is sent to ``host`` stays on this machine."""
    name = host.removeprefix("[").removesuffix("]").lower()
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _oauthbearer(values: Mapping[str, str], problems: list[SettingProblem]) -> Sasl:
    config = {"sasl.mechanisms": "OAUTHBEARER"}
    unsecured = values.get("enable.sasl.oauthbearer.unsecure.jwt", "false")
    if unsecured not in ("true", "false"):
        problems.append(SettingProblem("enable.sasl.oauthbearer.unsecure.jwt", "it is neither true nor false"))
    if "sasl.oauthbearer.token" in values:
        problems += _missing(values, ("sasl.oauthbearer.token",), "OAUTHBEARER")
        return Sasl(config, StaticToken(values["sasl.oauthbearer.token"]), problems)
    if unsecured == "true":
        principal = _PRINCIPAL.fullmatch(values.get("sasl.oauthbearer.config", "").strip())
        if principal is None:
            problems.append(SettingProblem("sasl.oauthbearer.config", "expected principal=<name>, and nothing else"))
            return Sasl(config, None, problems)
        return Sasl(config, UnsecuredToken(principal[1]), problems)
    problems += _missing(values, _OIDC_KEYS, "OAUTHBEARER without sasl.oauthbearer.token")
    if values.get("sasl.oauthbearer.method", "oidc").lower() != "oidc":  # librdkafka takes it in any case
        problems.append(SettingProblem("sasl.oauthbearer.method", "without sasl.oauthbearer.token it must be oidc"))
    problems += _endpoint_problems(values.get("sasl.oauthbearer.token.endpoint.url"))
    return Sasl({**config, "sasl.oauthbearer.method": "oidc"}, None, problems)


def _msk(bootstrap_servers: str, values: Mapping[str, str], problems: list[SettingProblem]) -> Sasl:
    config = {"sasl.mechanisms": "OAUTHBEARER"}
    region = values.get("aws.region") or msk_region(bootstrap_servers)
    if region is None:
        problems.append(SettingProblem("aws.region", "the addresses do not contain the AWS region", "Set aws.region."))
        return Sasl(config, None, problems)
    return Sasl(config, MskIamToken(region), problems)


def _mechanism_problems(values: Mapping[str, str], mechanism: str | None) -> Iterator[SettingProblem]:
    if values.get("sasl.mechanisms", mechanism) != mechanism:
        yield SettingProblem("sasl.mechanism", "sasl.mechanism and sasl.mechanisms differ", "Keep one of them.")
    secured = values.get("security.protocol", "PLAINTEXT").upper().startswith("SASL_")
    if secured and mechanism is None:
        yield SettingProblem("sasl.mechanism", "it is missing", f"One of {', '.join(_MECHANISMS)}.")
    if mechanism is not None and mechanism not in _MECHANISMS:
        yield SettingProblem("sasl.mechanism", f"{mechanism!r} is not supported", f"One of {', '.join(_MECHANISMS)}.")
    used = sorted(key for key in values if key.startswith("sasl."))
    if not secured and used:
        yield SettingProblem(
            used[0],
            f"security.protocol is {values.get('security.protocol', 'PLAINTEXT')}, so there is no authentication",
            "Set security.protocol to SASL_SSL (or SASL_PLAINTEXT), or remove the sasl settings.",
        )


def _handler_problems(values: Mapping[str, str]) -> Iterator[SettingProblem]:
    for key in ("sasl.client.callback.handler.class", "sasl.login.callback.handler.class"):
        if key in values and values[key] not in _HANDLERS:
            advice = (
                "Pass a token as sasl.oauthbearer.token instead." if "oauth" in values[key].lower() else "Remove it."
            )
            advice = _GOOGLE if "google" in values[key] else advice
            yield SettingProblem(key, "this callback handler is Java code and has no counterpart here", advice)


def _endpoint_problems(url: str | None) -> Iterator[SettingProblem]:
    """The client secret is sent there, so it must be https; http is accepted for tests on the same host."""
    if url is None:
        return
    key = "sasl.oauthbearer.token.endpoint.url"
    try:
        parts = urlsplit(url)
    except ValueError:
        yield SettingProblem(key, "it cannot be read as an address")
        return
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        yield SettingProblem(key, "it must be https, because the client secret is sent there")
    if parts.username is not None or parts.password is not None:
        yield SettingProblem(key, "it contains a user or a password", "Use sasl.oauthbearer.client.id and .secret.")


def _missing(values: Mapping[str, str], keys: tuple[str, ...], why: str) -> Iterator[SettingProblem]:
    for key in keys:
        if not values.get(key):
            yield SettingProblem(key, f"it is missing: {why} needs it")


# ``sasl.jaas.config``, the Java client's login settings, as the equivalent single settings.

_LOGIN: Final = {"username": "sasl.username", "password": "sasl.password"}
#: Options by login module (``org.apache.kafka.common.security``), and the settings that say the same.
_MODULES: Final[Mapping[str, Mapping[str, str]]] = {
    "PlainLoginModule": _LOGIN,
    "ScramLoginModule": _LOGIN,
    "OAuthBearerLoginModule": {
        "clientId": "sasl.oauthbearer.client.id",
        "clientSecret": "sasl.oauthbearer.client.secret",
        "scope": "sasl.oauthbearer.scope",
        "unsecuredLoginStringClaim_sub": "sasl.oauthbearer.config",
        # Strimzi's client library (io.strimzi.kafka.oauth.client.ClientConfig).
        "oauth.client.id": "sasl.oauthbearer.client.id",
        "oauth.client.secret": "sasl.oauthbearer.client.secret",
        "oauth.scope": "sasl.oauthbearer.scope",
        "oauth.token.endpoint.uri": "sasl.oauthbearer.token.endpoint.url",
        "oauth.access.token": "sasl.oauthbearer.token",
    },
    "IAMLoginModule": {},
}
_OIDC_ADVICE: Final = (
    "Set sasl.oauthbearer.client.id, sasl.oauthbearer.client.secret and sasl.oauthbearer.token.endpoint.url, or a "
    "fixed sasl.oauthbearer.token."
)
#: What to do where an option or a module has no counterpart, by how its name begins.
_ADVICE: Final[Mapping[str, str]] = {
    "aws": "AWS credentials come from the environment: set AWS_PROFILE, or AWS_ROLE_ARN with a web identity.",
    "metadataServerUrls": f"Tokens of Confluent's metadata service are not fetched. {_OIDC_ADVICE}",
    "Krb5LoginModule": "Kerberos (GSSAPI) is not supported: use SCRAM, PLAIN, OAUTHBEARER or TLS.",
    "oauth.": _OIDC_ADVICE,
}


class JaasError(ValueError):
    """A login module or an option that is not supported, with advice; neither text contains a secret."""

    def __init__(self, message: str, name: str) -> None:
        """``name`` is that of the module or option."""
        super().__init__(message)
        self.advice = next((advice for start, advice in _ADVICE.items() if name.startswith(start)), "")


#: SASL extensions, as Confluent Cloud asks for its logical cluster (``OAuthBearerLoginCallbackHandler``).
_EXTENSION: Final = "extension_"
_EXTENSIONS: Final = "sasl.oauthbearer.extensions"


def settings_from_jaas(text: str, value: Callable[[str, str], str]) -> dict[str, str]:
    """The settings equivalent to ``text``; ``value(key, text)`` resolves references where ``key`` may contain them.

    Raises ``ValueError`` if the form is different, :class:`JaasError` if a module or an option is not supported.
    """
    module, options = parse_jaas(text)
    if module not in _MODULES:
        there = ", ".join(sorted(_MODULES))
        raise JaasError(f"the login module {module} is not supported (there are {there})", module)
    names = _MODULES[module]
    extensions = {option for option in options if module == "OAuthBearerLoginModule" and option.startswith(_EXTENSION)}
    unknown = sorted(set(options) - set(names) - extensions)
    if unknown:
        raise JaasError(f"the option {unknown[0]} of {module} is not supported", unknown[0])
    settings = {names[option]: value(names[option], text) for option, text in options.items() if option in names}
    if extensions:
        settings[_EXTENSIONS] = value(
            _EXTENSIONS, ",".join(_extension(extension, options[extension]) for extension in sorted(extensions))
        )
    if "sasl.oauthbearer.config" in settings:
        settings["sasl.oauthbearer.config"] = f"principal={settings['sasl.oauthbearer.config']}"
        settings["enable.sasl.oauthbearer.unsecure.jwt"] = "true"
    return settings


def _extension(option: str, text: str) -> str:
    """One item of librdkafka's comma-separated list."""
    if "," in text:
        raise ValueError(f"the option {option} holds a comma")
    return f"{option.removeprefix(_EXTENSION)}={text}"
