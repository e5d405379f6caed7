"""The SASL part of the settings: PLAIN, SCRAM and OAUTHBEARER in its four forms (fixed, unsecured, OIDC, MSK IAM)."""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from reconciler.adapters.kafka.bearer import Bearer, MskIamToken, StaticToken, UnsecuredToken, msk_region
from reconciler.adapters.kafka.setting_problem import SettingProblem

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
