"""Kafka's ACL vocabulary with its wire codes, principals, patterns, bindings and filters.

ACL values: patterns, entries, bindings, and the filters of KIP-140 and KIP-290.

Named tuples, because fleets hold millions of them: creation, hash, equality and order all run in C.
"""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final, NamedTuple, Self

from reconciler.dataclass import dataclass

# Kafka's ACL vocabulary, with Kafka's wire codes.
#
# Sources: ``org.apache.kafka.common.acl.{AclOperation,AclPermissionType}`` and
# ``org.apache.kafka.common.resource.{ResourceType,PatternType}``. Members order and hash by code; the integer hash
# keeps sets of a million bindings cheap (``Enum.__hash__`` is a Python call for each member). ``ANY``, ``MATCH`` and
# ``UNKNOWN`` exist for filters only: no pattern or entry can hold them.


class ResourceType(IntEnum):
    """What a pattern names (``ResourceType.java``); ``CLUSTER`` has the one name ``kafka-cluster``."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7

    __hash__ = int.__hash__

    @property
    def noun(self) -> str:
        """What one of it is called, ``transactional id``; an ``s`` makes the plural."""
        return self.name.lower().replace("_", " ")


class PatternType(IntEnum):
    """How a pattern's name is compared (KIP-290, ``PatternType.java``)."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4

    __hash__ = int.__hash__


class AclOperation(IntEnum):
    """What a principal asks to do (``AclOperation.java``); ``TWO_PHASE_COMMIT`` exists from Kafka 4.1 (KIP-939)."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15

    __hash__ = int.__hash__


class AclPermissionType(IntEnum):
    """Whether an entry grants or refuses (``AclPermissionType.java``)."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3

    __hash__ = int.__hash__


_O = AclOperation

#: The operations of each resource type, ``ALL`` left out (``AclEntry.supportedOperations``, Kafka 4.1 and later).
#: The broker accepts any pair; only ``kafka-acls.sh`` checks, so the reconciler does.
SUPPORTED_OPERATIONS: Final[Mapping[ResourceType, frozenset[AclOperation]]] = MappingProxyType(
    {
        ResourceType.TOPIC: frozenset(
            {_O.READ, _O.WRITE, _O.CREATE, _O.DESCRIBE, _O.DELETE, _O.ALTER, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS}
        ),
        ResourceType.GROUP: frozenset({_O.READ, _O.DESCRIBE, _O.DELETE, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS}),
        ResourceType.CLUSTER: frozenset(
            {
                _O.CREATE,
                _O.CLUSTER_ACTION,
                _O.DESCRIBE_CONFIGS,
                _O.ALTER_CONFIGS,
                _O.IDEMPOTENT_WRITE,
                _O.ALTER,
                _O.DESCRIBE,
            }
        ),
        ResourceType.TRANSACTIONAL_ID: frozenset({_O.DESCRIBE, _O.WRITE, _O.TWO_PHASE_COMMIT}),
        ResourceType.DELEGATION_TOKEN: frozenset({_O.DESCRIBE}),
        ResourceType.USER: frozenset({_O.CREATE_TOKENS, _O.DESCRIBE_TOKENS}),
    }
)


#: What an ALLOW of the key also grants (``StandardAuthorizerData.IMPLIES_DESCRIBE``, ``IMPLIES_DESCRIBE_CONFIGS``).
IMPLICATIONS: Final = {
    _O.READ: _O.DESCRIBE,
    _O.WRITE: _O.DESCRIBE,
    _O.DELETE: _O.DESCRIBE,
    _O.ALTER: _O.DESCRIBE,
    _O.ALTER_CONFIGS: _O.DESCRIBE_CONFIGS,
}

