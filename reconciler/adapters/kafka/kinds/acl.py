"""ACL bindings: listed, created, and deleted by exact filters."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from confluent_kafka.admin import AclBinding as ClientBinding
from confluent_kafka.admin import AclBindingFilter

from reconciler.adapters.kafka.bindings import unsupported_by_client
from reconciler.adapters.kafka.client import AdminConnection
from reconciler.adapters.kafka.kinds.interface import ReadSession
from reconciler.adapters.kafka.listing_check import checked_listing
from reconciler.adapters.kafka.requests import Item, request, unsupported
from reconciler.model import AclBinding, Change, ClusterState, Create, resource_of
from reconciler.ports import NOT_VALIDATED, Answer

TYPES: Final = (AclBinding,)


def read(session: ReadSession, state: ClusterState) -> ClusterState:
    """The listing, once it is complete and checked."""
    if session.listing is None:
        return state
    found = checked_listing(session.connection, session.handshake, session.listing.result())
    listing = found.listing
    return replace(
        state,
        bindings=listing.bindings,
        opaque=listing.opaque,
        acl_gap=found.gap,
        kafka_version=found.kafka_version,
    )


def send(connection: AdminConnection, changes: Sequence[Change], *, only_validate: bool = False) -> list[Answer]:
    """Create bindings in the given order, or delete them; what the broker says it matched proves nothing."""
    if only_validate:  # CreateAcls and DeleteAcls have no field for it
        return [NOT_VALIDATED] * len(changes)
    bindings = [resource_of(change) for change in changes]
    if isinstance(changes[0], Create):
        return request(connection, connection.admin.create_acls, [_item(ClientBinding, b) for b in bindings])
    return request(connection, connection.admin.delete_acls, [_item(AclBindingFilter, b) for b in bindings])


def _item(client_type: type[ClientBinding | AclBindingFilter], binding: AclBinding) -> Item:
    (resource_type, name, pattern_type), (principal, host, operation, permission) = binding
    return Item(
        binding,
        unsupported(unsupported_by_client(binding)),
        lambda: client_type(
            int(resource_type), name, int(pattern_type), principal, host, int(operation), int(permission)
        ),
    )
