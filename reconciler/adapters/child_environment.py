"""The environment of a child process: what it needs to run, and nothing that could be a secret.

An environment can be read by every process of the same user, and is inherited by whatever the child starts in turn.
Secrets reach a child by a pipe instead.
"""

import os
from collections.abc import Iterable
from typing import Final

_KEPT: Final = frozenset(
    {
        "CI",  # decides whether manifests may say where to connect
        "HOME",
        "LANG",
        "LANGUAGE",
        "LD_LIBRARY_PATH",
        "LOGNAME",
        "PATH",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "TMPDIR",
        "TZ",
        "USER",
        "XDG_CONFIG_HOME",
    }
)
_KEPT_PREFIXES: Final = ("LC_", "PYTHON")
#: The address of a proxy may hold a password.
_PROXIES: Final = frozenset({"http_proxy", "https_proxy", "all_proxy", "no_proxy"})
#: The MSK IAM signer reads AWS credentials from the environment and from nowhere else that we could name.
_CREDENTIALS: Final = ("AWS_",)
#: What logs in to object stores.
_STORE_CREDENTIALS: Final = ("AWS_", "AZURE_", "GOOGLE_")


def child_environment(*prefixes: str) -> dict[str, str]:
    """What a child gets of our environment; ``prefixes`` name further variables."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT
        or name.startswith((*_KEPT_PREFIXES, *prefixes))
        or (name.lower() in _PROXIES and "@" not in value)
    }


def secret_environment(allowed: Iterable[str], prefixes: tuple[str, ...] = ()) -> dict[str, str]:
    """What a child that connects by itself is given by a pipe: the variables that may be read, and AWS credentials.

    ``prefixes`` name further variables: those of the passwords that it sets.
    """
    wanted, begin = frozenset(allowed), (*_CREDENTIALS, *prefixes)
    return {name: value for name, value in os.environ.items() if name in wanted or name.startswith(begin)}


def store_environment() -> dict[str, str]:
    """What a child is given that reads or writes an object store."""
    return {name: value for name, value in os.environ.items() if name.startswith(_STORE_CREDENTIALS)}