#: The only name of the CLUSTER resource (``Resource.CLUSTER_NAME``).
CLUSTER_NAME: Final = "kafka-cluster"
#: As a LITERAL name it matches every name of its type; as a host or as ``User:*`` it matches everyone.
WILDCARD: Final = "*"
#: Matches a connection of any principal type (``StandardAuthorizerData``); ``Group:*`` is no wildcard.
WILDCARD_PRINCIPAL: Final = "User:*"
#: How brokers call a client of a listener that asks for no login: whoever reaches it.
ANONYMOUS: Final = "User:ANONYMOUS"


class _Pattern(NamedTuple):
    resource_type: ResourceType
    name: str
    pattern_type: PatternType


class ResourcePattern(_Pattern):
    """Which resources a binding speaks of. Raises ``ValueError`` for ANY, MATCH, UNKNOWN or an empty name."""

    __slots__ = ()

    def __new__(cls, resource_type: ResourceType, name: str, pattern_type: PatternType = PatternType.LITERAL) -> Self:
        """Order: type, name, pattern type; equality over all three."""
        if resource_type < ResourceType.TOPIC or pattern_type < PatternType.LITERAL:
            raise ValueError(f"{resource_type.name} {pattern_type.name} belongs in a filter, not in a pattern")
        if not name:
            raise ValueError("a resource pattern needs a name")
        return super().__new__(cls, resource_type, name, pattern_type)

    @property
    def is_wildcard(self) -> bool:
        """Whether it is LITERAL ``*``, which matches every name of its type."""
        return self.name == WILDCARD and self.pattern_type is PatternType.LITERAL

    def matches(self, name: str) -> bool:
        """Whether a resource of this type called ``name`` is meant (KIP-290, ``StandardAuthorizerData``)."""
        if self.pattern_type is PatternType.PREFIXED:
            return name.startswith(self.name)
        return self.name in (name, WILDCARD)

    def contains(self, other: "ResourcePattern") -> bool:
        """Whether every name that ``other`` matches is matched by this pattern too."""
        if self.resource_type is not other.resource_type:
            return False
        if self.is_wildcard:
            return True
        if other.is_wildcard:
            return False
        if self.pattern_type is PatternType.PREFIXED:
            return other.name.startswith(self.name)
        return other.pattern_type is PatternType.LITERAL and other.name == self.name

    def overlaps(self, other: "ResourcePattern") -> bool:
        """Whether some name is matched by both; prefixes overlap only if one contains the other."""
        return self.contains(other) or other.contains(self)

    def __str__(self) -> str:
        """``TOPIC payments.orders`` or ``TOPIC PREFIXED payments.``."""
        kind = "" if self.pattern_type is PatternType.LITERAL else f"{self.pattern_type.name} "
        return f"{self.resource_type.name} {kind}{self.name}"


class _Entry(NamedTuple):
    principal: str
    host: str
    operation: AclOperation
    permission_type: AclPermissionType


class AccessControlEntry(_Entry):
    """Who may, or may not, do what. Raises ``ValueError`` for ANY or UNKNOWN.

    ``principal`` is Kafka's text form, ``User:alice``; ``host`` is ``*`` or Java's ``getHostAddress`` text.
    """

    __slots__ = ()

    def __new__(cls, principal: str, host: str, operation: AclOperation, permission_type: AclPermissionType) -> Self:
        """Order: principal, host, operation, permission type; equality over all four."""
        if operation < AclOperation.ALL or permission_type < AclPermissionType.DENY:
            raise ValueError(f"{permission_type.name} {operation.name} belongs in a filter, not in an entry")
        return super().__new__(cls, principal, host, operation, permission_type)

    def __str__(self) -> str:
        """``User:alice ALLOW READ``, with ``from HOST`` where the host is not ``*``."""
        host = "" if self.host == WILDCARD else f" from {self.host}"
        return f"{self.principal} {self.permission_type.name} {self.operation.name}{host}"


