"""The specification of a sandbox; combinations that cannot work are refused on creation."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from reconciler.adapters.sandbox.error import SandboxError
from reconciler.adapters.sandbox.version import DEFAULT_VERSION
from reconciler.dataclass import dataclass

DEFAULT_USERS = ("admin", "reconciler", "alice", "bob")

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
# Characters that need no quoting in JAAS, in Kafka's --add-scram and in properties files.
_USER = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,60}")
_PASSWORD = re.compile(r"[A-Za-z0-9_.~!@#%^*+:/-]{1,100}")
_HEAP = re.compile(r"[1-9][0-9]{0,5}[mg]")


def generated_users(*names: str) -> dict[str, str]:
    """A random password for each name (for the default users, if none is given)."""
    return {name: secrets.token_hex(12) for name in names or DEFAULT_USERS}


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """A cluster on loopback. Every user can log in with PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512.

    ``nodes`` are brokers, and controllers too unless ``controllers`` asks for separate ones. ``port`` fixes the
    client port of the first broker; each further one takes the next. ``any_principal`` switches on unsigned
    OAUTHBEARER tokens: any client can then claim any principal, super users included. ``tls`` adds a SASL_SSL
    listener and an SSL one that asks for a certificate; ``plaintext`` adds one without login (``User:ANONYMOUS``).
    ``class_path`` is for broker plug-ins such as a CreateTopicPolicy; ``overrides`` are added to every node's
    properties last. ``log_permitted`` makes the authorizer log permitted accesses too, not only denials.
    """

    name: str = "default"
    kafka_version: str = DEFAULT_VERSION
    nodes: int = 1
    controllers: int = 0
    users: Mapping[str, str] = field(default_factory=generated_users, repr=False)
    super_users: tuple[str, ...] = ("User:admin", "User:reconciler")
    authorizer: bool = True
    allow_everyone_if_no_acl_found: bool = False
    auto_create_topics: bool = False
    any_principal: bool = False
    plaintext: bool = False
    tls: bool = False
    port: int | None = None
    heap: str = "384m"
    overrides: Mapping[str, str] = field(default_factory=dict)
    class_path: tuple[Path, ...] = ()
    log_permitted: bool = False

    def __post_init__(self) -> None:
        """Raises :class:`SandboxError` for a combination that cannot work; nothing is started or written."""
        check_name(self.name)
        if not 1 <= self.nodes <= 9 or not 0 <= self.controllers <= 9:
            raise SandboxError(f"{self.nodes} nodes and {self.controllers} controllers: a sandbox has 1 to 9 of each.")
        if self.port is not None and not 1024 <= self.port <= 65535 - self.nodes:
            raise SandboxError(f"Port {self.port} is not between 1024 and {65535 - self.nodes}.")
        if not _HEAP.fullmatch(self.heap):
            raise SandboxError(f"Heap {self.heap!r} is not a size such as 384m or 1g.")
        self._check_users()

    def _check_users(self) -> None:
        if not self.users:
            raise SandboxError("A sandbox needs at least one user.")
        for name, password in self.users.items():
            if not _USER.fullmatch(name):
                raise SandboxError(f"User name {name!r}: only letters, digits, '_', '.' and '-', a letter first.")
            if not _PASSWORD.fullmatch(password):
                raise SandboxError(
                    f"The password of {name} is empty, too long, or has a character that JAAS cannot carry."
                )
        for principal in self.super_users:
            if ":" not in principal or ";" in principal:
                raise SandboxError(f"Super user {principal!r} is not a principal such as User:admin.")


def check_name(name: str) -> None:
    """Raises :class:`SandboxError` unless the name can be a directory and a cluster's name."""
    if not _NAME.fullmatch(name):
        raise SandboxError(
            f"{name!r} is not a name for a sandbox.",
            "Use 1 to 40 lower-case letters, digits and '-', beginning with a letter or digit.",
        )
