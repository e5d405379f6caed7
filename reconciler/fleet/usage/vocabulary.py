"""Kafka's words for operations and resource types, in the two spellings that logs have (``SecurityUtils``)."""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final, TypeVar

from reconciler.model import AclOperation, ResourceType

Member = TypeVar("Member", bound=IntEnum)


def pascal(member: IntEnum) -> str:
    """``TransactionalId`` for ``TRANSACTIONAL_ID``, as ``SecurityUtils.toPascalCase`` writes it."""
    return "".join(part.capitalize() for part in member.name.split("_"))


def _spellings(members: list[Member]) -> Mapping[str, Member]:
    return MappingProxyType({spelling: member for member in members for spelling in (member.name, pascal(member))})


#: What a request can ask for; not ALL, ANY and UNKNOWN.
OPERATIONS: Final = _spellings([operation for operation in AclOperation if operation >= AclOperation.READ])
#: The resource types of requests.
RESOURCE_TYPES: Final = _spellings([kind for kind in ResourceType if kind >= ResourceType.TOPIC])
#: What a binding can name in addition.
BINDING_OPERATIONS: Final = MappingProxyType({**OPERATIONS, "ALL": AclOperation.ALL, "All": AclOperation.ALL})