class AclBinding(NamedTuple):
    """One ACL. Its identity is all seven fields: it is created or deleted, never updated.

    One of a million costs, on CPython 3.11 (``benchmarks/model.py``), 225 bytes and 1.5 µs to build, or 81 bytes and
    0.5 µs where equal patterns and equal entries are one object each, as readers make them; a plain 7-tuple costs 105
    bytes and 0.2 µs. Hashing into a set takes 0.15 µs, a difference of two sets 0.4 µs, sorting 3 to 4 µs (a 7-tuple:
    0.15, 0.2 and 1.6). Pickling takes 1.6 to 4.6 µs (0.3): between processes, rows are cheaper.
    """

    pattern: ResourcePattern
    entry: AccessControlEntry

    def __str__(self) -> str:
        """``User:alice ALLOW READ on TOPIC payments.orders``."""
        return f"{self.entry} on {self.pattern}"


@dataclass(frozen=True, slots=True, order=True)
class OpaqueBinding:
    """A live entry of a kind that the client cannot name: counted and reported, never planned.

    Codes are the wire codes where the reader kept them, ``None`` where the client lost them. Several entries
    may read alike, so a state holds them in a tuple, not in a set. ``perhaps``: all codes are known, and it is not
    known whether the entry was there at the time of the state.
    """

    name: str
    principal: str
    host: str
    resource_type: int | None
    pattern_type: int | None
    operation: int | None
    permission_type: int | None
    perhaps: bool = False


@dataclass(frozen=True, slots=True)
class ResourcePatternFilter:
    """``ResourcePatternFilter.java`` (KIP-290). ``name=None`` matches any name."""

    resource_type: ResourceType = ResourceType.ANY
    name: str | None = None
    pattern_type: PatternType = PatternType.ANY

    def matches(self, pattern: ResourcePattern) -> bool:
        """Whether ``pattern`` is selected; UNKNOWN selects nothing, MATCH selects all that apply to ``name``."""
        if self.resource_type not in (ResourceType.ANY, pattern.resource_type):
            return False
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, pattern.pattern_type):
            return False
        if self.name is None:
            return True
        if self.pattern_type is PatternType.MATCH:
            return pattern.matches(self.name)
        return self.name == pattern.name


@dataclass(frozen=True, slots=True)
class AccessControlEntryFilter:
    """``AccessControlEntryFilter.java``: exact texts, ``None`` and ANY match all; nothing is implied."""

    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission_type: AclPermissionType = AclPermissionType.ANY

    def matches(self, entry: AccessControlEntry) -> bool:
        """Whether ``entry`` is selected: operation READ does not select an ALL entry, ``User:*`` only itself."""
        return (
            (self.principal is None or self.principal == entry.principal)
            and (self.host is None or self.host == entry.host)
            and self.operation in (AclOperation.ANY, entry.operation)
            and self.permission_type in (AclPermissionType.ANY, entry.permission_type)
        )


@dataclass(frozen=True, slots=True)
class AclBindingFilter:
    """``AclBindingFilter.java``: a pattern filter and an entry filter, both of which must match."""

    pattern_filter: ResourcePatternFilter = ResourcePatternFilter()
    entry_filter: AccessControlEntryFilter = AccessControlEntryFilter()

    def matches(self, binding: AclBinding) -> bool:
        """Whether ``binding`` is selected."""
        return self.pattern_filter.matches(binding.pattern) and self.entry_filter.matches(binding.entry)


# Principals as Kafka's authorizer reads them (``KafkaPrincipal``, ``StandardAcl.kafkaPrincipal``).


class KafkaPrincipal(NamedTuple):
    """A principal's type and name; case-sensitive, nothing is trimmed."""

    principal_type: str
    name: str

    @classmethod
    def parse(cls, text: str) -> "KafkaPrincipal":
        """Splits at the first ``:``, so names may hold more of them; raises ``ValueError`` without one."""
        principal_type, colon, name = text.partition(":")
        if not colon:
            raise ValueError(f"{text!r} is not a principal: it needs a type and a colon, as in 'User:{text}'")
        return cls(principal_type, name)

    def __str__(self) -> str:
        """The text form, ``User:alice``."""
        return f"{self.principal_type}:{self.name}"
