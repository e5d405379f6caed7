"""Settings that would do nothing beside the others. They are refused: who writes one relies on what it does."""

from collections.abc import Iterator, Mapping
from typing import Final

from reconciler.adapters.kafka.setting_problem import SettingProblem

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
#: Every setting that belongs to one way of logging in.
_EACH: Final = _LOGIN | _HANDLERS | _TOKEN | _UNSECURED | _OIDC | _MSK | {_UNSECURED_SWITCH}
_WAYS: Final[Mapping[str, frozenset[str]]] = {
    "PLAIN": _LOGIN,
    "SCRAM-SHA-256": _LOGIN,
    "SCRAM-SHA-512": _LOGIN,
    "AWS_MSK_IAM": _MSK | _HANDLERS,
}


def unused_logins(values: Mapping[str, str]) -> frozenset[str]:
    """The settings in ``values`` that belong to another way of logging in than the one that is used."""
    mechanism = values.get("sasl.mechanism", values.get("sasl.mechanisms"))
    if mechanism == "OAUTHBEARER":
        used, way = _HANDLERS | {_UNSECURED_SWITCH}, _oauthbearer(values)
        return _EACH.intersection(values) - used - way
    return _EACH.intersection(values) - _WAYS.get(mechanism or "", _EACH)


def unused_problems(values: Mapping[str, str]) -> Iterator[SettingProblem]:
    """What is wrong with settings without effect; where nobody logs in at all, :mod:`sasl` says it."""
    protocol = values.get("security.protocol", "PLAINTEXT").upper()
    tls = sorted(key for key in values if key.startswith("ssl."))
    if tls and not protocol.endswith("SSL"):
        yield SettingProblem(
            tls[0],
            f"security.protocol is {protocol}, so nothing would be encrypted and no certificate looked at",
            "Set security.protocol to SSL or SASL_SSL, or leave the ssl settings out.",
        )
    secured = protocol.startswith("SASL_")
    for key in sorted(unused_logins(values) if secured else _EACH.intersection(values)):
        if secured or not key.startswith("sasl."):
            yield SettingProblem(key, "it does nothing with this way of logging in", "Leave it out.")


def _oauthbearer(values: Mapping[str, str]) -> frozenset[str]:
    """In the order in which :mod:`sasl` looks for them."""
    if "sasl.oauthbearer.token" in values:
        return _TOKEN
    return _UNSECURED if values.get(_UNSECURED_SWITCH) == "true" else _OIDC
