"""What a Kafka 4.x controller answers to CreateAcls and DeleteAcls (``AclApis``, ``AclControlManager``)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from reconciler.model.acl import CLUSTER_NAME, AclBinding, ResourceType
from reconciler.model.addresses import RANGES_LEVEL, RANGES_SINCE, ip_range
from reconciler.model.listing import Change, Create, resource_of
from reconciler.model.state import ClusterState
from reconciler.ports import Answer, AnswerStatus, ReadRequest
from reconciler.snapshot.document import DONE, MAX_RECORDS, Snapshot, failed

TYPES: Final = (AclBinding,)


def view(snapshot: Snapshot, request: ReadRequest, state: ClusterState) -> ClusterState:
    """All bindings or none."""
    return state if request.acls else replace(state, bindings=frozenset(), opaque=(), acl_gap=None)


def can_validate(change: Change) -> bool:
    """CreateAcls and DeleteAcls have no field for it."""
    return False


def send(before: Snapshot, changes: Sequence[Change]) -> tuple[Snapshot, list[Answer]]:
    """The snapshot afterwards, and an answer for each change."""
    bindings = [resource_of(change) for change in changes]
    if isinstance(changes[0], Create):
        after, answers = _create(before.state, bindings)
    else:
        after, answers = _delete(before.state.bindings, bindings)
    return replace(before, state=replace(before.state, bindings=after)), answers


def _create(state: ClusterState, wanted: Sequence[AclBinding]) -> tuple[frozenset[AclBinding], list[Answer]]:
    """The bindings afterwards, and an answer for each wanted one.

    A bad one does not stop the others; an existing one is done without a record. More than 10,000 new ones are
    refused as a whole.
    """
    live = state.bindings
    answers = [_refusal(binding, state) or DONE for binding in wanted]
    valid = {binding for binding, answer in zip(wanted, answers, strict=True) if answer.status is AnswerStatus.DONE}
    if len(valid - live) > MAX_RECORDS:
        refusal = failed("POLICY_VIOLATION", "Unable to perform excessively large batch operation.")
        return live, [refusal] * len(wanted)
    return live | valid, answers


def _refusal(binding: AclBinding, state: ClusterState) -> Answer | None:
    pattern, principal, host = binding.pattern, binding.entry.principal, binding.entry.host
    if pattern.resource_type is ResourceType.CLUSTER and pattern.name != CLUSTER_NAME:
        return failed("INVALID_REQUEST", f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if ":" not in principal:
        # KAFKA-18051, from 4.0; up to 3.9 such an entry is accepted and breaks every request that meets it.
        return failed("INVALID_REQUEST", f"Could not parse principal from `{principal}` (no colon is present)")
    # KIP-1276: up to 4.3 any host is accepted, and one that is no address never matches.
    if state.kafka_version is not None and state.kafka_version >= RANGES_SINCE:
        if not host:
            return failed("INVALID_REQUEST", "Host pattern cannot be null or empty")
        if "/" in host and ip_range(host) is None:
            return failed("INVALID_REQUEST", f"Invalid CIDR notation '{host}'")
        if "/" in host and state.metadata_version is not None and state.metadata_version < RANGES_LEVEL:
            return failed("UNSUPPORTED_VERSION", "CIDR notation in ACLs requires metadata version 4.4-IV1 or higher")
    return None


def _delete(live: frozenset[AclBinding], unwanted: Sequence[AclBinding]) -> tuple[frozenset[AclBinding], list[Answer]]:
    """The bindings afterwards, and an answer for each filter; one that matches nothing is done."""
    gone = live.intersection(unwanted)
    if len(gone) > MAX_RECORDS:
        refusal = failed("INVALID_REQUEST", f"Cannot remove more than {MAX_RECORDS} acls in a single delete operation.")
        return live, [refusal] * len(unwanted)
    return live - gone, [DONE] * len(unwanted)
