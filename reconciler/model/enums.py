"""Kafka's ACL vocabulary, with Kafka's wire codes.

Sources: ``org.apache.kafka.common.acl.{AclOperation,AclPermissionType}`` and
``org.apache.kafka.common.resource.{ResourceType,PatternType}``. Members order and hash by code; the
integer hash keeps sets of a million bindings cheap (``Enum.__hash__`` is a Python call for each member).
``ANY``, ``MATCH`` and ``UNKNOWN`` exist for filters only: no pattern or entry can hold them.
"""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final


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
