"""Which client settings hold secrets, and the references that stand for their values.

The syntax of a reference is that of Kafka's config providers (``EnvVarConfigProvider``, ``FileConfigProvider``,
``DirectoryConfigProvider``): ``${env:NAME}``, ``${file:PATH:KEY}`` (a properties file) and ``${dir:DIR:FILE}``.
"""

import re
from typing import Final

from reconciler.model.jaas import parse_jaas

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
