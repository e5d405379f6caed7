"""Settings without effect in combination with the others. They are refused: whoever sets one relies on it."""

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
#: Every setting that belongs to one way to log in.
_EACH: Final = _LOGIN | _HANDLERS | _TOKEN | _UNSECURED | _OIDC | _MSK | {_UNSECURED_SWITCH}
_WAYS: Final[Mapping[str, frozenset[str]]] = {
    "PLAIN": _LOGIN,
    "SCRAM-SHA-256": _LOGIN,
    "SCRAM-SHA-512": _LOGIN,
    "AWS_MSK_IAM": _MSK | _HANDLERS,
}


def unused_logins(values: Mapping[str, str]) -> frozenset[str]:
    """The settings in ``values`` that belong to a way to log in that is not used."""
    mechanism = values.get("sasl.mechanism", values.get("sasl.mechanisms"))
    if mechanism == "OAUTHBEARER":
        used, way = _HANDLERS | {_UNSECURED_SWITCH}, _oauthbearer(values)
        return _EACH.intersection(values) - used - way
    return _EACH.intersection(values) - _WAYS.get(mechanism or "", _EACH)


def unused_problems(values: Mapping[str, str]) -> Iterator[SettingProblem]:
    """Problems of settings without effect; that SASL is not used at all is reported by :mod:`sasl`."""
    protocol = values.get("security.protocol", "PLAINTEXT").upper()
    tls = sorted(key for key in values if key.startswith("ssl."))
    if tls and not protocol.endswith("SSL"):
        yield SettingProblem(
            tls[0],
            f"security.protocol is {protocol}, so nothing is encrypted and no certificate is checked",
            "Set security.protocol to SSL or SASL_SSL, or remove the ssl settings.",
        )
    secured = protocol.startswith("SASL_")
    for key in sorted(unused_logins(values) if secured else _EACH.intersection(values)):
        if secured or not key.startswith("sasl."):
            yield SettingProblem(key, "it has no effect with this way to log in", "Remove it.")


def _oauthbearer(values: Mapping[str, str]) -> frozenset[str]:
    """In the order of precedence of :mod:`sasl`."""
    if "sasl.oauthbearer.token" in values:
        return _TOKEN
    return _UNSECURED if values.get(_UNSECURED_SWITCH) == "true" else _OIDC
