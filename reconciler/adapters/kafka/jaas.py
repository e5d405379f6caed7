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
    },
    "IAMLoginModule": {},
}
#: SASL extensions, as Confluent Cloud asks for its logical cluster (``OAuthBearerLoginCallbackHandler``).
_EXTENSION: Final = "extension_"
_EXTENSIONS: Final = "sasl.oauthbearer.extensions"


def settings_from_jaas(text: str, value: Callable[[str, str], str]) -> dict[str, str]:
    """The settings equivalent to ``text``; ``value(key, text)`` resolves references where ``key`` may contain them.

    Raises ``ValueError`` if a module or an option is not supported.
    """
    module, options = parse_jaas(text)
    if module not in _MODULES:
        raise ValueError(f"the login module {module} is not supported (there are {', '.join(sorted(_MODULES))})")
    names = _MODULES[module]
    extensions = {option for option in options if module == "OAuthBearerLoginModule" and option.startswith(_EXTENSION)}
    unknown = sorted(set(options) - set(names) - extensions)
    if unknown:
        raise ValueError(f"the option {unknown[0]} of {module} is not supported")
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
