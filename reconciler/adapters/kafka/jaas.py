"""``sasl.jaas.config``, the Java client's login settings, as the equivalent single settings."""

from collections.abc import Callable, Mapping
from typing import Final

from reconciler.model.jaas import parse_jaas

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
    found = {names[option]: value(names[option], text) for option, text in options.items() if option in names}
    if extensions:
        found[_EXTENSIONS] = value(_EXTENSIONS, ",".join(_extension(one, options[one]) for one in sorted(extensions)))
    if "sasl.oauthbearer.config" in found:
        found["sasl.oauthbearer.config"] = f"principal={found['sasl.oauthbearer.config']}"
        found["enable.sasl.oauthbearer.unsecure.jwt"] = "true"
    return found


def _extension(option: str, text: str) -> str:
    """One item of librdkafka's comma-separated list."""
    if "," in text:
        raise ValueError(f"the option {option} holds a comma")
    return f"{option.removeprefix(_EXTENSION)}={text}"
