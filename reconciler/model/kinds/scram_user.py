"""SCRAM users in Kafka's words (KIP-84, KIP-554): credentials by mechanism, of which Kafka tells the iterations only.

Sources: ``ScramMechanism``, ``ScramFormatter`` and ``ScramControlManager`` of 3.9 to 4.4.

A credential's iterations are those that a manifest declares plus its version, so that the cluster itself keeps the
version with the password, in one record (``docs/decisions/users.md``). One number of iterations is for credentials
whose password nobody knows.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Annotated, ClassVar, Final, NamedTuple

from reconciler.dataclass import dataclass
from reconciler.model.acl import ResourceType
from reconciler.model.frozen import FrozenMap
from reconciler.model.listing import BrokerRefusal, FeatureLevel, ListedItem, Unmatched, unmatched_by_librdkafka
from reconciler.model.says import REQUIRED, Name, Reference, Says

#: The hash of each mechanism, and its code in Kafka's messages (``ScramMechanism.type``).
SCRAM_HASHES: Final[Mapping[str, str]] = MappingProxyType({"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"})
SCRAM_CODES: Final[Mapping[str, int]] = MappingProxyType({"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2})
#: What brokers take (``ScramMechanism.minIterations`` and ``ScramControlManager.MAX_ITERATIONS``).
MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 16384
#: Of a disabled credential: this program gives it to random ones only, whatever a manifest or a plan says of a source.
DISABLED_ITERATIONS: Final = 16383
#: Where a manifest says nothing.
DEFAULT_ITERATIONS: Final = 8192


class PasswordSource(NamedTuple):
    """References to a password, or to a salt and the password salted with it (both in base64); never the values."""

    password: Annotated[Reference, Says("The password.", "${env:KAFKA_USER_ORDERS}", omit=True)] = ""
    salt: Annotated[Reference, Says("The salt, in base64.", "${dir:/run/secrets:salt}", omit=True)] = ""
    salted_password: Annotated[
        Reference, Says("The salted password, in base64.", "${dir:/run/secrets:salted}", omit=True)
    ] = ""

    @property
    def references(self) -> tuple[str, ...]:
        """Those that are given."""
        return tuple(filter(None, self))


@dataclass(frozen=True, slots=True, order=True)
class ScramUser(ListedItem):
    """The credentials of one user: ``values`` are the iterations by mechanism, as a broker tells them.

    ``sources`` say where passwords come from, by mechanism: only of a declared user, and only as references.
    """

    KIND: ClassVar[str] = "users"
    NOUN: ClassVar[str] = "User"
    WORDS: ClassVar[str] = "SCRAM users"
    CAN_VALIDATE: ClassVar[bool] = False  # AlterUserScramCredentials has no field for it
    ATOMIC: ClassVar[bool] = False  # one mechanism of a user a request (``ScramControlManager``)
    #: ``MetadataVersion.isScramSupported``, which ``ScramControlManager`` asks before it sets or deletes one.
    LEVEL: ClassVar[FeatureLevel] = FeatureLevel(11, "3.5-IV2", "The current metadata.version does not support SCRAM")
    PLACE: ClassVar[ResourceType | None] = None
    PERSONAL: ClassVar[bool] = True
    KEYS: ClassVar[Mapping[str, int]] = SCRAM_CODES
    name: Annotated[Name, Says("The user's name.", "svc-orders")]
    values: Annotated[
        Mapping[str, int], Says("The iterations by mechanism.", {"SCRAM-SHA-512": 8193}, default=REQUIRED)
    ] = field(default_factory=FrozenMap)
    sources: Annotated[
        Mapping[str, PasswordSource],
        Says(
            "Where the passwords come from, by mechanism; absent: nobody says.",
            {"SCRAM-SHA-512": {"password": "${env:KAFKA_USER_ORDERS}"}},
            omit=True,
        ),
    ] = field(default_factory=FrozenMap)

    def __post_init__(self) -> None:
        """Takes any mappings and keeps sorted, immutable copies."""
        object.__setattr__(self, "values", FrozenMap(self.values))
        object.__setattr__(self, "sources", FrozenMap(self.sources))

    @property
    def key(self) -> str:
        """The name."""
        return self.name

    @property
    def subject(self) -> str:
        """``SCRAM user alice``."""
        return f"SCRAM user {self.name}"

    @property
    def principal(self) -> str:
        """The principal as which the user logs in, unless brokers have a principal builder of their own."""
        return f"User:{self.name}"

    @property
    def place(self) -> None:
        """None: it is a principal's."""

    @property
    def disabled(self) -> frozenset[str]:
        """The mechanisms with a password that nobody knows."""
        return frozenset(name for name, iterations in self.values.items() if iterations == DISABLED_ITERATIONS)

    @property
    def is_disabled(self) -> bool:
        """Whether nobody knows any password of the user."""
        return bool(self.values) and self.disabled == self.values.keys()

    @property
    def unmatched(self) -> Unmatched | None:
        """Why nobody, or no client of a kind, can log in as the user, which nobody is meant to who is disabled."""
        return None if self.is_disabled else unmatched_name(self.name)

    def with_values(self, values: Mapping[str, int]) -> "ScramUser":
        """Other iterations of the same user; what has them on a cluster has no source."""
        return ScramUser(self.name, values)

    def only(self, names: Collection[str]) -> "ScramUser":
        """Some of the mechanisms, with their sources."""
        values = {name: iterations for name, iterations in self.values.items() if name in names}
        return ScramUser(self.name, values, {name: item for name, item in self.sources.items() if name in names})

    def _refusals(self, release: tuple[int, int] | None) -> Iterator[BrokerRefusal]:
        """By ``ScramControlManager``, the same in every release."""
        return (BrokerRefusal("UNACCEPTABLE_CREDENTIAL", message) for message in self._problems())

    def _problems(self) -> Iterator[str]:
        if not self.name:
            yield "Username must not be empty"
        for mechanism, iterations in self.values.items():
            if mechanism not in SCRAM_CODES:
                yield f"{mechanism} is no mechanism of Kafka"
            elif iterations < MIN_ITERATIONS:
                yield f"{mechanism}: {iterations} iterations, and Kafka takes {MIN_ITERATIONS} or more"
            elif iterations > MAX_ITERATIONS:
                yield f"{mechanism}: {iterations} iterations, and Kafka takes {MAX_ITERATIONS} or fewer"


def unmatched_name(name: str) -> Unmatched | None:
    """Why nobody, or no client of a kind, can log in by SCRAM under a name.

    Brokers store any name, and take that of a login in ASCII alone (``ScramMessages.VALUE_SAFE_CHAR``). RFC 4013
    (SASLprep) prohibits control characters; Java's client and librdkafka do not prepare names.
    """
    if odd := sorted({item for item in name if not item.isascii() or item == "\0"}):
        shown = ", ".join(f"U+{ord(item):04X}" for item in odd[:3])
        return Unmatched(f"brokers refuse a SCRAM login with a letter outside ASCII ({shown})")
    if (blank := unmatched_by_librdkafka(name)) is not None:
        return blank
    if any(item < " " or item == "\x7f" for item in name):
        message = "clients that prepare names by RFC 4013 (SASLprep), as most for Go, refuse its control characters"
        return Unmatched(message, some=True)
    return None


def salted(mechanism: str, password: str, salt: bytes, iterations: int) -> bytes:
    """The salted password (``Hi`` of RFC 5802), with the password as its UTF-8 bytes, as ``ScramFormatter`` has it."""
    return hashlib.pbkdf2_hmac(SCRAM_HASHES[mechanism], password.encode(), salt, iterations)
