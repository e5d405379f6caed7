"""Secrets in client settings: which settings hold them, which references are permitted, the form of JAAS.

Which client settings hold secrets, and the references that stand for their values.

The syntax of a reference is that of Kafka's config providers (``EnvVarConfigProvider``, ``FileConfigProvider``,
``DirectoryConfigProvider``): ``${env:NAME}``, ``${file:PATH:KEY}`` (a properties file) and ``${dir:DIR:FILE}``.
"""

import posixpath
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from reconciler.dataclass import dataclass

# The form of ``sasl.jaas.config``, the Java client's login settings: one login module with its options.

_ENTRY: Final = re.compile(r"\s*([\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(.*?);?\s*", re.DOTALL)
_OPTION: Final = re.compile(r"""\s*([\w.]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""", re.DOTALL)
#: ``java.io.StreamTokenizer``, which reads for Kafka's ``JaasConfig``: up to three octal digits, or a sign.
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_SIGNS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


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


def _unescaped(escape: re.Match[str]) -> str:
    text = escape[1]
    return chr(int(text, 8)) if text[0] in "01234567" else _SIGNS.get(text, text)


JAAS_CONFIG: Final = "sasl.jaas.config"
#: Only these may contain references; their values are redacted from every text.
SECRET_SETTINGS: Final = frozenset(
    {
        "sasl.password",
        JAAS_CONFIG,
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.token",
        "ssl.key.password",
        "ssl.key.pem",
        "ssl.keystore.key",
        "ssl.keystore.password",
        "ssl.truststore.password",
    }
)
#: Options of login modules that hold a secret, of whatever make.
_SECRET_OPTION: Final = re.compile(
    r"password|passphrase|passwd|secret|credential|private.?key|(token|assertion)$", re.I
)
#: One reference; the group is what stands between the braces.
REFERENCE: Final = re.compile(r"\$\{((?:env:[^{}:]+|file:[^{}]+:[^{}:]+|dir:[^{}]+:[^{}:]+))\}")


def is_reference(text: str) -> bool:
    """Whether ``text`` is one reference and nothing else."""
    return REFERENCE.fullmatch(text) is not None


def has_reference(text: str) -> bool:
    """Whether ``text`` contains what is, or was meant to be, a reference."""
    return "${" in text


def clear_secret(setting: str, text: str) -> str | None:
    """Why a setting's value counts as a secret in clear text, in words without the value; ``None`` if it does not.

    Everything in a secret setting that is not exactly one reference counts as clear text, so that a reference with a
    mistake in it (``${env:PASSWORD`` without its brace) is not taken for a password.
    """
    if setting not in SECRET_SETTINGS:
        return None
    if setting != JAAS_CONFIG:
        return None if is_reference(text) else "its value is not a reference"
    try:
        options = parse_jaas(text).options
    except ValueError:
        return "it is not of the form <login module> required <option>=<value>;"
    for option, value in options.items():
        if _SECRET_OPTION.search(option) and not is_reference(value):
            return f"its option {option} is not a reference"
    return None


# Which references to secrets the operator permits in manifests: whoever proposes a change chooses among these only.

_CURE: Final = "the operator permits it in the connections file, below userSecrets of this cluster"


@dataclass(frozen=True, slots=True)
class SecretPermit:
    """Prefixes of the names of environment variables, and directories; nothing else is read, so by default nothing.

    ``verify_login``: whether apply may log in with a password that it has set.
    """

    env_prefixes: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()
    verify_login: bool = False

    def objection(self, reference: str) -> str | None:
        """Why a reference is not followed, with the cure; ``None`` if it is.

        Links are not looked at here: whoever reads the file looks at where it really is.
        """
        match = REFERENCE.fullmatch(reference)
        if match is None:
            return f"{reference} is not a reference"
        provider, _, rest = match[1].partition(":")
        if provider == "env":
            permitted = any(rest.startswith(prefix) for prefix in self.env_prefixes)
            return None if permitted else f"reading {reference} is not permitted: {_CURE} (envPrefixes)"
        path = rest.rpartition(":")[0]
        # The file of a file reference, the directory of a dir reference: both have to lie inside.
        inside = path.startswith("/") and any(_is_inside(path, directory) for directory in self.directories)
        if inside and provider == "file":
            inside = posixpath.normpath(path) not in map(posixpath.normpath, self.directories)
        return None if inside else f"reading {reference} is not permitted: {_CURE} (directories)"


def _is_inside(path: str, directory: str) -> bool:
    path, directory = posixpath.normpath(path), posixpath.normpath(directory)
    return path == directory or path.startswith(directory.rstrip("/") + "/")


NOTHING_PERMITTED: Final = SecretPermit()
