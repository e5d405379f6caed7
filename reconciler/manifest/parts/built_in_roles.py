"""The roles that need no ``Role`` document. ``docs/manifests/roles.md`` says what each is for.

Sources: ``AclCommand`` for producer and consumer, less CREATE, because topics are declared; KIP-932 for consumers in
share groups, who need the same; Kafka's documentation of Streams and Connect security; KIP-98 for transactions, KIP-618
for Connect's, KIP-875 for resetting a sink's offsets (``alterConsumerGroupOffsets`` asks READ on the group,
``deleteConsumerGroups`` DELETE); KIP-382 for the mirror, KIP-716 for where it keeps offset-syncs; Confluent's "Schema
Registry Security Overview", and ksqlDB's "Configure Authorization of ksqlDB with Kafka ACLs".
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from reconciler.manifest.parts.operations import Permission
from reconciler.manifest.parts.roles import RoleDeclaration, RoleRule
from reconciler.model import CLUSTER_NAME, AclOperation, AclPermissionType, PatternType, ResourcePattern, ResourceType

_O = AclOperation
_TOPIC, _GROUP, _CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
_TRANSACTION = ResourceType.TRANSACTIONAL_ID


def _on(kind: ResourceType, *operations: AclOperation) -> RoleRule:
    """Allows operations on what the use of the role names."""
    return RoleRule(Permission(AclPermissionType.ALLOW, operations), (kind,))


_PRODUCE = _on(_TOPIC, _O.WRITE, _O.DESCRIBE)
_TRANSACT = _on(_TRANSACTION, _O.WRITE, _O.DESCRIBE)
_JOIN = _on(_GROUP, _O.READ, _O.DESCRIBE)
_INTERNAL_OFFSETS = ResourcePattern(_TOPIC, "__consumer_offsets")
_INTERNAL_TRANSACTIONS = ResourcePattern(_TOPIC, "__transaction_state")
_THE_CLUSTER = ResourcePattern(_CLUSTER, CLUSTER_NAME)
#: MirrorMaker 2 calls its topics so on the source, ``mm2-offset-syncs.TARGET.internal``.
_OFFSET_SYNCS = ResourcePattern(_TOPIC, "mm2-offset-syncs.", PatternType.PREFIXED)


def _to(patterns: tuple[ResourcePattern, ...], *operations: AclOperation) -> RoleRule:
    """Allows operations on what the role itself names."""
    return RoleRule(Permission(AclPermissionType.ALLOW, operations), (), patterns)


_IDEMPOTENT = _to((_THE_CLUSTER,), _O.IDEMPOTENT_WRITE)
_SEE = (_O.DESCRIBE, _O.DESCRIBE_CONFIGS)
_KEEP = (_O.READ, _O.WRITE, _O.CREATE, _O.DESCRIBE, _O.DESCRIBE_CONFIGS)
_RUN = (_O.CREATE, _O.ALTER, _O.DESCRIBE, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS)

_ROLES = (
    # What declares a topic creates, alters and deletes it; its owner needs none of these.
    RoleDeclaration("owner", (_TOPIC,), (), (_on(_TOPIC, _O.READ, _O.WRITE, _O.DESCRIBE, _O.DESCRIBE_CONFIGS),)),
    RoleDeclaration("producer", (_TOPIC,), (), (_PRODUCE,)),
    RoleDeclaration("idempotent-producer", (_TOPIC,), (), (_PRODUCE, _IDEMPOTENT)),
    RoleDeclaration(
        "transactional-producer", (_TOPIC, _TRANSACTION), (_GROUP,), (_PRODUCE, _TRANSACT, _on(_GROUP, _O.READ))
    ),
    RoleDeclaration("consumer", (_TOPIC, _GROUP), (), (_on(_TOPIC, _O.READ, _O.DESCRIBE), _on(_GROUP, _O.READ))),
    RoleDeclaration("streams", (_TOPIC, _GROUP), (_TRANSACTION,), (_on(_TOPIC, *_KEEP, _O.DELETE), _JOIN, _TRANSACT)),
    RoleDeclaration("connect", (_TOPIC, _GROUP), (_TRANSACTION,), (_on(_TOPIC, *_KEEP), _JOIN, _TRANSACT)),
    RoleDeclaration(
        "connect-sink",
        (_TOPIC, _GROUP),
        (),
        (_on(_TOPIC, _O.READ, _O.DESCRIBE), _on(_GROUP, _O.READ, _O.DESCRIBE, _O.DELETE)),
    ),
    RoleDeclaration(
        "mirror-source",
        (_TOPIC, _GROUP),
        (),
        (_on(_TOPIC, _O.READ, *_SEE), _on(_GROUP, _O.DESCRIBE), _to((_OFFSET_SYNCS,), *_KEEP)),
    ),
    RoleDeclaration(
        "mirror",
        (_TOPIC, _GROUP),
        (_TRANSACTION,),
        (_on(_TOPIC, *_KEEP, _O.ALTER, _O.ALTER_CONFIGS), _JOIN, _TRANSACT),
    ),
    RoleDeclaration(
        "schema-registry",
        (_TOPIC, _GROUP),
        (),
        (_on(_TOPIC, *_KEEP), _on(_GROUP, _O.READ), _to((_INTERNAL_OFFSETS,), _O.DESCRIBE)),
    ),
    RoleDeclaration(
        "ksqldb",
        (_TOPIC, _GROUP),
        (_TRANSACTION,),
        (
            _on(_TOPIC, *_KEEP, _O.DELETE, _O.ALTER, _O.ALTER_CONFIGS),
            _on(_GROUP, _O.READ, _O.DESCRIBE, _O.DELETE),
            _TRANSACT,
            _to((_THE_CLUSTER,), _O.DESCRIBE_CONFIGS),
            _to((_INTERNAL_OFFSETS, _INTERNAL_TRANSACTIONS), _O.DESCRIBE),
        ),
    ),
    # Names, configs, offsets and lag, and no data.
    RoleDeclaration(
        "monitor",
        (_TOPIC, _GROUP),
        (),
        (_on(_TOPIC, *_SEE), _on(_GROUP, _O.DESCRIBE), _to((_THE_CLUSTER,), *_SEE)),
    ),
    # As monitor, with the data of topics.
    RoleDeclaration(
        "viewer",
        (_TOPIC, _GROUP),
        (),
        (_on(_TOPIC, _O.READ, *_SEE), _on(_GROUP, _O.DESCRIBE), _to((_THE_CLUSTER,), *_SEE)),
    ),
    RoleDeclaration(
        "admin",
        (),
        (_TOPIC, _GROUP, _CLUSTER),
        (_on(_TOPIC, *_RUN, _O.DELETE), _on(_GROUP, _O.DESCRIBE, _O.DELETE), _on(_CLUSTER, *_RUN)),
    ),
)

#: By name.
BUILT_IN_ROLES: Final[Mapping[str, RoleDeclaration]] = MappingProxyType({role.name: role for role in _ROLES})
