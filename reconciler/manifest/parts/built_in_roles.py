"""The roles that need no ``Role`` document. ``docs/manifests.md`` says what each is for.

Sources: ``AclCommand`` for producer and consumer, less CREATE, because topics are declared; Kafka's documentation of
Streams and Connect security; KIP-98 for transactions, KIP-618 for Connect's, KIP-382 for the mirror.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from reconciler.manifest.parts.operations import Permission
from reconciler.manifest.parts.roles import RoleDeclaration, RoleRule
from reconciler.model import CLUSTER_NAME, AclOperation, AclPermissionType, ResourcePattern, ResourceType

_O = AclOperation
_TOPIC, _GROUP, _CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
_TRANSACTION = ResourceType.TRANSACTIONAL_ID


def _on(kind: ResourceType, *operations: AclOperation) -> RoleRule:
    """Allows operations on what the use of the role names."""
    return RoleRule(Permission(AclPermissionType.ALLOW, operations), (kind,))


_PRODUCE = _on(_TOPIC, _O.WRITE, _O.DESCRIBE)
_TRANSACT = _on(_TRANSACTION, _O.WRITE, _O.DESCRIBE)
_JOIN = _on(_GROUP, _O.READ, _O.DESCRIBE)
_IDEMPOTENT = RoleRule(
    Permission(AclPermissionType.ALLOW, (_O.IDEMPOTENT_WRITE,)), (), (ResourcePattern(_CLUSTER, CLUSTER_NAME),)
)
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
    RoleDeclaration("mirror", (_TOPIC, _GROUP), (), (_on(_TOPIC, *_KEEP, _O.ALTER, _O.ALTER_CONFIGS), _JOIN)),
    RoleDeclaration(
        "admin",
        (),
        (_TOPIC, _GROUP, _CLUSTER),
        (_on(_TOPIC, *_RUN, _O.DELETE), _on(_GROUP, _O.DESCRIBE, _O.DELETE), _on(_CLUSTER, *_RUN)),
    ),
)

#: By name.
BUILT_IN_ROLES: Final[Mapping[str, RoleDeclaration]] = MappingProxyType({role.name: role for role in _ROLES})
