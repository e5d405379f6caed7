"""``sasl.jaas.config``, the Java client's login settings, as the equivalent single settings."""

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

_ENTRY: Final = re.compile(r"\s*([\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(.*?);?\s*", re.DOTALL)
_OPTION: Final = re.compile(r"""\s*([\w.]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""", re.DOTALL)
#: ``java.io.StreamTokenizer``, which reads for Kafka's ``JaasConfig``: up to three octal digits, or a sign.
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_SIGNS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}

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


class JaasEntry(NamedTuple):
    """A login module's class name, without its package, and its options."""

    module: str
    options: Mapping[str, str]


def parse_jaas(text: str) -> JaasEntry:
    """The one entry in ``text``; raises ``ValueError`` if the form is different. The error quotes no part of it."""
    entry = _ENTRY.fullmatch(text)
    if entry is None:
        raise ValueError('it is not of the form <login module> required <option>="<value>" …;')
    options: dict[str, str] = {}
    position, rest = 0, entry[2].rstrip()
    while position < len(rest):
        option = _OPTION.match(rest, position)
        if option is None:
            raise ValueError('an option is not of the form name="value"')
        value = next(group for group in option.groups()[1:] if group is not None)
        options[option[1]] = _ESCAPE.sub(_unescaped, value)
        position = option.end()
    return JaasEntry(entry[1].rpartition(".")[2], options)


def _unescaped(escape: "re.Match[str]") -> str:
    text = escape[1]
    return chr(int(text, 8)) if text[0] in "01234567" else _SIGNS.get(text, text)


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
